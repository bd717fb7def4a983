/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A state and the records that are applied to it, one after the other.
 */
#ifndef MEMSCOPE_TESTS_SCENARIO_H
#define MEMSCOPE_TESTS_SCENARIO_H

#include <stdlib.h>

#include "ledger/state.h"
#include "records.h"

struct scenario {
	struct state state;
	struct change change; /* what the last record meant */
	uint64_t now_ns;      /* of the latest record */
};

/* Records without a time come 100 ns after the latest before. */
static inline void apply(struct scenario *scenario, union record record)
{
	struct event event;
	void *exact;

	if (!record.event.ts_ns)
		record.event.ts_ns = scenario->now_ns + 100;
	if (record.event.ts_ns > scenario->now_ns)
		scenario->now_ns = record.event.ts_ns;
	/* No longer than it says, and gone afterwards: nothing may point into it. */
	exact = malloc(record.event.size);
	assert_non_null(exact);
	memcpy(exact, &record, record.event.size);
	assert_int_equal(event_decode(exact, record.event.size, &event), 0);
	assert_int_equal(state_apply(&scenario->state, &event), 0);
	scenario->change = scenario->state.change;
	free(exact);
}

/* A free without incident: begin and end. */
static inline void apply_free_of(struct scenario *scenario, const char *symbol, uint64_t addr)
{
	apply(scenario, record_free_begin(addr));
	apply(scenario, record_at(scenario->now_ns, record_free(symbol, addr)));
}

/* The same for what is not freed by cuMemFree; only cuMemUnmap is given a size. */
static inline void apply_end_of(struct scenario *scenario, const char *symbol, uint64_t addr,
				uint64_t size)
{
	union record end = size ? record_alloc(symbol, addr, size) : record_free(symbol, addr);

	apply(scenario, record_begin_of(symbol, addr, size));
	apply(scenario, record_at(scenario->now_ns, end));
}

static inline const struct process *first_process(const struct scenario *scenario)
{
	assert_true(scenario->state.processes_count > 0);
	return scenario->state.processes[0];
}

static inline const struct space_total *space_of(const struct scenario *scenario,
						 enum ms_space space)
{
	return &first_process(scenario)->spaces[space];
}

#define assert_live(scenario, space, count, bytes) \
	do { \
		assert_int_equal(space_of(scenario, space)->live_count, count); \
		assert_int_equal(space_of(scenario, space)->live_bytes, bytes); \
	} while (0)

/* What the last record made or ended. */
#define assert_changed(scenario, of_id, of_size) \
	do { \
		assert_true((scenario)->change.has_allocation); \
		assert_int_equal((scenario)->change.allocation.id, of_id); \
		assert_int_equal((scenario)->change.allocation.size_bytes, of_size); \
	} while (0)

#endif /* MEMSCOPE_TESTS_SCENARIO_H */
