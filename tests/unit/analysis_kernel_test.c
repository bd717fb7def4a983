// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs whose GPU is busy, by CUPTI's times, with few kernels, many, or copies: each
 * with the findings that it must have, and no others.
 */
#include "analysed_gpu.h"

static const char *const kernel_names[] = {
	"_Z4gemmPfi", "softmax", "layer_norm", "relu", "adam", "add", "mul", "copy",
};

/* Kernels of which the i-th runs for so long. */
static void name_kernels(struct run *run, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		feed(run, record_gpu_name(1 + i, kernel_names[i]));
}

static void run_kernel(struct run *run, uint64_t id, uint64_t ns)
{
	static uint32_t correlation = 1u << 16;
	union record record = record_activity(MS_ACTIVITY_KERNEL, ++correlation, run->now_ns, ns);

	launch(run);
	record.activity.is.name = id;
	feed(run, record);
	wait_for(run, ns - 5 * US);
}

/* Steps in which these kernels run one after the other, while the host waits for them. */
static void run_kernels(struct run *run, const uint64_t *ns, size_t count)
{
	int i;
	size_t j;

	status(run, MS_GPU_ON, 0);
	name_kernels(run, count);
	for (i = 0; i < STEPS; i++) {
		for (j = 0; j < count; j++)
			run_kernel(run, 1 + j, ns[j]);
		wait_for(run, MS);
	}
	status(run, MS_GPU_ENDED, 0);
}

static const uint64_t in_one[] = { 17 * MS, MS, MS }, in_two[] = { 9 * MS, 8 * MS, MS, MS },
		      in_many[] = { 3 * MS, 3 * MS, 3 * MS, 3 * MS, 3 * MS, 3 * MS, 3 * MS };

static void run_one_kernel(struct run *run)
{
	run_kernels(run, in_one, 3);
}

static void run_two_kernels(struct run *run)
{
	run_kernels(run, in_two, 4);
}

static void run_many_kernels(struct run *run)
{
	run_kernels(run, in_many, 7);
}

static void run_kernels_dropped(struct run *run)
{
	run_one_kernel(run);
	status(run, MS_GPU_ENDED, 7);
}

/* Another device does something, too. */
static void run_kernels_elsewhere(struct run *run)
{
	union record other = record_activity(MS_ACTIVITY_KERNEL, 1 << 20, run->now_ns, MS);

	other.activity.is.device = 1;
	feed(run, other);
	run_one_kernel(run);
}

/* One kernel, for which the host waits; between two of them, it computes for so long. */
static void run_waited_for(struct run *run, uint64_t kernel_ns, uint64_t host_ns)
{
	int i;

	status(run, MS_GPU_ON, 0);
	look(run, 0, 0);
	for (i = 0; i < STEPS; i++) {
		launch(run);
		kernel_at(run, run->now_ns, kernel_ns);
		feed(run, record_taking(kernel_ns, record_call("cuStreamSynchronize")));
		wait_for(run, host_ns);
	}
	look(run, STEPS * host_ns, 0);
	status(run, MS_GPU_ENDED, 0);
}

/* The host is idle for just as long as would make it host-bound without CUPTI. */
static void run_waits_for_kernel(struct run *run)
{
	run_waited_for(run, 17 * MS, 2 * MS);
}

/* The same calls, of a program of which nothing is measured. */
static void run_waits_for_unknown(struct run *run)
{
	int i;

	for (i = 0; i < STEPS; i++) {
		launch(run);
		feed(run, record_taking(19 * MS, record_call("cuStreamSynchronize")));
		wait_for(run, MS);
	}
}

