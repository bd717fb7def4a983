// SPDX-License-Identifier: BSD-2-Clause
/*
 * What becomes of calls that failed because memory had run out: which belong together, how they
 * end, and what would have helped.
 */
#include "analysed.h"

static void fail_of(struct run *run, const char *symbol, uint64_t size)
{
	feed(run, record_failed(2, record_on(0, record_without(MS_KNOWN_ADDR,
							       record_alloc(symbol, 0, size)))));
}

/* Fifteen blocks, which are nearly all of the device. */
static void fill(struct run *run)
{
	int i;

	for (i = 0; i < 15; i++)
		alloc_at(run, DEVICE_ADDR + i * GIB, 512 * MIB);
	run->next_addr = DEVICE_ADDR + 64 * GIB;
}

static void give_back(struct run *run, int from, int count)
{
	while (count--)
		free_at(run, DEVICE_ADDR + from++ * GIB);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void run_recovered(struct run *run)
{
	fill(run);
	fail_alloc(run, GIB);
	told(run, 512 * MIB, 8 * GIB);
	give_back(run, 11, 4);
	wait_for(run, MS);
	alloc_new(run, GIB);
	end_process(run, 0);
}

/* Two requests, one after the other: each recovers. */
static void run_recovered_twice(struct run *run)
{
	fill(run);
	fail_alloc(run, GIB);
	give_back(run, 11, 4);
	alloc_new(run, GIB);
	fail_alloc(run, 2 * GIB);
	give_back(run, 0, 4);
	alloc_new(run, 2 * GIB);
	end_process(run, 0);
}

/* Its cache is emptied each time, and filled again. */
static void run_recovered_again(struct run *run)
{
	int i;

	fill(run);
	for (i = 0; i < 3; i++) {
		fail_alloc(run, 2 * GIB);
		give_back(run, 4 * i, 4);
		alloc_new(run, 2 * GIB);
	}
	end_process(run, 0);
}

/* The first recovers, the second is what the process ends of. */
static void run_hidden_fatal(struct run *run)
{
	fill(run);
	fail_alloc(run, GIB);
	give_back(run, 11, 4);
	alloc_new(run, GIB);
	fail_alloc(run, 4 * GIB);
	end_process(run, 256);
}

static void run_backed_off(struct run *run)
{
	uint64_t size;

	told(run, 600 * MIB, 8 * GIB);
	for (size = 4 * GIB; size > 512 * MIB; size /= 2)
		fail_alloc(run, size);
	alloc_new(run, 512 * MIB);
	end_process(run, 0);
}

/* Something small is granted in between, and has nothing to do with it. */
static void run_small_in_between(struct run *run)
{
	fill(run);
	fail_alloc(run, GIB);
	alloc_new(run, 2 * MIB);
	fail_alloc(run, GIB);
	end_process(run, 256);
}

static void run_killed(struct run *run)
{
	fail_alloc(run, GIB);
	end_process(run, 9);
}

static void run_open(struct run *run)
{
	fail_alloc(run, GIB);
	wait_for(run, SECOND);
}

/* Nothing more is done with the device. */
static void run_gave_up_all(struct run *run)
{
	fail_alloc(run, GIB);
	wait_for(run, MINUTE);
}

/* It goes on for long, and has not got it. */
static void run_gave_up(struct run *run)
{
	fail_alloc(run, GIB);
	wait_for(run, MINUTE);
	step(run);
}

static void alloc_small(struct run *run, int count)
{
	while (count--)
		alloc_new(run, MIB);
}

/* It goes on, and says that all is well. */
static void run_handled(struct run *run)
{
	fail_alloc(run, GIB);
	alloc_small(run, 1);
	wait_for(run, 9 * SECOND);
	end_process(run, 0);
}

/* Without the GPU. */
static void run_handled_on_the_host(struct run *run)
{
	fail_alloc(run, GIB);
	wait_for(run, 9 * SECOND);
	end_process(run, 0);
}

/* Its end is about something else. */
static void run_handled_and_failed(struct run *run)
{
	fail_alloc(run, GIB);
	alloc_small(run, 1000);
	wait_for(run, 2 * SECOND);
	end_process(run, 256);
}

static void run_went_on_while_recorded(struct run *run)
{
	fail_alloc(run, GIB);
	alloc_small(run, 20);
	wait_for(run, 2 * SECOND);
}

static void run_exits_at_once(struct run *run)
{
	fail_alloc(run, GIB);
	end_process(run, 0);
}

/* Cleaning up after itself is not going on. */
static void run_fails_soon(struct run *run)
{
	fail_alloc(run, GIB);
	alloc_small(run, 20);
	end_process(run, 256);
}

static void run_other_thread(struct run *run)
{
	fail_alloc(run, GIB);
	run->tid++;
	alloc_new(run, GIB);
	run->tid--;
	end_process(run, 256);
}

static void run_launch(struct run *run)
{
	feed(run, record_failed(2, record_launch("cuLaunchKernel", 0x1234)));
	wait_for(run, MS);
	launch(run);
	end_process(run, 0);
}

/* An allocation does not say that launches work again. */
static void run_launch_fatal(struct run *run)
{
	feed(run, record_failed(2, record_launch("cuLaunchKernel", 0x1234)));
	alloc_new(run, MIB);
	end_process(run, 256);
}

static void run_module(struct run *run)
{
	feed(run, record_failed(2, record_call("cuModuleLoadData")));
	feed(run, record_call("cuModuleUnload"));
	feed(run, record_call("cuModuleLoadData"));
	end_process(run, 0);
}

/* A larger heap on the device, and then a smaller one. */
static void run_limit(struct run *run)
{
	feed(run, record_failed(2, record_call("cuCtxSetLimit")));
	feed(run, record_call("cuCtxSetLimit"));
	end_process(run, 0);
}

/* Another function's success is no retry. */
static void run_stream_fatal(struct run *run)
{
	feed(run, record_failed(2, record_call("cudaStreamCreate")));
	feed(run, record_call("cudaEventCreate"));
	end_process(run, 256);
}

/* The context cannot be made, so the allocation fails. */
static void run_inner(struct run *run)
{
	const uint64_t begin_ns = run->now_ns;

	run->now_ns += MS;
	feed(run, record_flagged(MS_CALL_NESTED,
				 record_failed(2, record_call("cuDevicePrimaryCtxRetain"))));
	run->now_ns = begin_ns;
	feed(run,
	     record_taking(2 * MS,
			   record_failed(2, record_without(MS_KNOWN_ADDR,
							   record_alloc("cudaMalloc", 0, GIB)))));
	end_process(run, 256);
}

static void run_managed_instead(struct run *run)
{
	fail_alloc(run, GIB);
	feed(run, record_on(0, record_alloc("cuMemAllocManaged", 0x30, GIB)));
	end_process(run, 0);
}

static void run_host_memory_is_none(struct run *run)
{
	fail_alloc(run, GIB);
	pin(run, GIB);
	end_process(run, 256);
}

static void make_pieces(struct run *run, int count)
{
	int i;

	for (i = 0; i < count; i++)
		feed(run, record_on(0, record_alloc("cuMemCreate", 0x1000 + i, 20 * MIB)));
}

static void release_pieces(struct run *run, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		feed(run, record_begin_of("cuMemRelease", 0x1000 + i, 0));
		feed(run, record_free("cuMemRelease", 0x1000 + i));
	}
}

