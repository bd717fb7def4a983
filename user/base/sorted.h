/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of 64-bit keys in their order: the next one from any key on is found in logarithmic time.
 * Keys lie in pieces of at most SORTED_PIECE, so that one that comes or goes moves few others,
 * whatever the keys are.
 */
#ifndef MEMSCOPE_BASE_SORTED_H
#define MEMSCOPE_BASE_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SORTED_PIECE 512

struct sorted_piece {
	size_t count; /* never 0 */
	uint64_t keys[SORTED_PIECE];
};

struct sorted {
	struct sorted_piece **pieces;
	size_t count, capacity;
};

/* A zeroed struct sorted is empty and ready. */
void sorted_fini(struct sorted *sorted);

/* Returns 0 (also if it was there) or -ENOMEM (then nothing changed). */
int sorted_add(struct sorted *sorted, uint64_t key);
void sorted_remove(struct sorted *sorted, uint64_t key);

/* The first key that is not less than `from`. Returns whether there is one. */
bool sorted_next(const struct sorted *sorted, uint64_t from, uint64_t *key);

/* The bytes of memory that it takes. */
size_t sorted_bytes(const struct sorted *sorted);

#endif /* MEMSCOPE_BASE_SORTED_H */
