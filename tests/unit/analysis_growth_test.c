// SPDX-License-Identifier: BSD-2-Clause
/*
 * How programs' memory grows: of any sizes, until they end or again and again, on one device of
 * several, unexplained; and such as only set themselves up. Each with the findings that it must
 * have, and no others.
 */
#include "analysed.h"

#define MANY 600

static uint64_t alloc_on(struct run *run, int32_t device, uint64_t size)
{
	uint64_t addr = run->next_addr;

	run->next_addr += (size + 2 * MIB - 1) / MIB * MIB;
	feed(run,
	     record_taking(20 * US, record_on(device, record_alloc("cuMemAlloc_v2", addr, size))));
	return addr;
}

static void destroy_context(struct run *run, uint64_t context)
{
	feed(run, record_context("cuCtxDestroy_v2", context, 0));
}

static uint64_t alloc_in(struct run *run, uint64_t context, uint64_t size)
{
	uint64_t addr = run->next_addr;

	run->next_addr += (size + 2 * MIB - 1) / MIB * MIB;
	feed(run, record_in(context, record_alloc("cuMemAlloc_v2", addr, size)));
	return addr;
}

static void free_all(struct run *run, const uint64_t *blocks, int count)
{
	int i;

	for (i = 0; i < count; i++)
		free_at(run, blocks[i]);
}

/* ---- freed when the program ends ------------------------------------------------------------- */

static void serve(struct run *run, uint64_t blocks[MANY])
{
	int i;

	for (i = 0; i < MANY; i++) {
		blocks[i] = alloc_new(run, MIB);
		steps(run, 3);
	}
}

static void run_freed_at_shutdown(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY);
	end_process(run, 0);
}

/* What it set up stays, and no finding of its own is about that. */
static void run_freed_but_for_set_up(struct run *run)
{
	set_up(run);
	run_freed_at_shutdown(run);
}

/* Its end was not seen. */
static void run_freed_as_the_recording_ends(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY);
}

/* It waits, and saves what it has, before it frees each. */
static void run_saved_at_shutdown(struct run *run)
{
	uint64_t blocks[MANY];
	int i;

	serve(run, blocks);
	for (i = 0; i < MANY; i++) {
		copy_up(run, blocks[i], HOST_ADDR, KIB, 10 * US);
		synchronise(run, 10 * US);
		free_at(run, blocks[i]);
	}
	end_process(run, 0);
}

/* Another thread finishes what it is at. */
static void run_finished_at_shutdown(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY / 2);
	launch(run);
	launch(run);
	free_all(run, blocks + MANY / 2, MANY / 2);
	launch(run);
	end_process(run, 0);
}

static void run_freed_and_went_on(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY);
	steps(run, 30);
	end_process(run, 0);
}

/* It has nothing to do any more, but that it ends is not to be seen. */
static void run_freed_and_waited(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY);
	wait_for(run, MINUTE);
}

static void serve_summed(struct run *run, uint64_t blocks[MANY])
{
	int i;

	for (i = 0; i < MANY; i++) {
		blocks[i] = alloc_new(run, MIB);
		wait_for(run, 30 * MS);
		if (i % 33 == 0)
			feed(run, record_launches("cuLaunchKernel", 0x1234, 500));
	}
}

/* What was launched before is only told afterwards. */
static void run_freed_at_shutdown_summed(struct run *run)
{
	uint64_t blocks[MANY];

	serve_summed(run, blocks);
	free_all(run, blocks, MANY);
	feed(run, record_launches("cuLaunchKernel", 0x1234, 500));
	end_process(run, 0);
}

static void run_freed_and_went_on_summed(struct run *run)
{
	uint64_t blocks[MANY];
	int i;

	serve_summed(run, blocks);
	free_all(run, blocks, MANY);
	for (i = 0; i < 3; i++) {
		wait_for(run, 300 * MS);
		feed(run, record_launches("cuLaunchKernel", 0x1234, 500));
	}
	end_process(run, 0);
}

