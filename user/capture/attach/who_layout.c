// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/who_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define TYPES_FILE "/sys/kernel/btf/vmlinux"
#define TYPES_MAX_BYTES (256u << 20) /* a kernel of a distribution has 6 MiB */

/* Returns 0, and the offset; or what cannot be read without it. */
static uint32_t look_up(const struct btf_types *types, const char *paths, uint32_t needed_for,
			uint16_t *offset)
{
	const int64_t found = btf_types_find(types, paths);

	if (found < 0 || found > UINT16_MAX)
		return needed_for;
	*offset = (uint16_t)found;
	return 0;
}

struct ms_who_layout who_layout_of(const struct btf_types *types)
{
	struct ms_who_layout layout = { 0 };
	uint32_t lacking = 0;

#define X(member, needed_for, path) lacking |= look_up(types, path, (needed_for), &layout.member);
#include "who_layout.def"
#undef X
	layout.known = UINT32_MAX & ~lacking;
	return layout;
}

static int read_bytes(int fd, char **bytes, size_t *count)
{
	struct stat stat;
	ssize_t got = 1;

	if (fstat(fd, &stat))
		return -errno;
	if (stat.st_size <= 0 || stat.st_size > TYPES_MAX_BYTES)
		return -EFBIG;
	*bytes = malloc((size_t)stat.st_size);
	if (!*bytes)
		return -ENOMEM;
	for (*count = 0; got > 0 && *count<(size_t)stat.st_size; *count += got> 0 ? got : 0)
		got = read(fd, *bytes + *count, (size_t)stat.st_size - *count);
	return got < 0 ? -errno : 0;
}

static int read_layout(struct ms_who_layout *layout)
{
	int fd = open(TYPES_FILE, O_RDONLY | O_CLOEXEC), err;
	struct btf_types types = { 0 };
	char *bytes = NULL;
	size_t count = 0;

	if (fd < 0)
		return -errno;
	err = read_bytes(fd, &bytes, &count);
	close(fd);
	if (!err)
		err = btf_types_init(&types, bytes, count);
	if (!err)
		*layout = who_layout_of(&types);
	btf_types_fini(&types);
	free(bytes);
	return err;
}

void who_layout_learn(struct ms_who_layout *shared)
{
	struct ms_who_layout layout = { 0 };
	int err = shared->known ? 0 : read_layout(&layout);
	const uint32_t known = layout.known;

	if (err)
		log_debug("what ends early is not identified: " TYPES_FILE ": %s", strerror(-err));
	if (!known)
		return;
	/* The programs look at the rest once it is known. */
	layout.known = 0;
	*shared = layout;
	__atomic_store_n(&shared->known, known, __ATOMIC_RELEASE);
}
