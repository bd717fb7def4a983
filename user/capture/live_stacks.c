// SPDX-License-Identifier: BSD-2-Clause
/*
 * Call stacks, if they are wanted.
 */
#include <string.h>

#include "base/log.h"
#include "capture/live_internal.h"

static int feed_record(void *context, void *record, size_t length)
{
	return live_feed(context, record, length);
}

int live_stacks_open(struct live *live)
{
	const struct stack_taker_options options = {
		.ranges_fd = programs_stack_ranges_fd(live->programs),
		.tables_fd = programs_unwind_tables_fd(live->programs),
		.table_bytes = live->options.table_bytes,
		.map_files = live->targets.map_files,
		.pythons = &live->pythons,
		.native = live->options.stack_kinds & 1u << MS_FRAME_NATIVE,
		.feed = feed_record,
		.context = live,
	};
	int err = live->options.stack_ops ? stack_taker_open(&live->stacks, &options) : 0;

	if (err)
		log_error("cannot record call stacks: %s", strerror(-err));
	return err;
}
