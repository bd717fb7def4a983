// SPDX-License-Identifier: BSD-2-Clause
/*
 * Devices that a process has filled by itself, as far as its own blocks tell, and requests that no
 * device could grant.
 */
#include "analysed.h"

/* Its size is known, and what was free is not. */
static void hold_of_8(struct run *run, uint64_t bytes)
{
	feed(run, record_on(0, record_alloc("cuDeviceTotalMem_v2", 0, 8 * GIB)));
	alloc_new(run, bytes);
}

/* Contexts and code take the rest. */
static void run_nearly_full(struct run *run)
{
	hold_of_8(run, 7 * GIB);
	fail_alloc(run, 512 * MIB);
}

static void run_nearly_full_late(struct run *run)
{
	feed(run, record_attach_running());
	run_nearly_full(run);
}

static void run_nearly_full_launch(struct run *run)
{
	hold_of_8(run, 7 * GIB + 512 * MIB);
	feed(run, record_failed(2, record_on(0, record_launch("cuLaunchKernel", 0x1234))));
}

static void run_not_full(struct run *run)
{
	hold_of_8(run, 5 * GIB);
	fail_alloc(run, GIB);
}

/* Others have less, wherever that is. */
static void run_unproven_but_less(struct run *run)
{
	as_process(run, 200);
	alloc_new(run, 6 * GIB);
	as_process(run, RECORD_PID);
	feed(run, record_visible(77, 0));
	alloc_new(run, 12 * GIB);
	fail_alloc(run, 2 * GIB);
}

static void run_larger_than_any(struct run *run)
{
	alloc_new(run, GIB);
	fail_alloc(run, 1ull << 50);
}

static const struct {
	struct program program;
	enum oom_cause cause;
} programs[] = {
	/* clang-format off */
	{ { "nearly full", run_nearly_full, { { FINDING_OOM, M, 512 * MIB } }, 1 }, OOM_FULL },
	{ { "nearly full, attached late", run_nearly_full_late, { { FINDING_OOM, M, 512 * MIB } }, 1 }, OOM_FULL },
	{ { "nearly full, launch", run_nearly_full_launch, { { FINDING_OOM, M, 0 } }, 1 }, OOM_FULL },
	{ { "not full", run_not_full, { { FINDING_OOM, L, GIB } }, 1 }, OOM_UNKNOWN },
	{ { "others not proven, and less", run_unproven_but_less, { { FINDING_OOM, L, 2 * GIB } }, 1 }, OOM_FULL },
	{ { "larger than any device", run_larger_than_any, { { FINDING_OOM, H, 1ull << 50 } }, 1 }, OOM_TOO_LARGE },
	/* clang-format on */
};

static void test_causes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct analysis_oom *ooms;
		struct run run = { 0 };
		size_t count;

		run_program(&run, &programs[i].program);
		ooms = analysis_ooms(run.analysis, &count);
		assert_int_equal(count, 1);
		assert_string_equal(analysis_oom_cause_name(ooms->cause),
				    analysis_oom_cause_name(programs[i].cause));
		run_end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_causes),
	};

	return unit_run("analysis: full devices", tests);
}