/* 200 MiB are held, 1 GiB is asked for in pieces, and all of them are given back. */
static void run_pieces(struct run *run)
{
	alloc_new(run, 200 * MIB);
	launch(run);
	make_pieces(run, 41);
	fail_of(run, "cuMemCreate", 20 * MIB);
	release_pieces(run, 41);
	told(run, 824 * MIB, 1024 * MIB);
	end_process(run, 256);
}

/* PyTorch asks how much is free before it gives the pieces back. */
static void run_pieces_told_before(struct run *run)
{
	alloc_new(run, 200 * MIB);
	launch(run);
	make_pieces(run, 41);
	fail_of(run, "cuMemCreate", 20 * MIB);
	told(run, 4 * MIB, 1024 * MIB);
	release_pieces(run, 41);
	end_process(run, 256);
}

/* Then the cache is freed, and it works. */
static void run_pieces_recovered(struct run *run)
{
	uint64_t addr = alloc_new(run, 200 * MIB);

	make_pieces(run, 41);
	fail_of(run, "cuMemCreate", 20 * MIB);
	release_pieces(run, 41);
	free_at(run, addr);
	make_pieces(run, 50);
	launch(run);
	end_process(run, 0);
}

/* Not all of them were given back: each was a request of its own. */
static void run_pieces_kept(struct run *run)
{
	make_pieces(run, 41);
	fail_of(run, "cuMemCreate", 20 * MIB);
	release_pieces(run, 3);
	end_process(run, 256);
}

