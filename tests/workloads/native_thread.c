// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library that allocates in a thread of its own, while its caller waits: tests/e2e/python.bats.
 */
#include <pthread.h>

#include "simcuda.h"

struct work {
	CUcontext context;
	CUdeviceptr *block;
	int result;
};

int allocate_in_thread(CUcontext context, CUdeviceptr *block);

static void *allocate(void *argument)
{
	struct work *work = argument;

	cuCtxSetCurrent(work->context);
	work->result = cuMemAlloc_v2(work->block, 4096);
	return NULL;
}

int allocate_in_thread(CUcontext context, CUdeviceptr *block)
{
	struct work work = { .context = context, .block = block, .result = -1 };
	pthread_t thread;

	if (!pthread_create(&thread, NULL, allocate, &work))
		pthread_join(thread, NULL);
	return work.result;
}
