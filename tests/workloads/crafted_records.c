// SPDX-License-Identifier: BSD-2-Clause
/*
 * Recordings with any number of what processes have.
 */
#include "crafted.h"

/* ---- what a process has any number of -------------------------------------------------------- */

static void make_results(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_failed((int32_t)(1000 + i), record_free("cuMemFree_v2", BASE)));
}

static void make_contexts(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_context("cuCtxCreate_v2", BASE + i * 16, (int32_t)(i & 7)));
}

static void make_primaries(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_context("cuDevicePrimaryCtxRetain", 0, (int32_t)i));
}

static void make_context_uses(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_context("cuCtxCreate_v2", BASE + i * 16, 0));
	crafted_put(maker,
		    record_in(BASE + i * 8, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512)));
}

static void begin_context_ends(struct maker *maker)
{
	uint64_t i;

	for (i = 0; i < 200000; i++)
		crafted_put(maker,
			    record_in(7, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512)));
}

static void make_context_ends(struct maker *maker, uint64_t i)
{
	const uint64_t context = 0x10000 + i * 16;

	crafted_put(maker, record_in(context, record_alloc("cuMemAlloc_v2", BASE - 512, 512)));
	crafted_put(maker, record_context("cuCtxDestroy_v2", context, 0));
}

static void make_names(struct maker *maker, uint64_t i)
{
	crafted_put(maker, crafted_name_of(BASE + i * 64, "kernel_%llu", i));
}

static void make_launched_names(struct maker *maker, uint64_t i)
{
	crafted_put(maker, crafted_name_of(BASE + i * 64, "kernel_%llu", i));
	crafted_put(maker, record_launch("cuLaunchKernel", BASE + i * 64));
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
	crafted_put_record(maker, BLOCK_EVENTS, &record);
}

static void make_aliases(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_alias(BASE + i * 64, BASE + i * 64 + 32));
}

static void make_renames(struct maker *maker, uint64_t i)
{
	crafted_put(maker, crafted_name_of(BASE, "kernel_%llu", i));
	crafted_put(maker, record_launch("cuLaunchKernel", BASE));
}

static void make_kernels(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_launch("cuLaunchKernel", BASE + i * 64));
}

static void make_streams(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_stream(BASE + i * 64,
					 record_taking(500, record_copy("cuMemcpyAsync", 4096,
									MS_DIRECTION_HTOD))));
}

static void make_threads(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_by(RECORD_PID + (uint32_t)i,
				     record_taking(500, record_call("cuCtxSynchronize"))));
}

void crafted_make_lanes(struct maker *maker, uint64_t i)
{
	make_threads(maker, i % MANY);
	make_streams(maker, i % MANY);
}

static void make_handles(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_alloc("cuMemCreate", BASE + i * 16, 2 << 20));
}

static void make_imports(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_alloc("cuIpcOpenMemHandle_v2", BASE + i * 512, 512));
}

void crafted_make_allocations(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512));
}

static void make_churn(struct maker *maker, uint64_t i)
{
	(void)i;
	crafted_put(maker, record_alloc("cuMemAlloc_v2", BASE, 512));
	crafted_put(maker, record_free_begin(BASE));
	crafted_put(maker, record_free("cuMemFree_v2", BASE));
}

static void make_mappings(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_map(BASE + (i << 21), 2 << 20, 7));
}

static void make_ranges(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_alloc("cuMemAddressReserve", BASE + (i << 21), 2 << 20));
}

static void begin_unmaps(struct maker *maker)
{
	uint64_t i;

	for (i = 0; i < 200000; i++)
		crafted_put(maker, record_map(BASE + (i << 21), 2 << 20, 7));
}

/* Of ranges that begin where no mapping does. */
static void make_unmaps(struct maker *maker, uint64_t i)
{
	const uint64_t addr = BASE - 4096 - i * 4096;

	crafted_put(maker, record_begin_of("cuMemUnmap", addr, 4096));
	crafted_put(maker, record_unmap(addr, 4096));
}

/* Of large ranges, which are put back each time. */
static void make_failed_unmaps(struct maker *maker, uint64_t i)
{
	(void)i;
	crafted_put(maker, record_begin_of("cuMemUnmap", BASE, 200000ull << 21));
	crafted_put(maker, record_failed(1, record_unmap(BASE, 200000ull << 21)));
}

