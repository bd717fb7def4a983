// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that do not get what they need of the host, and some that do: each with the findings
 * that it must have, and no others.
 */
#include "analysed.h"

#define PARTS 10 /* looks at the host */

/* What the kernel counts while a program runs, in each of its parts. */
struct host {
	uint64_t cpu_ns, queue_ns, throttled_ns, cgroup_stall_us, major_faults;
	uint64_t pressure_us; /* of CPUs, and a quarter of it that all waited for memory */
	uint64_t cgroup_bytes;
};

static void look(struct run *run, const struct host *host, uint64_t part)
{
	union record load = record_load(SECOND + part * host->cpu_ns, part * host->queue_ns, GIB);

	load.load.throttled_ns = part * host->throttled_ns;
	load.load.throttled = part;
	load.load.cgroup_stall_us = part * host->cgroup_stall_us;
	load.load.major_faults = part * host->major_faults;
	load.load.cgroup_bytes = host->cgroup_bytes;
	feed(run, record_of(0, 0, record_host(8 * GIB, part * host->pressure_us)));
	feed(run, load);
}

/* About a second: 100 steps of 10 ms, of which the host waits 4 ms in calls. */
static void work(struct run *run, uint64_t runnable_ns, uint64_t blocked_ns)
{
	int i, j;

	for (i = 0; i < 100; i++) {
		for (j = 0; j < 20; j++) {
			launch(run);
			wait_for(run, 295 * US);
		}
		feed(run, record_split(record_call("cuCtxSynchronize"), 4 * MS, runnable_ns,
				       blocked_ns));
	}
}

static void run_with(struct run *run, const struct host *host, uint64_t runnable_ns,
		     uint64_t blocked_ns)
{
	uint64_t part;

	for (part = 0; part < PARTS; part++) {
		look(run, host, part);
		work(run, runnable_ns, blocked_ns);
	}
	look(run, host, part);
}

static void run_balanced(struct run *run)
{
	const struct host host = { .cpu_ns = 900 * MS, .queue_ns = 20 * MS, .pressure_us = 30000 };

	run_with(run, &host, 50 * US, 3 * MS);
}

/* Half of each wait is one for a CPU. */
static void run_contended(struct run *run)
{
	const struct host host = { .cpu_ns = 500 * MS,
				   .queue_ns = 300 * MS,
				   .pressure_us = 900000 };

	run_with(run, &host, 2 * MS, MS);
}

/* The same, with copies of which it is not known how long threads waited in them. */
static void run_contended_summed(struct run *run)
{
	run_contended(run);
	feed(run, record_summed(100, record_copy("cuMemcpyHtoD_v2", MIB, MS_DIRECTION_HTOD)));
}

/* The same, and the host was not looked at. */
static void run_contended_unseen(struct run *run)
{
	int i;

	for (i = 0; i < PARTS; i++)
		work(run, 2 * MS, MS);
}

/* Threads that make no calls. */
static void run_queued(struct run *run)
{
	const struct host host = { .cpu_ns = 900 * MS,
				   .queue_ns = 400 * MS,
				   .pressure_us = 900000 };

	run_with(run, &host, 0, 3 * MS);
}

static void run_throttled(struct run *run)
{
	const struct host host = { .cpu_ns = 200 * MS,
				   .queue_ns = 90 * MS,
				   .throttled_ns = 100 * MS };

	run_with(run, &host, MS, MS);
}

/* It waits in its cgroup. */
static void run_squeezed(struct run *run)
{
	const struct host host = { .cpu_ns = 900 * MS,
				   .cgroup_stall_us = 50000,
				   .major_faults = 100,
				   .cgroup_bytes = 8 * GIB - 4096 };

	run_with(run, &host, 0, 3 * MS);
}

/* The machine does, and it reads pages that were thrown away. */
static void run_thrashing(struct run *run)
{
	const struct host host = { .cpu_ns = 900 * MS, .major_faults = 100, .pressure_us = 400000 };

	run_with(run, &host, 0, 3 * MS);
}

/* The machine does, but not the process. */
static void run_beside_thrashing(struct run *run)
{
	const struct host host = { .cpu_ns = 900 * MS, .pressure_us = 400000 };

	run_with(run, &host, 0, 3 * MS);
}

/* Nothing to do: what waits has no work. */
static void run_idle(struct run *run)
{
	const struct host host = { .cpu_ns = MS };
	uint64_t part;

	launch(run);
	synchronise(run, MS);
	for (part = 0; part <= PARTS; part++) {
		look(run, &host, part);
		wait_for(run, SECOND);
	}
}

/* A device that has nothing to do for 8 of 18 ms. */
static void run_gaps(struct run *run, const struct host *host)
{
	uint64_t part;
	int i;

	for (part = 0; part < PARTS; part++) {
		look(run, host, part);
		for (i = 0; i < 50; i++) {
			step(run);
			wait_for(run, 8 * MS);
		}
	}
	look(run, host, part);
}

static void run_waits_for_input(struct run *run)
{
	const struct host host = { .cpu_ns = 100 * MS };

	run_gaps(run, &host);
}

static void run_computes(struct run *run)
{
	const struct host host = { .cpu_ns = 900 * MS };

	run_gaps(run, &host);
}

/* It could have computed, if it had had a CPU. */
static void run_starves(struct run *run)
{
	const struct host host = { .cpu_ns = 100 * MS, .queue_ns = 500 * MS };

	run_gaps(run, &host);
}

