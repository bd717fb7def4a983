// SPDX-License-Identifier: BSD-2-Clause
/*
 * Recordings with any number of what stands in an anchor, and of blocks.
 */
#include "crafted.h"

/* ---- anchors --------------------------------------------------------------------------------- */

static void checkpoint_contexts(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(context, CONTEXT, .handle = BASE + i * 16, .device = (int32_t)i,
		      .primary = i & 1);

	crafted_put_anchored(maker, &context);
}

static void checkpoint_failures(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(failure, FAILURE, .count = 1, .result = (int32_t)(1000 + i));

	crafted_put_anchored(maker, &failure);
}

static void checkpoint_views(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(view, VIEW, .handle = BASE + i * 64, .is_pool = 1, .total_bytes = 1);

	crafted_put_anchored(maker, &view);
}

static void checkpoint_kernels(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(kernel, KERNEL, .handle = BASE + i * 64, .launches = 1);

	crafted_put_anchored(maker, &kernel);
}

static void checkpoint_graphs(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(graph, GRAPH, .handle = BASE + i * 64);

	crafted_put_anchored(maker, &graph);
}

static void checkpoint_nodes(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(graph, GRAPH, .handle = BASE + i * 64);
	ANCHOR_RECORD(node, NODE, .addr = BASE + i * 512, .size_bytes = 512);

	if (i % 60000 == 0)
		crafted_put_anchored(maker, &graph);
	crafted_put_anchored(maker, &node);
}

static void put_allocation(struct maker *maker, uint64_t i, enum ms_checkpoint_role role)
{
	ANCHOR_RECORD(allocation, ALLOCATION, .addr = BASE + i * 512, .size_bytes = 512,
		      .id = 1 + i, .row = record_row("cuMemAlloc_v2"), .driver_row = MS_NO_ROW,
		      .space = MS_SPACE_DEVICE, .size_known = 1, .role = role,
		      .freed_addr = BASE + i * 512, .freed_by = (uint32_t)i);

	crafted_put_anchored(maker, &allocation);
}

static void checkpoint_allocations(struct maker *maker, uint64_t i)
{
	put_allocation(maker, i, MS_CHECKPOINT_LIVE);
}

static void checkpoint_pending(struct maker *maker, uint64_t i)
{
	put_allocation(maker, i, MS_CHECKPOINT_PENDING);
}

static void checkpoint_processes(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(process, PROCESS);

	process.event.pid = (uint32_t)(i % 4000000);
	crafted_put_anchored(maker, &process);
}

static void checkpoint_ended(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(process, PROCESS, .flags = MS_CHECKPOINT_EXITED, .exit_number = 1 + i);

	process.event.pid = (uint32_t)(i % 4000000);
	crafted_put_anchored(maker, &process);
}

/* ---- blocks without end ---------------------------------------------------------------------- */

static void make_segments(struct maker *maker, uint64_t i)
{
	(void)i;
	crafted_begin_empty(maker);
}

/* Each anchor is needed, since the block before it is missing. */
static void make_gaps(struct maker *maker, uint64_t i)
{
	uint32_t process;

	maker->next.sequence++;
	crafted_begin_anchor(maker);
	for (process = 0; process < 20; process++)
		checkpoint_processes(maker, i * 20 + process);
	crafted_end_anchor(maker);
}

static void make_recordings(struct maker *maker, uint64_t i)
{
	crafted_flush(maker, BLOCK_EVENTS);
	maker->next.recording = 2 + i;
	maker->next.sequence = 0;
	crafted_begin_empty(maker);
	crafted_put(maker, record_alloc("cuMemAlloc_v2", BASE, 512));
	crafted_flush(maker, BLOCK_EVENTS);
}

/* Each has its first block at the beginning of the file and its last at the end. */
static void make_interleaved(struct maker *maker, uint64_t i)
{
	maker->next.recording = 2 + i % 900;
	maker->next.sequence = i / 900;
	if (i < 900)
		crafted_begin_empty(maker);
	else
		crafted_put_block(maker, BLOCK_END, "", 0);
}

/* The same, with much in between that is of the first one. */
static void make_spread(struct maker *maker, uint64_t i)
{
	if (i < 900 || maker->bytes > 900000) {
		crafted_flush(maker, BLOCK_EVENTS);
		make_interleaved(maker, i);
		return;
	}
	maker->next.recording = 1;
	maker->next.sequence = i;
	crafted_make_allocations(maker, i);
}

static void make_span_recordings(struct maker *maker, uint64_t i)
{
	if (i % 60000 == 0)
		make_recordings(maker, i);
	crafted_make_lanes(maker, i);
}

static void make_texts(struct maker *maker, uint64_t i)
{
	static char properties[BLOCK_MAX_BYTES];

	memset(properties, 'x', sizeof(properties));
	properties[0] = (char)('a' + i % 26);
	properties[sizeof(properties) / 2] = properties[sizeof(properties) - 1] = 0;
	crafted_put_block(maker, BLOCK_SEGMENT, properties, sizeof(properties));
}

static void make_row_tables(struct maker *maker, uint64_t i)
{
	static char properties[BLOCK_MAX_BYTES];

	(void)i;
	memset(properties, 0, sizeof(properties));
	crafted_put_block(maker, BLOCK_ROWS, properties, sizeof(properties));
}

static void make_unknown_blocks(struct maker *maker, uint64_t i)
{
	(void)i;
	crafted_put_block(maker, 99, "", 0);
}

static void make_fake_headers(struct maker *maker, uint64_t i)
{
	const struct block_header fake = { .magic = "MSCP",
					   .major = BLOCK_MAJOR,
					   .stored_bytes = BLOCK_MAX_BYTES };

	(void)i;
	if (fwrite(&fake, 16, 1, maker->file) != 1)
		crafted_die("cannot write");
	maker->bytes += 16;
}

/* ---- the kinds ------------------------------------------------------------------------------- */

const struct crafted_kind crafted_files[] = {
	{ "anchor-contexts", checkpoint_contexts, crafted_begin_anchored_process },
	{ "anchor-failures", checkpoint_failures, crafted_begin_anchored_process },
	{ "anchor-views", checkpoint_views, crafted_begin_anchored_process },
	{ "anchor-kernels", checkpoint_kernels, crafted_begin_anchored_process },
	{ "anchor-graphs", checkpoint_graphs, crafted_begin_anchored_process },
	{ "anchor-nodes", checkpoint_nodes, crafted_begin_anchored_process },
	{ "anchor-allocations", checkpoint_allocations, crafted_begin_anchored_process },
	{ "anchor-pending", checkpoint_pending, crafted_begin_anchored_process },
	{ "anchor-processes", checkpoint_processes, crafted_begin_anchor },
	{ "anchor-ended", checkpoint_ended, crafted_begin_anchor },
	{ "segments", make_segments },
	{ "gaps", make_gaps },
	{ "recordings", make_recordings },
	{ "interleaved", make_interleaved },
	{ "spread", make_spread },
	{ "span-recordings", make_span_recordings },
	{ "texts", make_texts },
	{ "row-tables", make_row_tables },
	{ "unknown-blocks", make_unknown_blocks },
	{ "fake-headers", make_fake_headers },
	{ 0 },
};