static void run_executed(struct run *run)
{
	fail_alloc(run, GIB);
	feed(run, record_process(MS_TYPE_EXEC, "other", 0));
}

static const struct {
	const char *name;
	void (*run)(struct run *run);
	size_t count;
	enum oom_outcome outcomes[2];
	uint64_t requested[2], granted[2];
} programs[] = {
	/* clang-format off */
	{ "recovered", run_recovered, 1, { OOM_RECOVERED }, { GIB }, { GIB } },
	{ "recovered twice", run_recovered_twice, 2, { OOM_RECOVERED, OOM_RECOVERED }, { GIB, 2 * GIB }, { GIB, 2 * GIB } },
	{ "fatal behind a recovered one", run_hidden_fatal, 2, { OOM_RECOVERED, OOM_FATAL }, { GIB, 4 * GIB }, { GIB, 0 } },
	{ "backed off", run_backed_off, 1, { OOM_BACKED_OFF }, { GIB }, { 512 * MIB } },
	{ "something small in between", run_small_in_between, 1, { OOM_FATAL }, { GIB }, { 0 } },
	{ "killed", run_killed, 1, { OOM_FATAL }, { GIB }, { 0 } },
	{ "still open", run_open, 1, { OOM_OPEN }, { GIB }, { 0 } },
	{ "gave up", run_gave_up, 1, { OOM_HANDLED }, { GIB }, { 0 } },
	{ "gave up all", run_gave_up_all, 1, { OOM_GAVE_UP }, { GIB }, { 0 } },
	{ "handled", run_handled, 1, { OOM_HANDLED }, { GIB }, { 0 } },
	{ "handled on the host", run_handled_on_the_host, 1, { OOM_HANDLED }, { GIB }, { 0 } },
	{ "handled, and failed later", run_handled_and_failed, 1, { OOM_HANDLED }, { GIB }, { 0 } },
	{ "went on while it was recorded", run_went_on_while_recorded, 1, { OOM_HANDLED }, { GIB }, { 0 } },
	{ "exits at once", run_exits_at_once, 1, { OOM_GAVE_UP }, { GIB }, { 0 } },
	{ "fails soon", run_fails_soon, 1, { OOM_FATAL }, { GIB }, { 0 } },
	{ "another thread's", run_other_thread, 1, { OOM_FATAL }, { GIB }, { 0 } },
	{ "launch", run_launch, 1, { OOM_RECOVERED }, { 0 }, { 0 } },
	{ "launch, fatal", run_launch_fatal, 1, { OOM_FATAL }, { 0 }, { 0 } },
	{ "module", run_module, 1, { OOM_RECOVERED }, { 0 }, { 0 } },
	{ "limit", run_limit, 1, { OOM_RECOVERED }, { 0 }, { 0 } },
	{ "stream", run_stream_fatal, 1, { OOM_FATAL }, { 0 }, { 0 } },
	{ "context inside of an allocation", run_inner, 1, { OOM_FATAL }, { GIB }, { 0 } },
	{ "managed instead", run_managed_instead, 1, { OOM_RECOVERED }, { GIB }, { GIB } },
	{ "host memory is none", run_host_memory_is_none, 1, { OOM_FATAL }, { GIB }, { 0 } },
	{ "pieces", run_pieces, 1, { OOM_FATAL }, { 840 * MIB }, { 0 } },
	{ "pieces, recovered", run_pieces_recovered, 1, { OOM_RECOVERED }, { 1000 * MIB }, { 1000 * MIB } },
	{ "pieces that stay", run_pieces_kept, 1, { OOM_FATAL }, { 20 * MIB }, { 0 } },
	{ "another program", run_executed, 1, { OOM_GAVE_UP }, { GIB }, { 0 } },
	/* clang-format on */
};

