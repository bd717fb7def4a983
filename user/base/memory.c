// SPDX-License-Identifier: BSD-2-Clause
#include "base/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_CAPACITY 8 /* of small items: of large ones, one may be all that there is */
#define FIRST_BYTES 1024
#define LARGE_BYTES (4 << 20)  /* a huge page lies in it, wherever it begins */
#define KEPT_BYTES (256 << 10) /* less is not worth the system calls */

static size_t first_capacity(size_t item_bytes)
{
	size_t capacity = FIRST_CAPACITY;

	while (capacity > 1 && capacity * item_bytes > FIRST_BYTES)
		capacity /= 2;
	return capacity;
}

int memory_grow(void *items, size_t *capacity, size_t needed, size_t item_bytes)
{
	size_t grown = *capacity ? *capacity : first_capacity(item_bytes), bytes;
	void *old, *new;

	if (needed <= *capacity)
		return 0;
	while (grown < needed)
		if (__builtin_mul_overflow(grown, 2, &grown))
			return -ENOMEM;
	if (__builtin_mul_overflow(grown, item_bytes, &bytes))
		return -ENOMEM;
	/* `items` points to the caller's pointer, whatever its type. */
	memcpy(&old, items, sizeof(old));
	new = realloc(old, bytes);
	if (!new)
		return -ENOMEM;
	memcpy(items, &new, sizeof(new));
	*capacity = grown;
	memory_hint(new, bytes);
	return 0;
}

void memory_hint(void *memory, size_t bytes)
{
	uintptr_t page = sysconf(_SC_PAGESIZE);
	size_t before = -(uintptr_t)memory % page;

	/* Refused, it changes nothing but the speed. */
	if (bytes >= LARGE_BYTES)
		madvise((char *)memory + before, (bytes - before) / page * page, MADV_HUGEPAGE);
}

void memory_keep_from_children(const void *memory, size_t bytes, bool kept)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)memory;
	const uintptr_t begin = (at + page - 1) & -page, end = (at + bytes) & -page;

	if (bytes >= KEPT_BYTES && begin < end)
		madvise((void *)begin, end - begin, kept ? MADV_DONTFORK : MADV_DOFORK);
}
