// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes recordings of about so many bytes that are crafted to cost a reader as much as possible:
 * one kind for each thing that a recording can have any number of. Compression makes up to 64 MB of
 * each MB.
 *
 * usage: crafted_dump                   prints the kinds
 *        crafted_dump KIND BYTES FILE
 */
#include <stdio.h>
#include <stdlib.h>

#include "ledger/checkpoint.h"
#include "records.h"
#include "store/block.h"
#include "store/delta.h"
#include "store/properties.h"

#define SECOND 1000000000ull
#define BASE 0x700000000000ull
#define MANY 400u

struct maker {
	FILE *file;
	uint64_t bytes;
	struct block_header next; /* numbers of the next block */
	struct block_coder *coder;
	struct delta_writer pack;
	uint32_t records;
	uint64_t ts_ns, step_ns; /* of the last record, and from one to the next */
};

static void die(const char *what)
{
	fprintf(stderr, "crafted_dump: %s\n", what);
	exit(1);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void put_parts(struct maker *maker, uint8_t type, const void *raw, const size_t *parts,
		      size_t count)
{
	struct block_header header = maker->next;
	const void *stored;

	header.type = type;
	header.records = maker->records;
	header.first_ts_ns = maker->next.last_ts_ns;
	header.last_ts_ns = maker->next.last_ts_ns = maker->ts_ns;
	stored = block_encode(maker->coder, &header, raw, parts, count);
	if (fwrite(&header, sizeof(header), 1, maker->file) != 1 ||
	    fwrite(stored, 1, header.stored_bytes, maker->file) != header.stored_bytes)
		die("cannot write");
	maker->bytes += sizeof(header) + header.stored_bytes;
	maker->next.sequence++;
}

static void put_block(struct maker *maker, uint8_t type, const void *raw, size_t bytes)
{
	maker->records = 0;
	put_parts(maker, type, raw, &bytes, 1);
}

static void flush(struct maker *maker, uint8_t type)
{
	static uint8_t payload[BLOCK_MAX_BYTES];
	size_t parts[DELTA_STREAMS];

	if (!maker->records)
		return;
	delta_end(&maker->pack, payload, parts);
	put_parts(maker, type, payload, parts, DELTA_STREAMS);
	delta_begin(&maker->pack);
	maker->records = 0;
}

static void put_record(struct maker *maker, uint8_t type, const void *record)
{
	const struct ms_event *event = record;

	if (maker->pack.bytes + DELTA_MAX(event->size) > BLOCK_MAX_BYTES)
		flush(maker, type);
	delta_add(&maker->pack, record);
	maker->records++;
}

static void put_anchored(struct maker *maker, const void *record)
{
	put_record(maker, BLOCK_ANCHOR, record);
}

static void put(struct maker *maker, union record record)
{
	record.event.ts_ns = maker->ts_ns += maker->step_ns;
	put_record(maker, BLOCK_EVENTS, &record);
}

static void put_description(struct maker *maker)
{
	struct properties rows = { 0 };
	uint32_t row;

	put_block(maker, BLOCK_SEGMENT, "host\0crafted", sizeof("host\0crafted"));
	for (row = 0; row < probe_count(); row++)
		properties_put(&rows, probe_layer_name(probe_at(row)->layer),
			       probe_at(row)->symbol);
	put_block(maker, BLOCK_ROWS, rows.bytes.bytes, rows.bytes.length);
	properties_fini(&rows);
}

#define ANCHOR_RECORD(name, tag, ...) \
	struct ms_checkpoint_##name name = { .event = { .start_ns = RECORD_START_NS, \
							.pid = RECORD_PID, \
							.tid = RECORD_PID, \
							.type = MS_CHECKPOINT_##tag, \
							.size = sizeof(name) }, \
					     __VA_ARGS__ }

static void begin_anchor(struct maker *maker)
{
	ANCHOR_RECORD(state, STATE, .allocations = UINT64_MAX / 2, .exits = UINT64_MAX / 2);

	put_description(maker);
	put_anchored(maker, &state);
}

static void begin_anchored_process(struct maker *maker)
{
	ANCHOR_RECORD(process, PROCESS);

	begin_anchor(maker);
	put_anchored(maker, &process);
}

