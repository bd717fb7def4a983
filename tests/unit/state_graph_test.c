// SPDX-License-Identifier: BSD-2-Clause
/*
 * Graphs that allocate and free memory, built node by node or captured from a stream.
 */
#include "ledger/graphs.h"
#include "scenario.h"

#define A 0x7f0000001000
#define B 0x7f0000002000
#define GRAPH 0x9000
#define OTHER 0x9100
#define EXECUTABLE 0xe000
#define STREAM 0x5000
#define CONTEXT 0xc0

#define AUTO_FREE 1 /* CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH */
#define WRONG_THREAD 908

static void node(struct scenario *s, uint64_t graph, uint64_t addr, uint64_t size)
{
	apply(s, record_node(graph, addr, size));
}

static void instantiate(struct scenario *s, uint64_t executable, uint64_t graph, uint64_t flags)
{
	union record record = record_memory("cuGraphInstantiateWithFlags", executable, graph);

	record.call.size = flags;
	record.call.known |= MS_KNOWN_SIZE;
	apply(s, record);
}

static void launch(struct scenario *s, uint64_t executable)
{
	apply(s, record_launch("cuGraphLaunch", executable));
}

static void begin_capture(struct scenario *s, uint64_t stream)
{
	apply(s, record_stream(stream, record_call("cuStreamBeginCapture_v2")));
}

static void end_capture(struct scenario *s, uint64_t stream, uint64_t graph)
{
	apply(s, record_stream(stream, record_free("cuStreamEndCapture", graph)));
}

static void pool_alloc(struct scenario *s, uint64_t stream, uint64_t addr, uint64_t size)
{
	apply(s, record_stream(stream, record_alloc("cuMemAllocAsync", addr, size)));
}

static void pool_free(struct scenario *s, uint64_t stream, uint64_t addr)
{
	apply(s, record_begin_stream(stream, record_begin_of("cuMemFreeAsync", addr, 0)));
	apply(s, record_at(s->now_ns, record_stream(stream, record_free("cuMemFreeAsync", addr))));
}

/* What the last launch allocated, and what it freed of graphs' memory. */
#define assert_ran(scenario, made_count, made_bytes, freed_count, freed_bytes) \
	do { \
		const struct change *ran = &(scenario)->change; \
\
		assert_int_equal(ran->made[MS_SPACE_GRAPH].count, made_count); \
		assert_int_equal(ran->made[MS_SPACE_GRAPH].bytes, made_bytes); \
		assert_int_equal(ran->implicit[MS_SPACE_GRAPH].count, freed_count); \
		assert_int_equal(ran->implicit[MS_SPACE_GRAPH].bytes, freed_bytes); \
	} while (0)

/* ---- node by node ---------------------------------------------------------------------------- */

static void test_nodes_take_effect_at_each_launch(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	node(&s, GRAPH, B, 50);
	node(&s, GRAPH, A, 0);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->allocs, 0);
	apply(&s, record_at(5000, record_taking(7, record_in(CONTEXT, record_launch("cuGraphLaunch",
										    EXECUTABLE)))));
	assert_ran(&s, 2, 150, 1, 100);
	assert_live(&s, MS_SPACE_GRAPH, 1, 50);
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->peak_bytes, 150);
	apply_free_of(&s, "cuMemFree_v2", B);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_int_equal(s.change.allocation.space, MS_SPACE_GRAPH);
	assert_int_equal(s.change.allocation.context, CONTEXT);
	assert_int_equal(s.change.allocation.ts_ns, 5007);
	assert_live(&s, MS_SPACE_GRAPH, 0, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 2, 150, 1, 100);
	assert_live(&s, MS_SPACE_GRAPH, 1, 50);
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->allocs, 4);
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->frees, 3);
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->free_bytes, 250);
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->implicit_frees, 0);
	assert_int_equal(first_process(&s)->graph_launches, 2);
	assert_int_equal(first_process(&s)->launches, 0);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_FREES], 0);
	state_fini(&s.state);
}

