// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that make contexts, modules, streams, events, graphs and do not destroy them, and those
 * that do something like it for a good reason. Each with the findings that it must have, and no
 * others.
 */
#include "analysed.h"
#include "ledger/objects.h"

#define CONTEXT 0xc000ull
#define HANDLE 0x90000000ull

static void make_at(struct run *run, const char *symbol, uint64_t handle)
{
	feed(run,
	     record_taking(20 * US,
			   record_in(CONTEXT, record_on(0, record_memory(symbol, handle, 0)))));
}

/* A handle of its own. */
static uint64_t make(struct run *run, const char *symbol)
{
	run->next_addr += 64;
	make_at(run, symbol, run->next_addr);
	return run->next_addr;
}

static void destroy(struct run *run, const char *symbol, uint64_t handle)
{
	feed(run,
	     record_taking(20 * US,
			   record_in(CONTEXT, record_on(0, record_memory(symbol, handle, 0)))));
}

/* So many, while it works, over 12 s. */
static void make_many(struct run *run, const char *symbol, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		make(run, symbol);
		steps(run, 1200 / count);
	}
}

/* ---- piles ----------------------------------------------------------------------------------- */

static void run_contexts(struct run *run)
{
	int i;

	for (i = 0; i < 20; i++) {
		feed(run, record_context("cuCtxCreate_v2", CONTEXT + i * 0x100, 0));
		steps(run, 60);
	}
	end_process(run, 0);
}

static void run_modules(struct run *run)
{
	make_many(run, "cuModuleLoadData", 200);
}

static void run_libraries(struct run *run)
{
	make_many(run, "cuLibraryLoadData", 40);
}

static void run_streams(struct run *run)
{
	make_many(run, "cudaStreamCreateWithFlags", 40);
}

static void run_events(struct run *run)
{
	make_many(run, "cudaEventCreateWithFlags", 400);
	end_process(run, 0);
}

static void run_graphs(struct run *run)
{
	make_many(run, "cuGraphCreate", 40);
}

static void run_executables(struct run *run)
{
	make_many(run, "cudaGraphInstantiateWithFlags", 40);
}

static void run_pools(struct run *run)
{
	make_many(run, "cuMemPoolCreate", 40);
}

static void run_green_contexts(struct run *run)
{
	make_many(run, "cuGreenCtxCreate", 40);
}

static void run_linkers(struct run *run)
{
	make_many(run, "cuLinkCreate_v2", 40);
}

static void run_textures(struct run *run)
{
	make_many(run, "cudaCreateTextureObject", 200);
}

static void run_surfaces(struct run *run)
{
	make_many(run, "cuSurfObjectCreate", 40);
}

static void run_semaphores(struct run *run)
{
	make_many(run, "cuImportExternalSemaphore", 40);
}

/* Events of another process. */
static void run_opened_events(struct run *run)
{
	make_many(run, "cudaIpcOpenEventHandle", 40);
}

static void run_opened(struct run *run)
{
	int i;

	for (i = 0; i < 40; i++) {
		run->next_addr += MIB;
		feed(run, record_on(0, record_from(i + 1, record_free("cuIpcOpenMemHandle_v2",
								      run->next_addr))));
		steps(run, 30);
	}
}

/* Most of what is made is destroyed at once. */
static void run_events_among_others(struct run *run)
{
	int i;

	for (i = 0; i < 400; i++) {
		uint64_t event = make(run, "cuEventCreate");

		if (i % 10 == 0)
			make(run, "cuEventCreate");
		steps(run, 3);
		destroy(run, "cuEventDestroy_v2", event);
	}
}

/* It frees them when it ends. */
static void run_destroyed_at_the_end(struct run *run)
{
	uint64_t streams[40];
	int i;

	for (i = 0; i < 40; i++) {
		streams[i] = make(run, "cuStreamCreate");
		steps(run, 30);
	}
	for (i = 0; i < 40; i++)
		destroy(run, "cuStreamDestroy_v2", streams[i]);
	end_process(run, 0);
}

/* With events that come and go all the time. */
static void run_destroyed_at_the_end_beside_events(struct run *run)
{
	uint64_t streams[40], events[10];
	int i, k;

	for (i = 0; i < 40; i++) {
		streams[i] = make(run, "cuStreamCreate");
		for (k = 0; k < 10; k++)
			events[k] = make(run, "cuEventCreate");
		for (k = 0; k < 10; k++)
			destroy(run, "cuEventDestroy_v2", events[k]);
		launch(run);
		wait_for(run, 300 * MS);
	}
	for (i = 0; i < 40; i++)
		destroy(run, "cuStreamDestroy_v2", streams[i]);
	end_process(run, 0);
}