static void test_outcomes(void **state)
{
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct analysis_oom *ooms;
		struct run run = { 0 };
		size_t count;

		assert_true(run_begin(&run));
		print_message("# %s\n", programs[i].name);
		programs[i].run(&run);
		finish(&run);
		ooms = analysis_ooms(run.analysis, &count);
		assert_int_equal(count, programs[i].count);
		for (j = 0; j < count; j++) {
			assert_string_equal(oom_outcome_name(ooms[j].request.outcome),
					    oom_outcome_name(programs[i].outcomes[j]));
			assert_int_equal(ooms[j].requested_bytes, programs[i].requested[j]);
			assert_int_equal(ooms[j].request.granted_bytes, programs[i].granted[j]);
		}
		run_end(&run);
	}
}

/* ---- details --------------------------------------------------------------------------------- */

static const struct analysis_oom *oom_of(struct run *run, void (*program)(struct run *run))
{
	const struct analysis_oom *ooms;
	size_t count;

	assert_true(run_begin(run));
	program(run);
	finish(run);
	ooms = analysis_ooms(run->analysis, &count);
	assert_true(count > 0);
	return ooms;
}

static void test_recovered(void **state)
{
	struct run run = { 0 };
	const struct analysis_oom *oom = oom_of(&run, run_recovered);

	(void)state;
	assert_int_equal(oom->failures, 1);
	assert_int_equal(oom->own.bytes, 15 * 512 * MIB);
	assert_int_equal(oom->request.freed_bytes, 4 * 512 * MIB);
	assert_int_equal(oom->request.freed_count, 4);
	assert_true(oom->request.told);
	assert_int_equal(oom->request.told_free_bytes, 512 * MIB);
	assert_int_equal(oom->request.told_freed_bytes, 0);
	assert_int_equal(oom->request.end_ts_ns - oom->last_ts_ns, MS + 5 * 20 * US);
	assert_int_equal(oom->cause, OOM_CACHED);
	assert_int_equal(oom->remedies_count, 2);
	assert_int_equal(oom->remedies[0].kind, OOM_REMEDY_CACHE);
	assert_int_equal(oom->remedies[0].bytes, 2 * GIB);
	assert_int_equal(oom->remedies[1].kind, OOM_REMEDY_LESS);
	assert_int_equal(oom->remedies[1].bytes, 512 * MIB);
	run_end(&run);
}

static void test_recovered_again_for_the_same_reason(void **state)
{
	struct run run = { 0 };
	const struct analysis_oom *ooms = oom_of(&run, run_recovered_again);
	size_t count, i;

	(void)state;
	analysis_ooms(run.analysis, &count);
	assert_int_equal(count, 3);
	for (i = 0; i < count; i++) {
		assert_int_equal(ooms[i].request.outcome, OOM_RECOVERED);
		assert_int_equal(ooms[i].cause, OOM_CACHED);
	}
	run_end(&run);
}

/* The figures are those of the last failure, with the first beside them. */
static void test_backed_off(void **state)
{
	struct run run = { 0 };
	const struct analysis_oom *oom = oom_of(&run, run_backed_off);

	(void)state;
	assert_int_equal(oom->failures, 3);
	assert_int_equal(oom->request.first_bytes, 4 * GIB);
	assert_int_equal(oom->remedies[0].kind, OOM_REMEDY_LESS);
	assert_int_equal(oom->remedies[0].bytes, GIB - 600 * MIB);
	run_end(&run);
}

static void test_last_figures(void **state)
{
	struct run run = { 0 };
	const struct analysis_oom *oom = oom_of(&run, run_small_in_between);

	(void)state;
	assert_int_equal(oom->failures, 2);
	assert_int_equal(oom->first_own.bytes, 15 * 512 * MIB);
	assert_int_equal(oom->own.bytes, 15 * 512 * MIB + 2 * MIB);
	/* Nothing says how large the device is. */
	assert_int_equal(oom->remedies_count, 0);
	run_end(&run);
}

