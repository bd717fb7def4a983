// SPDX-License-Identifier: BSD-2-Clause
/*
 * A long random run of allocations and frees, with everything that can go wrong with them, against
 * a model that shares nothing with the ledger: a table with a place for every address, walked from
 * end to end whenever a total is asked for.
 */
#include "scenario.h"

#define STEPS 100000
#define CHECK_EVERY 1000
#define PLACES 512
#define THREADS 8
#define CONTEXTS 4

struct block {
	bool live;
	uint64_t id, size, ts_ns;
	size_t space, context;
};

struct thread {
	bool freeing;
	bool holds; /* the free took a block out */
	size_t place;
	uint64_t ts_ns;
	struct block block;
};

struct model {
	struct block blocks[PLACES];
	struct thread threads[THREADS];
	uint64_t ids;
	uint64_t allocs[MS_SPACES_COUNT], alloc_bytes[MS_SPACES_COUNT];
	uint64_t frees[MS_SPACES_COUNT], free_bytes[MS_SPACES_COUNT];
	uint64_t implicit_frees[MS_SPACES_COUNT], implicit_bytes[MS_SPACES_COUNT];
	uint64_t missed_frees, unknown_frees, failures;
};

struct run {
	struct scenario scenario;
	struct model model;
	uint64_t random;
};

/* All whose blocks are known by address; the others have tests of their own. */
static const struct {
	enum ms_space space;
	const char *symbol;
} kinds[] = {
	{ MS_SPACE_DEVICE, "cuMemAlloc_v2" },
	{ MS_SPACE_POOL, "cuMemAllocAsync" },
	{ MS_SPACE_MANAGED, "cuMemAllocManaged" },
	{ MS_SPACE_PINNED, "cuMemAllocHost_v2" },
	{ MS_SPACE_REGISTERED, "cuMemHostRegister_v2" },
};

static uint64_t below(struct run *run, uint64_t bound)
{
	run->random = unit_random(run->random);
	return (run->random >> 20) % bound;
}

static uint64_t addr_of(size_t place)
{
	return 0x7f0000000000 + place * 0x200;
}

