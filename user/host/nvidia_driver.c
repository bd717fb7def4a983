// SPDX-License-Identifier: BSD-2-Clause
#include "host/nvidia_driver.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi.h"

#define TEXT_BYTES 512
#define PARTS 3
#define PART_MAX 1000u

/* "580.159.04", or "580.65": two or three numbers. Returns where it ends, NULL: it is none. */
static const char *parse_at(const char *text, uint32_t parts[PARTS])
{
	size_t count = 0;

	parts[0] = parts[1] = parts[2] = 0;
	while (count < PARTS && isdigit((unsigned char)*text)) {
		while (isdigit((unsigned char)*text) && parts[count] < PART_MAX)
			parts[count] = parts[count] * 10 + (uint32_t)(*text++ - '0');
		if (parts[count++] >= PART_MAX)
			return NULL;
		if (*text != '.')
			break;
		text++;
	}
	return count >= 2 ? text : NULL;
}

uint32_t nvidia_driver_parse(const char *text)
{
	uint32_t parts[PARTS];
	bool begins = true; /* a word */

	for (; *text; text++) {
		const char *end = begins ? parse_at(text, parts) : NULL;

		if (end && (!*end || isspace((unsigned char)*end)))
			return MS_DRIVER(parts[0], parts[1], parts[2]);
		begins = isspace((unsigned char)*text);
	}
	return 0;
}

static uint32_t read_version(const char *path)
{
	char text[TEXT_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (got < 0)
		return 0;
	text[got] = '\0';
	return nvidia_driver_parse(text);
}

uint32_t nvidia_driver_version(void)
{
	uint32_t version = read_version("/sys/module/nvidia/version");

	return version ? version : read_version("/proc/driver/nvidia/version");
}

dev_t nvidia_test_device(void)
{
	const char *path = getenv("MEMSCOPE_TEST_DEVICES");
	struct stat status;

	return path && !stat(path, &status) ? status.st_dev : 0;
}
