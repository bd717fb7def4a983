/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stream capture: what is submitted to a stream becomes nodes of a graph, one after another. One
 * stream to a capture: an event does not take a capture to another stream. The default stream of a
 * thread can be captured by its handle, the legacy one never.
 */
#include "graph.h"

struct capture {
	struct object object;
	CUstream stream;
	const struct api_thread *thread; /* that began it */
	CUstreamCaptureMode mode;
	CUstreamCaptureStatus status;
	uint64_t id; /* never used again */
	CUgraph graph;
	CUgraphNode last; /* that the next one depends on; NULL: none yet */
};

unsigned int capture_count;

static struct slab captures = SLAB(struct capture, 65536);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of them */
static uint64_t last_id;
static __thread CUstreamCaptureMode thread_mode;

/* The handle of the per-thread stream means another stream in each thread. Locked. */
static struct capture *find(CUstream stream)
{
	struct capture *capture = NULL;

	while ((capture = slab_next(&captures, capture)))
		if (capture->stream == stream &&
		    (stream != CU_STREAM_PER_THREAD || capture->thread == driver_thread()))
			return capture;
	return NULL;
}

bool capture_has(CUstream stream)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = find(stream);
	pthread_mutex_unlock(&lock);
	return found;
}

static CUresult state(const struct capture *capture)
{
	if (!capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	return capture->status == CU_STREAM_CAPTURE_STATUS_ACTIVE ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

static struct graph_place place(struct capture *capture)
{
	return (struct graph_place){
		.node = &capture->last,
		.graph = capture->graph,
		.dependencies = &capture->last,
		.count = capture->last != NULL,
	};
}

CUresult capture_add(CUstream stream, const struct graph_work *work)
{
	struct capture *capture;
	struct graph_place at;
	CUresult result;

	pthread_mutex_lock(&lock);
	capture = find(stream);
	result = state(capture);
	if (result == CUDA_SUCCESS) {
		at = place(capture);
		result = graph_add(&at, work);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

CUresult capture_alloc(CUstream stream, struct device *device, size_t size, CUdeviceptr *ptr)
{
	struct capture *capture;
	struct graph_place at;
	CUresult result;

	pthread_mutex_lock(&lock);
	capture = find(stream);
	result = state(capture);
	if (result == CUDA_SUCCESS) {
		at = place(capture);
		result = graph_add_alloc(&at, device, size, ptr);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

CUresult capture_free(CUstream stream, CUdeviceptr ptr)
{
	struct capture *capture;
	struct graph_place at;
	CUresult result;

	pthread_mutex_lock(&lock);
	capture = find(stream);
	result = state(capture);
	if (result == CUDA_SUCCESS) {
		at = place(capture);
		result = graph_add_free(&at, ptr);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

CUresult capture_refuse_stream(CUstream stream)
{
	struct capture *capture;
	CUresult result = CUDA_SUCCESS;

	if (!capture_active(stream))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	capture = find(stream);
	if (capture) {
		result = state(capture);
		if (result == CUDA_SUCCESS)
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* Whether the capture forbids this thread what could be unsafe. */
static bool forbids(const struct capture *capture)
{
	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
	    capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	return capture->thread == driver_thread() ||
	       (thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
		capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult capture_refuse_unsafe(void)
{
	struct capture *capture = NULL;
	CUresult result = CUDA_SUCCESS;

	if (likely(!__atomic_load_n(&capture_count, __ATOMIC_ACQUIRE)))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	while ((capture = slab_next(&captures, capture))) {
		if (!forbids(capture))
			continue;
		capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* Locked. */
static void capture_delete(struct capture *capture)
{
	slab_delete(&captures, capture);
	__atomic_sub_fetch(&capture_count, 1, __ATOMIC_RELEASE);
}

void capture_drop(CUstream stream)
{
	struct capture *capture;

	pthread_mutex_lock(&lock);
	capture = find(stream);
	if (capture) {
		graph_delete(capture->graph);
		capture_delete(capture);
	}
	pthread_mutex_unlock(&lock);
}

void capture_free_owned(CUcontext owner)
{
	struct capture *capture = NULL;

	pthread_mutex_lock(&lock);
	while ((capture = slab_next(&captures, capture))) {
		if (capture->object.owner != owner)
			continue;
		graph_delete(capture->graph);
		capture_delete(capture);
	}
	pthread_mutex_unlock(&lock);
}

void capture_note_active(struct oracle_line *line, CUstream stream)
{
	struct capture *capture;

	pthread_mutex_lock(&lock);
	capture = find(stream);
	if (capture && capture->last) {
		HEX(graph, capture->graph);
		HEX(node, capture->last);
	}
	pthread_mutex_unlock(&lock);
}

/* Locked. */
static CUresult capture_new(CUstream stream, CUstreamCaptureMode mode)
{
	struct capture new = {
		.object.owner = stream_context(stream),
		.stream = stream,
		.thread = driver_thread(),
		.mode = mode,
		.status = CU_STREAM_CAPTURE_STATUS_ACTIVE,
		.id = ++last_id,
		.graph = graph_new(),
	};

	if (!new.graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	new.graph->capturing = true;
	if (!slab_new(&captures, &new)) {
		graph_delete(new.graph);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	__atomic_add_fetch(&capture_count, 1, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

static CUresult begin(CUstream stream, CUstreamCaptureMode mode)
{
	CUresult result = CUDA_ERROR_ILLEGAL_STATE;

	if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!stream_context(stream))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!stream || stream == CU_STREAM_LEGACY)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&lock);
	if (!find(stream))
		result = capture_new(stream, mode);
	pthread_mutex_unlock(&lock);
	return result;
}

/* Before there were modes. */
CU_DEFINE_PTSZ(INIT, cuStreamBeginCapture, (CUstream stream), (stream), HEX(stream, stream))
{
	return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CU_DEFINE_PTSZ(INIT, cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
	       (stream, mode), HEX(stream, stream), DEC(value, mode))
{
	return begin(stream, mode);
}

/* Locked. */
static CUresult end(struct capture *capture, CUgraph *graph)
{
	CUresult result = state(capture);

	if (!capture)
		return result;
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != driver_thread())
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	capture->graph->capturing = false;
	*graph = result == CUDA_SUCCESS ? capture->graph : NULL;
	if (result != CUDA_SUCCESS)
		graph_delete(capture->graph);
	capture_delete(capture);
	return result;
}

CU_DEFINE_PTSZ(INIT, cuStreamEndCapture, (CUstream stream, CUgraph *graph), (stream, graph),
	       HEX(stream, stream), OUT_HEX(graph, graph))
{
	CUresult result;

	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	result = end(find(stream), graph);
	pthread_mutex_unlock(&lock);
	return result;
}

/* Any of the pointers but status may be NULL. */
static CUresult info(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph,
		     const CUgraphNode **dependencies, size_t *count)
{
	struct capture *capture;

	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	capture = find(stream);
	*status = capture ? capture->status : CU_STREAM_CAPTURE_STATUS_NONE;
	if (state(capture) == CUDA_SUCCESS) {
		if (id)
			*id = capture->id;
		if (graph)
			*graph = capture->graph;
		if (dependencies)
			*dependencies = &capture->last;
		if (count)
			*count = capture->last != NULL;
	}
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CU_DEFINE_PTSZ(INIT, cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status),
	       (stream, status), HEX(stream, stream), OUT_DEC(value, status))
{
	return info(stream, status, NULL, NULL, NULL, NULL);
}

CU_DEFINE_PTSZ(INIT, cuStreamGetCaptureInfo,
	       (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id), (stream, status, id),
	       HEX(stream, stream), OUT_DEC(value, status))
{
	return info(stream, status, id, NULL, NULL, NULL);
}

CU_DEFINE_PTSZ(INIT, cuStreamGetCaptureInfo_v2,
	       (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph,
		const CUgraphNode **dependencies, size_t *count),
	       (stream, status, id, graph, dependencies, count), HEX(stream, stream),
	       OUT_DEC(value, status))
{
	return info(stream, status, id, graph, dependencies, count);
}

CU_DEFINE_PTSZ(INIT, cuStreamGetCaptureInfo_v3,
	       (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph,
		const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count),
	       (stream, status, id, graph, dependencies, edges, count), HEX(stream, stream),
	       OUT_DEC(value, status))
{
	static const CUgraphEdgeData ordinary;

	if (edges && !dependencies)
		return CUDA_ERROR_INVALID_VALUE;
	if (edges)
		*edges = &ordinary;
	return info(stream, status, id, graph, dependencies, count);
}

CU_DEFINE(INIT, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *mode), (mode),
	  OUT_DEC(value, mode))
{
	CUstreamCaptureMode before = thread_mode;

	if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}
