/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams and events: each function is one of the driver's.
 */
#include "runtime.h"

RT_DEFINE(CONTEXT, cudaStreamCreate, (cudaStream_t *stream), (stream), OUT_HEX(handle, stream))
{
	return runtime_error(cu->cuStreamCreate(stream, cudaStreamDefault));
}

RT_DEFINE(CONTEXT, cudaStreamCreateWithFlags, (cudaStream_t *stream, unsigned int flags),
	  (stream, flags), OUT_HEX(handle, stream), DEC(flags, flags))
{
	return runtime_error(cu->cuStreamCreate(stream, flags));
}

RT_DEFINE(CONTEXT, cudaStreamCreateWithPriority,
	  (cudaStream_t *stream, unsigned int flags, int priority), (stream, flags, priority),
	  OUT_HEX(handle, stream), DEC(flags, flags), DEC(value, priority))
{
	return runtime_error(cu->cuStreamCreateWithPriority(stream, flags, priority));
}

RT_DEFINE(CONTEXT, cudaStreamDestroy, (cudaStream_t stream), (stream), HEX(handle, stream))
{
	return runtime_error(cu->cuStreamDestroy(stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamSynchronize, (cudaStream_t stream), (stream),
	       HEX(stream, stream))
{
	return runtime_error(cu->cuStreamSynchronize(stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamQuery, (cudaStream_t stream), (stream), HEX(stream, stream))
{
	return runtime_error(cu->cuStreamQuery(stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamWaitEvent,
	       (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
	       (stream, event, flags), HEX(stream, stream), HEX(event, event), DEC(flags, flags))
{
	return runtime_error(cu->cuStreamWaitEvent(stream, event, flags));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamAddCallback,
	       (cudaStream_t stream, cudaStreamCallback_t callback, void *data,
		unsigned int flags),
	       (stream, callback, data, flags), HEX(stream, stream), HEX(value, callback))
{
	/* The two callback types differ only in the name of the error type. */
	return runtime_error(
		cu->cuStreamAddCallback(stream, (CUstreamCallback)(void *)callback, data, flags));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamGetFlags, (cudaStream_t stream, unsigned int *flags),
	       (stream, flags), HEX(stream, stream), OUT_DEC(flags, flags))
{
	return runtime_error(cu->cuStreamGetFlags(stream, flags));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamGetPriority, (cudaStream_t stream, int *priority),
	       (stream, priority), HEX(stream, stream), OUT_DEC(value, priority))
{
	return runtime_error(cu->cuStreamGetPriority(stream, priority));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamGetDevice, (cudaStream_t stream, int *device), (stream, device),
	       HEX(stream, stream), OUT_DEC(ordinal, device))
{
	return runtime_error(cu->cuStreamGetDevice(stream, device));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamGetId, (cudaStream_t stream, unsigned long long *id),
	       (stream, id), HEX(stream, stream), OUT_DEC(value, id))
{
	return runtime_error(cu->cuStreamGetId(stream, id));
}

RT_DEFINE_PTSZ(CONTEXT, cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t fn, void *data),
	       (stream, fn, data), HEX(stream, stream), HEX(value, fn))
{
	return runtime_error(cu->cuLaunchHostFunc(stream, fn, data));
}

RT_DEFINE(CONTEXT, cudaEventCreate, (cudaEvent_t *event), (event), OUT_HEX(handle, event))
{
	return runtime_error(cu->cuEventCreate(event, cudaEventDefault));
}

RT_DEFINE(CONTEXT, cudaEventCreateWithFlags, (cudaEvent_t *event, unsigned int flags),
	  (event, flags), OUT_HEX(handle, event), DEC(flags, flags))
{
	return runtime_error(cu->cuEventCreate(event, flags));
}

RT_DEFINE(CONTEXT, cudaEventDestroy, (cudaEvent_t event), (event), HEX(handle, event))
{
	return runtime_error(cu->cuEventDestroy(event));
}

RT_DEFINE_PTSZ(CONTEXT, cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream),
	       HEX(event, event), HEX(stream, stream))
{
	return runtime_error(cu->cuEventRecord(event, stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaEventRecordWithFlags,
	       (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
	       (event, stream, flags), HEX(event, event), HEX(stream, stream), DEC(flags, flags))
{
	return runtime_error(cu->cuEventRecordWithFlags(event, stream, flags));
}

RT_DEFINE(CONTEXT, cudaEventSynchronize, (cudaEvent_t event), (event), HEX(event, event))
{
	return runtime_error(cu->cuEventSynchronize(event));
}

RT_DEFINE(CONTEXT, cudaEventQuery, (cudaEvent_t event), (event), HEX(event, event))
{
	return runtime_error(cu->cuEventQuery(event));
}

RT_DEFINE(CONTEXT, cudaEventElapsedTime, (float *milliseconds, cudaEvent_t start, cudaEvent_t end),
	  (milliseconds, start, end), HEX(start, start), HEX(end, end))
{
	return runtime_error(cu->cuEventElapsedTime(milliseconds, start, end));
}