static void end_anchor(struct maker *maker)
{
	const struct ms_event end = { .type = MS_CHECKPOINT_END, .size = sizeof(end) };

	put_anchored(maker, &end);
	flush(maker, BLOCK_ANCHOR);
}

static void begin_empty(struct maker *maker)
{
	const struct ms_checkpoint_state state = { .event = { .type = MS_CHECKPOINT_STATE,
							      .size = sizeof(state) } };

	put_description(maker);
	put_anchored(maker, &state);
	end_anchor(maker);
}

/* ---- records --------------------------------------------------------------------------------- */

static union record of_process(uint32_t number, union record record)
{
	return record_of(1 + number % 4000000, (1 + number / 4000000) * MS_START_NS, record);
}

static union record name_of(uint64_t handle, const char *format, uint64_t number)
{
	char text[64];

	snprintf(text, sizeof(text), format, (unsigned long long)number);
	return record_name(handle, text);
}

/* ---- what a process has any number of -------------------------------------------------------- */

static void make_results(struct maker *maker, uint64_t i)
{
	put(maker, record_failed((int32_t)(1000 + i), record_free("cuMemFree_v2", BASE)));
}

static void make_contexts(struct maker *maker, uint64_t i)
{
	put(maker, record_context("cuCtxCreate_v2", BASE + i * 16, (int32_t)(i & 7)));
}

static void make_primaries(struct maker *maker, uint64_t i)
{
	put(maker, record_context("cuDevicePrimaryCtxRetain", 0, (int32_t)i));
}

static void make_context_uses(struct maker *maker, uint64_t i)
{
	put(maker, record_context("cuCtxCreate_v2", BASE + i * 16, 0));
	put(maker, record_in(BASE + i * 8, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512)));
}

static void begin_context_ends(struct maker *maker)
{
	uint64_t i;

	for (i = 0; i < 200000; i++)
		put(maker, record_in(7, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512)));
}

static void make_context_ends(struct maker *maker, uint64_t i)
{
	const uint64_t context = 0x10000 + i * 16;

	put(maker, record_in(context, record_alloc("cuMemAlloc_v2", BASE - 512, 512)));
	put(maker, record_context("cuCtxDestroy_v2", context, 0));
}

static void make_names(struct maker *maker, uint64_t i)
{
	put(maker, name_of(BASE + i * 64, "kernel_%llu", i));
}

static void make_launched_names(struct maker *maker, uint64_t i)
{
	put(maker, name_of(BASE + i * 64, "kernel_%llu", i));
	put(maker, record_launch("cuLaunchKernel", BASE + i * 64));
}

static void make_long_names(struct maker *maker, uint64_t i)
{
	static struct {
		struct ms_name name;
		char text[MS_NAME_MAX];
	} record;

	record.name.event = record_name(1, "").event;
	record.name.event.ts_ns = maker->ts_ns += maker->step_ns;
	record.name.event.size = sizeof(record);
	record.name.handle = BASE + i * 64;
	record.name.string = 0x5000;
	record.name.length = MS_NAME_MAX;
	memset(record.text, 'x', MS_NAME_MAX - 1);
	memcpy(record.text, &i, sizeof(i));
	for (i = 0; i < 8; i++)
		record.text[i] = (char)(record.text[i] | 1);
	put_record(maker, BLOCK_EVENTS, &record);
}

static void make_aliases(struct maker *maker, uint64_t i)
{
	put(maker, record_alias(BASE + i * 64, BASE + i * 64 + 32));
}

static void make_renames(struct maker *maker, uint64_t i)
{
	put(maker, name_of(BASE, "kernel_%llu", i));
	put(maker, record_launch("cuLaunchKernel", BASE));
}

static void make_kernels(struct maker *maker, uint64_t i)
{
	put(maker, record_launch("cuLaunchKernel", BASE + i * 64));
}

static void make_streams(struct maker *maker, uint64_t i)
{
	put(maker,
	    record_stream(BASE + i * 64, record_taking(500, record_copy("cuMemcpyAsync", 4096,
									MS_DIRECTION_HTOD))));
}

static void make_threads(struct maker *maker, uint64_t i)
{
	put(maker, record_by(RECORD_PID + (uint32_t)i,
			     record_taking(500, record_call("cuCtxSynchronize"))));
}

static void make_lanes(struct maker *maker, uint64_t i)
{
	make_threads(maker, i % MANY);
	make_streams(maker, i % MANY);
}