/* What was held is what was held before the request began. */
static void test_pieces(void **state)
{
	struct run run = { 0 };
	const struct analysis_oom *oom = oom_of(&run, run_pieces);

	(void)state;
	assert_int_equal(oom->own.bytes, 200 * MIB);
	assert_true(oom->request.at_least);
	assert_int_equal(oom->request.piece_bytes, 20 * MIB);
	assert_int_equal(oom->request.pieces, 42);
	assert_int_equal(oom->request.freed_bytes, 0);
	assert_int_equal(oom->request.told_freed_bytes, 0);
	run_end(&run);
}

static void test_pieces_told_before(void **state)
{
	struct run run = { 0 };
	const struct analysis_oom *oom = oom_of(&run, run_pieces_told_before);
	uint64_t free_bytes;

	(void)state;
	assert_int_equal(oom->own.bytes, 200 * MIB);
	assert_int_equal(oom->first_own.bytes, 200 * MIB);
	assert_int_equal(oom->request.told_free_bytes, 4 * MIB);
	assert_true(analysis_oom_free(oom, &free_bytes));
	assert_int_equal(free_bytes, 824 * MIB);
	assert_int_equal(oom->cause, OOM_FULL);
	assert_int_equal(oom->confidence, FINDING_HIGH);
	run_end(&run);
}

static void test_pieces_recovered(void **state)
{
	struct run run = { 0 };
	const struct analysis_oom *oom = oom_of(&run, run_pieces_recovered);

	(void)state;
	assert_false(oom->request.at_least);
	assert_int_equal(oom->request.freed_bytes, 200 * MIB);
	run_end(&run);
}

static void test_exit_status(void **state)
{
	struct run run = { 0 };
	const struct analysis_oom *oom = oom_of(&run, run_killed);

	(void)state;
	assert_true(oom->request.exited);
	assert_int_equal(oom->request.exit_status, 9);
	run_end(&run);
}

static void test_inner(void **state)
{
	struct run run = { 0 };
	const struct analysis_oom *oom = oom_of(&run, run_inner);

	(void)state;
	assert_int_equal(oom->failures, 1);
	assert_int_equal(oom->row, record_row("cudaMalloc"));
	assert_int_equal(oom->request.inner_row, record_row("cuDevicePrimaryCtxRetain"));
	run_end(&run);
}

/* What ended well makes way for what did not. */
static void test_recovered_make_way(void **state)
{
	const struct analysis_oom *ooms;
	struct run run = { 0 };
	size_t count;
	int i;

	(void)state;
	assert_true(run_begin(&run));
	fill(&run);
	for (i = 0; i < OOM_MAX + 5; i++) {
		fail_alloc(&run, GIB);
		free_at(&run, alloc_new(&run, GIB));
	}
	fail_alloc(&run, 3 * GIB);
	end_process(&run, 256);
	finish(&run);
	ooms = analysis_ooms(run.analysis, &count);
	assert_int_equal(count, OOM_MAX);
	assert_int_equal(ooms[OOM_MAX - 1].requested_bytes, 3 * GIB);
	assert_int_equal(ooms[OOM_MAX - 1].request.outcome, OOM_FATAL);
	assert_int_equal(analysis_account(run.analysis)->oom_outcomes[OOM_RECOVERED], OOM_MAX + 5);
	assert_int_equal(analysis_account(run.analysis)->oom_outcomes[OOM_FATAL], 1);
	assert_int_equal(analysis_account(run.analysis)->oom_not_listed, 6);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_recovered),
		cmocka_unit_test(test_recovered_again_for_the_same_reason),
		cmocka_unit_test(test_backed_off),
		cmocka_unit_test(test_last_figures),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_pieces_told_before),
		cmocka_unit_test(test_pieces_recovered),
		cmocka_unit_test(test_exit_status),
		cmocka_unit_test(test_inner),
		cmocka_unit_test(test_recovered_make_way),
	};

	return unit_run("analysis: how failed calls end", tests);
}
