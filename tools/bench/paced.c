// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that calls the driver at a steady rate and works in between, by whose own clock
 * tools/bench/budget says what tracing costs it.
 *
 * usage: paced CALLS_PER_SECOND WARM_SECONDS SECONDS
 *
 * A call is a launch; ten times a second, a block is allocated and freed as well. The work is a
 * fixed number of steps for each call, so that what it does in the seconds that are measured is
 * always the same. Prints, on one line: the number of launches, the mean nanoseconds in one (longer
 * ones than 100 us, in which the program did not run, are left out), the nanoseconds of CPU time
 * and of the clock of all, and the number of blocks since the program began.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "simcuda.h"

#define SECOND_NS 1000000000ull
#define LONGEST_NS 100000
#define CALIBRATION_STEPS 50000000ull

static volatile uint64_t sink;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "paced: %s: %d\n", what, result);
	exit(1);
}

static void work(uint64_t steps)
{
	uint64_t value = steps;

	while (steps--) {
		value = value * 6364136223846793005ull + 1;
		__asm__ volatile("" : "+r"(value));
	}
	sink = value;
}

/*
 * The agent needs a moment until the first process that uses a library has its probes. A context
 * that it has not seen could have had memory: the process would be said to be inexact, rightly.
 */
static CUfunction prepare(void)
{
	const struct timespec attached = { .tv_sec = 1 };
	CUcontext context;
	CUmodule module;
	CUfunction kernel;

	nanosleep(&attached, NULL);
	check(cuInit(0), "cuInit");
	check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate_v2");
	check(cuModuleLoadData(&module, "image"), "cuModuleLoadData");
	check(cuModuleGetFunction(&kernel, module, "paced"), "cuModuleGetFunction");
	return kernel;
}

static uint64_t blocks;

static void use_block(void)
{
	CUdeviceptr block;

	check(cuMemAlloc_v2(&block, 4096), "cuMemAlloc_v2");
	check(cuMemFree_v2(block), "cuMemFree_v2");
	blocks++;
}

/* Returns the nanoseconds in launches; `*measured`: in how many of them. */
static uint64_t run(CUfunction kernel, uint64_t calls, uint64_t calls_per_block, uint64_t steps,
		    uint64_t *measured)
{
	uint64_t spent_ns = 0, i;

	*measured = 0;
	for (i = 0; i < calls; i++) {
		const uint64_t from_ns = now_ns(CLOCK_MONOTONIC);
		uint64_t took_ns;

		check(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
		      "cuLaunchKernel");
		took_ns = now_ns(CLOCK_MONOTONIC) - from_ns;
		if (took_ns <= LONGEST_NS) {
			spent_ns += took_ns;
			++*measured;
		}
		if (i % calls_per_block == 0)
			use_block();
		work(steps);
	}
	return spent_ns;
}

int main(int argc, char **argv)
{
	const uint64_t rate = argc == 4 ? strtoull(argv[1], NULL, 10) : 0;
	const uint64_t per_block = rate > 10 ? rate / 10 : 1;
	uint64_t steps, measured, spent_ns, cpu_ns, begin_ns;
	CUfunction kernel;

	if (!rate) {
		fprintf(stderr, "usage: paced CALLS_PER_SECOND WARM_SECONDS SECONDS\n");
		return 2;
	}
	kernel = prepare();
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	work(CALIBRATION_STEPS);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	steps = CALIBRATION_STEPS * (SECOND_NS / rate) / cpu_ns;
	begin_ns = now_ns(CLOCK_MONOTONIC);
	while (now_ns(CLOCK_MONOTONIC) - begin_ns < strtoull(argv[2], NULL, 10) * SECOND_NS)
		run(kernel, per_block, per_block, steps, &measured);
	begin_ns = now_ns(CLOCK_MONOTONIC);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	spent_ns = run(kernel, rate * strtoull(argv[3], NULL, 10), per_block, steps, &measured);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	begin_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
	printf("%llu %.1f %llu %llu %llu\n", (unsigned long long)measured,
	       (double)spent_ns / (double)(measured ? measured : 1), (unsigned long long)cpu_ns,
	       (unsigned long long)begin_ns, (unsigned long long)blocks);
	return 0;
}