static void make_pending(struct maker *maker, uint64_t i)
{
	const uint32_t tid = RECORD_PID + (uint32_t)i;

	crafted_put(maker, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512));
	crafted_put(maker, record_by(tid, record_free_begin(BASE + i * 512)));
}

static void make_pending_handles(struct maker *maker, uint64_t i)
{
	if (!i)
		crafted_put(maker, record_alloc("cuMemCreate", 7, 2 << 20));
	crafted_put(maker, record_memory("cuMemRetainAllocationHandle", 7, BASE));
	crafted_put(maker,
		    record_by(RECORD_PID + (uint32_t)i, record_begin_of("cuMemRelease", 7, 0)));
}

static void make_pools(struct maker *maker, uint64_t i)
{
	union record record = record_memory("cuMemPoolGetAttribute", BASE + i * 64, 5);

	record.call.size = 1 << 20;
	record.call.known |= MS_KNOWN_SIZE;
	crafted_put(maker, record);
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
	crafted_put(maker, told((int32_t)i));
}

static void make_told_again(struct maker *maker, uint64_t i)
{
	crafted_put(maker, told((int32_t)(i % 1024)));
}

static void make_devices(struct maker *maker, uint64_t i)
{
	crafted_put(maker,
		    record_on((int32_t)i, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512)));
}

/* Each allocation a new peak, with as many kinds of them as are told apart. */
static void make_peaks(struct maker *maker, uint64_t i)
{
	if (i < 4096) {
		crafted_put(maker, record_on((int32_t)i,
					     record_alloc("cuMemAlloc_v2", BASE + i * 512, 512)));
		return;
	}
	crafted_put(maker, record_alloc("cuMemAlloc_v2", BASE - 1024, 1024 + i));
	crafted_put(maker, record_alloc("cuMemAlloc_v2", BASE - 512, 512));
	crafted_put(maker, record_free("cuMemFree_v2", BASE - 1024));
	crafted_put(maker, record_free("cuMemFree_v2", BASE - 512));
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void make_graphs(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_node(BASE + i * 64, BASE, 512));
}

static void make_captures(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_stream(BASE + i * 64, record_call("cuStreamBeginCapture_v2")));
}

/* A graph of as many nodes as there can be, by being put into itself. */
static void begin_large_graph(struct maker *maker)
{
	int i;

	crafted_put(maker, record_node(7, BASE, 512));
	for (i = 0; i < 16; i++)
		crafted_put(maker, record_memory("cuGraphAddChildGraphNode", 7, 7));
	crafted_put(maker, record_memory("cuGraphInstantiateWithFlags", 9, 7));
}

static void begin_various_graph(struct maker *maker)
{
	uint64_t i;

	for (i = 0; i < 65536; i++)
		crafted_put(maker, record_node(7, BASE + i * 512, 512));
	crafted_put(maker, record_memory("cuGraphInstantiateWithFlags", 9, 7));
}

static void make_self_insertions(struct maker *maker, uint64_t i)
{
	if (i % 20 == 0)
		crafted_put(maker, record_node(BASE + i * 64, BASE, 512));
	crafted_put(maker, record_memory("cuGraphAddChildGraphNode", BASE + i / 20 * 1280,
					 BASE + i / 20 * 1280));
}

static void make_graph_copies(struct maker *maker, uint64_t i)
{
	(void)i;
	crafted_put(maker, record_memory("cuGraphClone", 8, 7));
}

static void make_graph_launches(struct maker *maker, uint64_t i)
{
	(void)i;
	crafted_put(maker, record_to(9, record_call("cuGraphLaunch")));
}

/* ---- processes ------------------------------------------------------------------------------- */

static void make_processes(struct maker *maker, uint64_t i)
{
	crafted_put(maker, crafted_of_process((uint32_t)i, record_process(MS_TYPE_ATTACH, "p", 0)));
}

static void make_called_processes(struct maker *maker, uint64_t i)
{
	crafted_put(maker,
		    crafted_of_process((uint32_t)i, record_alloc("cuMemAlloc_v2", BASE, 4096)));
	crafted_put(maker, crafted_of_process((uint32_t)i, record_copy("cuMemcpyHtoD_v2", 64,
								       MS_DIRECTION_HTOD)));
}