/* The end of what it made is not told one by one. */
static void run_ended_with_their_context(struct run *run)
{
	int i;

	feed(run, record_context("cuCtxCreate_v2", CONTEXT, 0));
	for (i = 0; i < 40; i++) {
		make(run, "cuStreamCreate");
		steps(run, 30);
	}
	destroy_context(run, CONTEXT);
	end_process(run, 0);
}

/* ---- what is none ---------------------------------------------------------------------------- */

/* A pool of streams and events for as long as the program runs. */
static void run_made_at_first(struct run *run)
{
	int i;

	for (i = 0; i < 96; i++)
		make(run, "cudaStreamCreateWithPriority");
	for (i = 0; i < 300; i++)
		make(run, "cudaEventCreateWithFlags");
	steps(run, 1200);
	end_process(run, 0);
}

/* Loaded when they are needed first. */
static void run_levels_off(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		make(run, "cuLibraryLoadData");
		steps(run, 1);
	}
	steps(run, 1000);
}

static void run_come_and_go(struct run *run)
{
	int i;

	for (i = 0; i < 400; i++) {
		uint64_t event = make(run, "cuEventCreate");

		steps(run, 3);
		destroy(run, "cuEventDestroy_v2", event);
	}
	end_process(run, 0);
}

/* A ring: each new one replaces the oldest. */
static void run_ring(struct run *run)
{
	uint64_t events[64];
	int i;

	for (i = 0; i < 640; i++) {
		if (i >= 64)
			destroy(run, "cuEventDestroy_v2", events[i % 64]);
		events[i % 64] = make(run, "cuEventCreate");
		steps(run, 2);
	}
}

static void run_few(struct run *run)
{
	make_many(run, "cuStreamCreate", 15);
}

static void run_few_contexts(struct run *run)
{
	int i;

	for (i = 0; i < 3; i++) {
		feed(run, record_context("cuCtxCreate_v2", CONTEXT + i * 0x100, 0));
		steps(run, 400);
	}
}

/* Each with what was made in it. */
static void run_contexts_one_by_one(struct run *run)
{
	int i, k;

	for (i = 0; i < 40; i++) {
		feed(run, record_context("cuCtxCreate_v2", CONTEXT, 0));
		for (k = 0; k < 10; k++)
			make(run, "cuStreamCreate");
		steps(run, 30);
		destroy_context(run, CONTEXT);
	}
	end_process(run, 0);
}