static void test_launches_that_do_nothing(void **state)
{
	struct scenario s = { 0 };
	union record failed = record_failed(1, record_launch("cuGraphLaunch", EXECUTABLE));
	union record part = record_launch("cuGraphLaunch", EXECUTABLE);

	(void)state;
	apply(&s, record_failed(1, record_node(GRAPH, B, 1)));
	node(&s, GRAPH, A, 100);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	apply(&s, failed);
	apply(&s, record_flagged(MS_CALL_PART, part));
	assert_int_equal(first_process(&s)->graph_launches, 0);
	launch(&s, EXECUTABLE + 1); /* of no known nodes */
	assert_ran(&s, 0, 0, 0, 0);
	launch(&s, GRAPH);
	assert_live(&s, MS_SPACE_GRAPH, 0, 0);
	assert_int_equal(first_process(&s)->graph_launches, 2);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 1, 100, 0, 0);
	state_fini(&s.state);
}

/* Of what it allocated: the driver refuses it otherwise, so that a free must have been missed. */
static void test_launched_while_its_memory_is_live(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 0, 0, 0, 0);
	assert_live(&s, MS_SPACE_GRAPH, 1, 100);
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->allocs, 1);
	state_fini(&s.state);
}

static int sum_bytes(void *context, const struct allocation *made)
{
	uint64_t *bytes = context;

	*bytes += made->size_bytes;
	return 0;
}

static uint64_t bytes_made_by(const struct scenario *s, union record launched)
{
	struct event event;
	uint64_t bytes = 0;

	assert_int_equal(event_decode(&launched, launched.event.size, &event), 0);
	assert_int_equal(graphs_each_made(first_process(s), &event, sum_bytes, &bytes), 0);
	return bytes;
}

/* What this launch made, and not what an earlier one did, whose free was missed. */
static void test_what_a_launch_made(void **state)
{
	const union record first = record_at(10000, record_launch("cuGraphLaunch", EXECUTABLE));
	const union record again = record_at(20000, record_launch("cuGraphLaunch", EXECUTABLE));
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	node(&s, GRAPH, B, 50);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	apply(&s, first);
	assert_int_equal(bytes_made_by(&s, first), 150);
	pool_free(&s, STREAM, B);
	apply(&s, again);
	assert_ran(&s, 1, 50, 0, 0);
	assert_int_equal(bytes_made_by(&s, again), 50);
	assert_int_equal(bytes_made_by(&s, first), 100);
	state_fini(&s.state);
}

static void test_auto_free(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	node(&s, GRAPH, B, 50);
	instantiate(&s, EXECUTABLE, GRAPH, AUTO_FREE | 8);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 2, 150, 0, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 2, 150, 2, 150);
	assert_live(&s, MS_SPACE_GRAPH, 2, 150);
	apply_free_of(&s, "cuMemFree_v2", A);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 2, 150, 1, 50);
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->peak_bytes, 150);
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->frees, 4);

	instantiate(&s, EXECUTABLE, GRAPH, 8); /* another one, with other flags */
	launch(&s, EXECUTABLE);
	assert_ran(&s, 0, 0, 0, 0);
	state_fini(&s.state);
}

/* An executable graph is what the graph was when it was made. */
static void test_later_nodes_are_not_in_an_executable(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	node(&s, GRAPH, B, 50);
	instantiate(&s, EXECUTABLE + 1, GRAPH, 0);
	apply(&s, record_free("cuGraphDestroy", GRAPH));
	launch(&s, EXECUTABLE);
	assert_live(&s, MS_SPACE_GRAPH, 1, 100);
	launch(&s, EXECUTABLE + 1);
	assert_live(&s, MS_SPACE_GRAPH, 2, 150);
	state_fini(&s.state);
}

static void test_clones_and_child_graphs(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	node(&s, OTHER, B, 7); /* its end was not seen */
	apply(&s, record_memory("cuGraphClone", OTHER, GRAPH));
	node(&s, OTHER, A, 0);
	instantiate(&s, EXECUTABLE, OTHER, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 1, 100, 1, 100);

	node(&s, GRAPH + 1, B, 50);
	apply(&s, record_memory("cuGraphAddChildGraphNode", GRAPH, GRAPH + 1));
	apply(&s, record_memory("cuGraphAddChildGraphNode", GRAPH, GRAPH + 2)); /* empty */
	node(&s, GRAPH, B, 0);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 2, 150, 1, 50);
	instantiate(&s, EXECUTABLE, GRAPH + 1, 0); /* the child is still what it was */
	launch(&s, EXECUTABLE);
	assert_ran(&s, 1, 50, 0, 0);
	apply(&s, record_memory("cuGraphClone", OTHER, GRAPH + 2)); /* empty */
	instantiate(&s, EXECUTABLE, OTHER, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 0, 0, 0, 0);
	state_fini(&s.state);
}

