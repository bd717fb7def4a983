// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that makes ever new ones of whatever it can make: what is kept of it is bounded, what
 * is not kept is counted, and the work is what it would be for plain allocations.
 */
#include <stdio.h>
#include <time.h>

#include "scenario.h"

#define BASE 0x700000000000ull
#define MORE 5000

static const struct process *grown;

static void make(struct scenario *s, union record (*of)(uint64_t i), uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		apply(s, of(i));
	grown = first_process(s);
}

/* ---- results --------------------------------------------------------------------------------- */

static union record result(uint64_t i)
{
	return record_failed((int32_t)(1000 + i), record_free("cuMemFree_v2", BASE));
}

static void test_ever_new_results(void **state)
{
	struct scenario s = { 0 };
	const size_t most = LIMIT_FAILURES;

	(void)state;
	make(&s, result, most);
	assert_int_equal(grown->failures_count, most);
	assert_int_equal(grown->counters[COUNTER_OTHER_FAILURES], 0);
	make(&s, result, most + MORE); /* the first ones again */
	assert_int_equal(grown->failures_count, most);
	assert_int_equal(grown->failures[7].count, 2);
	assert_int_equal(grown->counters[COUNTER_OTHER_FAILURES], MORE);
	assert_int_equal(grown->calls[MS_OP_FREE], 2 * most + MORE);
	assert_false(process_counters_are_inexact(grown->counters));
	state_fini(&s.state);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static union record context(uint64_t i)
{
	return record_context("cuCtxCreate_v2", BASE + i * 16, (int32_t)(i % 8));
}

static int32_t device_of_one_in(struct scenario *s, uint64_t i)
{
	apply(s, record_in(BASE + i * 16, record_alloc("cuMemAlloc_v2", BASE + 512, 512)));
	return s->change.device;
}

static void test_ever_new_contexts(void **state)
{
	struct scenario s = { 0 };
	const size_t most = LIMIT_CONTEXTS;

	(void)state;
	make(&s, context, most + MORE);
	assert_int_equal(grown->contexts_count, most);
	assert_int_equal(grown->counters[COUNTER_OTHER_CONTEXTS], MORE);
	assert_int_equal(device_of_one_in(&s, most - 1), (most - 1) % 8);
	assert_int_equal(device_of_one_in(&s, most), -1);
	/*
	 * The end of one makes room for another; what is in one that is not followed ends with it.
	 */
	apply(&s, record_context("cuCtxDestroy_v2", BASE, 0));
	apply(&s, context(most + 1));
	assert_int_equal(grown->contexts_count, most);
	assert_int_equal(device_of_one_in(&s, most + 1), (most + 1) % 8);
	assert_int_equal(device_of_one_in(&s, most), -1);
	apply(&s, record_context("cuCtxDestroy_v2", BASE + most * 16, 0));
	assert_int_equal(grown->spaces[MS_SPACE_DEVICE].live_count, 0);
	state_fini(&s.state);
}

/* Contexts come and go, primaries of devices too: each is found by what it is now. */
static void test_contexts_that_end_in_any_order(void **state)
{
	struct scenario s = { 0 };
	uint64_t random = 5, step;
	bool there[64] = { false };

	(void)state;
	for (step = 0; step < 20000; step++) {
		uint64_t i = (random = unit_random(random)) % 64;
		int32_t device = (int32_t)i / 2;

		if (i % 2 && there[i])
			apply(&s, record_context("cuDevicePrimaryCtxRelease", 0, device));
		else if (i % 2)
			apply(&s,
			      record_context("cuDevicePrimaryCtxRetain", BASE + i * 16, device));
		else if (there[i])
			apply(&s, record_context("cuCtxDestroy_v2", BASE + i * 16, 0));
		else
			apply(&s, record_context("cuCtxCreate_v2", BASE + i * 16, device));
		there[i] = !there[i];
		i = (random = unit_random(random)) % 64;
		assert_int_equal(device_of_one_in(&s, i), there[i] ? (int32_t)i / 2 : -1);
	}
	state_fini(&s.state);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static union record launch(uint64_t i)
{
	return record_launch("cuLaunchKernel", BASE + i * 64);
}

static const struct kernel *other_kernels(void)
{
	size_t i;

	for (i = 0; i < grown->kernels_count; i++)
		if (grown->kernels[i].name == limit_other_kernels)
			return &grown->kernels[i];
	return NULL;
}

static void test_ever_new_kernels(void **state)
{
	struct scenario s = { 0 };
	const size_t most = LIMIT_KERNELS;
	uint64_t launches = 0;
	size_t i;

	(void)state;
	make(&s, launch, most - 1);
	assert_null(other_kernels());
	make(&s, launch, most + MORE);
	assert_int_equal(grown->kernels_count, most);
	assert_non_null(other_kernels());
	assert_int_equal(other_kernels()->launches, MORE + 1);
	assert_int_equal(grown->counters[COUNTER_OTHER_KERNELS], MORE + 1);
	for (i = 0; i < grown->kernels_count; i++)
		launches += grown->kernels[i].launches;
	assert_int_equal(launches, grown->launches);
	assert_int_equal(launches, 2 * most - 1 + MORE);
	state_fini(&s.state);
}

static union record name(uint64_t i)
{
	char text[32];

	snprintf(text, sizeof(text), "kernel_%llu", (unsigned long long)i % 100);
	return record_name(BASE + i * 64, text);
}

static union record alias(uint64_t i)
{
	return record_alias(BASE + i * 64 + 8, BASE + i * 64);
}

static void test_ever_new_handles_with_names(void **state)
{
	struct scenario s = { 0 };
	const size_t most = LIMIT_NAMES;

	(void)state;
	make(&s, name, most + MORE);
	make(&s, name, 10); /* those that are known can be named anew */
	assert_int_equal(grown->names.count, most);
	assert_int_equal(grown->counters[COUNTER_OTHER_NAMES], MORE);
	make(&s, alias, most + MORE);
	assert_int_equal(grown->aliases.count, most);
	assert_int_equal(grown->counters[COUNTER_OTHER_NAMES], 2 * MORE);
	make(&s, launch, most + MORE);
	assert_in_range(grown->launch_places.count, 1, most);
	assert_int_equal(grown->kernels_count, 100 + MORE);
	state_fini(&s.state);
}

static void name_at_length(struct scenario *s, uint32_t process, uint64_t i)
{
	static union {
		struct ms_name name;
		char bytes[sizeof(struct ms_name) + MS_NAME_MAX];
	} record;
	char *text = record.bytes + sizeof(record.name);
	struct event event;
	int length;

	record.name.event = record_name(1, "").event;
	record.name.event.pid = process;
	record.name.event.size = sizeof(record);
	record.name.event.ts_ns = 1000 + i;
	record.name.handle = BASE + i * 64;
	record.name.string = 0x5000;
	record.name.length = MS_NAME_MAX;
	memset(text, 'x', MS_NAME_MAX - 1);
	length = snprintf(text, MS_NAME_MAX, "%u.%llu", process, (unsigned long long)i);
	text[length] = '.';
	assert_int_equal(event_decode(&record, sizeof(record), &event), 0);
	assert_int_equal(state_apply(&s->state, &event), 0);
}

static void test_ever_longer_names(void **state)
{
	const uint64_t fit = LIMIT_NAME_BYTES / (MS_NAME_MAX + 64), count = 2 * fit;
	struct scenario s = { 0 };
	uint32_t process;
	uint64_t i;

	(void)state;
	for (i = 0; i < count; i++)
		name_at_length(&s, RECORD_PID, i);
	grown = first_process(&s);
	assert_in_range(grown->counters[COUNTER_OTHER_NAMES], count - fit - 16, count - fit);
	assert_true(s.state.strings.bytes <= LIMIT_NAME_BYTES + MS_NAME_MAX);
	/* A kernel whose name was one too many is one of the others. */
	apply(&s, launch(count - 1));
	assert_ptr_equal(s.change.kernel, limit_other_kernels);
	apply(&s, launch(0));
	assert_int_equal(strlen(s.change.kernel), MS_NAME_MAX - 1);
	apply(&s, launch(count - 1));
	assert_int_equal(other_kernels()->launches, 2);
	assert_int_equal(grown->counters[COUNTER_OTHER_KERNELS], 2);
	/* All processes together have several times as much, and no more. */
	for (process = 1000; process < 1020; process++)
		for (i = 0; i < fit; i++)
			name_at_length(&s, process, i);
	assert_true(s.state.strings.bytes <= LIMIT_ALL_NAMES_BYTES + MS_NAME_MAX);
	assert_true(s.state.strings.bytes > LIMIT_ALL_NAMES_BYTES / 2);
	state_fini(&s.state);
}

/* ---- others ---------------------------------------------------------------------------------- */

static union record pool(uint64_t i)
{
	union record record = record_memory("cuMemPoolGetAttribute", BASE + i * 64, 5);

	record.call.size = 1 << 20;
	record.call.known |= MS_KNOWN_SIZE;
	return record;
}

static void test_ever_new_pools(void **state)
{
	struct scenario s = { 0 };
	const size_t most = LIMIT_VIEWS;

	(void)state;
	make(&s, pool, most + MORE);
	make(&s, pool, most);
	assert_int_equal(grown->views_count, most);
	assert_int_equal(grown->counters[COUNTER_OTHER_VIEWS], MORE);
	state_fini(&s.state);
}

static union record capture(uint64_t i)
{
	return record_stream(BASE + i * 64, record_call("cuStreamBeginCapture_v2"));
}

static union record node(uint64_t i)
{
	return record_node(BASE + i * 64, BASE, 512);
}

static void test_ever_new_graphs(void **state)
{
	struct scenario s = { 0 };
	const size_t most = LIMIT_GRAPHS;

	(void)state;
	make(&s, capture, most / 2);
	make(&s, node, most / 2 + MORE);
	assert_int_equal(grown->graphs.count + grown->captures.count, most);
	assert_int_equal(grown->counters[COUNTER_OTHER_GRAPHS], MORE);
	assert_true(process_counters_are_inexact(grown->counters));
	state_fini(&s.state);
}

static void test_ever_new_frees_that_do_not_return(void **state)
{
	struct scenario s = { 0 };
	const size_t most = LIMIT_FREES;
	uint64_t i;

	(void)state;
	for (i = 0; i < most + MORE; i++) {
		apply(&s, record_alloc("cuMemAlloc_v2", BASE + i * 512, 512));
		apply(&s, record_by(1000 + (uint32_t)i, record_free_begin(BASE + i * 512)));
	}
	grown = first_process(&s);
	assert_int_equal(grown->pending.calls_count, most);
	assert_int_equal(grown->counters[COUNTER_OTHER_FREES], MORE);
	assert_int_equal(grown->spaces[MS_SPACE_DEVICE].frees, MORE);
	assert_int_equal(grown->spaces[MS_SPACE_DEVICE].live_count, 0);
	assert_true(process_counters_are_inexact(grown->counters));
	state_fini(&s.state);
}

/* A graph of many nodes that is launched more often than any driver could do it. */
static void test_launches_that_no_driver_could_do(void **state)
{
	const uint64_t nodes = 50000;
	struct scenario s = { 0 };
	uint64_t launches = 0, i;

	(void)state;
	for (i = 0; i < nodes; i++)
		apply(&s, record_node(7, BASE + i * 512, 512));
	apply(&s, record_memory("cuGraphInstantiateWithFlags", 9, 7));
	grown = first_process(&s);
	for (i = 0; i < 1000; i++)
		apply(&s, record_to(9, record_call("cuGraphLaunch")));
	assert_in_range(grown->counters[COUNTER_DROPPED_NODES], 900 * nodes, 999 * nodes);
	/* Given time, any number of them is followed. */
	launches = grown->counters[COUNTER_DROPPED_NODES];
	for (i = 0; i < 100; i++)
		apply(&s, record_at(s.now_ns + nodes * 1000,
				    record_to(9, record_call("cuGraphLaunch"))));
	assert_int_equal(grown->counters[COUNTER_DROPPED_NODES], launches);
	state_fini(&s.state);
}

/* ---- how long it takes ----------------------------------------------------------------------- */

static union record allocation(uint64_t i)
{
	return record_alloc("cuMemAlloc_v2", BASE + i * 512, 512);
}

static union record handle(uint64_t i)
{
	return record_alloc("cuMemCreate", BASE + i * 16, 2 << 20);
}

static union record stream(uint64_t i)
{
	return record_stream(BASE + i * 64, record_copy("cuMemcpyAsync", 64, MS_DIRECTION_HTOD));
}

static union record thread(uint64_t i)
{
	return record_by((uint32_t)i, record_free_begin(BASE + i * 512));
}

static double seconds_for(union record (*of)(uint64_t i), uint64_t count)
{
	struct scenario s = { 0 };
	struct timespec begin, end;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	make(&s, of, count);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	state_fini(&s.state);
	return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

/*
 * A list that is walked makes it hundreds of times as long, each time; what is left of the factor,
 * and more than one try, are for whatever else the machine is doing.
 */
static void test_work_is_in_proportion(void **state)
{
	static const struct {
		const char *name;
		union record (*of)(uint64_t i);
	} kinds[] = { { "results", result },   { "contexts", context }, { "kernels", launch },
		      { "names", name },       { "aliases", alias },    { "handles", handle },
		      { "streams", stream },   { "threads", thread },   { "pools", pool },
		      { "captures", capture }, { "graphs", node } };
	const uint64_t count = 200000 / unit_stride(3);
	double plain = seconds_for(allocation, count);
	size_t i, tries;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		double seconds = seconds_for(kinds[i].of, count);

		for (tries = 1; tries < 3 && seconds > 8 * plain + 0.1; tries++) {
			plain = seconds_for(allocation, count);
			seconds = seconds_for(kinds[i].of, count);
		}
		if (seconds > 8 * plain + 0.1)
			fail_msg("%s: %.3f s, allocations %.3f s", kinds[i].name, seconds, plain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ever_new_results),
		cmocka_unit_test(test_ever_new_contexts),
		cmocka_unit_test(test_contexts_that_end_in_any_order),
		cmocka_unit_test(test_ever_new_kernels),
		cmocka_unit_test(test_ever_new_handles_with_names),
		cmocka_unit_test(test_ever_longer_names),
		cmocka_unit_test(test_ever_new_pools),
		cmocka_unit_test(test_ever_new_graphs),
		cmocka_unit_test(test_ever_new_frees_that_do_not_return),
		cmocka_unit_test(test_launches_that_no_driver_could_do),
		cmocka_unit_test(test_work_is_in_proportion),
	};

	return unit_run("limits", tests);
}
