/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See reserve.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "reserve.h"

void *reserve_space(size_t size_bytes)
{
	void *p = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "simcuda: cannot reserve %zu bytes of address space: %s\n",
			size_bytes, strerror(errno));
		abort();
	}
	/* A huge page per touched byte would turn a sparse reservation into real memory. */
	madvise(p, size_bytes, MADV_NOHUGEPAGE);
	return p;
}