/* A GPU near to node 1, and 2 GiB of which so many eighths lie there. */
static void run_on_nodes(struct run *run, uint32_t nodes, uint64_t there)
{
	uint32_t node;

	for (node = 0; node < nodes; node++)
		feed(run, record_of(0, 0, record_numa_node(node, GIB)));
	feed(run, record_of(0, 0, record_gpu_link("0000:81:00.0", 160, 16)));
	steps(run, 100);
	if (there)
		feed(run, record_placement(MS_SPACE_PINNED, 1, there));
	feed(run, record_placement(MS_SPACE_PINNED, 0, 8 - there));
}

static void run_far(struct run *run)
{
	run_on_nodes(run, 2, 1);
}

static void run_near(struct run *run)
{
	run_on_nodes(run, 2, 7);
}

static void run_one_node(struct run *run)
{
	run_on_nodes(run, 1, 0);
}

#define L FINDING_LOW
#define M FINDING_MEDIUM
#define H FINDING_HIGH

static const struct program programs[] = {
	/* clang-format off */
	{ "balanced", run_balanced, {}, 0 },
	{ "idle", run_idle, {}, 0 },
	{ "contended", run_contended, { { FINDING_CPU_CONTENTION, H, 0 } }, 1 },
	{ "contended, summed", run_contended_summed, { { FINDING_CPU_CONTENTION, M, 0 } }, 1 },
	{ "contended, unseen", run_contended_unseen, { { FINDING_CPU_CONTENTION, M, 0 } }, 1 },
	{ "queued", run_queued, { { FINDING_CPU_CONTENTION, M, 0 } }, 1 },
	{ "throttled", run_throttled, { { FINDING_CPU_CONTENTION, H, 0 } }, 1 },
	{ "squeezed", run_squeezed, { { FINDING_HOST_MEMORY_PRESSURE, H, 0 } }, 1 },
	{ "thrashing", run_thrashing, { { FINDING_HOST_MEMORY_PRESSURE, M, 0 } }, 1 },
	{ "beside thrashing", run_beside_thrashing, {}, 0 },
	{ "waits for input", run_waits_for_input, { { FINDING_INPUT_BOUND, M, 0 } }, 1 },
	{ "computes", run_computes, { { FINDING_HOST_BOUND, H, 0 } }, 1 },
	{ "far from the GPU", run_far, { { FINDING_WRONG_NODE, M, 2 * GIB / 8 * 7 } }, 1 },
	{ "near to the GPU", run_near, {}, 0 },
	{ "one node", run_one_node, {}, 0 },
	{ "starves", run_starves, { { FINDING_CPU_CONTENTION, M, 0 }, { FINDING_HOST_BOUND, M, 0 } }, 2 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

static uint64_t said(const struct finding *finding, const char *what)
{
	size_t i;

	for (i = 0; i < finding->evidence_count; i++)
		if (!strcmp(finding->evidence[i].what, what))
			return finding->evidence[i].value;
	fail_msg("nothing is said of: %s", what);
	return 0;
}

/* 800 of 1,000 us in waits, of which a half is spent spinning. */
static void run_sync_bound(struct run *run)
{
	int i;

	for (i = 0; i < 2000; i++) {
		launch(run);
		wait_for(run, 200 * US);
		feed(run,
		     record_split(record_call("cuCtxSynchronize"), 800 * US, 80 * US, 320 * US));
	}
}

static void test_what_is_bound_by_waits_says_what_threads_did_in_them(void **state)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, run_sync_bound);

	(void)state;
	assert_int_equal(finding.rule, FINDING_SYNC_BOUND);
	assert_int_equal(said(&finding, "share of the time in them that threads ran"), 50);
	assert_int_equal(said(&finding, "share that threads were blocked"), 40);
	assert_int_equal(said(&finding, "share that threads waited for a CPU"), 10);
	run_end(&run);
}

/* Of page-locked memory, 7/8 lie on node 0, of managed memory 7/8 on node 2; 1/8 of it decides. */
static void run_on_three_nodes(struct run *run)
{
	run_on_nodes(run, 3, 1);
	feed(run, record_placement(MS_SPACE_MANAGED, 0, 1));
	feed(run, record_placement(MS_SPACE_MANAGED, 2, 7));
}

static void test_what_is_far_says_from_which_node_and_on_which(void **state)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, run_on_three_nodes);

	(void)state;
	assert_int_equal(finding.rule, FINDING_WRONG_NODE);
	assert_int_equal(said(&finding, "the GPU's node"), 1);
	assert_int_equal(said(&finding, "the other node, or the one with most of it"), 0);
	assert_int_equal(finding.bytes, 2 * GIB / 8 * 15);
	run_end(&run);
}

static void test_contention_says_what_it_goes_by(void **state)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, run_throttled);

	(void)state;
	assert_int_equal(said(&finding, "share of the time in calls that threads waited for a CPU"),
			 25);
	assert_int_equal(said(&finding, "calls"), 100 * PARTS);
	assert_int_equal(said(&finding, "waits of all its threads for a CPU, at least"), 900 * MS);
	assert_int_equal(said(&finding, "time that its cgroup was throttled"), SECOND);
	assert_int_equal(said(&finding, "times that it was"), PARTS);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_what_is_bound_by_waits_says_what_threads_did_in_them),
		cmocka_unit_test(test_what_is_far_says_from_which_node_and_on_which),
		cmocka_unit_test(test_contention_says_what_it_goes_by),
	};

	return cmocka_run_group_tests_name("analysis_host", tests, NULL, NULL);
}
