// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_standin: functions that the stand-in runtime lacks.
 */
#include "rows_standin.h"
#include "simcudart.h"

#include <string.h>

struct cudaMemcpy3DPeerParms {
	cudaArray_t srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	int srcDevice;
	cudaArray_t dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	int dstDevice;
	struct cudaExtent extent;
};

SIMCUDART_PTDS(cudaMemcpy3DPeer, const struct cudaMemcpy3DPeerParms *params);
SIMCUDART_PTSZ(cudaMemcpy3DPeerAsync, const struct cudaMemcpy3DPeerParms *params,
	       cudaStream_t stream);
SIMCUDART_PTSZ(cudaStreamBeginCaptureToGraph, cudaStream_t stream, cudaGraph_t graph,
	       const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges, size_t count,
	       enum cudaStreamCaptureMode mode);
cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t pool, const void *data);
int cuMemFree(uint32_t ptr);

#define IMPORTED_ADDR 0xa1250000u

static cudaError_t copied(const struct cudaMemcpy3DPeerParms *params)
{
	return params->extent.width ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *params)
{
	return copied(params);
}

cudaError_t cudaMemcpy3DPeer_ptds(const struct cudaMemcpy3DPeerParms *params)
{
	return copied(params);
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *params, cudaStream_t stream)
{
	(void)stream;
	return copied(params);
}

cudaError_t cudaMemcpy3DPeerAsync_ptsz(const struct cudaMemcpy3DPeerParms *params,
				       cudaStream_t stream)
{
	(void)stream;
	return copied(params);
}

#define CAPTURE_TO_GRAPH(name) \
	cudaError_t name(cudaStream_t stream, cudaGraph_t graph, \
			 const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges, \
			 size_t count, enum cudaStreamCaptureMode mode) \
	{ \
		(void)stream, (void)dependencies, (void)edges, (void)count, (void)mode; \
		return graph ? cudaSuccess : cudaErrorInvalidValue; \
	}
CAPTURE_TO_GRAPH(cudaStreamBeginCaptureToGraph)
CAPTURE_TO_GRAPH(cudaStreamBeginCaptureToGraph_ptsz)

cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t pool, const void *data)
{
	(void)pool;
	*ptr = (void *)(uintptr_t)IMPORTED_ADDR;
	return data ? cudaSuccess : cudaErrorInvalidValue;
}

/* Of CUDA 12: cudaGetDeviceProperties of CUDA 13 has the same layout. */
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *properties, int device);

cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *properties, int device)
{
	memcpy(properties->uuid.bytes, "0123456789abcdef", sizeof(properties->uuid.bytes));
	properties->totalGlobalMem = (5ull << 32) + (unsigned int)device;
	return cudaSuccess;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct peer {
	const char *api;
	void *function;
	bool async;
};

static void copy_peer(const struct peer *peer, const struct cudaMemcpy3DPeerParms *params,
		      int wanted)
{
	bool arrays = params->srcArray || params->dstArray;
	const struct cudaExtent *e = &params->extent;

	rows_call(peer->api, peer->function, wanted, (uint64_t[ROWS_ARGS]){ P(params), 0x51 });
	EXPECT(.op = "copy", .api = peer->api, .result = wanted,
	       .addr = params->dstArray ? HEX(params->dstArray) : HEX(params->dstPtr.ptr),
	       .size = arrays ? UNKNOWN : DEC(e->width * e->height * e->depth),
	       .src = params->srcArray ? HEX(params->srcArray) : HEX(params->srcPtr.ptr),
	       .stream = peer->async ? "0x51" : UNKNOWN, .direction = "PtoP");
}

static void copies(void)
{
	static const struct peer peers[] = {
		{ "cudaMemcpy3DPeer", (void *)cudaMemcpy3DPeer, false },
		{ "cudaMemcpy3DPeer_ptds", (void *)cudaMemcpy3DPeer_ptds, false },
		{ "cudaMemcpy3DPeerAsync", (void *)cudaMemcpy3DPeerAsync, true },
		{ "cudaMemcpy3DPeerAsync_ptsz", (void *)cudaMemcpy3DPeerAsync_ptsz, true },
	};

	for (size_t i = 0; i < MANY(peers); i++) {
		struct cudaMemcpy3DPeerParms params = {
			.srcPos = { 1, 2, 3 },
			.srcPtr = { (void *)(0xb10 + i), 11, 12, 13 },
			.srcDevice = 1,
			.dstPos = { 4, 5, 6 },
			.dstPtr = { (void *)(0xc10 + i), 14, 15, 16 },
			.dstDevice = 2,
			.extent = { 101 + i, 103 + i, 107 + i },
		};

		copy_peer(&peers[i], &params, cudaSuccess);
		params.dstArray = (cudaArray_t)0xd10;
		copy_peer(&peers[i], &params, cudaSuccess);
		params.srcArray = (cudaArray_t)0xe10;
		copy_peer(&peers[i], &params, cudaSuccess);
		params.dstArray = NULL;
		copy_peer(&peers[i], &params, cudaSuccess);
		params.srcArray = NULL;
		params.extent.width = 0;
		copy_peer(&peers[i], &params, cudaErrorInvalidValue);
	}
}

static void begin_captures(void)
{
	CALL(cudaStreamBeginCaptureToGraph, 0x61, 0x71, 1, 2, 3, DIRTY(0));
	EXPECT(.op = "memory", .api = "cudaStreamBeginCaptureToGraph", .addr = "0x71",
	       .stream = "0x61");
	CALL(cudaStreamBeginCaptureToGraph_ptsz, 0x62, 0x72, 1, 2, 3, DIRTY(0));
	EXPECT(.op = "memory", .api = "cudaStreamBeginCaptureToGraph_ptsz", .addr = "0x72",
	       .stream = "0x62");
	rows_call("cudaStreamBeginCaptureToGraph", (void *)cudaStreamBeginCaptureToGraph,
		  cudaErrorInvalidValue, (const uint64_t[ROWS_ARGS]){ 0x63 });
	EXPECT(.op = "memory", .api = "cudaStreamBeginCaptureToGraph",
	       .result = cudaErrorInvalidValue, .addr = "0x0", .stream = "0x63");
}

static void imports(void)
{
	uint64_t ptr;

	CALL(cudaMemPoolImportPointer, P(&ptr), 1, 2);
	EXPECT(.op = "alloc", .api = "cudaMemPoolImportPointer", .addr = HEX(IMPORTED_ADDR),
	       .space = "imported", .live = "0");
	CALL(cuMemFree, DIRTY(IMPORTED_ADDR));
	EXPECT(.op = "free", .api = "cuMemFree", .addr = HEX(IMPORTED_ADDR), .space = "imported",
	       .live = "0");
	rows_call("cudaMemPoolImportPointer", (void *)cudaMemPoolImportPointer,
		  cudaErrorInvalidValue, (const uint64_t[ROWS_ARGS]){ P(&ptr), 1, 0 });
	EXPECT(.op = "alloc", .api = "cudaMemPoolImportPointer", .result = cudaErrorInvalidValue,
	       .space = "imported", .live = "0");
}

/* ---- what has a handle and no size ----------------------------------------------------------- */

#define MAKES(name) \
	cudaError_t name(uint64_t *handle, const void *from); \
	cudaError_t name(uint64_t *handle, const void *from) \
	{ \
		*handle = HANDLE; \
		return from ? cudaSuccess : cudaErrorMemoryAllocation; \
	}
#define ENDS(name) \
	cudaError_t name(uint64_t handle); \
	cudaError_t name(uint64_t handle) \
	{ \
		return handle == HANDLE ? cudaSuccess : cudaErrorInvalidValue; \
	}
#define HANDLE 0x5100000006ull

MAKES(cudaCreateTextureObject)
MAKES(cudaCreateTextureObject_v2)
MAKES(cudaCreateSurfaceObject)
MAKES(cudaImportExternalSemaphore)
MAKES(cudaMemPoolImportFromShareableHandle)
ENDS(cudaDestroyTextureObject)
ENDS(cudaDestroySurfaceObject)
ENDS(cudaDestroyExternalSemaphore)

struct api {
	const char *name;
	void *function;
};

#define API(function) #function, (void *)(function)

static void objects(void)
{
	static const struct {
		struct api make, end;
	} rows[] = {
		{ { API(cudaCreateTextureObject) }, { API(cudaDestroyTextureObject) } },
		{ { API(cudaCreateTextureObject_v2) }, { API(cudaDestroyTextureObject) } },
		{ { API(cudaCreateSurfaceObject) }, { API(cudaDestroySurfaceObject) } },
		{ { API(cudaImportExternalSemaphore) }, { API(cudaDestroyExternalSemaphore) } },
		{ { API(cudaMemPoolImportFromShareableHandle) }, { NULL, NULL } },
	};
	const int failing = cudaErrorMemoryAllocation;
	uint64_t got;

	for (size_t i = 0; i < MANY(rows); i++) {
		const struct api *make = &rows[i].make, *end = &rows[i].end;

		rows_call(make->name, make->function, 0,
			  (const uint64_t[ROWS_ARGS]){ P(&got), P(rows) });
		EXPECT(.op = "memory", .api = make->name, .addr = HEX(HANDLE));
		rows_call(make->name, make->function, failing,
			  (const uint64_t[ROWS_ARGS]){ P(&got), 0 });
		EXPECT(.op = "memory", .api = make->name, .result = failing);
		if (!end->function)
			continue;
		rows_call(end->name, end->function, 0, (const uint64_t[ROWS_ARGS]){ HANDLE });
		EXPECT(.op = "memory", .api = end->name, .addr = HEX(HANDLE));
	}
}

/* CUDA 13.1: execution contexts. */
cudaError_t cudaExecutionCtxSynchronize(void *context);

cudaError_t cudaExecutionCtxSynchronize(void *context)
{
	return context ? cudaSuccess : cudaErrorInvalidValue;
}

static void synchronize(void)
{
	CALL(cudaExecutionCtxSynchronize, 0x81);
	EXPECT(.op = "sync", .api = "cudaExecutionCtxSynchronize");
	rows_call("cudaExecutionCtxSynchronize", (void *)cudaExecutionCtxSynchronize,
		  cudaErrorInvalidValue, (const uint64_t[ROWS_ARGS]){ 0 });
	EXPECT(.op = "sync", .api = "cudaExecutionCtxSynchronize", .result = cudaErrorInvalidValue);
}

static void device_info(void)
{
	struct cudaDeviceProp properties = { 0 };

	CALL(cudaGetDeviceProperties_v2, P(&properties), DIRTY(4));
	EXPECT(.op = "memory", .api = "cudaGetDeviceProperties_v2", .device = "4",
	       .size = DEC((5ull << 32) + 4),
	       .identity = "GPU-30313233-3435-3637-3839-616263646566");
}

void rows_standin_runtime(void)
{
	device_info();
	imports();
	copies();
	begin_captures();
	synchronize();
	objects();
}
