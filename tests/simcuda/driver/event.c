/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events: the time at which they were recorded, since the stream is never behind. So one that
 * another process opens has nothing to wait for, and all that its handle says is whose it is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "graph.h"

#define MAGIC 0x746e65766d6973ull /* "simvent" */

/* What an IPC handle really is. */
struct ticket {
	uint64_t magic;
	int pid;
};

struct CUevent_st {
	struct object object;
	unsigned int flags;
	uint64_t recorded_ns; /* 0: never */
	bool captured;        /* last recorded in a capture, that is: not at all */
};

static struct slab events = SLAB(struct CUevent_st, 1 << 20);

bool event_valid(CUevent event)
{
	return slab_has(&events, event);
}

bool event_captured(CUevent event)
{
	return __atomic_load_n(&event->captured, __ATOMIC_ACQUIRE);
}

void event_free_owned(CUcontext owner)
{
	slab_delete_owned(&events, owner, NULL);
}

CU_DEFINE(CONTEXT, cuEventCreate, (CUevent *event, unsigned int flags), (event, flags),
	  OUT_HEX(handle, event), DEC(flags, flags))
{
	struct CUevent_st new = { .object.owner = context_current(), .flags = flags };

	if (!event || flags & ~7u ||
	    (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)))
		return CUDA_ERROR_INVALID_VALUE;
	*event = slab_new(&events, &new);
	return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE_V2(INIT, cuEventDestroy, (CUevent event), (event), HEX(handle, event))
{
	if (!event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	slab_delete(&events, event);
	return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
	if (!event_valid(event) || !stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!stream_context(stream))
		return CUDA_ERROR_INVALID_CONTEXT;
	__atomic_store_n(&event->captured, capture_active(stream), __ATOMIC_RELEASE);
	if (!event_captured(event))
		__atomic_store_n(&event->recorded_ns, oracle_now_ns(), __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

CU_DEFINE_PTSZ(INIT, cuEventRecord, (CUevent event, CUstream stream), (event, stream),
	       HEX(event, event), HEX(stream, stream))
{
	return record(event, stream);
}

CU_DEFINE_PTSZ(INIT, cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags),
	       (event, stream, flags), HEX(event, event), HEX(stream, stream), DEC(flags, flags))
{
	return flags & ~1u ? CUDA_ERROR_INVALID_VALUE : record(event, stream);
}

static CUresult check(CUevent event)
{
	if (!event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	return event_captured(event) ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuEventQuery, (CUevent event), (event), HEX(event, event))
{
	return check(event);
}

CU_DEFINE(INIT, cuEventSynchronize, (CUevent event), (event), HEX(event, event))
{
	CUresult result = check(event);

	if (result == CUDA_SUCCESS)
		pool_synchronize(event->object.owner->device);
	return result;
}

CU_DEFINE_V2(INIT, cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end),
	     (milliseconds, start, end), HEX(start, start), HEX(end, end))
{
	uint64_t from, to;

	if (!milliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	if (!event_valid(start) || !event_valid(end) ||
	    (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	from = __atomic_load_n(&start->recorded_ns, __ATOMIC_RELAXED);
	to = __atomic_load_n(&end->recorded_ns, __ATOMIC_RELAXED);
	if (!from || !to)
		return CUDA_ERROR_INVALID_HANDLE;
	*milliseconds = (float)((double)(int64_t)(to - from) / 1e6);
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuIpcGetEventHandle, (CUipcEventHandle *handle, CUevent event), (handle, event),
	  HEX(event, event))
{
	const struct ticket ticket = { .magic = MAGIC, .pid = getpid() };

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (!event_valid(event) || !(event->flags & CU_EVENT_INTERPROCESS))
		return CUDA_ERROR_INVALID_HANDLE;
	*handle = (CUipcEventHandle){ { 0 } };
	memcpy(handle, &ticket, sizeof(ticket));
	return CUDA_SUCCESS;
}

/* The new event is the caller's to destroy. */
CU_DEFINE(CONTEXT, cuIpcOpenEventHandle, (CUevent *event, CUipcEventHandle handle), (event, handle),
	  OUT_HEX(event, event))
{
	const struct CUevent_st new = {
		.object.owner = context_current(),
		.flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING,
	};
	struct ticket ticket;

	memcpy(&ticket, &handle, sizeof(ticket));
	if (!event)
		return CUDA_ERROR_INVALID_VALUE;
	if (ticket.magic != MAGIC)
		return CUDA_ERROR_INVALID_HANDLE;
	if (ticket.pid == getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (kill(ticket.pid, 0) && errno == ESRCH)
		return CUDA_ERROR_MAP_FAILED;
	*event = slab_new(&events, &new);
	return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
