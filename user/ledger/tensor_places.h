/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where segments of a framework's allocator were taken from the driver, while they are counted: so
 * many places are told apart, and those with most bytes are listed.
 */
#ifndef MEMSCOPE_LEDGER_TENSOR_PLACES_H
#define MEMSCOPE_LEDGER_TENSOR_PLACES_H

#include "ledger/tensor_segments.h"

#define TENSOR_PLACES 64

struct tensor_places {
	struct tensor_site list[TENSOR_PLACES];
	size_t count;
	uint64_t more; /* segments from other places */
};

void tensor_places_add(struct tensor_places *places, uint32_t stack, uint64_t bytes);

/* Sorts them; returns how many are in `sites`. `*more`: segments from places that are not. */
size_t tensor_places_list(struct tensor_places *places, struct tensor_site sites[TENSOR_SITES],
			  uint64_t *more);

#endif /* MEMSCOPE_LEDGER_TENSOR_PLACES_H */