static void run_ended_with_context(struct run *run)
{
	int i;

	feed(run, record_context("cuCtxCreate_v2", 0xc000, 0));
	for (i = 0; i < MANY; i++) {
		alloc_in(run, 0xc000, MIB);
		steps(run, 3);
	}
	destroy_context(run, 0xc000);
	end_process(run, 0);
}

/* ---- of many sizes --------------------------------------------------------------------------- */

#define CREEP_SUM 1348930560ull

/* Each a third larger than the last, and that is kept. */
static void run_geometric(struct run *run)
{
	uint64_t size = 256 * KIB;
	int i;

	for (i = 0; i < 28; i++) {
		alloc_new(run, size);
		steps(run, 60);
		size += size * 3 / 10 / 512 * 512;
	}
	end_process(run, 9);
}

static void run_geometric_freed_at_shutdown(struct run *run)
{
	uint64_t size = 256 * KIB, blocks[28];
	int i;

	for (i = 0; i < 28; i++) {
		blocks[i] = alloc_new(run, size);
		steps(run, 60);
		size += size * 3 / 10 / 512 * 512;
	}
	free_all(run, blocks, 28);
	end_process(run, 0);
}

/* It makes a larger one, and lets go of the last. */
static void run_geometric_replaced(struct run *run)
{
	uint64_t size = 256 * KIB, last = 0;
	int i;

	for (i = 0; i < 28; i++) {
		uint64_t next = alloc_new(run, size);

		if (last)
			free_at(run, last);
		last = next;
		steps(run, 60);
		size += size * 3 / 10 / 512 * 512;
	}
}

/* A cache that grows with every request, as a whole. */
static void run_rising(struct run *run)
{
	int i;

	set_up(run);
	for (i = 0; i < 54; i++) {
		alloc_new(run, (i + 16) * MIB);
		steps(run, 30);
	}
}

static void run_mixed(struct run *run)
{
	static const uint64_t sizes[] = { MIB, 300 * KIB, 7 * MIB, 20 * KIB, 3 * MIB };
	int i;

	for (i = 0; i < MANY; i++) {
		alloc_new(run, sizes[i * 7 % 5]);
		steps(run, 2);
	}
}

static void run_two_classes(struct run *run)
{
	int i;

	for (i = 0; i < MANY; i++) {
		alloc_new(run, i % 2 ? 3 * MIB / 2 : 3 * MIB);
		steps(run, 3);
	}
}

/* The same function allocates what comes and goes, of other sizes and of the same. */
static void run_mixed_among_others(struct run *run)
{
	uint64_t live[8] = { 0 }, random = 5;
	int i;

	alloc_new(run, 900 * MIB);
	for (i = 0; i < 2000; i++) {
		random = unit_random(random);
		if (live[random % 8])
			free_at(run, live[random % 8]);
		live[random % 8] = alloc_new(run, 2 * MIB + random % (30 * MIB));
		step(run);
		if (i % 10 == 9)
			alloc_new(run, i % 20 == 9 ? MIB : 600 * KIB);
	}
}

/* One size after the other, but none for good. */
static void run_moving(struct run *run)
{
	uint64_t blocks[8] = { 0 };
	int i, j;

	for (i = 0; i < 16; i++) {
		for (j = 0; j < 8; j++) {
			if (blocks[j])
				free_at(run, blocks[j]);
			blocks[j] = alloc_new(run, (16 << i * 3 % 5) * MIB);
			steps(run, 10);
		}
	}
}

/* Each block that it has makes way for a smaller one. */
static void run_replaced_by_smaller(struct run *run)
{
	uint64_t blocks[300];
	int i;

	for (i = 0; i < 300; i++)
		blocks[i] = alloc_new(run, 6 * MIB);
	for (i = 0; i < 300; i++) {
		free_at(run, blocks[i]);
		alloc_new(run, 3 * MIB);
		steps(run, 5);
	}
}

