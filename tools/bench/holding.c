// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that holds many allocations, and goes on calling: whose totals tools/bench/clients asks
 * the agent for.
 *
 * usage: holding ALLOCATIONS THREADS
 *
 * It allocates them from so many threads, at 10,000 a second in all, says "holding", and allocates
 * and frees a block a thousand times a second, until its standard input ends. Then it prints how
 * many allocations it has made.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "simcuda.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define BLOCK_BYTES 256
#define PER_MS 10
#define MOST_THREADS 64

struct part {
	pthread_t thread;
	CUcontext context;
	uint64_t count, ns_each;
};

static void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "holding: %s: %d\n", what, result);
	exit(1);
}

static void sleep_until(uint64_t ns)
{
	const struct timespec at = { (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* By the millisecond: a sleep for each would take longer than the call. */
static void *allocate(void *argument)
{
	const struct part *part = argument;
	const uint64_t begin_ns = now_ns();
	CUdeviceptr block;
	uint64_t i;

	check(cuCtxSetCurrent(part->context), "cuCtxSetCurrent");
	for (i = 0; i < part->count; i++) {
		if (i * part->ns_each % MS_NS < part->ns_each)
			sleep_until(begin_ns + i * part->ns_each);
		check(cuMemAlloc_v2(&block, BLOCK_BYTES), "cuMemAlloc_v2");
	}
	return NULL;
}

static void allocate_all(CUcontext context, uint64_t count, uint64_t threads)
{
	struct part parts[MOST_THREADS];
	uint64_t i;

	for (i = 0; i < threads; i++) {
		parts[i].context = context;
		parts[i].count = count / threads + (i < count % threads);
		parts[i].ns_each = threads * MS_NS / PER_MS;
		if (pthread_create(&parts[i].thread, NULL, allocate, &parts[i])) {
			fprintf(stderr, "holding: cannot make a thread\n");
			exit(1);
		}
	}
	for (i = 0; i < threads; i++)
		pthread_join(parts[i].thread, NULL);
}

static uint64_t churn(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	const uint64_t begin_ns = now_ns();
	CUdeviceptr block;
	uint64_t count = 0;

	while (!poll(&input, 1, 0)) {
		check(cuMemAlloc_v2(&block, BLOCK_BYTES), "cuMemAlloc_v2");
		check(cuMemFree_v2(block), "cuMemFree_v2");
		sleep_until(begin_ns + ++count * MS_NS);
	}
	return count;
}

int main(int argc, char **argv)
{
	const uint64_t count = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	const uint64_t threads = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	/* Until the library has its probes. */
	const struct timespec attached = { .tv_sec = 1 };
	CUcontext context;

	if (!count || !threads || threads > MOST_THREADS) {
		fprintf(stderr, "usage: holding ALLOCATIONS THREADS (at most %d)\n", MOST_THREADS);
		return 2;
	}
	nanosleep(&attached, NULL);
	check(cuInit(0), "cuInit");
	check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate_v2");
	allocate_all(context, count, threads);
	puts("holding");
	fflush(stdout);
	printf("%llu\n", (unsigned long long)(count + churn()));
	return 0;
}