static void make_handles(struct maker *maker, uint64_t i)
{
	put(maker, record_alloc("cuMemCreate", BASE + i * 16, 2 << 20));
}

static void make_imports(struct maker *maker, uint64_t i)
{
	put(maker, record_alloc("cuIpcOpenMemHandle_v2", BASE + i * 512, 512));
}

static void make_allocations(struct maker *maker, uint64_t i)
{
	put(maker, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512));
}

static void make_churn(struct maker *maker, uint64_t i)
{
	(void)i;
	put(maker, record_alloc("cuMemAlloc_v2", BASE, 512));
	put(maker, record_free_begin(BASE));
	put(maker, record_free("cuMemFree_v2", BASE));
}

static void make_mappings(struct maker *maker, uint64_t i)
{
	put(maker, record_map(BASE + (i << 21), 2 << 20, 7));
}

static void make_ranges(struct maker *maker, uint64_t i)
{
	put(maker, record_alloc("cuMemAddressReserve", BASE + (i << 21), 2 << 20));
}

static void begin_unmaps(struct maker *maker)
{
	uint64_t i;

	for (i = 0; i < 200000; i++)
		put(maker, record_map(BASE + (i << 21), 2 << 20, 7));
}

/* Of ranges that begin where no mapping does. */
static void make_unmaps(struct maker *maker, uint64_t i)
{
	const uint64_t addr = BASE - 4096 - i * 4096;

	put(maker, record_begin_of("cuMemUnmap", addr, 4096));
	put(maker, record_unmap(addr, 4096));
}

/* Of large ranges, which are put back each time. */
static void make_failed_unmaps(struct maker *maker, uint64_t i)
{
	(void)i;
	put(maker, record_begin_of("cuMemUnmap", BASE, 200000ull << 21));
	put(maker, record_failed(1, record_unmap(BASE, 200000ull << 21)));
}

static void make_pending(struct maker *maker, uint64_t i)
{
	const uint32_t tid = RECORD_PID + (uint32_t)i;

	put(maker, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512));
	put(maker, record_by(tid, record_free_begin(BASE + i * 512)));
}

static void make_pending_handles(struct maker *maker, uint64_t i)
{
	if (!i)
		put(maker, record_alloc("cuMemCreate", 7, 2 << 20));
	put(maker, record_memory("cuMemRetainAllocationHandle", 7, BASE));
	put(maker, record_by(RECORD_PID + (uint32_t)i, record_begin_of("cuMemRelease", 7, 0)));
}

static void make_pools(struct maker *maker, uint64_t i)
{
	union record record = record_memory("cuMemPoolGetAttribute", BASE + i * 64, 5);

	record.call.size = 1 << 20;
	record.call.known |= MS_KNOWN_SIZE;
	put(maker, record);
}

static union record told(int32_t device)
{
	union record record = record_on(device, record_memory("cuMemGetInfo_v2", 0, 1 << 20));

	record.call.size = 1 << 30;
	record.call.known |= MS_KNOWN_SIZE;
	return record;
}

static void make_told(struct maker *maker, uint64_t i)
{
	put(maker, told((int32_t)i));
}

static void make_told_again(struct maker *maker, uint64_t i)
{
	put(maker, told((int32_t)(i % 1024)));
}

static void make_devices(struct maker *maker, uint64_t i)
{
	put(maker, record_on((int32_t)i, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512)));
}

/* Each allocation a new peak, with as many kinds of them as are told apart. */
static void make_peaks(struct maker *maker, uint64_t i)
{
	if (i < 4096) {
		put(maker,
		    record_on((int32_t)i, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512)));
		return;
	}
	put(maker, record_alloc("cuMemAlloc_v2", BASE - 1024, 1024 + i));
	put(maker, record_alloc("cuMemAlloc_v2", BASE - 512, 512));
	put(maker, record_free("cuMemFree_v2", BASE - 1024));
	put(maker, record_free("cuMemFree_v2", BASE - 512));
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void make_graphs(struct maker *maker, uint64_t i)
{
	put(maker, record_node(BASE + i * 64, BASE, 512));
}

static void make_captures(struct maker *maker, uint64_t i)
{
	put(maker, record_stream(BASE + i * 64, record_call("cuStreamBeginCapture_v2")));
}