static void begin_living(struct maker *maker)
{
	uint32_t i;

	for (i = 0; i < MANY; i++)
		crafted_put(maker, crafted_of_process(i, record_process(MS_TYPE_ATTACH, "p", 0)));
}

static void make_ended(struct maker *maker, uint64_t i)
{
	const uint32_t number = MANY + (uint32_t)i;

	crafted_put(maker,
		    crafted_of_process(number, record_alloc("cuMemAlloc_v2", BASE, 4096 + i)));
	crafted_put(maker, crafted_of_process(number, record_exit(0)));
}

static void make_ended_kernels(struct maker *maker, uint64_t i)
{
	const uint32_t number = (uint32_t)(i / 100);

	crafted_put(maker, crafted_of_process(number, crafted_name_of(BASE + i, "kernel_%llu", i)));
	crafted_put(maker, crafted_of_process(number, record_launch("cuLaunchKernel", BASE + i)));
	crafted_put(maker,
		    crafted_of_process(number, record_failed((int32_t)(1000 + i),
							     record_free("cuMemFree_v2", BASE))));
	if (i % 100 == 99)
		crafted_put(maker, crafted_of_process(number, record_exit(0)));
}

static void make_execs(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512));
	crafted_put(maker, record_process(MS_TYPE_EXEC, "p", 0));
}

static void make_forks(struct maker *maker, uint64_t i)
{
	union record record = record_process(MS_TYPE_FORK, "p", 0);

	record.process.child_pid = (uint32_t)(i % 4000000);
	record.process.child_start_ns = MS_START_NS;
	crafted_put(maker, record);
}

static void make_turns(struct maker *maker, uint64_t i)
{
	crafted_put(maker, crafted_of_process((uint32_t)(i % MANY),
					      record_taking(500, record_call("cuCtxSynchronize"))));
}

/* Out of memory, with many processes around. */
static void make_ooms(struct maker *maker, uint64_t i)
{
	crafted_put(maker,
		    record_by(RECORD_PID + (uint32_t)i % 100,
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
		crafted_put(maker, record_in(7, record_alloc(symbols[i % 8], BASE + (i << 40),
							     1ull << i / 8)));
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
	crafted_put(maker, record_alloc("cuMemAlloc_v2", BASE - 512, 512));
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void begin_long_time(struct maker *maker)
{
	maker->ts_ns += 1ull << 50;
}

static void make_waits(struct maker *maker, uint64_t i)
{
	(void)i;
	crafted_put(maker, record_taking(1ull << 50, record_call("cuCtxSynchronize")));
}

static void begin_sizes(struct maker *maker)
{
	uint64_t i;

	for (i = 0; i < 46; i++)
		crafted_put(maker,
			    record_alloc("cuMemAlloc_v2", (1ull << 62) + (i << 47), 1ull << i));
}

static void make_lookups(struct maker *maker, uint64_t i)
{
	crafted_put(maker,
		    record_from(BASE + i * 4096,
				record_to(BASE + i * 64,
					  record_copy("cuMemcpyAsync", 64, MS_DIRECTION_DEFAULT))));
}

/* Calls of one thread that overlap, in as many ways as they can. */
static void make_overlaps(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_flagged(i % 64 ? MS_CALL_NESTED : 0,
					  record_taking(1000000 - i % 1000,
							record_call("cuCtxSynchronize"))));
}

/* A call inside of another one, which never comes, of ever new threads. */
static void make_nested(struct maker *maker, uint64_t i)
{
	crafted_put(maker,
		    record_by(RECORD_PID + (uint32_t)i,
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
	crafted_put(maker, record_alloc("cuMemAlloc_v2", key ^ key >> 32, 512));
}

static void make_pinned(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_alloc("cuMemAllocHost_v2", BASE + i * 4096, 4096));
}

static void make_accounts(struct maker *maker, uint64_t i)
{
	(void)i;
	crafted_put(maker, record_account(MS_OP_ALLOC, 1, 1));
}

/* ---- the kinds ------------------------------------------------------------------------------- */

const struct crafted_kind crafted_records[] = {
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
	{ "lanes", crafted_make_lanes },
	{ "handles", make_handles },
	{ "imports", make_imports },
	{ "allocations", crafted_make_allocations },
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
	{ 0 },
};