/* The kernel is short, and allocations are what the rest of the time goes into. */
static void run_allocates_a_little(struct run *run)
{
	int i;

	status(run, MS_GPU_ON, 0);
	for (i = 0; i < STEPS; i++) {
		const uint64_t addr = run->next_addr;

		launch(run);
		kernel_at(run, run->now_ns, 17 * MS);
		wait_for(run, 17 * MS);
		feed(run,
		     record_taking(2 * MS, record_on(0, record_alloc("cuMemAlloc_v2", addr, MIB))));
		feed(run, record_free_begin(addr));
		feed(run, record_taking(2 * MS, record_free("cuMemFree_v2", addr)));
	}
	status(run, MS_GPU_ENDED, 0);
}

/* Copies that wait for the kernel before them, and copies that are most of the work. */
static void run_copies(struct run *run, uint64_t kernel_ns, uint64_t copy_ns)
{
	static uint32_t correlation = 1u << 24;
	int i;

	status(run, MS_GPU_ON, 0);
	for (i = 0; i < STEPS; i++) {
		const uint64_t begin_ns = run->now_ns;

		launch(run);
		kernel_at(run, begin_ns, kernel_ns);
		feed(run, record_activity(MS_ACTIVITY_COPY, ++correlation, begin_ns + kernel_ns,
					  copy_ns));
		copy_down(run, DEVICE_ADDR, HOST_ADDR, KIB, kernel_ns + copy_ns);
	}
	status(run, MS_GPU_ENDED, 0);
}

static void run_copies_behind_kernel(struct run *run)
{
	run_copies(run, 19 * MS, MS / 2);
}

static void run_copies_mostly(struct run *run)
{
	run_copies(run, 4 * MS, 15 * MS);
}

static uint8_t copies_direction = MS_DIRECTION_HTOD;

/* Asynchronous copies, of which the host sees nothing, one after the other or beside kernels. */
static void run_copies_async(struct run *run, uint64_t kernel_ns, uint64_t copy_ns, bool beside)
{
	static uint32_t correlation = 1u << 25;
	int i;

	status(run, MS_GPU_ON, 0);
	for (i = 0; i < STEPS; i++) {
		const uint64_t begin_ns = run->now_ns;
		union record copy = record_activity(MS_ACTIVITY_COPY, ++correlation,
						    begin_ns + (beside ? 0 : kernel_ns), copy_ns);

		copy.activity.is.size = 30 * MIB;
		copy.activity.is.what = copies_direction;
		launch(run);
		kernel_at(run, begin_ns, kernel_ns);
		feed(run, copy);
		synchronise(run, beside ? kernel_ns : kernel_ns + copy_ns);
	}
	status(run, MS_GPU_ENDED, 0);
}

static void run_copies_alone(struct run *run)
{
	run_copies_async(run, 4 * MS, 15 * MS, false);
}

/* On a machine whose only GPU has a link of 16 GT/s with 16 lanes, which was slower when idle. */
static void run_copies_by_link(struct run *run)
{
	feed(run, record_of(0, 0, record_gpu_link("0000:81:00.0", 25, 16)));
	feed(run, record_of(0, 0, record_gpu_link("0000:81:00.0", 160, 16)));
	run_copies_alone(run);
}

/* On the same machine, from one place on the device to another: the link has no part in it. */
static void run_copies_on_device(struct run *run)
{
	feed(run, record_of(0, 0, record_gpu_link("0000:81:00.0", 160, 16)));
	copies_direction = MS_DIRECTION_DTOD;
	run_copies_alone(run);
	copies_direction = MS_DIRECTION_HTOD;
}

static void run_copies_beside(struct run *run)
{
	run_copies_async(run, 19 * MS, 18 * MS, true);
}

