/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model of a process's memory that has no index, no counter to be kept right, and no ledger: a
 * few places of each kind, all of them looked through whenever something is asked.
 */
#ifndef MEMSCOPE_TESTS_NAIVE_H
#define MEMSCOPE_TESTS_NAIVE_H

#include "physical.h"

#define THREADS 4

#define PLACES 28 /* of each family */
#define GRAPH_PLACES 4
#define FIRST_GRAPH_PLACE (PLACES - GRAPH_PLACES)
#define HANDLES 6
#define MEMORIES 128
#define RANGE_PLACES 12

enum family { POINTERS, ARRAYS, EXTERNALS, RANGES, FAMILIES, HANDLE_FAMILY = FAMILIES, MAPPINGS };

struct block {
	bool live;
	uint64_t size, ts_ns;
	size_t space, context, references;
};

struct memory {
	bool live, named;
	size_t handle, space, references;
	uint64_t id, size, ts_ns;
};

struct mapping {
	bool live;
	uint64_t size, ts_ns;
	uint64_t memory; /* its id; 0: unknown */
};

/* A free that has begun. */
struct flight {
	bool active, holds;
	size_t family, place, count;
	uint64_t ts_ns;
	struct block block;
	uint64_t memory;
	struct mapping mappings[RANGE_PLACES];
};

struct totals {
	uint64_t live, live_bytes, allocs, alloc_bytes, frees, free_bytes, implicit, implicit_bytes;
};

struct run {
	struct scenario scenario;
	uint64_t random, ids;
	struct block blocks[FAMILIES][PLACES];
	struct memory memories[MEMORIES];
	struct mapping mappings[RANGE_PLACES];
	struct flight flights[THREADS];
	struct totals totals[MS_SPACES_COUNT]; /* all but what is live */
	uint64_t missed_frees, unknown_frees, kept;
};

static inline uint64_t below(struct run *run, uint64_t bound)
{
	run->random = unit_random(run->random);
	return (run->random >> 20) % bound;
}

/* Values of different families are often equal. */
static inline uint64_t addr_of(size_t place)
{
	return VA + place * MIB;
}

static inline void feed(struct run *run, size_t thread, union record record)
{
	apply(&run->scenario, record_by(RECORD_PID + thread, record));
}

static inline uint64_t now(const struct run *run)
{
	return run->scenario.now_ns;
}

/* ---- totals ---------------------------------------------------------------------------------- */

static inline void count_alloc(struct run *run, size_t space, uint64_t size)
{
	run->totals[space].allocs++;
	run->totals[space].alloc_bytes += size;
}

static inline void count_free(struct run *run, size_t space, uint64_t size)
{
	run->totals[space].frees++;
	run->totals[space].free_bytes += size;
}

static inline void count_live(struct totals *totals, bool live, size_t space, uint64_t size)
{
	totals[space].live += live;
	totals[space].live_bytes += live ? size : 0;
}

/* ---- memory and mappings --------------------------------------------------------------------- */

static inline struct memory *memory_of(struct run *run, uint64_t id)
{
	size_t i;

	for (i = 0; i < MEMORIES; i++)
		if (run->memories[i].live && run->memories[i].id == id)
			return &run->memories[i];
	return NULL;
}

static inline struct memory *memory_named(struct run *run, size_t handle)
{
	size_t i;

	for (i = 0; i < MEMORIES; i++)
		if (run->memories[i].live && run->memories[i].named &&
		    run->memories[i].handle == handle)
			return &run->memories[i];
	return NULL;
}

/* Mapped, or about to be unmapped. */
static inline bool is_mapped(const struct run *run, uint64_t id)
{
	size_t i, j;

	for (i = 0; i < RANGE_PLACES; i++) {
		if (run->mappings[i].live && run->mappings[i].memory == id)
			return true;
		for (j = 0; j < THREADS; j++)
			if (run->flights[j].active && run->flights[j].mappings[i].live &&
			    run->flights[j].mappings[i].memory == id)
				return true;
	}
	return false;
}

static inline void end_if_unused(struct run *run, uint64_t id)
{
	struct memory *memory = memory_of(run, id);

	if (!memory || memory->references || is_mapped(run, id))
		return;
	memory->live = false;
	count_free(run, memory->space, memory->size);
}

/* ---- frees: what they take away, and what becomes of it ------------------------------------- */

static inline void take_mappings(struct run *run, struct flight *flight)
{
	size_t i;

	for (i = flight->place; i < flight->place + flight->count; i++) {
		if (!run->mappings[i].live || run->mappings[i].ts_ns > flight->ts_ns)
			continue;
		flight->mappings[i] = run->mappings[i];
		flight->holds = true;
		run->mappings[i].live = false;
	}
}

static inline void take_memory(struct run *run, struct flight *flight)
{
	struct memory *memory = memory_named(run, flight->place);

	if (!memory || memory->ts_ns > flight->ts_ns)
		return;
	flight->holds = true;
	flight->memory = memory->id;
	memory->named = --memory->references > 0;
}

static inline void take_block(struct run *run, struct flight *flight)
{
	struct block *block = &run->blocks[flight->family][flight->place];

	if (!block->live || block->ts_ns > flight->ts_ns || block->references > 1)
		return;
	flight->holds = true;
	flight->block = *block;
	block->live = false;
}

static inline void take(struct run *run, struct flight *flight)
{
	if (flight->family == MAPPINGS)
		take_mappings(run, flight);
	else if (flight->family == HANDLE_FAMILY)
		take_memory(run, flight);
	else
		take_block(run, flight);
}

static inline void finish(struct run *run, struct flight *flight)
{
	size_t i;

	if (flight->family == HANDLE_FAMILY) {
		end_if_unused(run, flight->memory);
		return;
	}
	if (flight->family != MAPPINGS) {
		count_free(run, flight->block.space, flight->block.size);
		return;
	}
	for (i = 0; i < RANGE_PLACES; i++) {
		if (!flight->mappings[i].live)
			continue;
		flight->mappings[i].live = false;
		count_free(run, MS_SPACE_MAPPED, flight->mappings[i].size);
		end_if_unused(run, flight->mappings[i].memory);
	}
}

static inline void restore_mappings(struct run *run, struct flight *flight)
{
	size_t i;

	for (i = 0; i < RANGE_PLACES; i++) {
		struct mapping *held = &flight->mappings[i];

		if (!held->live)
			continue;
		held->live = false;
		if (run->mappings[i].live) {
			run->missed_frees++;
			end_if_unused(run, held->memory);
		} else {
			run->mappings[i] = *held;
			run->mappings[i].live = true;
		}
	}
}

static inline void restore(struct run *run, struct flight *flight)
{
	struct memory *memory = memory_of(run, flight->memory);

	if (flight->family == MAPPINGS) {
		restore_mappings(run, flight);
	} else if (flight->family == HANDLE_FAMILY) {
		if (!memory)
			return;
		memory->references++;
		if (!memory->named && !memory_named(run, flight->place)) {
			memory->named = true;
			memory->handle = flight->place;
		}
	} else if (run->blocks[flight->family][flight->place].live) {
		run->missed_frees++;
	} else {
		run->blocks[flight->family][flight->place] = flight->block;
	}
}

#endif /* MEMSCOPE_TESTS_NAIVE_H */