static void run_resets(struct run *run)
{
	int i, k;

	for (i = 0; i < 40; i++) {
		feed(run, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
		for (k = 0; k < 10; k++)
			make(run, "cudaEventCreate");
		steps(run, 30);
		feed(run, record_on(0, record_call("cuDevicePrimaryCtxReset_v2")));
	}
}

/* One context: it is retained by each library. */
static void run_retained_again(struct run *run)
{
	int i;

	for (i = 0; i < 40; i++) {
		feed(run, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
		steps(run, 30);
	}
}

/* One event: the runtime's function calls the driver's. */
static void run_made_once(struct run *run)
{
	int i;

	for (i = 0; i < 10; i++) {
		union record inner = record_memory("cuStreamCreateWithPriority", HANDLE + i, 0);
		const uint64_t begin_ns = run->now_ns;

		wait_for(run, 5 * US);
		inner.call.flags = MS_CALL_NESTED;
		feed(run, record_taking(10 * US, record_on(0, inner)));
		run->now_ns = begin_ns;
		make_at(run, "cudaStreamCreateWithPriority", HANDLE + i);
		steps(run, 120);
	}
}

static void run_other_program(struct run *run)
{
	make_many(run, "cuModuleLoadData", 20);
	feed(run, record_process(MS_TYPE_EXEC, "other", 0));
	steps(run, 1);
	end_process(run, 0);
}

static void run_failed(struct run *run)
{
	int i;

	for (i = 0; i < 40; i++) {
		feed(run, record_failed(1, record_memory("cuStreamCreate", HANDLE + i, 0)));
		steps(run, 30);
	}
}

/* ---- contexts with which nothing is done ----------------------------------------------------- */

static void begin_on_two_devices(struct run *run)
{
	feed(run, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	feed(run, record_context("cuDevicePrimaryCtxRetain", CONTEXT + 0x100, 1));
	alloc_on(run, 0, 64 * MIB);
}

/* On the first device. */
static void work(struct run *run, uint64_t length_ns)
{
	const uint64_t end_ns = run->now_ns + length_ns;

	while (run->now_ns < end_ns) {
		feed(run,
		     record_taking(5 * US, record_on(0, record_launch("cuLaunchKernel", 0x1234))));
		wait_for(run, 5 * MS);
	}
}

static void run_idle_context(struct run *run)
{
	begin_on_two_devices(run);
	work(run, 6 * SECOND);
	end_process(run, 0);
}

static void run_idle_so_far(struct run *run)
{
	begin_on_two_devices(run);
	work(run, 6 * SECOND);
}

static void run_idle_shortly(struct run *run)
{
	begin_on_two_devices(run);
	work(run, 2 * SECOND);
	end_process(run, 0);
}

static void run_destroyed_unused(struct run *run)
{
	begin_on_two_devices(run);
	work(run, 6 * SECOND);
	feed(run, record_on(1, record_call("cuDevicePrimaryCtxRelease_v2")));
	end_process(run, 0);
}

static void run_used_a_little(struct run *run)
{
	begin_on_two_devices(run);
	alloc_on(run, 1, KIB);
	work(run, 6 * SECOND);
	end_process(run, 0);
}

static void run_only_launches(struct run *run)
{
	begin_on_two_devices(run);
	feed(run, record_on(1, record_launch("cuLaunchKernel", 0x1234)));
	work(run, 6 * SECOND);
	end_process(run, 0);
}

/* Where they were launched is not known. */
static void run_idle_summed(struct run *run)
{
	begin_on_two_devices(run);
	feed(run, record_launches("cuLaunchKernel", 0x1234, 500));
	work(run, 6 * SECOND);
	end_process(run, 0);
}

/* It has one context only, so that is where it works. */
static void run_launches_somewhere(struct run *run)
{
	feed(run, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	steps(run, 600);
	end_process(run, 0);
}

static void run_only_page_locked(struct run *run)
{
	feed(run, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	pin(run, MIB);
	wait_for(run, 10 * SECOND);
	end_process(run, 0);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define PILE(confidence) { { FINDING_PILE, confidence, 0 } }, 1
#define IDLE(confidence) { { FINDING_IDLE_CONTEXT, confidence, 0 } }, 1

/* With how many of what. */
static const struct {
	struct program program;
	enum ms_object_kind object;
	uint64_t count;
} cases[] = {
	/* clang-format off */
	{ { "contexts", run_contexts, PILE(H) }, MS_OBJECT_CONTEXT, 20 },
	{ { "modules", run_modules, PILE(H) }, MS_OBJECT_MODULE, 200 },
	{ { "libraries", run_libraries, PILE(H) }, MS_OBJECT_LIBRARY, 40 },
	{ { "streams", run_streams, PILE(H) }, MS_OBJECT_STREAM, 40 },
	{ { "events", run_events, PILE(H) }, MS_OBJECT_EVENT, 400 },
	{ { "graphs", run_graphs, PILE(H) }, MS_OBJECT_GRAPH, 40 },
	{ { "executable graphs", run_executables, PILE(H) }, MS_OBJECT_EXECUTABLE, 40 },
	{ { "memory pools", run_pools, PILE(H) }, MS_OBJECT_MEMORY_POOL, 40 },
	{ { "green contexts", run_green_contexts, PILE(H) }, MS_OBJECT_GREEN_CONTEXT, 40 },
	{ { "linkers", run_linkers, PILE(H) }, MS_OBJECT_LINKER, 40 },
	{ { "texture objects", run_textures, PILE(H) }, MS_OBJECT_TEXTURE, 200 },
	{ { "surface objects", run_surfaces, PILE(H) }, MS_OBJECT_SURFACE, 40 },
	{ { "external semaphores", run_semaphores, PILE(H) }, MS_OBJECT_SEMAPHORE, 40 },
	{ { "opened events", run_opened_events, PILE(H) }, MS_OBJECT_EVENT, 40 },
	{ { "opened blocks", run_opened, PILE(H) }, MS_OBJECT_OPENED, 40 },
	{ { "events among others", run_events_among_others, PILE(H) }, MS_OBJECT_EVENT, 40 },
	{ { "destroyed at the end", run_destroyed_at_the_end, PILE(M) }, MS_OBJECT_STREAM, 40 },
	{ { "destroyed at the end beside events", run_destroyed_at_the_end_beside_events, PILE(M) }, MS_OBJECT_STREAM, 40 },
	{ { "ended with their context", run_ended_with_their_context, PILE(M) }, MS_OBJECT_STREAM, 40 },
	{ { "made at first", run_made_at_first, {}, 0 }, 0, 0 },
	{ { "levels off", run_levels_off, {}, 0 }, 0, 0 },
	{ { "come and go", run_come_and_go, {}, 0 }, 0, 0 },
	{ { "a ring", run_ring, {}, 0 }, 0, 0 },
	{ { "few", run_few, {}, 0 }, 0, 0 },
	{ { "few contexts", run_few_contexts, {}, 0 }, 0, 0 },
	{ { "contexts one by one", run_contexts_one_by_one, {}, 0 }, 0, 0 },
	{ { "resets", run_resets, {}, 0 }, 0, 0 },
	{ { "retained again", run_retained_again, {}, 0 }, 0, 0 },
	{ { "made once", run_made_once, {}, 0 }, 0, 0 },
	{ { "another program", run_other_program, {}, 0 }, 0, 0 },
	{ { "failed", run_failed, {}, 0 }, 0, 0 },
	{ { "an idle context", run_idle_context, IDLE(H) }, MS_OBJECT_CONTEXT, 1 },
	{ { "idle so far", run_idle_so_far, IDLE(M) }, MS_OBJECT_CONTEXT, 1 },
	{ { "idle, launches summed", run_idle_summed, IDLE(M) }, MS_OBJECT_CONTEXT, 1 },
	{ { "only page-locked memory", run_only_page_locked, IDLE(H) }, MS_OBJECT_CONTEXT, 1 },
	{ { "launches somewhere", run_launches_somewhere, {}, 0 }, 0, 0 },
	{ { "idle shortly", run_idle_shortly, {}, 0 }, 0, 0 },
	{ { "destroyed unused", run_destroyed_unused, {}, 0 }, 0, 0 },
	{ { "used a little", run_used_a_little, {}, 0 }, 0, 0 },
	{ { "only launches", run_only_launches, {}, 0 }, 0, 0 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	size_t i, count;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run run = { 0 };
		const struct finding *findings;

		run_program(&run, &cases[i].program);
		findings = analysis_findings(run.analysis, &count);
		if (count) {
			assert_int_equal(findings->object, cases[i].object);
			assert_int_equal(findings->count, cases[i].count);
		}
		run_end(&run);
	}
}

/* ---- what they say --------------------------------------------------------------------------- */

/* Each takes 4 MiB that no allocation shows. */
static void run_modules_with_cost(struct run *run)
{
	int i;

	alloc_new(run, 64 * MIB);
	for (i = 0; i < 60; i++) {
		told(run, 7 * GIB - i * 4 * MIB, 8 * GIB);
		make(run, "cuModuleLoadData");
		steps(run, 20);
	}
	told(run, 7 * GIB - i * 4 * MIB, 8 * GIB);
}

static void test_cost(void **state)
{
	struct run run = { 0 };
	const struct finding *findings;
	size_t count, i;
	uint64_t each = 0;

	(void)state;
	assert_true(run_begin(&run));
	run_modules_with_cost(&run);
	finish(&run);
	findings = analysis_findings(run.analysis, &count);
	assert_int_equal(count, 2);
	for (i = 0; i < 2; i++)
		if (findings[i].rule == FINDING_PILE)
			break;
	assert_int_not_equal(i, 2);
	findings += i;
	for (i = 0; i < findings->evidence_count; i++)
		if (!strcmp(findings->evidence[i].what, "for each that was made, at most"))
			each = findings->evidence[i].value;
	assert_in_range(each, 4 * MIB, 5 * MIB);
	run_end(&run);
}

/* What was live when a part of the recording was missing is read from the state. */
static void test_after_a_gap(void **state)
{
	struct run run = { 0 };

	(void)state;
	assert_true(run_begin(&run));
	make_many(&run, "cuModuleLoadData", 40);
	analysis_gap(run.analysis);
	make_many(&run, "cuModuleLoadData", 40);
	expect_findings(&run, { FINDING_PILE, M, 0 });
	run_end(&run);
}

static const struct lossy_program lossy[] = {
	{ { "modules, memory lost", run_modules, PILE(L) }, MS_OP_MEMORY },
	{ { "idle, contexts lost", run_idle_context, IDLE(M) }, MS_OP_CONTEXT },
};

static void test_losses(void **state)
{
	(void)state;
	run_all_lossy(lossy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_after_a_gap),
		cmocka_unit_test(test_losses),
	};

	return unit_run("analysis: piles", tests);
}
