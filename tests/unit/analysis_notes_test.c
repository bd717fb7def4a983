// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs whose memory goes up and down, and such as set themselves up and keep that: what is said
 * of them is a note, if anything. Each with the findings that it must have, and no others.
 */
#include "analysed.h"

#define MANY 600

/* ---- again and again ------------------------------------------------------------------------- */

static void teeth(struct run *run, int count, int blocks, int kept)
{
	uint64_t batch[MANY];
	int i, j;

	for (i = 0; i < count; i++) {
		for (j = 0; j < blocks; j++) {
			batch[j] = alloc_new(run, j % 3 ? MIB : 3 * MIB);
			steps(run, 2);
		}
		free_all(run, batch, blocks - kept);
	}
}

static void run_sawtooth(struct run *run)
{
	set_up(run);
	teeth(run, 6, 100, 0);
}

static void run_sawtooth_that_leaks(struct run *run)
{
	teeth(run, 5, 150, 10);
}

/* It destroys its context to be rid of everything, and begins anew. */
static void run_sawtooth_of_contexts(struct run *run)
{
	int i, j;

	for (i = 0; i < 4; i++) {
		feed(run, record_context("cuCtxCreate_v2", 0xc000 + i, 0));
		for (j = 0; j < 150; j++) {
			alloc_in(run, 0xc000 + i, MIB);
			steps(run, 2);
		}
		destroy_context(run, 0xc000 + i);
	}
	end_process(run, 0);
}

/* All of it at once, for each job. */
static void run_device_resets(struct run *run)
{
	int i, j;

	for (i = 0; i < 6; i++) {
		feed(run, record_context("cuCtxCreate_v2", 0xc000 + i, 0));
		for (j = 0; j < 20; j++)
			alloc_in(run, 0xc000 + i, 8 * MIB);
		steps(run, 200);
		destroy_context(run, 0xc000 + i);
	}
	end_process(run, 0);
}

/* Two pieces for each job. */
static void run_two_steps(struct run *run)
{
	int i;

	for (i = 0; i < 5; i++) {
		uint64_t one = alloc_new(run, 64 * MIB), two;

		steps(run, 200);
		two = alloc_new(run, 64 * MIB);
		steps(run, 60);
		free_at(run, one);
		free_at(run, two);
		steps(run, 10);
	}
}

/* Each shorter than what would be a leak. */
static void run_short_teeth(struct run *run)
{
	uint64_t blocks[35];
	int i, j;

	for (i = 0; i < 4; i++) {
		for (j = 0; j < 35; j++) {
			blocks[j] = alloc_new(run, MIB);
			steps(run, 2);
		}
		free_all(run, blocks, 35);
	}
}

/* A large piece at once, and little more before all of it is given back. */
static void run_loaded_at_once(struct run *run)
{
	uint64_t blocks[41];
	int i, j;

	for (i = 0; i < 6; i++) {
		blocks[0] = alloc_new(run, 200 * MIB);
		for (j = 1; j < 41; j++) {
			blocks[j] = alloc_new(run, MIB);
			steps(run, 5);
		}
		free_all(run, blocks, 41);
	}
}

/* Forward it grows, backward it shrinks: each as long as the other. */
static void run_training(struct run *run)
{
	uint64_t activations[100];
	int i, j;

	set_up(run);
	for (i = 0; i < 6; i++) {
		for (j = 0; j < 100; j++) {
			activations[j] = alloc_new(run, MIB + j * 10 * KIB);
			steps(run, 2);
		}
		for (j = 99; j >= 0; j--) {
			free_at(run, activations[j]);
			steps(run, 2);
		}
	}
}

/* So often that it is only how the program works. */
static void run_requests(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++)
		teeth(run, 1, 8, 0);
}

/* ---- what stays ------------------------------------------------------------------------------ */

