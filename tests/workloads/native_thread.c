// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library that allocates in a thread of its own, while its caller waits: tests/e2e/python.bats.
 * With NATIVE_THREAD_STATE in the environment that thread has a PyThreadState, but runs no Python,
 * as PyTorch's autograd threads do.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "simcuda.h"

struct work {
	CUcontext context;
	CUdeviceptr *block;
	int result;
};

int allocate_in_thread(CUcontext context, CUdeviceptr *block);

static void *allocate(void *argument)
{
	int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
	void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
	void *(*save)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
	void (*restore)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "PyEval_RestoreThread");
	const int has_state = getenv("NATIVE_THREAD_STATE") != NULL;
	struct work *work = argument;
	void *state = NULL;
	int lock = 0;

	if (has_state) {
		lock = ensure();
		state = save();
	}
	cuCtxSetCurrent(work->context);
	work->result = cuMemAlloc_v2(work->block, 4096);
	if (has_state) {
		restore(state);
		release(lock);
	}
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