/* Half of each size is forgotten at the end. */
static void run_exit_leak_of_two_classes(struct run *run)
{
	uint64_t blocks[24], buffers[32];
	int i;

	for (i = 0; i < 24; i++)
		blocks[i] = alloc_new(run, 8 * MIB);
	steps(run, 1000);
	for (i = 0; i < 32; i++)
		buffers[i] = alloc_new(run, i % 2 ? 2 * MIB : 600 * KIB);
	steps(run, 1000);
	free_all(run, blocks, 24);
	free_all(run, buffers + 4, 28);
	end_process(run, 0);
}

/* ---- by device ------------------------------------------------------------------------------- */

static void run_one_device_leaks(struct run *run)
{
	int i;

	for (i = 0; i < MANY; i++) {
		uint64_t scratch = alloc_on(run, 0, 4 * MIB);

		alloc_on(run, 1, 4 * MIB);
		steps(run, 3);
		free_at(run, scratch);
	}
}

static void run_both_devices_leak(struct run *run)
{
	int i;

	for (i = 0; i < MANY; i++) {
		alloc_on(run, 0, 2 * MIB);
		alloc_on(run, 1, 4 * MIB);
		steps(run, 3);
	}
}

/* Launches are of libraries that are not traced, but it does work. */
static void run_no_launches(struct run *run)
{
	int i;

	for (i = 0; i < 2000; i++) {
		uint64_t scratch = alloc_new(run, 3 * MIB);

		alloc_new(run, 64 * KIB);
		wait_for(run, 10 * MS);
		free_at(run, scratch);
	}
}

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

	for (i = 0; i < 8; i++) {
		uint64_t one = alloc_new(run, 64 * MIB), two;

		steps(run, 120);
		two = alloc_new(run, 64 * MIB);
		steps(run, 30);
		free_at(run, one);
		free_at(run, two);
		steps(run, 10);
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

/* ---- unexplained ----------------------------------------------------------------------------- */

static void creep(struct run *run, uint64_t per_step)
{
	int i;

	alloc_new(run, GIB);
	for (i = 0; i < 200; i++) {
		told(run, 6 * GIB - i * per_step, 8 * GIB);
		steps(run, 5);
	}
}

static void run_unexplained(struct run *run)
{
	creep(run, 2 * MIB);
}

static void run_unexplained_little(struct run *run)
{
	creep(run, 128 * KIB);
}

/* Libraries and modules are loaded, and that is it. */
static void run_unexplained_at_first(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		told(run, 6 * GIB - (i < 60 ? i : 60) * 5 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* It goes up and down with what others do. */
static void run_unexplained_swinging(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		told(run, 6 * GIB - i % 50 * 5 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* As much as it allocates. */
static void run_explained(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		alloc_new(run, 2 * MIB);
		told(run, 6 * GIB - i * 2 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* What was freed into a pool stays with it. */
static void run_explained_by_pool(struct run *run)
{
	uint64_t addr = DEVICE_ADDR + 100 * GIB;
	int i;

	for (i = 0; i < 200; i++) {
		feed(run, record_on(0, record_alloc("cuMemAllocAsync", addr, (100 + 2 * i) * MIB)));
		feed(run, record_begin_of("cuMemFreeAsync", addr, 0));
		feed(run, record_free("cuMemFreeAsync", addr));
		told(run, 6 * GIB - i * 2 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* It may have moved to the device. */
static void run_explained_by_managed(struct run *run)
{
	feed(run, record_on(0, record_alloc("cuMemAllocManaged", DEVICE_ADDR + 100 * GIB, GIB)));
	creep(run, 2 * MIB);
}

/* All but so little of it that it is not worth a word. */
static void run_explained_by_managed_but_little(struct run *run)
{
	feed(run,
	     record_on(0, record_alloc("cuMemAllocManaged", DEVICE_ADDR + 100 * GIB, 350 * MIB)));
	creep(run, 2 * MIB);
}

static void begin_other(struct run *run)
{
	as_process(run, 77);
	feed(run, record_context("cuCtxCreate_v2", 0xd000, 0));
	alloc_on(run, 0, 64 * MIB);
	as_process(run, RECORD_PID);
}

/* Another process is there, and allocates nothing more. */
static void run_unexplained_in_company(struct run *run)
{
	begin_other(run);
	creep(run, 2 * MIB);
}

/* The other one allocates it. */
static void run_explained_by_other(struct run *run)
{
	int i;

	begin_other(run);
	for (i = 0; i < 200; i++) {
		as_process(run, 77);
		alloc_on(run, 0, 2 * MIB);
		launch(run);
		as_process(run, RECORD_PID);
		told(run, 6 * GIB - i * 2 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct program programs[] = {
	/* clang-format off */
	{ "freed at shutdown", run_freed_at_shutdown, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "freed but for what was set up", run_freed_but_for_set_up, { { FINDING_LEAK_GROWTH, M, MANY * MIB }, { FINDING_KEPT_TO_END, H, 192 * MIB } }, 2 },
	{ "freed as the recording ends", run_freed_as_the_recording_ends, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "saved at shutdown", run_saved_at_shutdown, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "finished at shutdown", run_finished_at_shutdown, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "freed and went on", run_freed_and_went_on, {}, 0 },
	{ "freed and waited", run_freed_and_waited, {}, 0 },
	{ "freed at shutdown, summed", run_freed_at_shutdown_summed, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "freed and went on, summed", run_freed_and_went_on_summed, {}, 0 },
	{ "ended with its context", run_ended_with_context, { { FINDING_LEAK_GROWTH, H, MANY * MIB } }, 1 },
	{ "geometric", run_geometric, { { FINDING_LEAK_GROWTH, H, CREEP_SUM } }, 1 },
	{ "geometric, freed at shutdown", run_geometric_freed_at_shutdown, { { FINDING_LEAK_GROWTH, M, CREEP_SUM } }, 1 },
	{ "geometric, replaced", run_geometric_replaced, {}, 0 },
	{ "rising", run_rising, { { FINDING_LEAK_GROWTH, H, (54 * 16 + 53 * 54 / 2) * MIB } }, 1 },
	{ "mixed", run_mixed, { { FINDING_LEAK_GROWTH, H, MANY / 5 * (11 * MIB + 320 * KIB) } }, 1 },
	{ "two classes", run_two_classes, { { FINDING_LEAK_GROWTH, H, MANY / 2 * (4 * MIB + 512 * KIB) } }, 1 },
	{ "mixed among others", run_mixed_among_others, { { FINDING_LEAK_GROWTH, H, 100 * (MIB + 600 * KIB) } }, 1 },
	{ "moving", run_moving, {}, 0 },
	{ "replaced by smaller ones", run_replaced_by_smaller, {}, 0 },
	{ "two classes at exit", run_exit_leak_of_two_classes, { { FINDING_LEAK_AT_EXIT, H, 2 * (2 * MIB + 600 * KIB) } }, 1 },
	{ "one device leaks", run_one_device_leaks, { { FINDING_LEAK_GROWTH, H, MANY * 4 * MIB } }, 1 },
	{ "both devices leak", run_both_devices_leak, { { FINDING_LEAK_GROWTH, H, MANY * 4 * MIB }, { FINDING_LEAK_GROWTH, H, MANY * 2 * MIB } }, 2 },
	{ "no launches", run_no_launches, { { FINDING_LEAK_GROWTH, M, 2000 * 64 * KIB } }, 1 },
	{ "sawtooth", run_sawtooth, { { FINDING_SAWTOOTH, H, 0 } }, 1 },
	{ "sawtooth that leaks", run_sawtooth_that_leaks, { { FINDING_LEAK_GROWTH, M, 0 } }, 1 },
	{ "sawtooth of contexts", run_sawtooth_of_contexts, { { FINDING_SAWTOOTH, H, 0 } }, 1 },
	{ "device resets", run_device_resets, {}, 0 },
	{ "two steps", run_two_steps, {}, 0 },
	{ "loaded at once", run_loaded_at_once, {}, 0 },
	{ "training", run_training, {}, 0 },
	{ "requests", run_requests, {}, 0 },
	{ "churn with a buffer", run_churn_with_a_buffer, { { FINDING_KEPT_TO_END, H, 64 * MIB } }, 1 },
	{ "late set-up", run_late_set_up, { { FINDING_KEPT_TO_END, H, 64 * MIB } }, 1 },
	{ "a buffer and a leak", run_buffer_and_leak, { { FINDING_LEAK_AT_EXIT, H, 6 * MIB }, { FINDING_KEPT_TO_END, H, 64 * MIB } }, 2 },
	{ "preallocated", run_preallocated, {}, 0 },
	{ "many managed", run_many_managed, {}, 0 },
	{ "caching", run_caching, {}, 0 },
	{ "unexplained", run_unexplained, { { FINDING_UNEXPLAINED_GROWTH, M, 0 } }, 1 },
	{ "unexplained, little", run_unexplained_little, {}, 0 },
	{ "unexplained at first", run_unexplained_at_first, {}, 0 },
	{ "unexplained, swinging", run_unexplained_swinging, {}, 0 },
	{ "explained", run_explained, { { FINDING_LEAK_GROWTH, H, 400 * MIB } }, 1 },
	{ "explained by a pool", run_explained_by_pool, {}, 0 },
	{ "explained by managed memory", run_explained_by_managed, {}, 0 },
	{ "explained by managed memory but for little", run_explained_by_managed_but_little, {}, 0 },
	{ "unexplained, in company", run_unexplained_in_company, { { FINDING_UNEXPLAINED_GROWTH, L, 0 } }, 1 },
	{ "explained by another", run_explained_by_other, { { FINDING_LEAK_GROWTH, H, 0 } }, 1 },
	/* clang-format on */
};

/* Whose memory is on which device is followed, as in a report. */
static void begin(struct run *run, void (*program)(struct run *run))
{
	assert_true(run_begin(run));
	assert_int_equal(state_follow_usage(&run->pipeline.state), 0);
	program(run);
}

static void test_programs(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct run run = { 0 };

		print_message("# %s\n", programs[i].name);
		begin(&run, programs[i].run);
		expect(&run, programs[i].expected, programs[i].count);
		run_end(&run);
	}
}

/* ---- what findings say ----------------------------------------------------------------------- */

static struct finding only_finding(struct run *run, void (*program)(struct run *run))
{
	const struct finding *findings;
	size_t count;

	begin(run, program);
	finish(run);
	findings = analysis_findings(run->analysis, &count);
	assert_int_equal(count, 1);
	return findings[0];
}

static void expect_pattern(void (*program)(struct run *run), const char *pattern)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, program);

	assert_non_null(finding.pattern);
	if (strncmp(finding.pattern, pattern, strlen(pattern)) != 0)
		fail_msg("%s, not %s", finding.pattern, pattern);
	run_end(&run);
}

static void test_patterns(void **state)
{
	(void)state;
	expect_pattern(run_geometric, "geometric");
	expect_pattern(run_rising, "rising");
	expect_pattern(run_mixed, "mixed sizes");
	expect_pattern(run_freed_at_shutdown, "all of one size");
	expect_pattern(run_sawtooth, "sawtooth: it grows");
	expect_pattern(run_sawtooth_that_leaks, "sawtooth: each time, more");
}

static void expect_device(void (*program)(struct run *run), int32_t device, bool freed)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, program);

	assert_int_equal(finding.device, device);
	assert_int_equal(finding.freed, freed);
	run_end(&run);
}

static void test_devices(void **state)
{
	(void)state;
	expect_device(run_one_device_leaks, 1, false);
	expect_device(run_freed_at_shutdown, 0, true);
	expect_device(run_unexplained, 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_devices),
	};

	return unit_run("analysis: growth", tests);
}