/* The control: one buffer for all of its life, and much that comes and goes. */
static void run_churn_with_a_buffer(struct run *run)
{
	int i;

	alloc_new(run, 64 * MIB);
	for (i = 0; i < 400; i++) {
		uint64_t scratch = alloc_new(run, 3 * MIB), other = alloc_new(run, 40 * MIB);

		steps(run, 3);
		free_at(run, other);
		free_at(run, scratch);
	}
	end_process(run, 0);
}

/* It is a while before it allocates anything, as if it had to import a large library. */
static void run_late_set_up(struct run *run)
{
	feed(run, record_call("cuCtxSynchronize"));
	wait_for(run, 10 * SECOND);
	run_churn_with_a_buffer(run);
}

/* What is forgotten later leads. */
static void run_buffer_and_leak(struct run *run)
{
	uint64_t buffers[16];
	int i;

	alloc_new(run, 64 * MIB);
	for (i = 0; i < 10; i++)
		free_at(run, alloc_new(run, 100 * MIB));
	steps(run, 1000);
	for (i = 0; i < 16; i++)
		buffers[i] = alloc_on(run, 1, 2 * MIB);
	steps(run, 1000);
	free_all(run, buffers + 3, 13);
	end_process(run, 0);
}

static void run_preallocated(struct run *run)
{
	told(run, 8 * GIB, 8 * GIB);
	alloc_new(run, 6 * GIB);
	steps(run, 1000);
	end_process(run, 0);
}

static void run_many_managed(struct run *run)
{
	int i;

	for (i = 0; i < 5000; i++)
		feed(run, record_on(0, record_alloc("cuMemAllocManaged", DEVICE_ADDR + i * MIB,
						    64 * KIB)));
	for (i = 0; i < 200; i++) {
		told(run, 7 * GIB - i * MIB, 8 * GIB);
		steps(run, 3);
	}
	end_process(run, 0);
}

/* A caching allocator that warms up, with pieces of many sizes, and is emptied in the end. */
static void run_caching(struct run *run)
{
	uint64_t segments[32];
	int i, count = 0;

	for (i = 0; i < 3000; i++) {
		if (i < 60 ? i % 3 == 0 : i == 100 || i == 210 || i == 500 || i == 1100)
			segments[count++] = alloc_new(run, (2 + i * 7 % 40) * MIB);
		step(run);
	}
	free_all(run, segments, count);
	end_process(run, 0);
}

/*
 * A framework's allocator: segments, which it empties now and then, and never when the program
 * ends. Kernels have names, or not.
 */
static void segments_of(struct run *run, const char *kernel, int emptied)
{
	uint64_t segments[16];
	int i, j;

	if (kernel)
		feed(run, record_name(0x1234, kernel));
	for (i = 0; i < emptied; i++) {
		for (j = 0; j < 16; j++)
			segments[j] = alloc_new(run, j % 2 ? 2 * MIB : 20 * MIB);
		steps(run, 100);
		free_all(run, segments, 16);
		steps(run, 100);
	}
	for (j = 0; j < 6; j++)
		alloc_new(run, 20 * MIB);
	steps(run, 300);
	end_process(run, 0);
}

static void run_torch(struct run *run)
{
	segments_of(run, "_ZN2at6native29vectorized_elementwise_kernel", 2);
}

static void run_segments(struct run *run)
{
	segments_of(run, NULL, 2);
}

/* It empties its cache once more before it ends, with its model still there. */
static void run_torch_emptied(struct run *run)
{
	uint64_t segments[32];
	int i;

	feed(run, record_name(0x1234, "void at::native::reduce_kernel<512>"));
	for (i = 0; i < 4; i++)
		free_at(run, alloc_new(run, 20 * MIB));
	steps(run, 500);
	for (i = 0; i < 32; i++)
		segments[i] = alloc_new(run, 20 * MIB);
	steps(run, 500);
	free_all(run, segments, 29);
	end_process(run, 0);
}

