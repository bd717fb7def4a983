// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that copy: what could be spared or faster, and what copies bound. Each with the findings
 * that it must have, and no others.
 */
#include "analysed.h"

/* What has just been copied to the device is copied back. */
static void run_back_and_forth(struct run *run)
{
	int i;

	pin(run, GIB);
	for (i = 0; i < 100; i++) {
		steps(run, 2);
		copy_down(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
		copy_up(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
	}
}

static void run_read_again(struct run *run)
{
	int i, j;

	pin(run, GIB);
	for (i = 0; i < 100; i++) {
		steps(run, 2);
		for (j = 0; j < 2; j++)
			copy_up(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
	}
}

/* In, launch, out: what programs do. */
static void run_in_and_out(struct run *run)
{
	int i;

	pin(run, GIB);
	for (i = 0; i < 500; i++) {
		copy_down(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
		step(run);
		copy_up(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
		wait_for(run, 200 * US);
	}
}

/* The host works on it in between. */
static void run_out_and_in(struct run *run)
{
	int i;

	pin(run, GIB);
	for (i = 0; i < 500; i++) {
		step(run);
		copy_up(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
		copy_down(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
	}
}

/* The same, but a launch may have come between that was only counted. */
static void run_back_and_forth_summed(struct run *run)
{
	int i;

	pin(run, GIB);
	for (i = 0; i < 100; i++) {
		copy_down(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
		copy_up(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
		wait_for(run, 20 * MS);
		if (i % 10 == 9)
			feed(run, record_launches("cuLaunchKernel", 0x1234, 10));
	}
}

static void run_different_places(struct run *run)
{
	int i;

	pin(run, GIB);
	for (i = 0; i < 100; i++) {
		steps(run, 2);
		copy_down(run, DEVICE_ADDR, PINNED_ADDR, MIB, 100 * US);
		copy_up(run, DEVICE_ADDR, PINNED_ADDR + 512 * MIB, MIB, 100 * US);
		copy_down(run, DEVICE_ADDR + MIB, PINNED_ADDR + MIB, MIB, 100 * US);
		copy_up(run, DEVICE_ADDR + MIB, PINNED_ADDR + MIB, MIB / 2, 100 * US);
	}
}

static void copy_from(struct run *run, uint64_t host)
{
	int i;

	for (i = 0; i < 200; i++) {
		copy_down(run, DEVICE_ADDR, host, 4 * MIB, MS);
		step(run);
	}
}

static void run_pageable(struct run *run)
{
	copy_from(run, HOST_ADDR);
}

static void run_pinned(struct run *run)
{
	pin(run, 64 * MIB);
	copy_from(run, PINNED_ADDR + 32 * MIB);
}

static void run_registered(struct run *run)
{
	feed(run, record_alloc("cuMemHostRegister_v2", HOST_ADDR, 64 * MIB));
	copy_from(run, HOST_ADDR);
}

/* Only for a part of the time. */
static void run_unpinned_later(struct run *run)
{
	run_pinned(run);
	feed(run, record_begin_of("cuMemFreeHost", PINNED_ADDR, 0));
	feed(run, record_free("cuMemFreeHost", PINNED_ADDR));
	copy_from(run, PINNED_ADDR + 32 * MIB);
	copy_from(run, PINNED_ADDR + 32 * MIB);
}

/* It may have pinned it before it was watched. */
static void run_pageable_unknown(struct run *run)
{
	feed(run, record_attach_running());
	copy_from(run, HOST_ADDR);
}

/* As `record` sums copies up: by block, of each second. */
static void copy_aggregator_from(struct run *run, const char *symbol, uint64_t host)
{
	int i;

	alloc_at(run, DEVICE_ADDR, 8 * MIB);
	for (i = 0; i < 4; i++) {
		wait_for(run, SECOND);
		feed(run,
		     record_summed(
			     100, record_taking(
					  300 * MS,
					  record_to(DEVICE_ADDR,
						    record_from(host,
								record_copy(symbol, 100 * MIB,
									    MS_DIRECTION_HTOD))))));
	}
}

static void run_pageable_summed(struct run *run)
{
	copy_aggregator_from(run, "cuMemcpyHtoD_v2", HOST_ADDR);
}

static void run_pinned_summed(struct run *run)
{
	pin(run, 64 * MIB);
	copy_aggregator_from(run, "cuMemcpyHtoD_v2", PINNED_ADDR);
}

static void run_pageable_summed_async(struct run *run)
{
	copy_aggregator_from(run, "cuMemcpyHtoDAsync_v2", HOST_ADDR);
}

static void run_pageable_summed_unknown(struct run *run)
{
	feed(run, record_attach_running());
	copy_aggregator_from(run, "cuMemcpyHtoD_v2", HOST_ADDR);
}

static void run_pageable_fast(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		copy_down(run, DEVICE_ADDR, HOST_ADDR, 100 * KIB, 20 * US);
		step(run);
	}
}

/* So small that the call is what takes the time: no memory would make it faster. */
static void run_pageable_tiny(struct run *run)
{
	int i;

	for (i = 0; i < 8000; i++) {
		copy_down(run, DEVICE_ADDR + i * 4 * KIB, HOST_ADDR, 4 * KIB, 100 * US);
		wait_for(run, 900 * US);
	}
}

static void run_pageable_tiny_summed(struct run *run)
{
	int i;

	alloc_at(run, DEVICE_ADDR, 8 * MIB);
	for (i = 0; i < 10; i++) {
		wait_for(run, SECOND);
		feed(run, record_summed(
				  1000,
				  record_taking(
					  100 * MS,
					  record_to(DEVICE_ADDR,
						    record_from(HOST_ADDR,
								record_copy("cuMemcpyHtoD_v2",
									    4000 * KIB,
									    MS_DIRECTION_HTOD))))));
	}
}

/* Beside the large ones, they are not counted. */
static void run_pageable_mixed(struct run *run)
{
	int i;

	for (i = 0; i < 500; i++) {
		copy_down(run, DEVICE_ADDR, HOST_ADDR, MIB, MS);
		copy_down(run, DEVICE_ADDR + GIB, HOST_ADDR + GIB, KIB, 10 * US);
		step(run);
	}
}

static void run_copy_bound(struct run *run)
{
	int i;

	pin(run, GIB);
	for (i = 0; i < 500; i++) {
		copy_down(run, DEVICE_ADDR + i * MIB, PINNED_ADDR, MIB, 2 * MS);
		wait_for(run, 3 * MS);
	}
}

static void run_copy_bound_with_launches(struct run *run)
{
	int i;

	pin(run, GIB);
	for (i = 0; i < 500; i++) {
		copy_down(run, DEVICE_ADDR, PINNED_ADDR, MIB, 5 * MS);
		step(run);
	}
}

static const struct program programs[] = {
	/* clang-format off */
	{ "back and forth", run_back_and_forth, { { FINDING_REDUNDANT_COPIES, H, 100 * MIB } }, 1 },
	{ "read again", run_read_again, { { FINDING_REDUNDANT_COPIES, L, 100 * MIB } }, 1 },
	{ "in and out", run_in_and_out, {}, 0 },
	{ "out and in", run_out_and_in, {}, 0 },
	{ "back and forth, summed", run_back_and_forth_summed, {}, 0 },
	{ "different places", run_different_places, {}, 0 },
	{ "pageable", run_pageable, { { FINDING_PAGEABLE_COPIES, M, 800 * MIB } }, 1 },
	{ "pinned", run_pinned, {}, 0 },
	{ "registered", run_registered, {}, 0 },
	{ "unpinned later", run_unpinned_later, { { FINDING_PAGEABLE_COPIES, M, 1600 * MIB } }, 1 },
	{ "pageable, unknown", run_pageable_unknown, {}, 0 },
	{ "pageable, summed", run_pageable_summed, { { FINDING_PAGEABLE_COPIES, H, 400 * MIB }, { FINDING_COPY_BOUND, H, 0 } }, 2 },
	{ "pinned, summed", run_pinned_summed, { { FINDING_COPY_BOUND, H, 0 } }, 1 },
	{ "pageable, summed, asynchronous", run_pageable_summed_async, { { FINDING_COPY_BOUND, M, 0 } }, 1 },
	{ "pageable, summed, unknown", run_pageable_summed_unknown, { { FINDING_COPY_BOUND, H, 0 } }, 1 },
	{ "pageable, tiny", run_pageable_tiny, {}, 0 },
	{ "pageable, tiny, summed", run_pageable_tiny_summed, {}, 0 },
	{ "pageable, mixed", run_pageable_mixed, { { FINDING_PAGEABLE_COPIES, M, 500 * MIB } }, 1 },
	{ "pageable, fast", run_pageable_fast, {}, 0 },
	{ "copy-bound", run_copy_bound, { { FINDING_COPY_BOUND, H, 500 * MIB } }, 1 },
	{ "copy-bound, launches", run_copy_bound_with_launches, { { FINDING_COPY_BOUND, M, 500 * MIB } }, 1 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

/* A launch of a graph, which allocates and frees, too, is lost as a call about memory. */
static const struct lossy_program lossy_programs[] = {
	/* clang-format off */
	{ { "graphs", run_back_and_forth, { { FINDING_REDUNDANT_COPIES, L, 0 } }, 1 }, MS_OP_MEMORY },
	/* clang-format on */
};

static void test_losses_lower_what_they_concern(void **state)
{
	(void)state;
	run_all_lossy(lossy_programs);
}

/* What was not recorded cannot be judged. */
static void test_not_captured(void **state)
{
	struct run run = { .options = analysis_defaults() };

	(void)state;
	run.options.captured_ops &= ~(1u << MS_OP_LAUNCH);
	assert_true(run_begin(&run));
	run_back_and_forth(&run);
	expect_none(&run);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_losses_lower_what_they_concern),
		cmocka_unit_test(test_not_captured),
	};

	return unit_run("analysis: copies", tests);
}
