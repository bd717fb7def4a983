/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that are fed to spans without a state, and what has become of them.
 */
#ifndef MEMSCOPE_TESTS_SPANS_FED_H
#define MEMSCOPE_TESTS_SPANS_FED_H

#include "timeline/spans.h"
#include "records.h"

#define US 1000ull
#define MS (1000 * US)
#define SECOND (1000 * MS)
#define BEGIN (100 * SECOND)

/* Whom calls are fed to, without a state. */
struct fed {
	struct spans *spans;
	struct process process;
	struct change change;
};

static inline void begin(struct fed *fed)
{
	*fed = (struct fed){ .spans = spans_new(BEGIN),
			     .process = { .pid = RECORD_PID, .comm = "program" } };
	assert_non_null(fed->spans);
	fed->change.process = &fed->process;
	fed->change.device = -1;
}

static inline void feed(struct fed *fed, uint64_t ts_ns, union record record)
{
	struct event event;

	record.event.ts_ns = ts_ns;
	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	assert_int_equal(spans_event(fed->spans, &event, &fed->change), 0);
}

static inline const struct spans_lane *lane_at(const struct fed *fed, size_t place)
{
	size_t count;
	const struct spans_lane *lanes = spans_lanes(fed->spans, &count);

	assert_true(place < count);
	return &lanes[place];
}

static inline size_t lanes_count(const struct fed *fed)
{
	size_t count;

	spans_lanes(fed->spans, &count);
	return count;
}

static inline void assert_span(const struct fed *fed, const struct span *span, uint64_t begin_ns,
			       uint64_t duration_ns, const char *name, uint64_t count)
{
	assert_int_equal(span->begin_ns, begin_ns);
	assert_int_equal(span->end_ns - span->begin_ns, duration_ns);
	assert_string_equal(spans_name(fed->spans, span->name), name);
	assert_int_equal(span->count, count);
}

#endif /* MEMSCOPE_TESTS_SPANS_FED_H */