static const struct program programs[] = {
	/* clang-format off */
	{ "one kernel", run_one_kernel, { { FINDING_KERNEL_BOUND, H, 0 } }, 1 },
	{ "two kernels", run_two_kernels, { { FINDING_KERNEL_BOUND, H, 0 } }, 1 },
	{ "many kernels", run_many_kernels, {}, 0 },
	{ "kernels dropped", run_kernels_dropped, { { FINDING_KERNEL_BOUND, M, 0 } }, 1 },
	{ "kernels elsewhere", run_kernels_elsewhere, { { FINDING_KERNEL_BOUND, M, 0 } }, 1 },
	{ "waits for kernel", run_waits_for_kernel, { { FINDING_KERNEL_BOUND, H, 0 } }, 1 },
	{ "waits for unknown", run_waits_for_unknown, { { FINDING_SYNC_BOUND, H, 0 } }, 1 },
	{ "allocates a little", run_allocates_a_little,
	  { { FINDING_KERNEL_BOUND, H, 0 }, { FINDING_ALLOC_BOUND, M, 0 } }, 2 },
	{ "copies behind kernel", run_copies_behind_kernel, { { FINDING_KERNEL_BOUND, H, 0 } }, 1 },
	{ "copies mostly", run_copies_mostly, { { FINDING_COPY_BOUND, H, 0 } }, 1 },
	{ "copies alone", run_copies_alone, { { FINDING_COPY_BOUND, H, STEPS * 30 * MIB } }, 1 },
	{ "copies beside kernels", run_copies_beside, { { FINDING_KERNEL_BOUND, H, 0 } }, 1 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

static const struct finding_evidence *named(const struct finding *finding, const char *name)
{
	size_t i;

	for (i = 0; i < finding->evidence_count; i++)
		if (finding->evidence[i].name && !strcmp(finding->evidence[i].name, name))
			return &finding->evidence[i];
	fail_msg("nothing is said of %s", name);
	return NULL;
}

static void test_which_kernel(void **state)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, run_one_kernel);
	const struct finding_evidence *gemm = named(&finding, "gemm(float*, int)");

	(void)state;
	assert_int_equal(finding.device, 0);
	assert_int_equal(said(&finding, "share of the time with work that the GPU was busy"), 95);
	assert_int_equal(said(&finding, "share of it in these kernels"), 89);
	assert_int_equal(said(&finding, "busy with kernels, copies and memsets"), STEPS * 19 * MS);
	assert_int_equal(gemm->value, 89);
	assert_int_equal(gemm[1].value, STEPS);
	assert_in_range(gemm[2].value, 17 * MS, 17 * MS);
	assert_int_equal(finding.evidence_count, gemm + 3 - finding.evidence);
	run_end(&run);
}

static void test_which_two_kernels(void **state)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, run_two_kernels);

	(void)state;
	assert_int_equal(said(&finding, "share of it in these kernels"), 89);
	assert_int_equal(named(&finding, "gemm(float*, int)")->value, 47);
	assert_int_equal(named(&finding, "softmax")->value, 42);
	run_end(&run);
}

static void test_what_copies_do(void **state)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, run_copies_by_link);
	const struct finding_evidence *down = named(&finding, "HtoD");

	(void)state;
	assert_int_equal(said(&finding,
			      "share of the time with work that the GPU copied alone, at least"),
			 78);
	assert_int_equal(said(&finding, "copies"), STEPS);
	assert_int_equal(down->value, STEPS * 30 * MIB);
	assert_int_equal(said(&finding, "at a rate of"), 30 * MIB * 1000 / 15);
	assert_in_range(said(&finding, "the link of the GPU had in each direction, at most"),
			31500000000, 31510000000);
	run_end(&run);
}

static void test_the_link_has_no_part_in_what_stays_on_the_device(void **state)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, run_copies_on_device);
	size_t i;

	(void)state;
	assert_int_equal(named(&finding, "DtoD")->value, STEPS * 30 * MIB);
	for (i = 0; i < finding.evidence_count; i++)
		assert_null(strstr(finding.evidence[i].what, "the link of the GPU"));
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_which_kernel),
		cmocka_unit_test(test_which_two_kernels),
		cmocka_unit_test(test_what_copies_do),
		cmocka_unit_test(test_the_link_has_no_part_in_what_stays_on_the_device),
	};

	return cmocka_run_group_tests_name("analysis_kernel", tests, NULL, NULL);
}