/* From a pool: parameters, what each step frees, and what the optimiser keeps after the first. */
static void run_pool_training(struct run *run)
{
	uint64_t batch[120];
	int i, j;

	for (i = 0; i < 60; i++)
		alloc_new(run, i % 3 ? 16 * KIB : 4 * MIB);
	steps(run, 200);
	for (i = 0; i < 40; i++) {
		for (j = 0; j < 120; j++)
			batch[j] = alloc_new(run, 100 * KIB);
		steps(run, 10);
		for (j = 0; i == 0 && j < 50; j++)
			alloc_new(run, 100 * KIB);
		free_all(run, batch, 120);
	}
	step(run);
	end_process(run, 0);
}

/* Each step leaves a small block, for less time than growth takes to be one. */
static void small_steps(struct run *run, const char *kernel, uint64_t size)
{
	uint64_t batch[200];
	int i;

	if (kernel)
		feed(run, record_name(0x1234, kernel));
	for (i = 0; i < 200; i++)
		batch[i] = alloc_new(run, size);
	free_all(run, batch, 200);
	for (i = 0; i < 80; i++) {
		alloc_new(run, size);
		step(run);
	}
	end_process(run, 0);
}

static void run_small_loop(struct run *run)
{
	small_steps(run, NULL, 64 * KIB);
}

static void run_torch_small_loop(struct run *run)
{
	small_steps(run, "void at::native::reduce_kernel<512>", 64 * KIB);
}

/* Its allocator's segments, one for each step. */
static void run_torch_large_loop(struct run *run)
{
	small_steps(run, "void at::native::reduce_kernel<512>", 2 * MIB);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct program programs[] = {
	/* clang-format off */
	{ "sawtooth", run_sawtooth, { { FINDING_SAWTOOTH, H, 0 } }, 1 },
	{ "sawtooth that leaks", run_sawtooth_that_leaks, { { FINDING_LEAK_GROWTH, M, 0 } }, 1 },
	{ "sawtooth of contexts", run_sawtooth_of_contexts, { { FINDING_SAWTOOTH, H, 0 } }, 1 },
	{ "device resets", run_device_resets, {}, 0 },
	{ "two steps", run_two_steps, {}, 0 },
	{ "short teeth", run_short_teeth, {}, 0 },
	{ "loaded at once", run_loaded_at_once, {}, 0 },
	{ "training", run_training, {}, 0 },
	{ "requests", run_requests, {}, 0 },
	{ "churn with a buffer", run_churn_with_a_buffer, { { FINDING_KEPT_TO_END, H, 64 * MIB } }, 1 },
	{ "late set-up", run_late_set_up, { { FINDING_KEPT_TO_END, H, 64 * MIB } }, 1 },
	{ "a buffer and a leak", run_buffer_and_leak, { { FINDING_LEAK_AT_EXIT, H, 6 * MIB }, { FINDING_KEPT_TO_END, H, 64 * MIB } }, 2 },
	{ "segments of torch", run_torch, { { FINDING_KEPT_TO_END, H, 120 * MIB } }, 1 },
	{ "segments", run_segments, { { FINDING_KEPT_TO_END, H, 120 * MIB } }, 1 },
	{ "segments of torch, emptied", run_torch_emptied, { { FINDING_KEPT_TO_END, H, 60 * MIB } }, 1 },
	{ "training from a pool", run_pool_training, { { FINDING_KEPT_TO_END, M, 50 * 100 * KIB } }, 1 },
	{ "small blocks in a loop", run_small_loop, { { FINDING_LEAK_AT_EXIT, M, 0 } }, 1 },
	{ "small blocks of torch in a loop", run_torch_small_loop, { { FINDING_LEAK_AT_EXIT, M, 0 } }, 1 },
	{ "segments of torch in a loop", run_torch_large_loop, { { FINDING_KEPT_TO_END, H, 0 } }, 1 },
	{ "preallocated", run_preallocated, {}, 0 },
	{ "many managed", run_many_managed, {}, 0 },
	{ "caching", run_caching, {}, 0 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

static void test_patterns(void **state)
{
	(void)state;
	expect_pattern(run_sawtooth, "sawtooth: it grows");
	expect_pattern(run_sawtooth_that_leaks, "sawtooth: each time, more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_patterns),
	};

	return unit_run("analysis: notes", tests);
}
