// SPDX-License-Identifier: BSD-2-Clause
/*
 * Call stacks, if they are wanted, and the phases that are made from them.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "capture/live_internal.h"

#define REST_NS 1000000000ull /* how often files are let go of */

static int feed_marker(void *context, void *record, size_t length)
{
	struct live *live = context;

	return live->options.feed(live->options.context, record, length);
}

/* A copy, because what is in a ring cannot be written to. */
union with_stack {
	struct ms_event event;
	struct ms_call call;
	struct ms_launch launch;
	struct ms_tensor tensor;
	struct ms_launch_sample sample;
};

/* Every record that a stack, or a call with one, can be. */
int live_feed(struct live *live, void *record, size_t length)
{
	union with_stack copy;

	if (live->stacks && event_has_stack(record) && length <= sizeof(copy)) {
		memcpy(&copy, record, length);
		copy.event.stack = stack_taker_id(live->stacks, copy.event.stack);
		record = &copy;
	}
	if (!live->err && live->python)
		live->err = python_phases_take(live->python, record, length);
	if (!live->err)
		live->err = live->options.feed(live->options.context, record, length);
	return live->err;
}

static int feed_record(void *context, void *record, size_t length)
{
	return live_feed(context, record, length);
}

static int on_rest(void *context, uint64_t data)
{
	struct live *live = context;

	(void)data;
	stack_taker_rest(live->stacks);
	return 0;
}

int live_stacks_open(struct live *live)
{
	struct stack_taker_options options = {
		.table_bytes = live->options.table_bytes,
		.table_cache = live->options.table_cache,
		.map_files = live->targets.map_files,
		.pythons = &live->pythons,
		.native = live->options.stack_kinds & 1u << MS_FRAME_NATIVE,
		.feed = feed_record,
		.context = live,
	};
	const struct python_functions *functions = live->options.python_functions;
	int err = 0;

	options.generation =
		programs_stacks(live->programs, &options.ranges_fd, &options.tables_fd);
	if (live->options.stack_ops)
		err = stack_taker_open(&live->stacks, &options);
	if (!err && live->stacks)
		err = loop_add_timer(live->loop, REST_NS, REST_NS, on_rest, live, 0, NULL);
	if (!err && functions) {
		live->python = python_phases_new(functions, feed_marker, live);
		err = live->python ? 0 : -ENOMEM;
	}
	if (err)
		log_error("cannot record call stacks: %s", strerror(-err));
	return err;
}

int live_stacks_end(struct live *live)
{
	if (!live->err && live->python)
		live->err = python_phases_end(live->python);
	return live->err;
}

void live_keep_stacks(struct live *live, const struct stacks *stacks)
{
	if (live->stacks)
		stack_taker_keep(live->stacks, stacks);
}

void live_stacks_close(struct live *live)
{
	stack_taker_close(live->stacks);
	python_phases_free(live->python);
}

bool live_saw_python(const struct live *live, size_t place)
{
	return python_phases_saw(live->python, place);
}
