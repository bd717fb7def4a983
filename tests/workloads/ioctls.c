// SPDX-License-Identifier: BSD-2-Clause
/*
 * Repeats the ioctls that a program made on a real driver (tests/golden/ioctls.txt), on the files
 * that stand for its devices, with the answers of that driver in the arguments.
 *
 * usage: ioctls TEXT DIRECTORY [STEP], until after that step
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "simcuda.h"

#define BYTES 256
#define PARAMS_AT 16 /* in the argument of RM_ALLOC */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_in(const char *directory, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

static void read_hex(const char *text, unsigned char *bytes)
{
	unsigned int byte;
	size_t i;

	memset(bytes, 0, BYTES);
	for (i = 0; i < BYTES && sscanf(text + 2 * i, "%2x", &byte) == 1; i++)
		bytes[i] = (unsigned char)byte;
}

int main(int argc, char **argv)
{
	unsigned char argument[BYTES], params[BYTES];
	char line[1024], first[512], second[512];
	const void *inner = params;
	int control, device;
	unsigned int request;
	CUdevice ordinal;
	FILE *file;

	if (argc < 3)
		return 2;
	file = fopen(argv[1], "re");
	if (!file)
		die(argv[1]);
	if (cuInit(0) || cuDeviceGet(&ordinal, 0))
		return 1;
	control = open_in(argv[2], "nvidiactl");
	device = open_in(argv[2], "nvidia0");
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		second[0] = '\0';
		if (sscanf(line, "ioctl %x %511s %511s", &request, first, second) < 2) {
			const char *step = strchr(line + strlen("expect "), ' ');

			if (argc > 3 && step && !strcmp(step + 1, argv[3]))
				break;
			continue;
		}
		read_hex(first, argument);
		read_hex(second, params);
		if ((request & 0xff) == 0x2b)
			memcpy(argument + PARAMS_AT, &inner, sizeof(inner));
		if (ioctl((request & 0xff) == 0x27 ? device : control, request, argument))
			die("ioctl");
	}
	fclose(file);
	return 0;
}