/* A graph of as many nodes as there can be, by being put into itself. */
static void begin_large_graph(struct maker *maker)
{
	int i;

	put(maker, record_node(7, BASE, 512));
	for (i = 0; i < 16; i++)
		put(maker, record_memory("cuGraphAddChildGraphNode", 7, 7));
	put(maker, record_memory("cuGraphInstantiateWithFlags", 9, 7));
}

static void begin_various_graph(struct maker *maker)
{
	uint64_t i;

	for (i = 0; i < 65536; i++)
		put(maker, record_node(7, BASE + i * 512, 512));
	put(maker, record_memory("cuGraphInstantiateWithFlags", 9, 7));
}

static void make_self_insertions(struct maker *maker, uint64_t i)
{
	if (i % 20 == 0)
		put(maker, record_node(BASE + i * 64, BASE, 512));
	put(maker,
	    record_memory("cuGraphAddChildGraphNode", BASE + i / 20 * 1280, BASE + i / 20 * 1280));
}

static void make_graph_copies(struct maker *maker, uint64_t i)
{
	(void)i;
	put(maker, record_memory("cuGraphClone", 8, 7));
}

static void make_graph_launches(struct maker *maker, uint64_t i)
{
	(void)i;
	put(maker, record_to(9, record_call("cuGraphLaunch")));
}

/* ---- processes ------------------------------------------------------------------------------- */

static void make_processes(struct maker *maker, uint64_t i)
{
	put(maker, of_process((uint32_t)i, record_process(MS_TYPE_ATTACH, "p", 0)));
}

static void make_called_processes(struct maker *maker, uint64_t i)
{
	put(maker, of_process((uint32_t)i, record_alloc("cuMemAlloc_v2", BASE, 4096)));
	put(maker, of_process((uint32_t)i, record_copy("cuMemcpyHtoD_v2", 64, MS_DIRECTION_HTOD)));
}

static void begin_living(struct maker *maker)
{
	uint32_t i;

	for (i = 0; i < MANY; i++)
		put(maker, of_process(i, record_process(MS_TYPE_ATTACH, "p", 0)));
}

static void make_ended(struct maker *maker, uint64_t i)
{
	const uint32_t number = MANY + (uint32_t)i;

	put(maker, of_process(number, record_alloc("cuMemAlloc_v2", BASE, 4096 + i)));
	put(maker, of_process(number, record_exit(0)));
}

static void make_ended_kernels(struct maker *maker, uint64_t i)
{
	const uint32_t number = (uint32_t)(i / 100);

	put(maker, of_process(number, name_of(BASE + i, "kernel_%llu", i)));
	put(maker, of_process(number, record_launch("cuLaunchKernel", BASE + i)));
	put(maker, of_process(number, record_failed((int32_t)(1000 + i),
						    record_free("cuMemFree_v2", BASE))));
	if (i % 100 == 99)
		put(maker, of_process(number, record_exit(0)));
}

static void make_execs(struct maker *maker, uint64_t i)
{
	put(maker, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512));
	put(maker, record_process(MS_TYPE_EXEC, "p", 0));
}

static void make_forks(struct maker *maker, uint64_t i)
{
	union record record = record_process(MS_TYPE_FORK, "p", 0);

	record.process.child_pid = (uint32_t)(i % 4000000);
	record.process.child_start_ns = MS_START_NS;
	put(maker, record);
}

static void make_turns(struct maker *maker, uint64_t i)
{
	put(maker,
	    of_process((uint32_t)(i % MANY), record_taking(500, record_call("cuCtxSynchronize"))));
}

/* Out of memory, with many processes around. */
static void make_ooms(struct maker *maker, uint64_t i)
{
	put(maker, record_by(RECORD_PID + (uint32_t)i % 100,
			     record_failed(2, record_alloc("cuMemAlloc_v2", 0, 1ull << 40))));
}

/* Kinds of allocations that may leak, and contexts that end. */
static void begin_kinds(struct maker *maker)
{
	static const char *const symbols[] = { "cuMemAlloc_v2",     "cudaMalloc",
					       "cuMemAllocAsync",   "cuMemAllocManaged",
					       "cuMemAllocHost_v2", "cudaMallocManaged",
					       "cudaMallocHost",    "cudaMallocAsync" };
	uint64_t i;

	for (i = 0; i < 8 * 40; i++)
		put(maker,
		    record_in(7, record_alloc(symbols[i % 8], BASE + (i << 40), 1ull << i / 8)));
}

