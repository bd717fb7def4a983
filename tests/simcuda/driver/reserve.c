/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See reserve.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reserve.h"

static void *map_space(size_t size_bytes, int flags, int fd)
{
	void *p = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "simcuda: cannot reserve %zu bytes of address space: %s\n",
			size_bytes, strerror(errno));
		abort();
	}
	/* A huge page per touched byte would turn a sparse reservation into real memory. */
	madvise(p, size_bytes, MADV_NOHUGEPAGE);
	return p;
}

void *reserve_space(size_t size_bytes)
{
	return map_space(size_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void *reserve_shared(size_t size_bytes, int *fd)
{
	*fd = reserve_file("simcuda", size_bytes);
	return map_space(size_bytes, MAP_SHARED, *fd);
}

int reserve_file(const char *name, size_t size_bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)size_bytes)) {
		close(fd);
		fd = -1;
	}
	return fd;
}