static void feed(struct run *run, size_t thread, union record record)
{
	apply(&run->scenario, record_by(RECORD_PID + thread, record));
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* At an address that is taken, it tells of a free that nobody saw. */
static void step_alloc(struct run *run, size_t thread)
{
	struct model *model = &run->model;
	size_t place = below(run, PLACES), kind = below(run, sizeof(kinds) / sizeof(*kinds));
	enum ms_space space = kinds[kind].space;
	struct block *block = &model->blocks[place];

	if (block->live && below(run, 8))
		return; /* seldom */
	model->missed_frees += block->live;
	*block = (struct block){ .live = true,
				 .id = ++model->ids,
				 .size = below(run, 1 << 30),
				 .space = space,
				 .context = below(run, CONTEXTS) };
	model->allocs[space]++;
	model->alloc_bytes[space] += block->size;
	feed(run, thread,
	     record_in(0xc000 + block->context,
		       record_alloc(kinds[kind].symbol, addr_of(place), block->size)));
	block->ts_ns = run->scenario.now_ns;
	assert_changed(&run->scenario, block->id, block->size);
}

static void step_failed_alloc(struct run *run, size_t thread)
{
	feed(run, thread,
	     record_failed(2, record_without(MS_KNOWN_ADDR, record_alloc("cuMemAlloc_v2", 0, 99))));
	run->model.failures++;
}

static void step_free_begin(struct run *run, size_t thread)
{
	struct thread *by = &run->model.threads[thread];
	size_t place = below(run, PLACES);

	*by = (struct thread){ .freeing = true,
			       .holds = run->model.blocks[place].live,
			       .place = place,
			       .block = run->model.blocks[place] };
	run->model.blocks[place].live = false;
	feed(run, thread, record_free_begin(addr_of(place)));
	by->ts_ns = run->scenario.now_ns;
}

static void count_free(struct model *model, const struct block *block)
{
	model->frees[block->space]++;
	model->free_bytes[block->space] += block->size;
}

static void step_free_end(struct run *run, size_t thread)
{
	struct thread *by = &run->model.threads[thread];
	struct block *now = &run->model.blocks[by->place];

	by->freeing = false;
	feed(run, thread, record_at(by->ts_ns, record_free("cuMemFree_v2", addr_of(by->place))));
	if (by->holds) {
		count_free(&run->model, &by->block);
		assert_changed(&run->scenario, by->block.id, by->block.size);
	} else if (now->live && now->ts_ns <= by->ts_ns) {
		/* Another thread's free held it then, and has failed since. */
		count_free(&run->model, now);
		now->live = false;
	} else {
		run->model.unknown_frees++;
		assert_int_equal(run->scenario.change.free, FREE_UNKNOWN);
	}
}

/* The block comes back, unless its place is taken: then the failure was a mistake. */
static void step_free_failed(struct run *run, size_t thread)
{
	struct thread *by = &run->model.threads[thread];

	if (run->model.blocks[by->place].live)
		return;
	by->freeing = false;
	if (by->holds)
		run->model.blocks[by->place] = by->block;
	feed(run, thread, record_failed(1, record_free("cuMemFree_v2", addr_of(by->place))));
	run->model.failures++;
}

static void step_free_without_beginning(struct run *run, size_t thread)
{
	size_t place = below(run, PLACES);
	struct block *block = &run->model.blocks[place];

	feed(run, thread, record_free("cuMemFree_v2", addr_of(place)));
	if (block->live)
		count_free(&run->model, block);
	else
		run->model.unknown_frees++;
	block->live = false;
}

static void step_destroy_context(struct run *run, size_t thread)
{
	struct model *model = &run->model;
	size_t context = below(run, CONTEXTS), i;

	if (below(run, 100))
		return; /* seldom */
	feed(run, thread, record_context("cuCtxDestroy_v2", 0xc000 + context, 0));
	for (i = 0; i < PLACES; i++) {
		struct block *block = &model->blocks[i];

		if (!block->live || block->context != context || block->space == MS_SPACE_POOL)
			continue;
		block->live = false;
		model->implicit_frees[block->space]++;
		model->implicit_bytes[block->space] += block->size;
	}
}

static void step(struct run *run)
{
	size_t thread = below(run, THREADS), choice = below(run, 100);

	if (run->model.threads[thread].freeing) {
		if (choice < 90)
			step_free_end(run, thread);
		else
			step_free_failed(run, thread);
		return;
	}
	if (choice < 50)
		step_alloc(run, thread);
	else if (choice < 52)
		step_failed_alloc(run, thread);
	else if (choice < 90)
		step_free_begin(run, thread);
	else if (choice < 92)
		step_free_without_beginning(run, thread);
	else
		step_destroy_context(run, thread);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void compare_space(const struct run *run, size_t space)
{
	const struct space_total *total = &first_process(&run->scenario)->spaces[space];
	const struct model *model = &run->model;
	uint64_t count = 0, bytes = 0;
	size_t i;

	for (i = 0; i < PLACES; i++) {
		if (!model->blocks[i].live || model->blocks[i].space != space)
			continue;
		count++;
		bytes += model->blocks[i].size;
	}
	assert_int_equal(total->live_count, count);
	assert_int_equal(total->live_bytes, bytes);
	assert_int_equal(total->allocs, model->allocs[space]);
	assert_int_equal(total->alloc_bytes, model->alloc_bytes[space]);
	assert_int_equal(total->frees, model->frees[space]);
	assert_int_equal(total->free_bytes, model->free_bytes[space]);
	assert_int_equal(total->implicit_frees, model->implicit_frees[space]);
	assert_int_equal(total->implicit_bytes, model->implicit_bytes[space]);
}

static void compare(const struct run *run)
{
	const struct process *process = first_process(&run->scenario);
	size_t space, place, live = 0;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		compare_space(run, space);
	for (place = 0; place < PLACES; place++) {
		const struct allocation *found =
			ledger_find(&process->ledgers[MS_KEY_POINTER], addr_of(place));
		const struct block *block = &run->model.blocks[place];

		assert_int_equal(found != NULL, block->live);
		if (!found)
			continue;
		assert_int_equal(found->id, block->id);
		assert_int_equal(found->space, block->space);
		live++;
	}
	assert_int_equal(process->ledgers[MS_KEY_POINTER].count, live);
	assert_int_equal(process->counters[COUNTER_MISSED_FREES], run->model.missed_frees);
	assert_int_equal(process->counters[COUNTER_UNKNOWN_FREES], run->model.unknown_frees);
	assert_int_equal(run->scenario.state.allocations, run->model.ids);
}

static void random_run(uint64_t seed)
{
	struct run run = { .random = seed };
	uint64_t failures = 0;
	size_t i;

	feed(&run, 0, record_process(MS_TYPE_ATTACH, "random", 0));
	for (i = 1; i <= STEPS; i++) {
		step(&run);
		if (i % CHECK_EVERY == 0)
			compare(&run);
	}
	for (i = 0; i < first_process(&run.scenario)->failures_count; i++)
		failures += first_process(&run.scenario)->failures[i].count;
	assert_int_equal(failures, run.model.failures);

	/* It has gone through everything, and often. */
	assert_true(run.model.failures > 500);
	assert_true(run.model.missed_frees > 500);
	assert_true(run.model.unknown_frees > 500);
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		assert_true(run.model.frees[kinds[i].space] > 500);
		/* Memory of pools outlives contexts. */
		assert_true(run.model.implicit_frees[kinds[i].space] > 500 ||
			    kinds[i].space == MS_SPACE_POOL);
	}
	state_fini(&run.scenario.state);
}

static void test_random_run(void **state)
{
	(void)state;
	random_run(1);
}

static void test_another_random_run(void **state)
{
	(void)state;
	random_run(0x123456789abcdef);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_run),
		cmocka_unit_test(test_another_random_run),
	};

	return unit_run("state: random runs", tests);
}
