// SPDX-License-Identifier: BSD-2-Clause
/*
 * Many threads that allocate, free and copy as fast as they can, and a peak that does not depend on
 * how they are scheduled: at the end each thread holds HELD blocks, all at the same time, more than
 * it ever held before.
 *
 * usage: threads THREADS OPERATIONS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simcuda.h"

#define CHURNED 64
#define HELD 256
#define LEFT 3 /* blocks of each thread that are never freed */

struct worker {
	pthread_t thread;
	unsigned int number;
	long operations;
	CUdeviceptr blocks[HELD];
};

static CUcontext context;
static pthread_barrier_t barrier;

static void check(CUresult result, const char *what)
{
	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "threads: %s: %d\n", what, (int)result);
		exit(1);
	}
}

static void churn(struct worker *worker, unsigned int *random)
{
	static const char source[4096];
	char sink[4096];
	unsigned int place = rand_r(random) % CHURNED;
	CUdeviceptr *block = &worker->blocks[place];

	if (!*block)
		check(cuMemAlloc_v2(block, 512 * (1 + rand_r(random) % 8)), "cuMemAlloc_v2");
	else if (rand_r(random) % 2)
		check(cuMemcpyHtoD_v2(*block, source, 1 + rand_r(random) % 512), "cuMemcpyHtoD_v2");
	else if (rand_r(random) % 2)
		check(cuMemcpyDtoH_v2(sink, *block, 1 + rand_r(random) % 512), "cuMemcpyDtoH_v2");
	else
		check((cuMemFree_v2(*block)), "cuMemFree_v2"), *block = 0;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	unsigned int random = worker->number + 1;
	long i;

	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (i = 0; i < worker->operations; i++)
		churn(worker, &random);
	for (i = 0; i < HELD; i++)
		if (!worker->blocks[i])
			check(cuMemAlloc_v2(&worker->blocks[i], 64 << 10), "cuMemAlloc_v2");
	pthread_barrier_wait(&barrier);
	for (i = LEFT; i < HELD; i++)
		check(cuMemFree_v2(worker->blocks[i]), "cuMemFree_v2");
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[1]) : 0, i;
	struct worker *workers;

	if (count < 1) {
		fprintf(stderr, "usage: threads THREADS OPERATIONS\n");
		return 2;
	}
	workers = calloc(count, sizeof(*workers));
	check(cuInit(0), "cuInit");
	check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate_v2");
	pthread_barrier_init(&barrier, NULL, count);
	for (i = 0; i < count; i++) {
		workers[i].number = i;
		workers[i].operations = atol(argv[2]);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
	return 0;
}
