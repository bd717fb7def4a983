// SPDX-License-Identifier: BSD-2-Clause
/*
 * The benchmark's target: calls what it is told to, and says how long that took.
 */
#include "target.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "target_api.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void launch(void)
{
	cuLaunchKernel((void *)0x1000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL);
}

static void step(void)
{
	uint64_t address = 0;
	int i;

	cuMemAlloc_v2(&address, 512);
	for (i = 0; i < BENCH_STEP_COPIES; i++)
		cuMemcpyHtoDAsync_v2(address, &address, sizeof(address), NULL);
	for (i = 0; i < BENCH_STEP_LAUNCHES; i++)
		launch();
	cuMemFree_v2(address);
}

static void call(enum bench_call what)
{
	uint64_t address = 0;

	switch (what) {
	case BENCH_REF:
		bench_reference();
		break;
	case BENCH_LAUNCH:
		launch();
		break;
	case BENCH_STEP:
		step();
		break;
	case BENCH_LAUNCH_ENDBR:
		cuLaunchKernel_ptsz((void *)0x1000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL);
		break;
	case BENCH_LAUNCH_SUB:
		cuLaunchCooperativeKernel((void *)0x1000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL);
		break;
	case BENCH_LAUNCH_MOV:
		cuLaunchCooperativeKernel_ptsz((void *)0x1000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL,
					       NULL);
		break;
	case BENCH_ALLOC:
		cuMemAlloc_v2(&address, 512);
		break;
	case BENCH_ALLOC_FREE:
		cuMemAlloc_v2(&address, 512);
		cuMemFree_v2(address);
		break;
	case BENCH_RUNTIME_ALLOC:
		cudaMalloc(&address, 512);
		break;
	case BENCH_RUNTIME_LAUNCH:
		cudaLaunchKernel((void *)0x1000, (struct bench_dim3){ 1, 2, 3 },
				 (struct bench_dim3){ 4, 5, 6 }, NULL, 7, NULL);
		break;
	default:
		break;
	}
}

/* Of this thread alone: the machine may be busy with others. */
static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000ull + used.tv_nsec;
}

/* Returns nanoseconds per call. */
static double run_batch(enum bench_call what, uint64_t calls)
{
	uint64_t i, start = cpu_ns();

	for (i = 0; i < calls; i++)
		call(what);
	return (double)(cpu_ns() - start) / calls;
}

static void run_batches(struct bench_order *order)
{
	int batch;

	for (batch = 0; batch < BENCH_BATCHES; batch++) {
		order->ns[batch] = run_batch(order->call, order->calls);
		if (order->unit_calls)
			order->unit_ns[batch] = run_batch(BENCH_REF, order->unit_calls);
	}
}

static void run_paced(struct bench_order *order)
{
	uint64_t start = now_ns(), next = start, end = start + order->duration_ns;

	order->made = 0;
	while (next < end) {
		while (now_ns() < next)
			;
		call(order->call);
		order->made++;
		next += order->pace_ns;
	}
	order->elapsed_ns = now_ns() - start;
}

/* Of the library's functions, whatever else may have been preloaded. */
static void tell_places(struct bench_order *order, const char *path)
{
	static const char *const names[BENCH_CALLS] = {
		[BENCH_REF] = "bench_reference",
		[BENCH_LAUNCH] = "cuLaunchKernel",
		[BENCH_LAUNCH_ENDBR] = "cuLaunchKernel_ptsz",
		[BENCH_LAUNCH_SUB] = "cuLaunchCooperativeKernel",
		[BENCH_LAUNCH_MOV] = "cuLaunchCooperativeKernel_ptsz",
		[BENCH_ALLOC] = "cuMemAlloc_v2",
		[BENCH_ALLOC_FREE] = "cuMemAlloc_v2",
		[BENCH_RUNTIME_ALLOC] = "cudaMalloc",
		[BENCH_RUNTIME_LAUNCH] = "cudaLaunchKernel",
		[BENCH_STEP] = "cuLaunchKernel",
	};
	void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	int i;

	for (i = 0; library && i < BENCH_CALLS; i++)
		if (names[i])
			order->places[i] = (uintptr_t)dlsym(library, names[i]);
}

int main(int argc, char **argv)
{
	struct bench_order *order;
	uint32_t seen = 0;

	order = argc == 3 ? mmap(NULL, sizeof(*order), PROT_READ | PROT_WRITE, MAP_SHARED,
				 atoi(argv[1]), 0) :
			    MAP_FAILED;
	if (order == MAP_FAILED) {
		fprintf(stderr, "target: to be started by the benchmark\n");
		return 2;
	}
	tell_places(order, argv[2]);
	for (;;) {
		while (atomic_load(&order->sequence) == seen)
			usleep(500);
		seen = atomic_load(&order->sequence);
		if (order->call == BENCH_EXIT)
			return 0;
		if (order->call == BENCH_IDLE)
			usleep(order->duration_ns / 1000);
		else if (order->pace_ns)
			run_paced(order);
		else
			run_batches(order);
		atomic_store(&order->done, seen);
	}
}
