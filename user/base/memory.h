/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growing arrays. Every allocation of the program can fail and every caller says so upwards;
 * nothing here aborts.
 */
#ifndef MEMSCOPE_BASE_MEMORY_H
#define MEMSCOPE_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes room for `needed` items of `item_bytes` in `*items`, doubling `*capacity`. Returns 0, or
 * -ENOMEM with the array unchanged.
 */
int memory_grow(void *items, size_t *capacity, size_t needed, size_t item_bytes);

/*
 * Of an array that is visited at random, before it is written to: if it is large, the kernel is
 * asked for huge pages. memory_grow() does so itself.
 */
void memory_hint(void *memory, size_t bytes);

/*
 * Whether children of fork() are made without it, as far as it has pages of its own; if it is
 * small, they are not. Until it is taken back, it should not grow.
 */
void memory_keep_from_children(const void *memory, size_t bytes, bool kept);

#endif /* MEMSCOPE_BASE_MEMORY_H */
