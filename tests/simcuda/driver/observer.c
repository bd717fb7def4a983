/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the one observer there can be. Without one, a call costs a test.
 */
#include <string.h>

#include "graph.h"

const struct observer *observer;
static __thread unsigned int graph; /* that is being launched by the thread */

static void set(const struct observer *new)
{
	__atomic_store_n(&observer, new, __ATOMIC_RELEASE);
}

static const struct observer_table table = { set };

/* Private tables of the real driver: but for ours we have none, whatever the id. */
CU_DEFINE(NOTHING, cuGetExportTable, (const void **found, const CUuuid *id), (found, id),
	  NO_NOTES)
{
	if (!found || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*found = NULL;
	if (memcmp(id, OBSERVER_ID, sizeof(*id)) != 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	*found = &table;
	return CUDA_SUCCESS;
}

void observer_set_graph(unsigned int number)
{
	graph = number;
}

static void tell(struct observer_work *work, CUstream stream)
{
	const struct observer *told = __atomic_load_n(&observer, __ATOMIC_ACQUIRE);
	CUcontext context = stream_context(stream);

	if (!told || !context)
		return;
	work->stream = (uintptr_t)stream;
	work->context = (unsigned int)context->id;
	work->device = context->device->ordinal;
	work->graph = graph;
	told->work(work);
}

void observer_kernel(const CUDA_KERNEL_NODE_PARAMS *p, CUstream stream)
{
	struct observer_work work = {
		.kind = OBSERVER_KERNEL,
		.name = module_function_name(p->func),
		.grid = { p->gridDimX, p->gridDimY, p->gridDimZ },
		.block = { p->blockDimX, p->blockDimY, p->blockDimZ },
		.shared_bytes = p->sharedMemBytes,
	};

	if (unlikely(observer))
		tell(&work, stream);
}

void observer_copy(char from, char to, uint64_t bytes, CUstream stream)
{
	struct observer_work work = { .kind = OBSERVER_COPY,
				      .bytes = bytes,
				      .from = from,
				      .to = to,
				      .waited_for = !stream && !graph };

	if (unlikely(observer))
		tell(&work, stream);
}

void observer_memset(char to, uint64_t bytes, CUstream stream)
{
	struct observer_work work = { .kind = OBSERVER_MEMSET, .bytes = bytes, .to = to };

	if (unlikely(observer))
		tell(&work, stream);
}