/* The driver makes a copy of it first. */
static void test_a_graph_in_itself(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	for (i = 0; i < 16; i++)
		node(&s, GRAPH, A + i * 512, 10);
	for (i = 0; i < 6; i++)
		apply(&s, record_memory("cuGraphAddChildGraphNode", GRAPH, GRAPH));
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_live(&s, MS_SPACE_GRAPH, 16, 160);
	state_fini(&s.state);
}

/* Each time twice as many nodes, for one small record: there must be an end to it, and a word. */
static void test_too_many_nodes_are_dropped_and_counted(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	node(&s, GRAPH, A, 10);
	for (i = 0; i < 16; i++)
		apply(&s, record_memory("cuGraphAddChildGraphNode", GRAPH, GRAPH));
	assert_int_equal(first_process(&s)->graph_nodes, 1 << 16);
	assert_int_equal(first_process(&s)->counters[COUNTER_DROPPED_NODES], 0);
	apply(&s, record_memory("cuGraphAddChildGraphNode", GRAPH, GRAPH));
	node(&s, GRAPH, B, 10);
	assert_int_equal(first_process(&s)->graph_nodes, 1 << 16);
	assert_int_equal(first_process(&s)->counters[COUNTER_DROPPED_NODES], (1 << 16) + 1);
	/* What it has is followed, and other graphs are. */
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_live(&s, MS_SPACE_GRAPH, 1, 10);
	node(&s, OTHER, B, 20);
	instantiate(&s, EXECUTABLE + 1, OTHER, 0);
	launch(&s, EXECUTABLE + 1);
	assert_live(&s, MS_SPACE_GRAPH, 2, 30);
	state_fini(&s.state);
}

static void test_too_many_graphs_are_dropped_and_counted(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	node(&s, GRAPH, A, 10);
	for (i = 0; i < 16; i++)
		apply(&s, record_memory("cuGraphAddChildGraphNode", GRAPH, GRAPH));
	for (i = 0; i < 100; i++)
		instantiate(&s, EXECUTABLE + i, GRAPH, 0);
	assert_int_equal(first_process(&s)->graph_nodes, 1 << 20);
	assert_int_equal(first_process(&s)->counters[COUNTER_DROPPED_NODES], 85 << 16);
	/* Their end makes room. */
	for (i = 0; i < 100; i++)
		apply(&s, record_free("cuGraphExecDestroy", EXECUTABLE + i));
	assert_int_equal(first_process(&s)->graph_nodes, 1 << 16);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	assert_int_equal(first_process(&s)->counters[COUNTER_DROPPED_NODES], 85 << 16);
	apply(&s, record_process(MS_TYPE_EXEC, "next", 0));
	assert_int_equal(first_process(&s)->graph_nodes, 0);
	state_fini(&s.state);
}

static void test_destroyed(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	apply(&s, record_free("cuGraphDestroy", EXECUTABLE)); /* not an executable's */
	apply(&s, record_free("cuGraphExecDestroy", GRAPH));
	apply(&s, record_failed(1, record_free("cuGraphExecDestroy", EXECUTABLE)));
	launch(&s, EXECUTABLE);
	assert_live(&s, MS_SPACE_GRAPH, 1, 100);
	apply(&s, record_free("cuGraphExecDestroy", EXECUTABLE));
	apply(&s, record_free("cuGraphExecDestroy", EXECUTABLE));
	assert_live(&s, MS_SPACE_GRAPH, 1, 100); /* memory outlives it */
	apply_free_of(&s, "cuMemFree_v2", A);
	launch(&s, EXECUTABLE);
	assert_live(&s, MS_SPACE_GRAPH, 0, 0);
	apply(&s, record_free("cuGraphDestroy", GRAPH));
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_live(&s, MS_SPACE_GRAPH, 0, 0);
	state_fini(&s.state);
}

