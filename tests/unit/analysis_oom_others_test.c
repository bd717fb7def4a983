// SPDX-License-Identifier: BSD-2-Clause
/*
 * Devices that several processes fill: who held what, by NVML's last sample before the failure and
 * what was allocated since.
 */
#include "analysed.h"

#define OTHER 200
#define THIRD 300
#define SHELF "GPU-1" /* the only device there is */

/* So much in use, and so much free; `processes` have `held` of it. */
static void sample(struct run *run, uint64_t used, uint64_t free_bytes, uint32_t processes,
		   uint64_t held)
{
	union record record = record_device_memory(SHELF, used);

	record.device.free_bytes = free_bytes;
	record.device.processes = processes;
	record.device.processes_bytes = held;
	record.event.ts_ns = run->now_ns;
	assert_int_equal(pipeline_feed(&run->pipeline, &record, record.event.size), 0);
}

static void held(struct run *run, uint32_t pid, uint64_t bytes)
{
	union record record = record_of(pid, pid == RECORD_PID ? RECORD_START_NS : run->start_ns,
					record_held(SHELF, bytes));

	record.event.ts_ns = run->now_ns;
	assert_int_equal(pipeline_feed(&run->pipeline, &record, record.event.size), 0);
}

/* They ran before the agent did, and what they hold by its records is nothing. */
static void begin_late(struct run *run, uint64_t other_bytes, uint64_t third_bytes)
{
	as_process(run, OTHER);
	feed(run, record_attach_running());
	as_process(run, THIRD);
	feed(run, record_attach_running());
	as_process(run, RECORD_PID);
	alloc_new(run, 128 * MIB);
	sample(run, other_bytes + third_bytes + 256 * MIB, 4 * GIB - other_bytes - third_bytes, 3,
	       other_bytes + third_bytes + 256 * MIB);
	as_process(run, OTHER);
	held(run, OTHER, other_bytes);
	as_process(run, THIRD);
	held(run, THIRD, third_bytes);
	as_process(run, RECORD_PID);
	held(run, RECORD_PID, 256 * MIB);
}

/* 4.25 GiB, of which the others hold 3 and the process then takes a half. */
static void run_co_tenants_late(struct run *run)
{
	begin_late(run, 2 * GIB, GIB);
	alloc_new(run, 512 * MIB);
	fail_alloc(run, GIB);
}

static void run_co_tenants_after(struct run *run, uint64_t ns)
{
	begin_late(run, 2 * GIB, GIB);
	run->now_ns += ns;
	alloc_new(run, 512 * MIB);
	fail_alloc(run, GIB);
}

/* The same, long after the sample. */
static void run_co_tenants_long_ago(struct run *run)
{
	run_co_tenants_after(run, 30 * SECOND);
}

/* So long after it that the device is another one. */
static void run_co_tenants_too_long_ago(struct run *run)
{
	run_co_tenants_after(run, MINUTE);
}

/* They hold something, and the process more. */
static void run_together_late(struct run *run)
{
	begin_late(run, GIB, 512 * MIB);
	alloc_new(run, 2 * GIB);
	fail_alloc(run, GIB);
}

/* By the sample, there was room: it does not say why. */
static void run_room_late(struct run *run)
{
	begin_late(run, 2 * GIB, GIB);
	fail_alloc(run, 64 * MIB);
}

/* Most is held by what was not traced at all. */
static void run_untraced(struct run *run)
{
	alloc_new(run, 128 * MIB);
	sample(run, 3 * GIB, GIB, 3, 3 * GIB);
	held(run, RECORD_PID, 256 * MIB);
	fail_alloc(run, GIB);
}

static void run_untraced_after(struct run *run, uint64_t ns)
{
	sample(run, 3 * GIB, GIB, 1, 3 * GIB);
	alloc_new(run, 256 * MIB);
	run->now_ns += ns;
	fail_alloc(run, GIB);
}

/* No process held anything before, but what those that were not traced do is not followed. */
static void run_untraced_long_ago(struct run *run)
{
	run_untraced_after(run, 30 * SECOND);
}

static void run_untraced_too_long_ago(struct run *run)
{
	run_untraced_after(run, MINUTE);
}

/* The driver was asked after the sample: by then, they held a quarter. */
static void run_told_since(struct run *run)
{
	run->now_ns += SECOND;
	sample(run, 3 * GIB, GIB, 1, 3 * GIB);
	alloc_new(run, 2 * GIB);
	told(run, GIB, 4 * GIB);
	fail_alloc(run, 2 * GIB);
}

/* Before the sample: they may have come since. */
static void run_told_before(struct run *run)
{
	told(run, 3 * GIB, 4 * GIB);
	run->now_ns += SECOND;
	sample(run, 3 * GIB, GIB, 1, 3 * GIB);
	fail_alloc(run, 2 * GIB);
}

/* What it was told is of its part of the device alone. */
static void run_told_of_a_part(struct run *run)
{
	sample(run, 3 * GIB, GIB, 1, 3 * GIB);
	alloc_new(run, 512 * MIB);
	told(run, 512 * MIB, GIB);
	fail_alloc(run, 768 * MIB);
}

