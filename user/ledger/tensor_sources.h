/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * By which functions of the driver a framework's allocator has its segments: what these functions
 * made grows as the cache does, and says nothing of what the program keeps. A part of
 * state_apply().
 */
#ifndef MEMSCOPE_LEDGER_TENSOR_SOURCES_H
#define MEMSCOPE_LEDGER_TENSOR_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENSOR_SOURCES 4 /* an allocator has one, or two */

struct allocation;

struct tensor_source {
	uint16_t row; /* of the probe table */
	bool mapped;  /* the segments are mapped memory, which another function made */
	uint64_t made, made_bytes;
	uint64_t live, live_bytes; /* of a process that has exited: then */
};

struct tensor_sources {
	struct tensor_source list[TENSOR_SOURCES];
	size_t count;
};

/* A block was given in it for the first time. Functions beyond the first few are left out. */
void tensor_sources_add(struct tensor_sources *sources, const struct allocation *segment);

/* It has ended. */
void tensor_sources_remove(struct tensor_sources *sources, const struct allocation *segment);

/* Of that function or, of physical memory, the one that maps; NULL: none. */
const struct tensor_source *tensor_sources_find(const struct tensor_sources *sources, uint8_t space,
						uint16_t row);

#endif /* MEMSCOPE_LEDGER_TENSOR_SOURCES_H */