static void begin_dirty(struct maker *maker)
{
	begin_context_ends(maker);
	maker->step_ns = 1000000;
}

/* Blocks that must have been freed unseen, again and again, while time goes faster and faster. */
static void make_dirty(struct maker *maker, uint64_t i)
{
	maker->step_ns = i < 40000 ? 1 << 20 : 1ull << 30;
	put(maker, record_alloc("cuMemAlloc_v2", BASE - 512, 512));
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void begin_long_time(struct maker *maker)
{
	maker->ts_ns += 1ull << 50;
}

static void make_waits(struct maker *maker, uint64_t i)
{
	(void)i;
	put(maker, record_taking(1ull << 50, record_call("cuCtxSynchronize")));
}

static void begin_sizes(struct maker *maker)
{
	uint64_t i;

	for (i = 0; i < 46; i++)
		put(maker, record_alloc("cuMemAlloc_v2", (1ull << 62) + (i << 47), 1ull << i));
}

static void make_lookups(struct maker *maker, uint64_t i)
{
	put(maker, record_from(BASE + i * 4096,
			       record_to(BASE + i * 64,
					 record_copy("cuMemcpyAsync", 64, MS_DIRECTION_DEFAULT))));
}

/* Calls of one thread that overlap, in as many ways as they can. */
static void make_overlaps(struct maker *maker, uint64_t i)
{
	put(maker,
	    record_flagged(i % 64 ? MS_CALL_NESTED : 0,
			   record_taking(1000000 - i % 1000, record_call("cuCtxSynchronize"))));
}

/* A call inside of another one, which never comes, of ever new threads. */
static void make_nested(struct maker *maker, uint64_t i)
{
	put(maker, record_by(RECORD_PID + (uint32_t)i,
			     record_flagged(MS_CALL_NESTED,
					    record_taking(500, record_call("cuCtxSynchronize")))));
}

/* Keys that a fixed way to scatter them would put into one place. */
static void make_collisions(struct maker *maker, uint64_t i)
{
	const uint64_t factor = 0x9e3779b97f4a7c15ull;
	uint64_t inverse = factor, result = i << 24, key;
	int step;

	for (step = 0; step < 6; step++)
		inverse *= 2 - factor * inverse;
	key = (result ^ result >> 29 ^ result >> 58) * inverse;
	put(maker, record_alloc("cuMemAlloc_v2", key ^ key >> 32, 512));
}

static void make_pinned(struct maker *maker, uint64_t i)
{
	put(maker, record_alloc("cuMemAllocHost_v2", BASE + i * 4096, 4096));
}

static void make_accounts(struct maker *maker, uint64_t i)
{
	(void)i;
	put(maker, record_account(MS_OP_ALLOC, 1, 1));
}

/* ---- anchors --------------------------------------------------------------------------------- */

static void checkpoint_contexts(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(context, CONTEXT, .handle = BASE + i * 16, .device = (int32_t)i,
		      .primary = i & 1);

	put_anchored(maker, &context);
}

static void checkpoint_failures(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(failure, FAILURE, .count = 1, .result = (int32_t)(1000 + i));

	put_anchored(maker, &failure);
}

static void checkpoint_views(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(view, VIEW, .handle = BASE + i * 64, .is_pool = 1, .total_bytes = 1);

	put_anchored(maker, &view);
}

static void checkpoint_kernels(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(kernel, KERNEL, .handle = BASE + i * 64, .launches = 1);

	put_anchored(maker, &kernel);
}

static void checkpoint_graphs(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(graph, GRAPH, .handle = BASE + i * 64);

	put_anchored(maker, &graph);
}

static void checkpoint_nodes(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(graph, GRAPH, .handle = BASE + i * 64);
	ANCHOR_RECORD(node, NODE, .addr = BASE + i * 512, .size_bytes = 512);

	if (i % 60000 == 0)
		put_anchored(maker, &graph);
	put_anchored(maker, &node);
}

static void put_allocation(struct maker *maker, uint64_t i, enum ms_checkpoint_role role)
{
	ANCHOR_RECORD(allocation, ALLOCATION, .addr = BASE + i * 512, .size_bytes = 512,
		      .id = 1 + i, .row = record_row("cuMemAlloc_v2"), .driver_row = MS_NO_ROW,
		      .space = MS_SPACE_DEVICE, .size_known = 1, .role = role,
		      .freed_addr = BASE + i * 512, .freed_by = (uint32_t)i);

	put_anchored(maker, &allocation);
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
	put_anchored(maker, &process);
}

static void checkpoint_ended(struct maker *maker, uint64_t i)
{
	ANCHOR_RECORD(process, PROCESS, .flags = MS_CHECKPOINT_EXITED, .exit_number = 1 + i);

	process.event.pid = (uint32_t)(i % 4000000);
	put_anchored(maker, &process);
}

/* ---- blocks without end ---------------------------------------------------------------------- */

static void make_segments(struct maker *maker, uint64_t i)
{
	(void)i;
	begin_empty(maker);
}

/* Each anchor is needed, since the block before it is missing. */
static void make_gaps(struct maker *maker, uint64_t i)
{
	uint32_t process;

	maker->next.sequence++;
	begin_anchor(maker);
	for (process = 0; process < 20; process++)
		checkpoint_processes(maker, i * 20 + process);
	end_anchor(maker);
}

static void make_recordings(struct maker *maker, uint64_t i)
{
	flush(maker, BLOCK_EVENTS);
	maker->next.recording = 2 + i;
	maker->next.sequence = 0;
	begin_empty(maker);
	put(maker, record_alloc("cuMemAlloc_v2", BASE, 512));
	flush(maker, BLOCK_EVENTS);
}

/* Each has its first block at the beginning of the file and its last at the end. */
static void make_interleaved(struct maker *maker, uint64_t i)
{
	maker->next.recording = 2 + i % 900;
	maker->next.sequence = i / 900;
	if (i < 900)
		begin_empty(maker);
	else
		put_block(maker, BLOCK_END, "", 0);
}

/* The same, with much in between that is of the first one. */
static void make_spread(struct maker *maker, uint64_t i)
{
	if (i < 900 || maker->bytes > 900000) {
		flush(maker, BLOCK_EVENTS);
		make_interleaved(maker, i);
		return;
	}
	maker->next.recording = 1;
	maker->next.sequence = i;
	make_allocations(maker, i);
}

static void make_span_recordings(struct maker *maker, uint64_t i)
{
	if (i % 60000 == 0)
		make_recordings(maker, i);
	make_lanes(maker, i);
}

static void make_texts(struct maker *maker, uint64_t i)
{
	static char properties[BLOCK_MAX_BYTES];

	memset(properties, 'x', sizeof(properties));
	properties[0] = (char)('a' + i % 26);
	properties[sizeof(properties) / 2] = properties[sizeof(properties) - 1] = 0;
	put_block(maker, BLOCK_SEGMENT, properties, sizeof(properties));
}

static void make_row_tables(struct maker *maker, uint64_t i)
{
	static char properties[BLOCK_MAX_BYTES];

	(void)i;
	memset(properties, 0, sizeof(properties));
	put_block(maker, BLOCK_ROWS, properties, sizeof(properties));
}

static void make_unknown_blocks(struct maker *maker, uint64_t i)
{
	(void)i;
	put_block(maker, 99, "", 0);
}

static void make_fake_headers(struct maker *maker, uint64_t i)
{
	const struct block_header fake = { .magic = "MSCP",
					   .major = BLOCK_MAJOR,
					   .stored_bytes = BLOCK_MAX_BYTES };

	(void)i;
	if (fwrite(&fake, 16, 1, maker->file) != 1)
		die("cannot write");
	maker->bytes += 16;
}

/* ---- the kinds ------------------------------------------------------------------------------- */

static const struct kind {
	const char *name;
	void (*step)(struct maker *maker, uint64_t i);
	void (*begin)(struct maker *maker);   /* NULL: an empty anchor */
	void (*prepare)(struct maker *maker); /* events before the steps; may be NULL */
} kinds[] = {
	{ "results", make_results },
	{ "contexts", make_contexts },
	{ "primaries", make_primaries },
	{ "context-uses", make_context_uses },
	{ "context-ends", make_context_ends, NULL, begin_context_ends },
	{ "names", make_names },
	{ "launched-names", make_launched_names },
	{ "long-names", make_long_names },
	{ "aliases", make_aliases },
	{ "renames", make_renames },
	{ "kernels", make_kernels },
	{ "streams", make_streams },
	{ "threads", make_threads },
	{ "lanes", make_lanes },
	{ "handles", make_handles },
	{ "imports", make_imports },
	{ "allocations", make_allocations },
	{ "churn", make_churn },
	{ "mappings", make_mappings },
	{ "ranges", make_ranges },
	{ "unmaps", make_unmaps, NULL, begin_unmaps },
	{ "failed-unmaps", make_failed_unmaps, NULL, begin_unmaps },
	{ "pending", make_pending },
	{ "pending-handles", make_pending_handles },
	{ "pools", make_pools },
	{ "told", make_told },
	{ "told-again", make_told_again },
	{ "devices", make_devices },
	{ "peaks", make_peaks },
	{ "graphs", make_graphs },
	{ "captures", make_captures },
	{ "self-insertions", make_self_insertions },
	{ "graph-copies", make_graph_copies, NULL, begin_large_graph },
	{ "graph-launches", make_graph_launches, NULL, begin_various_graph },
	{ "same-node-launches", make_graph_launches, NULL, begin_large_graph },
	{ "processes", make_processes },
	{ "called-processes", make_called_processes },
	{ "ended", make_ended },
	{ "ended-beside", make_ended, NULL, begin_living },
	{ "ended-kernels", make_ended_kernels },
	{ "execs", make_execs },
	{ "forks", make_forks },
	{ "turns", make_turns, NULL, begin_living },
	{ "ooms", make_ooms, NULL, begin_living },
	{ "kind-ends", make_context_ends, NULL, begin_kinds },
	{ "dirty", make_dirty, NULL, begin_dirty },
	{ "waits", make_waits, NULL, begin_long_time },
	{ "lookups", make_lookups, NULL, begin_sizes },
	{ "overlaps", make_overlaps },
	{ "nested", make_nested },
	{ "collisions", make_collisions },
	{ "pinned", make_pinned },
	{ "accounts", make_accounts },
	{ "anchor-contexts", anchor_contexts, begin_anchored_process },
	{ "anchor-failures", anchor_failures, begin_anchored_process },
	{ "anchor-views", anchor_views, begin_anchored_process },
	{ "anchor-kernels", anchor_kernels, begin_anchored_process },
	{ "anchor-graphs", anchor_graphs, begin_anchored_process },
	{ "anchor-nodes", anchor_nodes, begin_anchored_process },
	{ "anchor-allocations", anchor_allocations, begin_anchored_process },
	{ "anchor-pending", anchor_pending, begin_anchored_process },
	{ "anchor-processes", anchor_processes, begin_anchor },
	{ "anchor-ended", anchor_ended, begin_anchor },
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
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static void make(struct maker *maker, const struct kind *kind, uint64_t limit)
{
	uint64_t i;

	if (!kind->begin)
		begin_empty(maker);
	else
		kind->begin(maker);
	if (kind->prepare)
		kind->prepare(maker);
	for (i = 0; maker->bytes < limit; i++)
		kind->step(maker, i);
	if (kind->begin)
		end_anchor(maker);
	else
		flush(maker, BLOCK_EVENTS);
	put_block(maker, BLOCK_END, "reason\0signal", sizeof("reason\0signal"));
}

int main(int argc, char **argv)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	size_t i;

	for (i = 0; argc == 1 && i < KINDS; i++)
		puts(kinds[i].name);
	if (argc == 1)
		return 0;
	for (i = 0; i < KINDS && strcmp(kinds[i].name, argv[1]) != 0; i++)
		;
	if (argc != 4 || i == KINDS)
		die("usage: crafted_dump [KIND BYTES FILE]");
	*maker = (struct maker){ .file = fopen(argv[3], "we"),
				 .coder = block_coder_new(),
				 .next.recording = 1,
				 .ts_ns = SECOND,
				 .step_ns = 1000 };
	if (!maker->file)
		die("cannot open the file");
	delta_begin(&maker->pack);
	make(maker, &kinds[i], strtoull(argv[2], NULL, 10));
	if (fclose(maker->file))
		die("cannot write");
	block_coder_free(maker->coder);
	free(maker);
	return 0;
}
