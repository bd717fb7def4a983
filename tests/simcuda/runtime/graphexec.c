/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable graphs, the memory of graphs, and stream capture: each function is one of the
 * driver's.
 */
#include "runtime.h"

#define NOTE_INSTANTIATE OUT_HEX(exec, exec), HEX(graph, graph)

RT_DEFINE(CONTEXT, cudaGraphInstantiate,
	  (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags),
	  (exec, graph, flags), NOTE_INSTANTIATE, DEC(flags, flags))
{
	return runtime_error(cu->cuGraphInstantiateWithFlags(exec, graph, flags));
}

RT_DEFINE(CONTEXT, cudaGraphInstantiateWithFlags,
	  (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags),
	  (exec, graph, flags), NOTE_INSTANTIATE, DEC(flags, flags))
{
	return runtime_error(cu->cuGraphInstantiateWithFlags(exec, graph, flags));
}

RT_DEFINE_PTSZ(CONTEXT, cudaGraphInstantiateWithParams,
	       (cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
	       (exec, graph, params), NOTE_INSTANTIATE,
	       params ? DEC(flags, params->flags) : (void)0)
{
	_Static_assert(sizeof(*params) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
		       "the two APIs share this structure");
	return runtime_error(cu->cuGraphInstantiateWithParams(
		exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)params));
}

RT_DEFINE(CONTEXT, cudaGraphExecDestroy, (cudaGraphExec_t exec), (exec), HEX(exec, exec))
{
	return runtime_error(cu->cuGraphExecDestroy(exec));
}

RT_DEFINE(CONTEXT, cudaGraphExecGetFlags, (cudaGraphExec_t exec, unsigned long long *flags),
	  (exec, flags), HEX(exec, exec), OUT_DEC(flags, flags))
{
	return runtime_error(cu->cuGraphExecGetFlags(exec, (uint64_t *)flags));
}

RT_DEFINE(CONTEXT, cudaGraphExecUpdate,
	  (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info),
	  (exec, graph, info), HEX(exec, exec), HEX(graph, graph))
{
	_Static_assert(sizeof(*info) == sizeof(CUgraphExecUpdateResultInfo),
		       "the two APIs share this structure");
	return runtime_error(
		cu->cuGraphExecUpdate(exec, graph, (CUgraphExecUpdateResultInfo *)info));
}

RT_DEFINE_PTSZ(CONTEXT, cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream),
	       (exec, stream), HEX(exec, exec), HEX(stream, stream))
{
	return runtime_error(cu->cuGraphUpload(exec, stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream),
	       (exec, stream), HEX(exec, exec), HEX(stream, stream))
{
	return runtime_error(cu->cuGraphLaunch(exec, stream));
}

RT_DEFINE(DRIVER, cudaDeviceGraphMemTrim, (int device), (device), DEC(ordinal, device))
{
	return runtime_error(cu->cuDeviceGraphMemTrim(device));
}

RT_DEFINE(DRIVER, cudaDeviceGetGraphMemAttribute,
	  (int device, enum cudaGraphMemAttributeType attribute, void *value),
	  (device, attribute, value), DEC(ordinal, device), DEC(attribute, attribute),
	  OUT_DEC(value, (uint64_t *)value))
{
	return runtime_error(
		cu->cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value));
}

RT_DEFINE(DRIVER, cudaDeviceSetGraphMemAttribute,
	  (int device, enum cudaGraphMemAttributeType attribute, void *value),
	  (device, attribute, value), DEC(ordinal, device), DEC(attribute, attribute),
	  OUT_DEC(value, (uint64_t *)value))
{
	return runtime_error(
		cu->cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamBeginCapture,
	       (cudaStream_t stream, enum cudaStreamCaptureMode mode), (stream, mode),
	       HEX(stream, stream), DEC(value, mode))
{
	return runtime_error(cu->cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph),
	       (stream, graph), HEX(stream, stream), OUT_HEX(graph, graph))
{
	return runtime_error(cu->cuStreamEndCapture(stream, graph));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamIsCapturing,
	       (cudaStream_t stream, enum cudaStreamCaptureStatus *status), (stream, status),
	       HEX(stream, stream), OUT_DEC(value, status))
{
	return runtime_error(cu->cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status));
}

RT_DEFINE_PTSZ(CONTEXT, cudaStreamGetCaptureInfo,
	       (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
		cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
		const cudaGraphEdgeData **edges, size_t *count),
	       (stream, status, id, graph, dependencies, edges, count), HEX(stream, stream),
	       OUT_DEC(value, status))
{
	return runtime_error(cu->cuStreamGetCaptureInfo(stream, (CUstreamCaptureStatus *)status,
							(uint64_t *)id, graph, dependencies,
							(const CUgraphEdgeData **)edges, count));
}

RT_DEFINE(CONTEXT, cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode *mode), (mode),
	  OUT_DEC(value, mode))
{
	return runtime_error(cu->cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}
