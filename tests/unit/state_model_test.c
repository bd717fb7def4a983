// SPDX-License-Identifier: BSD-2-Clause
/*
 * A very long random run over every kind of memory, against a naive model.
 */
#include "naive.h"

#define STEPS 1000000
#define CHECK_EVERY 1000
#define EXECUTABLES 3
#define CONTEXTS 3
#define DEVICE_OF_PRIMARY 0

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct {
	size_t places;
	const char *free;
} families[FAMILIES] = {
	[POINTERS] = { FIRST_GRAPH_PLACE, "cuMemFree_v2" },
	[ARRAYS] = { 6, "cuArrayDestroy" },
	[EXTERNALS] = { 4, "cuDestroyExternalMemory" },
	[RANGES] = { 5, "cuMemAddressFree" },
};

static const struct {
	const char *symbol;
	size_t family, space;
} allocs[] = {
	{ "cuMemAlloc_v2", POINTERS, MS_SPACE_DEVICE },
	{ "cuMemAllocAsync", POINTERS, MS_SPACE_POOL },
	{ "cuMemAllocManaged", POINTERS, MS_SPACE_MANAGED },
	{ "cuMemHostAlloc", POINTERS, MS_SPACE_PINNED },
	{ "cuMemHostRegister_v2", POINTERS, MS_SPACE_REGISTERED },
	{ "cuIpcOpenMemHandle_v2", POINTERS, MS_SPACE_IMPORTED },
	{ "cuExternalMemoryGetMappedBuffer", POINTERS, MS_SPACE_MAPPED },
	{ "cuArrayCreate_v2", ARRAYS, MS_SPACE_ARRAY },
	{ "cuImportExternalMemory", EXTERNALS, MS_SPACE_IMPORTED },
	{ "cuMemAddressReserve", RANGES, MS_SPACE_RESERVED },
};

/* Nodes of the executable graphs, in order; no size: frees. The second one frees by itself. */
static const struct {
	size_t executable, place;
	uint64_t size;
} nodes[] = {
	{ 0, FIRST_GRAPH_PLACE, 100 },    { 0, FIRST_GRAPH_PLACE + 1, 10 },
	{ 0, FIRST_GRAPH_PLACE, 0 },      { 1, FIRST_GRAPH_PLACE + 2, 1000 },
	{ 1, FIRST_GRAPH_PLACE + 3, 10 }, { 2, FIRST_GRAPH_PLACE + 1, 0 },
	{ 2, FIRST_GRAPH_PLACE + 2, 0 },  { 2, 0, 0 },
};

static uint64_t context_of(size_t context)
{
	return 0xc000 + context;
}

/* ---- memory and mappings --------------------------------------------------------------------- */

static void step_create(struct run *run, size_t thread)
{
	size_t handle = below(run, HANDLES), i;
	bool import = !below(run, 4);
	struct memory *old = memory_named(run, handle);
	union record record;

	if (old && below(run, 8))
		return; /* seldom: its release was not seen */
	for (i = 0; i < MEMORIES && run->memories[i].live; i++)
		;
	assert_in_range(i, 0, MEMORIES - 1);
	if (old) {
		run->missed_frees++;
		old->named = false;
		old->references = 0;
		old->live = is_mapped(run, old->id);
	}
	run->memories[i] = (struct memory){
		.live = true,
		.named = true,
		.handle = handle,
		.references = 1,
		.id = ++run->ids,
		.size = import ? 0 : below(run, MIB),
		.space = import ? MS_SPACE_IMPORTED : MS_SPACE_PHYSICAL,
	};
	record = record_alloc(import ? "cuMemImportFromShareableHandle" : "cuMemCreate",
			      addr_of(handle), run->memories[i].size);
	feed(run, thread, import ? record_without(MS_KNOWN_SIZE, record) : record);
	run->memories[i].ts_ns = now(run);
	count_alloc(run, run->memories[i].space, run->memories[i].size);
}

static void step_retain(struct run *run, size_t thread)
{
	size_t place = below(run, RANGE_PLACES), handle = below(run, HANDLES);
	struct mapping *mapping = &run->mappings[place];
	struct memory *memory = mapping->live ? memory_of(run, mapping->memory) : NULL;

	if (!memory || !mapping->size || (!memory->named && memory_named(run, handle)))
		return;
	if (!memory->named)
		memory->handle = handle;
	memory->named = true;
	memory->references++;
	feed(run, thread,
	     record_memory("cuMemRetainAllocationHandle", addr_of(memory->handle),
			   addr_of(place) + below(run, mapping->size)));
}