/* By then, both together held a quarter less than in the sample. */
static void run_told_since_late(struct run *run)
{
	begin_late(run, 2 * GIB, GIB);
	run->now_ns += SECOND;
	told(run, 1920 * MIB, 4 * GIB + 256 * MIB);
	fail_alloc(run, 3 * GIB);
}

/* The process uses two, and NVML's only one may be either. */
static void run_two_devices(struct run *run)
{
	alloc_new(run, 128 * MIB);
	alloc_on(run, 1, 128 * MIB);
	sample(run, 3 * GIB, GIB, 3, 3 * GIB);
	fail_alloc(run, GIB);
}

/* What one gave back since the sample is not held. */
static void run_gone_since(struct run *run)
{
	begin_late(run, 2 * GIB, GIB);
	as_process(run, OTHER);
	feed(run, record_exit(0));
	as_process(run, RECORD_PID);
	alloc_new(run, 2 * GIB);
	fail_alloc(run, GIB);
}

static const struct {
	struct program program;
	enum oom_cause cause;
	bool shared;
	uint64_t own, others, in_use, first;
} programs[] = {
	/* clang-format off */
	{ { "co-tenants, attached late", run_co_tenants_late, { { FINDING_OOM, M, GIB } }, 1 },
	  OOM_CO_TENANT, true, 768 * MIB, 3 * GIB, 3 * GIB + 768 * MIB, 2 * GIB },
	{ { "co-tenants, an old sample", run_co_tenants_long_ago, { { FINDING_OOM, L, GIB } }, 1 },
	  OOM_CO_TENANT, true, 768 * MIB, 3 * GIB, 3 * GIB + 768 * MIB, 2 * GIB },
	{ { "co-tenants, too old a sample", run_co_tenants_too_long_ago, { { FINDING_OOM, L, GIB } }, 1 },
	  OOM_UNKNOWN, false, 640 * MIB, 0, 640 * MIB, 0 },
	{ { "together, attached late", run_together_late, { { FINDING_OOM, M, GIB } }, 1 },
	  OOM_FULL, true, 2 * GIB + 256 * MIB, GIB + 512 * MIB, 3 * GIB + 768 * MIB, GIB },
	{ { "room by the sample", run_room_late, { { FINDING_OOM, L, 64 * MIB } }, 1 },
	  OOM_UNKNOWN, true, 256 * MIB, 3 * GIB, 3 * GIB + 256 * MIB, 2 * GIB },
	{ { "untraced", run_untraced, { { FINDING_OOM, M, GIB } }, 1 },
	  OOM_CO_TENANT, true, 256 * MIB, 3 * GIB - 256 * MIB, 3 * GIB, 0 },
	{ { "untraced, an old sample", run_untraced_long_ago, { { FINDING_OOM, L, GIB } }, 1 },
	  OOM_CO_TENANT, true, 256 * MIB, 3 * GIB, 3 * GIB + 256 * MIB, 0 },
	{ { "untraced, too old a sample", run_untraced_too_long_ago, { { FINDING_OOM, L, GIB } }, 1 },
	  OOM_FULL, false, 256 * MIB, 0, 256 * MIB, 0 },
	{ { "told since the sample", run_told_since, { { FINDING_OOM, H, 2 * GIB } }, 1 },
	  OOM_FULL, true, 2 * GIB, GIB, 3 * GIB, 0 },
	{ { "told before the sample", run_told_before, { { FINDING_OOM, L, 2 * GIB } }, 1 },
	  OOM_UNEXPLAINED, true, 0, 3 * GIB, 3 * GIB, 0 },
	{ { "told of a part", run_told_of_a_part, { { FINDING_OOM, H, 768 * MIB } }, 1 },
	  OOM_FULL, false, 512 * MIB, 3 * GIB, 3 * GIB + 512 * MIB, 0 },
	{ { "told since, attached late", run_told_since_late, { { FINDING_OOM, M, 3 * GIB } }, 1 },
	  OOM_UNEXPLAINED, true, 128 * MIB, 2304 * MIB, 2432 * MIB, 1536 * MIB },
	{ { "two devices", run_two_devices, { { FINDING_OOM, L, GIB } }, 1 },
	  OOM_FULL, false, 128 * MIB, 0, 128 * MIB, 0 },
	{ { "gone since the sample", run_gone_since, { { FINDING_OOM, M, GIB } }, 1 },
	  OOM_FULL, true, 2 * GIB + 256 * MIB, GIB, 3 * GIB + 256 * MIB, GIB },
	/* clang-format on */
};

static void test_causes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct analysis_oom *oom;
		struct run run = { 0 };
		size_t count;

		run_program(&run, &programs[i].program);
		oom = analysis_ooms(run.analysis, &count);
		assert_int_equal(count, 1);
		assert_string_equal(analysis_oom_cause_name(oom->cause),
				    analysis_oom_cause_name(programs[i].cause));
		assert_int_equal(analysis_oom_is_shared(oom), programs[i].shared);
		assert_int_equal(oom->others.own_bytes, programs[i].own);
		assert_int_equal(oom->others.bytes, programs[i].others);
		assert_int_equal(oom->others.in_use_bytes, programs[i].in_use);
		assert_int_equal(oom->others.count ? oom->others.list[0].bytes : 0,
				 programs[i].first);
		run_end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_causes),
	};

	return unit_run("analysis: who fills devices together", tests);
}