/* One graph allocates, another one frees; a graph may also free what is not a graph's. */
static void test_freed_by_another_graph(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	node(&s, OTHER, A, 0);
	node(&s, OTHER, B, 0);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	instantiate(&s, EXECUTABLE + 1, OTHER, 0);
	launch(&s, EXECUTABLE);
	pool_alloc(&s, STREAM, B, 50);
	launch(&s, EXECUTABLE + 1);
	assert_ran(&s, 0, 0, 1, 100);
	assert_int_equal(s.change.implicit[MS_SPACE_POOL].bytes, 50);
	assert_live(&s, MS_SPACE_GRAPH, 0, 0);
	assert_live(&s, MS_SPACE_POOL, 0, 0);
	assert_int_equal(space_of(&s, MS_SPACE_POOL)->free_bytes, 50);
	launch(&s, EXECUTABLE + 1); /* nothing left to be freed */
	assert_int_equal(space_of(&s, MS_SPACE_GRAPH)->frees, 1);
	state_fini(&s.state);
}

static void test_a_node_whose_address_was_not_read(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_without(MS_KNOWN_ADDR, record_node(GRAPH, 0, 100)));
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_live(&s, MS_SPACE_GRAPH, 0, 0);
	state_fini(&s.state);
}

/* ---- captured -------------------------------------------------------------------------------- */

static void test_a_capture_takes_effect_when_launched(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	begin_capture(&s, STREAM);
	pool_alloc(&s, STREAM, A, 100);
	assert_true(s.change.captured);
	assert_false(s.change.has_allocation);
	pool_alloc(&s, STREAM, B, 50);
	pool_free(&s, STREAM, A);
	assert_int_equal(s.change.free, FREE_CAPTURED);
	assert_int_equal(space_of(&s, MS_SPACE_POOL)->allocs, 0);
	end_capture(&s, STREAM, GRAPH);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	assert_live(&s, MS_SPACE_GRAPH, 0, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 2, 150, 1, 100);
	assert_live(&s, MS_SPACE_GRAPH, 1, 50);
	pool_free(&s, STREAM, B); /* captured no more */
	assert_int_equal(s.change.free, FREE_KNOWN);
	pool_alloc(&s, STREAM, A, 8);
	assert_false(s.change.captured);
	assert_live(&s, MS_SPACE_POOL, 1, 8);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_FREES], 0);
	state_fini(&s.state);
}

static void test_only_that_stream_is_captured(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	pool_alloc(&s, STREAM, B, 50);
	apply(&s, record_failed(1, record_stream(STREAM + 1, record_call("cuStreamBeginCapture"))));
	begin_capture(&s, STREAM);
	pool_alloc(&s, STREAM + 1, A, 100);
	assert_live(&s, MS_SPACE_POOL, 2, 150);
	apply(&s, record_alloc("cuMemAlloc_v2", A + 512, 9)); /* in no stream */
	assert_live(&s, MS_SPACE_DEVICE, 1, 9);
	apply_free_of(&s, "cuMemFree_v2", A + 512);
	assert_int_equal(s.change.free, FREE_KNOWN);
	pool_free(&s, STREAM + 1, A);
	assert_int_equal(s.change.free, FREE_KNOWN);
	apply(&s, record_failed(1, record_stream(STREAM, record_alloc("cuMemAllocAsync", A, 1))));
	pool_free(&s, STREAM, B); /* will be freed by the launch */
	assert_live(&s, MS_SPACE_POOL, 1, 50);
	end_capture(&s, STREAM, GRAPH);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 0, 0, 0, 0);
	assert_live(&s, MS_SPACE_POOL, 0, 0);
	state_fini(&s.state);
}

static void test_a_capture_into_a_graph_appends(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	apply(&s, record_stream(STREAM, record_free("cuStreamBeginCaptureToGraph", GRAPH)));
	pool_alloc(&s, STREAM, B, 50);
	pool_free(&s, STREAM, A);
	end_capture(&s, STREAM, GRAPH);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 2, 150, 1, 100);
	assert_live(&s, MS_SPACE_GRAPH, 1, 50);
	state_fini(&s.state);
}

