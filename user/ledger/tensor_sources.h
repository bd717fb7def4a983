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

#define TENSOR_SOURCES 16 /* an allocator has one or two on each device */

struct allocation;
struct process;

struct tensor_source {
	uint16_t row; /* of the probe table */
	uint8_t framework;
	bool mapped;    /* the segments are mapped memory, which another function made */
	int32_t device; /* ordinal as the process sees it; -1: not known */
	uint64_t made, made_bytes;
	uint64_t live, live_bytes; /* of a process that has exited: then */
};

struct tensor_sources {
	struct tensor_source list[TENSOR_SOURCES]; /* further ones are left out */
	size_t count;
};

/* What an address lies in; NULL: it is not known. */
const struct allocation *tensor_sources_containing(struct process *process, uint64_t addr);

/*
 * A block was given there: what it lies in is a segment of the framework's, or pieces that are
 * mapped side by side. Returns when the newest of them was made; 0: none is known. Where there are
 * too many pieces, too often, of the rest it is not known whose they are.
 */
uint64_t tensor_sources_mark(struct process *process, uint8_t framework, uint64_t addr,
			     uint64_t bytes);

/* What was removed is there again: the call that was to end it has failed. */
void tensor_sources_restore(struct tensor_sources *sources, const struct allocation *segment);

/* A segment has ended. */
void tensor_sources_remove(struct tensor_sources *sources, const struct allocation *segment);

/* The sum of those of the function or, of physical memory, of what maps. Returns false: none. */
bool tensor_sources_of(const struct tensor_sources *sources, uint8_t space, uint16_t row,
		       int32_t device, struct tensor_source *sum);

/* The bytes of a framework's segments on a device that are live. */
uint64_t tensor_sources_bytes(const struct tensor_sources *sources, uint16_t framework,
			      int32_t device);

#endif /* MEMSCOPE_LEDGER_TENSOR_SOURCES_H */
