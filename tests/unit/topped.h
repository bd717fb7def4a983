/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pipeline that leads to `top`, and looks at it.
 */
#ifndef MEMSCOPE_TESTS_TOPPED_H
#define MEMSCOPE_TESTS_TOPPED_H

#include <stdio.h>

#include "pipeline.h"
#include "records.h"
#include "top/top.h"

#define TOPPED_BEGIN_NS 1000000000000ull
#define TOPPED_SECOND 1000000000ull

struct topped {
	struct pipeline pipeline;
	struct top top;
	uint64_t now_ns;
};

static inline void topped_open(struct topped *topped)
{
	*topped = (struct topped){ .pipeline.filter.ops = UINT32_MAX, .now_ns = TOPPED_BEGIN_NS };
	assert_int_equal(state_follow_usage(&topped->pipeline.state), 0);
	top_init(&topped->top, topped->now_ns);
	pipeline_add_sink(&topped->pipeline, &topped->top.sink);
}

static inline void topped_close(struct topped *topped)
{
	top_fini(&topped->top);
	state_fini(&topped->pipeline.state);
}

static inline void topped_feed(struct topped *topped, union record record)
{
	if (!record.event.ts_ns)
		record.event.ts_ns = topped->now_ns;
	assert_int_equal(pipeline_feed(&topped->pipeline, &record, record.event.size), 0);
	if (topped->pipeline.refused)
		fail_msg("refused: type %u", record.event.type);
}

/* So many seconds go by, with a sample in each. */
static inline void topped_wait(struct topped *topped, unsigned int seconds)
{
	for (; seconds; seconds--) {
		topped->now_ns += TOPPED_SECOND;
		assert_int_equal(pipeline_tick(&topped->pipeline, topped->now_ns), 0);
	}
}

static inline void topped_look(struct topped *topped)
{
	assert_int_equal(top_look(&topped->top, topped->now_ns), 0);
	top_sort_rows(&topped->top, TOP_LIVE, false);
}

/* Its process, made on the way. */
static inline union record topped_of(uint32_t pid, union record record)
{
	return record_of(pid, RECORD_START_NS + pid * MS_START_NS, record);
}

static inline union record topped_alloc(uint32_t pid, uint64_t addr, uint64_t size)
{
	return topped_of(pid, record_on(0, record_alloc("cuMemAlloc_v2", addr, size)));
}

static inline void topped_free(struct topped *topped, uint32_t pid, uint64_t addr)
{
	topped_feed(topped, topped_of(pid, record_free_begin(addr)));
	topped_feed(topped, topped_of(pid, record_free("cuMemFree_v2", addr)));
}

#endif /* MEMSCOPE_TESTS_TOPPED_H */