/* An invalidated capture is over, and there is no graph; another thread's call does not end it. */
static void test_a_failed_end_of_a_capture(void **state)
{
	union record end = record_stream(STREAM, record_call("cuStreamEndCapture"));
	struct scenario s = { 0 };

	(void)state;
	begin_capture(&s, STREAM);
	pool_alloc(&s, STREAM, A, 100);
	apply(&s, record_failed(WRONG_THREAD, end));
	pool_alloc(&s, STREAM, B, 50);
	assert_true(s.change.captured);
	apply(&s, record_failed(901, end));
	pool_alloc(&s, STREAM, A, 10);
	assert_false(s.change.captured);
	assert_live(&s, MS_SPACE_POOL, 1, 10);
	begin_capture(&s, STREAM);
	pool_alloc(&s, STREAM, B, 50);
	end_capture(&s, STREAM, GRAPH); /* nothing is left of the first one */
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 1, 50, 0, 0);
	state_fini(&s.state);
}

/* The end of the first one was not seen. */
static void test_a_capture_begun_anew_is_empty(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	begin_capture(&s, STREAM);
	pool_alloc(&s, STREAM, A, 100);
	begin_capture(&s, STREAM);
	pool_alloc(&s, STREAM, B, 50);
	end_capture(&s, STREAM, GRAPH);
	end_capture(&s, STREAM, OTHER); /* of no known capture */
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 1, 50, 0, 0);
	instantiate(&s, EXECUTABLE, OTHER, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 0, 0, 0, 0);
	state_fini(&s.state);
}

/* ---- ends of contexts and programs ----------------------------------------------------------- */

static void test_memory_of_graphs_outlives_its_context(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	apply(&s, record_in(CONTEXT, record_launch("cuGraphLaunch", EXECUTABLE)));
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_int_equal(s.change.implicit[MS_SPACE_GRAPH].bytes, 0);
	assert_live(&s, MS_SPACE_GRAPH, 1, 100);
	apply(&s, record_exit(0));
	assert_int_equal(s.change.implicit[MS_SPACE_GRAPH].bytes, 100);
	state_fini(&s.state);
}

static void test_an_exec_forgets_all_graphs(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	node(&s, GRAPH, A, 100);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	begin_capture(&s, STREAM);
	pool_alloc(&s, STREAM, B, 50);
	apply(&s, record_process(MS_TYPE_EXEC, "next", 0));
	assert_int_equal(s.change.implicit[MS_SPACE_GRAPH].bytes, 100);
	pool_alloc(&s, STREAM, B, 50);
	assert_false(s.change.captured);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 0, 0, 0, 0);
	instantiate(&s, EXECUTABLE, GRAPH, 0);
	launch(&s, EXECUTABLE);
	assert_ran(&s, 0, 0, 0, 0);
	begin_capture(&s, STREAM); /* and an exit in the middle of it all */
	node(&s, GRAPH, A, 100);
	apply(&s, record_exit(0));
	assert_int_equal(s.change.implicit[MS_SPACE_POOL].bytes, 50);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes_take_effect_at_each_launch),
		cmocka_unit_test(test_launches_that_do_nothing),
		cmocka_unit_test(test_launched_while_its_memory_is_live),
		cmocka_unit_test(test_what_a_launch_made),
		cmocka_unit_test(test_auto_free),
		cmocka_unit_test(test_later_nodes_are_not_in_an_executable),
		cmocka_unit_test(test_clones_and_child_graphs),
		cmocka_unit_test(test_a_graph_in_itself),
		cmocka_unit_test(test_too_many_nodes_are_dropped_and_counted),
		cmocka_unit_test(test_too_many_graphs_are_dropped_and_counted),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_freed_by_another_graph),
		cmocka_unit_test(test_a_node_whose_address_was_not_read),
		cmocka_unit_test(test_a_capture_takes_effect_when_launched),
		cmocka_unit_test(test_only_that_stream_is_captured),
		cmocka_unit_test(test_a_capture_into_a_graph_appends),
		cmocka_unit_test(test_a_failed_end_of_a_capture),
		cmocka_unit_test(test_a_capture_begun_anew_is_empty),
		cmocka_unit_test(test_memory_of_graphs_outlives_its_context),
		cmocka_unit_test(test_an_exec_forgets_all_graphs),
	};

	return unit_run("state: graphs", tests);
}