static void step_map(struct run *run, size_t thread)
{
	size_t place = below(run, RANGE_PLACES), handle = below(run, HANDLES);
	struct mapping *mapping = &run->mappings[place], old = *mapping;
	struct memory *memory = memory_named(run, handle);

	if (old.live && below(run, 8))
		return; /* seldom */
	*mapping = (struct mapping){ .live = true,
				     .size = below(run, MIB) + 1,
				     .memory = memory ? memory->id : 0 };
	run->ids++;
	feed(run, thread, record_map(addr_of(place), mapping->size, addr_of(handle)));
	mapping->ts_ns = now(run);
	count_alloc(run, MS_SPACE_MAPPED, mapping->size);
	if (!old.live)
		return;
	run->missed_frees++;
	end_if_unused(run, old.memory);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void step_alloc(struct run *run, size_t thread)
{
	size_t choice = below(run, COUNT(allocs)), family = allocs[choice].family;
	size_t place = below(run, families[family].places), space = allocs[choice].space;
	struct block *block = &run->blocks[family][place];
	bool open = family == POINTERS && space == MS_SPACE_IMPORTED;
	size_t context = below(run, CONTEXTS);
	uint64_t size = open ? 0 : below(run, MIB);
	union record record = record_alloc(allocs[choice].symbol, addr_of(place), size);

	record = record_in(context_of(context), record);
	if (open)
		record = record_without(MS_KNOWN_SIZE, record);
	if (!below(run, 16)) {
		feed(run, thread, record_failed(2, record));
		return;
	}
	if (block->live && !(open && block->space == space) && below(run, 8))
		return; /* seldom: its free was not seen */
	feed(run, thread, record);
	if (open && block->live && block->space == space) {
		block->references++;
		return;
	}
	run->missed_frees += block->live;
	run->ids++;
	*block = (struct block){ true, size, now(run), space, context, 1 };
	count_alloc(run, space, size);
}

static void end_context(struct run *run, size_t context)
{
	size_t family, i;

	for (family = POINTERS; family <= EXTERNALS; family++) {
		for (i = 0; i < PLACES; i++) {
			struct block *block = &run->blocks[family][i];

			if (!block->live || block->context != context ||
			    block->space == MS_SPACE_POOL || block->space == MS_SPACE_GRAPH)
				continue;
			block->live = false;
			run->totals[block->space].implicit++;
			run->totals[block->space].implicit_bytes += block->size;
		}
	}
}

static void step_context(struct run *run, size_t thread)
{
	size_t context = below(run, CONTEXTS);

	if (below(run, 50))
		return; /* seldom */
	if (context)
		feed(run, thread, record_context("cuCtxDestroy_v2", context_of(context), 1));
	else
		feed(run, thread,
		     record_context("cuDevicePrimaryCtxReset_v2", 0, DEVICE_OF_PRIMARY));
	end_context(run, context);
}

static void graph_free(struct run *run, struct block *block)
{
	if (block->live)
		count_free(run, block->space, block->size);
	block->live = false;
}

static void step_launch(struct run *run, size_t thread)
{
	size_t executable = below(run, EXECUTABLES), context = below(run, CONTEXTS), i;
	union record record = record_launch("cuGraphLaunch", executable);

	record = record_in(context_of(context), record);
	if (!below(run, 8)) {
		feed(run, thread, record_failed(1, record));
		return;
	}
	feed(run, thread, record);
	for (i = 0; i < COUNT(nodes); i++)
		if (nodes[i].executable == executable && executable == 1)
			graph_free(run, &run->blocks[POINTERS][nodes[i].place]);
	for (i = 0; i < COUNT(nodes); i++) {
		struct block *block = &run->blocks[POINTERS][nodes[i].place];

		if (nodes[i].executable != executable)
			continue;
		if (!nodes[i].size) {
			graph_free(run, block);
		} else if (!block->live) {
			*block = (struct block){ true,           nodes[i].size, now(run),
						 MS_SPACE_GRAPH, context,       0 };
			count_alloc(run, MS_SPACE_GRAPH, block->size);
			run->ids++;
		}
	}
}

static void make_graphs(struct run *run)
{
	size_t i;

	for (i = 0; i < COUNT(nodes); i++)
		feed(run, 0,
		     record_node(nodes[i].executable, addr_of(nodes[i].place), nodes[i].size));
	for (i = 0; i < EXECUTABLES; i++) {
		union record record = record_memory("cudaGraphInstantiateWithFlags", i, i);

		record.call.size = i == 1;
		record.call.known |= MS_KNOWN_SIZE;
		feed(run, 0, record);
	}
}

/* ---- frees: their beginnings ----------------------------------------------------------------- */

static const char *free_symbol(size_t family)
{
	if (family == MAPPINGS)
		return "cuMemUnmap";
	return family == HANDLE_FAMILY ? "cuMemRelease" : families[family].free;
}

static uint64_t free_size(const struct flight *flight)
{
	return flight->count * MIB;
}

static void step_free_begin(struct run *run, size_t thread)
{
	struct flight *flight = &run->flights[thread];
	bool lost = !below(run, 16);

	memset(flight, 0, sizeof(*flight));
	flight->active = true;
	flight->family = below(run, 3) ? POINTERS : below(run, MAPPINGS + 1);
	if (flight->family == MAPPINGS) {
		flight->place = below(run, RANGE_PLACES);
		flight->count = 1 + below(run, RANGE_PLACES - flight->place);
		flight->count = below(run, 2) ? 1 : flight->count;
	} else if (flight->family == HANDLE_FAMILY) {
		flight->place = below(run, HANDLES);
	} else {
		flight->place = below(
			run, flight->family == POINTERS ? PLACES : families[flight->family].places);
	}
	if (lost) {
		flight->ts_ns = run->scenario.now_ns += 100;
		return;
	}
	feed(run, thread,
	     record_begin_of(free_symbol(flight->family), addr_of(flight->place),
			     free_size(flight)));
	flight->ts_ns = now(run);
	take(run, flight);
}

/* ---- frees: their ends ----------------------------------------------------------------------- */

/* A failure that leaves memory nobody can name any more would fill up all places. */
static bool may_fail(struct run *run, const struct flight *flight)
{
	const struct memory *named = memory_named(run, flight->place);

	return flight->family != HANDLE_FAMILY || !flight->holds || !named ||
	       named->id == flight->memory;
}

static void step_free_end(struct run *run, size_t thread)
{
	struct flight *flight = &run->flights[thread];
	const char *symbol = free_symbol(flight->family);
	union record record = record_free(symbol, addr_of(flight->place));
	struct block *block;

	if (flight->family == MAPPINGS)
		record = record_unmap(addr_of(flight->place), free_size(flight));
	record = record_at(flight->ts_ns, record);
	if (!below(run, 12) && may_fail(run, flight)) {
		feed(run, thread, record_failed(1, record));
		if (flight->holds)
			restore(run, flight);
		flight->active = false;
		return;
	}
	feed(run, thread, record);
	block = flight->family < FAMILIES ? &run->blocks[flight->family][flight->place] : NULL;
	if (!flight->holds && block && block->live && block->references > 1) {
		block->references--;
		run->kept++;
	} else {
		if (!flight->holds)
			take(run, flight);
		if (flight->holds)
			finish(run, flight);
		else
			run->unknown_frees++;
	}
	flight->active = false;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void compare_places(struct run *run)
{
	const struct process *process = first_process(&run->scenario);
	static const enum ms_key keys[] = { MS_KEY_POINTER, MS_KEY_ARRAY, MS_KEY_EXTERNAL,
					    MS_KEY_RANGE };
	const struct allocation *found;
	size_t family, i;

	for (family = 0; family < FAMILIES; family++) {
		for (i = 0; i < PLACES; i++) {
			const struct block *block = &run->blocks[family][i];

			found = ledger_find(&process->ledgers[keys[family]], addr_of(i));
			assert_int_equal(found != NULL, block->live);
			if (found)
				assert_int_equal(found->space, block->space);
		}
	}
	for (i = 0; i < RANGE_PLACES; i++) {
		found = ledger_find(&process->ledgers[MS_KEY_MAPPING], addr_of(i));
		assert_int_equal(found != NULL, run->mappings[i].live);
		if (found)
			assert_int_equal(found->size_bytes, run->mappings[i].size);
	}
	for (i = 0; i < HANDLES; i++) {
		const struct memory *memory = memory_named(run, i);

		found = ledger_find(&process->ledgers[MS_KEY_HANDLE], addr_of(i));
		assert_int_equal(found ? found->references : 0, memory ? memory->references : 0);
	}
}

static void expect(const struct run *run, struct totals *expected)
{
	size_t i, j;

	memcpy(expected, run->totals, sizeof(run->totals));
	for (i = 0; i < FAMILIES; i++)
		for (j = 0; j < PLACES; j++)
			count_live(expected, run->blocks[i][j].live, run->blocks[i][j].space,
				   run->blocks[i][j].size);
	for (i = 0; i < MEMORIES; i++)
		count_live(expected, run->memories[i].live, run->memories[i].space,
			   run->memories[i].size);
	for (i = 0; i < RANGE_PLACES; i++)
		count_live(expected, run->mappings[i].live, MS_SPACE_MAPPED, run->mappings[i].size);
}

static void compare(struct run *run)
{
	const struct process *process = first_process(&run->scenario);
	struct totals expected[MS_SPACES_COUNT];
	size_t i;

	expect(run, expected);
	for (i = 0; i < MS_SPACES_COUNT; i++) {
		const struct space_total *total = &process->spaces[i];

		assert_int_equal(total->live_count, expected[i].live);
		assert_int_equal(total->live_bytes, expected[i].live_bytes);
		assert_int_equal(total->allocs, expected[i].allocs);
		assert_int_equal(total->alloc_bytes, expected[i].alloc_bytes);
		assert_int_equal(total->frees, expected[i].frees);
		assert_int_equal(total->free_bytes, expected[i].free_bytes);
		assert_int_equal(total->implicit_frees, expected[i].implicit);
		assert_int_equal(total->implicit_bytes, expected[i].implicit_bytes);
	}
	assert_int_equal(process->counters[COUNTER_MISSED_FREES], run->missed_frees);
	assert_int_equal(process->counters[COUNTER_UNKNOWN_FREES], run->unknown_frees);
	assert_int_equal(run->scenario.state.allocations, run->ids);
	compare_places(run);
}

static void step(struct run *run)
{
	size_t thread = below(run, THREADS);

	if (run->flights[thread].active) {
		step_free_end(run, thread);
		return;
	}
	switch (below(run, 12)) {
	case 0:
		step_create(run, thread);
		break;
	case 1:
		step_map(run, thread);
		break;
	case 2:
		step_retain(run, thread);
		break;
	case 3:
		step_launch(run, thread);
		break;
	case 4:
		step_context(run, thread);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		step_alloc(run, thread);
		break;
	default:
		step_free_begin(run, thread);
	}
}

/* No call returns any more: what was being freed is as live as before. */
static void end(struct run *run)
{
	struct totals expected[MS_SPACES_COUNT];
	size_t i;

	for (i = 0; i < THREADS; i++)
		if (run->flights[i].active && run->flights[i].holds)
			restore(run, &run->flights[i]);
	expect(run, expected);
	feed(run, 0, record_exit(0));
	for (i = 0; i < MS_SPACES_COUNT; i++) {
		const struct amount *ended = &run->scenario.change.implicit[i];

		assert_int_equal(space_of(&run->scenario, i)->exit_count, expected[i].live);
		assert_int_equal(space_of(&run->scenario, i)->exit_bytes, expected[i].live_bytes);
		assert_int_equal(ended->count, expected[i].live);
		assert_int_equal(ended->bytes, expected[i].live_bytes);
	}
}

static void random_run(uint64_t seed, size_t steps)
{
	static struct run run;
	size_t i;

	memset(&run, 0, sizeof(run));
	run.random = seed;
	feed(&run, 0, record_process(MS_TYPE_ATTACH, "random", 0));
	feed(&run, 0, record_context("cuDevicePrimaryCtxRetain", context_of(0), DEVICE_OF_PRIMARY));
	make_graphs(&run);
	for (i = 1; i <= steps; i++) {
		step(&run);
		if (i % CHECK_EVERY == 0)
			compare(&run);
	}

	/* It has gone through everything, and often. */
	assert_true(run.missed_frees > steps / 500);
	assert_true(run.unknown_frees > steps / 500);
	assert_true(run.kept > steps / 1000);
	for (i = 1; i < MS_SPACES_COUNT; i++)
		assert_true(run.totals[i].frees > steps / 500);
	for (i = 0; i < COUNT(allocs); i++)
		assert_true(run.totals[allocs[i].space].implicit > steps / 5000 ||
			    allocs[i].family == RANGES || allocs[i].space == MS_SPACE_POOL);
	end(&run);
	state_fini(&run.scenario.state);
}

static void test_a_long_random_run(void **state)
{
	(void)state;
	random_run(1, STEPS);
}

static void test_another_random_run(void **state)
{
	(void)state;
	random_run(0x123456789abcdef, STEPS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_long_random_run),
		cmocka_unit_test(test_another_random_run),
	};

	return unit_run("state: against a naive model", tests);
}
