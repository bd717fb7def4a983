/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams. Work is done when it is submitted, so a stream never has anything outstanding: a query
 * always succeeds, a synchronization only lets pools give back memory (SIMCUDA_DELAY makes it
 * take time), and callbacks run before the call that submits them returns.
 */
#include "graph.h"

struct CUstream_st {
	struct object object;
	unsigned int flags;
	int priority;
	unsigned long long id;
};

static struct slab streams = SLAB(struct CUstream_st, 65536);
static unsigned long long last_id = 2; /* the ids of the two default streams */

static bool is_default(CUstream stream)
{
	return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

bool stream_valid(CUstream stream)
{
	return is_default(stream) || slab_has(&streams, stream);
}

CUcontext stream_context(CUstream stream)
{
	CUcontext context;

	if (!stream_valid(stream))
		return NULL;
	context = is_default(stream) ? context_current() : stream->object.owner;
	return context_alive(context) ? context : NULL;
}

void stream_free_owned(CUcontext owner)
{
	slab_delete_owned(&streams, owner, NULL);
}

static CUresult create(CUstream *stream, unsigned int flags, int priority)
{
	struct CUstream_st new = {
		.object.owner = context_current(),
		.flags = flags,
		.priority = priority,
		.id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED),
	};

	if (!stream || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	*stream = slab_new(&streams, &new);
	return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(CONTEXT, cuStreamCreate, (CUstream *stream, unsigned int flags), (stream, flags),
	  OUT_HEX(handle, stream), DEC(flags, flags))
{
	return create(stream, flags, 0);
}

CU_DEFINE(CONTEXT, cuStreamCreateWithPriority, (CUstream *stream, unsigned int flags, int priority),
	  (stream, flags, priority), OUT_HEX(handle, stream), DEC(flags, flags),
	  DEC(value, priority))
{
	return create(stream, flags, priority);
}

CU_DEFINE_V2(INIT, cuStreamDestroy, (CUstream stream), (stream), HEX(handle, stream))
{
	if (!slab_has(&streams, stream))
		return CUDA_ERROR_INVALID_HANDLE;
	capture_drop(stream);
	slab_delete(&streams, stream);
	return CUDA_SUCCESS;
}

/* What every function on an existing stream checks first. */
static CUresult check(CUstream stream)
{
	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	return stream_context(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CU_DEFINE_PTSZ(INIT, cuStreamQuery, (CUstream stream), (stream), HEX(stream, stream))
{
	CUresult result = check(stream);

	return result == CUDA_SUCCESS ? capture_refuse_stream(stream) : result;
}

CU_DEFINE_PTSZ(INIT, cuStreamSynchronize, (CUstream stream), (stream), HEX(stream, stream))
{
	CUresult result = check(stream);

	if (result == CUDA_SUCCESS)
		result = capture_refuse_stream(stream);
	if (result == CUDA_SUCCESS)
		pool_synchronize(stream_context(stream)->device);
	return result;
}

CU_DEFINE_PTSZ(INIT, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),
	       (stream, event, flags), HEX(stream, stream), HEX(event, event), DEC(flags, flags))
{
	CUresult result = check(stream);

	if (flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	if (!event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	/* An event of a capture orders the stream it was recorded in, and takes no other along. */
	if (result == CUDA_SUCCESS && event_captured(event) && !capture_active(stream))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return result;
}

CU_DEFINE_PTSZ(INIT, cuStreamAddCallback,
	       (CUstream stream, CUstreamCallback callback, void *data, unsigned int flags),
	       (stream, callback, data, flags), HEX(stream, stream), HEX(value, callback))
{
	CUresult result = check(stream);

	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = capture_refuse_stream(stream);
	if (result == CUDA_SUCCESS)
		callback(stream, CUDA_SUCCESS, data);
	return result;
}

CU_DEFINE_PTSZ(INIT, cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *data),
	       (stream, fn, data), HEX(stream, stream), HEX(value, fn), NOTE_CAPTURE(stream))
{
	const struct graph_work work = {
		.type = CU_GRAPH_NODE_TYPE_HOST,
		.host = { fn, data },
	};
	CUresult result = check(stream);

	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && capture_active(stream))
		return capture_add(stream, &work);
	if (result == CUDA_SUCCESS)
		fn(data);
	return result;
}

CU_DEFINE_PTSZ(INIT, cuStreamGetCtx, (CUstream stream, CUcontext *context), (stream, context),
	       HEX(stream, stream), OUT_HEX(value, context))
{
	CUresult result = check(stream);

	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*context = stream_context(stream);
	return result;
}

CU_DEFINE_PTSZ(INIT, cuStreamGetDevice, (CUstream stream, CUdevice *device), (stream, device),
	       HEX(stream, stream), OUT_DEC(ordinal, device))
{
	CUresult result = check(stream);

	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*device = stream_context(stream)->device->ordinal;
	return result;
}

CU_DEFINE_PTSZ(INIT, cuStreamGetFlags, (CUstream stream, unsigned int *flags), (stream, flags),
	       HEX(stream, stream), OUT_DEC(flags, flags))
{
	CUresult result = check(stream);

	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*flags = is_default(stream) ? CU_STREAM_DEFAULT : stream->flags;
	return result;
}

CU_DEFINE_PTSZ(INIT, cuStreamGetPriority, (CUstream stream, int *priority), (stream, priority),
	       HEX(stream, stream), OUT_DEC(value, priority))
{
	CUresult result = check(stream);

	if (!priority)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*priority = is_default(stream) ? 0 : stream->priority;
	return result;
}

CU_DEFINE_PTSZ(INIT, cuStreamGetId, (CUstream stream, unsigned long long *id), (stream, id),
	       HEX(stream, stream), OUT_DEC(value, id))
{
	CUresult result = check(stream);

	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*id = is_default(stream) ? 1 + (stream == CU_STREAM_PER_THREAD) : stream->id;
	return result;
}
