// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_runtime: pools, memory of other processes and APIs, where managed memory is, batches.
 */
#include "rows_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char host[64 << 10];

/* ---- pools ----------------------------------------------------------------------------------- */

struct pooled {
	void *ptr;
	uint64_t size;
};

static void free_async(const struct pooled *block)
{
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaFreeAsync, P(block->ptr), P(stream));
	EXPECT(.op = "free", .api = NAME(cudaFreeAsync), .driver_api = PTSZ("cuMemFreeAsync"),
	       .addr = HEX(block->ptr), .size = DEC(block->size), .stream = HEX(stream),
	       .space = "pool");
	stream = rows_runtime_stream();
	CALL(cudaErrorInvalidValue, cudaFreeAsync, P(block->ptr), P(stream));
	EXPECT(.op = "free", .api = NAME(cudaFreeAsync), .driver_api = PTSZ("cuMemFreeAsync"),
	       .result = cudaErrorInvalidValue, .addr = HEX(block->ptr), .stream = HEX(stream));
}

static void allocate_async(uint64_t size, cudaError_t wanted)
{
	struct pooled block = { .size = size };
	cudaStream_t stream = rows_runtime_stream();

	CALL(wanted, cudaMallocAsync, P(&block.ptr), size, P(stream));
	EXPECT(.op = "alloc", .api = NAME(cudaMallocAsync), .driver_api = PTSZ("cuMemAllocAsync"),
	       .result = wanted, .addr = wanted == cudaSuccess ? HEX(block.ptr) : UNKNOWN,
	       .size = DEC(size), .stream = HEX(stream), .space = "pool");
	if (wanted == cudaSuccess)
		free_async(&block);
}

static void allocate_from(cudaMemPool_t pool, uint64_t size, cudaError_t wanted)
{
	struct pooled block = { .size = size };
	cudaStream_t stream = rows_runtime_stream();

	CALL(wanted, cudaMallocFromPoolAsync, P(&block.ptr), size, P(pool), P(stream));
	EXPECT(.op = "alloc", .api = NAME(cudaMallocFromPoolAsync),
	       .driver_api = PTSZ("cuMemAllocFromPoolAsync"), .result = wanted,
	       .addr = wanted == cudaSuccess ? HEX(block.ptr) : UNKNOWN, .size = DEC(size),
	       .stream = HEX(stream), .space = "pool", .backing = HEX(pool));
	if (wanted == cudaSuccess)
		free_async(&block);
}

static void attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, bool is_int)
{
	uint64_t value = DIRTY(0);

	CALL(cudaSuccess, cudaMemPoolGetAttribute, P(pool), DIRTY(attr), P(&value));
	EXPECT(.op = "memory", .api = "cudaMemPoolGetAttribute",
	       .driver_api = "cuMemPoolGetAttribute", .addr = HEX(pool), .attribute = DEC(attr),
	       .size = DEC(is_int ? (uint32_t)value : value));
}

static void attributes(cudaMemPool_t pool)
{
	uint64_t value = (7ull << 32) + 123457;

	CALL(cudaSuccess, cudaMemPoolSetAttribute, P(pool), DIRTY(cudaMemPoolAttrReleaseThreshold),
	     P(&value));
	EXPECT(.op = "memory", .api = "cudaMemPoolSetAttribute",
	       .driver_api = "cuMemPoolSetAttribute", .addr = HEX(pool),
	       .attribute = DEC(cudaMemPoolAttrReleaseThreshold), .size = DEC(value));
	CALL(cudaSuccess, cudaDeviceSetMemPool, DIRTY(0), P(pool));
	EXPECT(.op = "memory", .api = "cudaDeviceSetMemPool", .driver_api = "cuDeviceSetMemPool",
	       .addr = HEX(pool), .device = "0");
	for (unsigned int attr = cudaMemPoolReuseFollowEventDependencies;
	     attr <= cudaMemPoolAttrUsedMemHigh; attr++)
		attribute(pool, attr, attr < cudaMemPoolAttrReleaseThreshold);
	CALL(cudaErrorInvalidValue, cudaMemPoolGetAttribute, P(pool), DIRTY(99), P(&value));
	EXPECT(.op = "memory", .api = "cudaMemPoolGetAttribute",
	       .driver_api = "cuMemPoolGetAttribute", .result = cudaErrorInvalidValue,
	       .addr = HEX(pool), .attribute = "99");
}

static void trim(cudaMemPool_t pool, uint64_t keep, cudaError_t wanted)
{
	CALL(wanted, cudaMemPoolTrimTo, P(pool), keep);
	EXPECT(.op = "memory", .api = "cudaMemPoolTrimTo", .driver_api = "cuMemPoolTrimTo",
	       .result = wanted, .addr = HEX(pool), .size = DEC(keep));
}

static void destroy_pool(cudaMemPool_t pool, cudaError_t wanted)
{
	CALL(wanted, cudaMemPoolDestroy, P(pool));
	EXPECT(.op = "memory", .api = "cudaMemPoolDestroy", .driver_api = "cuMemPoolDestroy",
	       .result = wanted, .addr = HEX(pool));
}

void rows_runtime_pools(void)
{
	const struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned,
						.location = { cudaMemLocationTypeDevice, 0 } };
	cudaMemPool_t pool;

	CALL(cudaErrorInvalidValue, cudaMemPoolCreate, P(&pool), 0);
	EXPECT(.op = "memory", .api = "cudaMemPoolCreate", .driver_api = "cuMemPoolCreate",
	       .result = cudaErrorInvalidValue);
	CALL(cudaSuccess, cudaMemPoolCreate, P(&pool), P(&props));
	EXPECT(.op = "memory", .api = "cudaMemPoolCreate", .driver_api = "cuMemPoolCreate",
	       .addr = HEX(pool));
	allocate_async(51001, cudaSuccess);
	allocate_async(51001ull << 30, cudaErrorMemoryAllocation);
	allocate_from(pool, 52009, cudaSuccess);
	allocate_from(pool, 52009ull << 30, cudaErrorMemoryAllocation);
	attributes(pool);
	trim(pool, 53003, cudaSuccess);
	destroy_pool(pool, cudaSuccess);
	trim(pool, 53005, cudaErrorInvalidValue);
	destroy_pool(pool, cudaErrorInvalidValue);
}

/* ---- copies whose direction the driver finds ------------------------------------------------- */

void rows_runtime_copy_default(void *dst, void *src, const char *direction)
{
	static uint64_t size = 300;

	size++;
	CALL(cudaSuccess, cudaMemcpy, P(dst), P(src), size, DIRTY(cudaMemcpyDefault));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpy), .driver_api = PTDS("cuMemcpy"),
	       .addr = HEX(dst), .size = DEC(size), .src = HEX(src), .direction = direction);
}

#define PLAIN_BYTES 21013
#define INSIDE 1009

static void *allocate_managed(void)
{
	void *ptr;

	CALL(cudaSuccess, cudaMallocManaged, P(&ptr), PLAIN_BYTES, DIRTY(cudaMemAttachGlobal));
	EXPECT(.op = "alloc", .api = "cudaMallocManaged", .driver_api = "cuMemAllocManaged",
	       .addr = HEX(ptr), .size = DEC(PLAIN_BYTES), .space = "managed");
	return ptr;
}

static void *allocate_pinned(void)
{
	void *ptr;

	CALL(cudaSuccess, cudaMallocHost, P(&ptr), PLAIN_BYTES);
	EXPECT(.op = "alloc", .api = "cudaMallocHost", .driver_api = "cuMemHostAlloc",
	       .addr = HEX(ptr), .size = DEC(PLAIN_BYTES), .space = "pinned");
	return ptr;
}

static void free_pinned(void *ptr)
{
	CALL(cudaSuccess, cudaFreeHost, P(ptr));
	EXPECT(.op = "free", .api = "cudaFreeHost", .driver_api = "cuMemFreeHost", .addr = HEX(ptr),
	       .size = DEC(PLAIN_BYTES), .space = "pinned");
}

static void register_host(void)
{
	CALL(cudaSuccess, cudaHostRegister, P(host), PLAIN_BYTES, DIRTY(0));
	EXPECT(.op = "alloc", .api = NAME(cudaHostRegister), .driver_api = "cuMemHostRegister_v2",
	       .addr = HEX(host), .size = DEC(PLAIN_BYTES), .space = "registered");
}

static void unregister_host(void)
{
	CALL(cudaSuccess, cudaHostUnregister, P(host));
	EXPECT(.op = "free", .api = "cudaHostUnregister", .driver_api = "cuMemHostUnregister",
	       .addr = HEX(host), .size = DEC(PLAIN_BYTES), .space = "registered");
}

static void directions(char *managed)
{
	char *device = rows_runtime_allocate(PLAIN_BYTES), *pinned = allocate_pinned();

	rows_runtime_copy_default(device, host, "HtoD");
	rows_runtime_copy_default(host, device + INSIDE, "DtoH");
	rows_runtime_copy_default(managed + INSIDE, device, "DtoD");
	rows_runtime_copy_default(host, host + INSIDE, "HtoH");
	register_host();
	rows_runtime_copy_default(host, managed, "DtoH");
	rows_runtime_copy_default(managed, host + INSIDE, "HtoD");
	unregister_host();
	rows_runtime_copy_default(pinned, managed, "DtoH");
	rows_runtime_copy_default(managed, pinned + INSIDE, "HtoD");
	free_pinned(pinned);
	rows_runtime_free(device, PLAIN_BYTES, "device");
}

/* ---- memory of another process --------------------------------------------------------------- */

static struct {
	pid_t pid;
	int fd; /* leads to it */
} importer;

/* 64 bytes by value: not through rows_call(). */
static void *open_handle(const cudaIpcMemHandle_t *handle, cudaError_t wanted)
{
	void *ptr = NULL;

	rows_check("cudaIpcOpenMemHandle", wanted,
		   cudaIpcOpenMemHandle(&ptr, *handle, cudaIpcMemLazyEnablePeerAccess));
	EXPECT(.op = "alloc", .api = "cudaIpcOpenMemHandle", .driver_api = "cuIpcOpenMemHandle_v2",
	       .result = wanted, .addr = wanted == cudaSuccess ? HEX(ptr) : UNKNOWN,
	       .size = ptr ? DEC(PLAIN_BYTES) : UNKNOWN, .space = "imported",
	       .live = ptr ? DEC(PLAIN_BYTES) : "0", .backing = rows_handle_hash(handle));
	return ptr;
}

static void close_handle(void *ptr, const char *freed, cudaError_t wanted)
{
	bool ok = wanted == cudaSuccess;

	CALL(wanted, cudaIpcCloseMemHandle, P(ptr));
	EXPECT(.op = "free", .api = "cudaIpcCloseMemHandle", .driver_api = "cuIpcCloseMemHandle",
	       .result = wanted, .addr = HEX(ptr), .size = ok ? DEC(PLAIN_BYTES) : UNKNOWN,
	       .space = ok ? "imported" : UNKNOWN,
	       .live = !ok                        ? UNKNOWN :
		       strcmp(freed, "kept") == 0 ? DEC(PLAIN_BYTES) :
						    "0",
	       .freed = freed);
}

/* A forked process begins without GPU memory: what nobody saw allocated is the host's. */
static _Noreturn void import_from(int fd)
{
	const cudaIpcMemHandle_t nothing = { { 0 } };
	cudaIpcMemHandle_t handle;
	void *block, *pinned, *ptr;

	if (read(fd, &handle, sizeof(handle)) != sizeof(handle))
		rows_die("pipe", "nothing to import");
	rows_wait_for_tracer();
	block = rows_runtime_first_call(91009);
	pinned = allocate_pinned();
	rows_runtime_copy_default(block, host, "HtoD");
	open_handle(&nothing, cudaErrorInvalidResourceHandle);
	ptr = open_handle(&handle, cudaSuccess);
	rows_runtime_copy_default(ptr, pinned, "HtoD");
	rows_runtime_copy_default(pinned, ptr, "DtoH");
	if (open_handle(&handle, cudaSuccess) != ptr)
		rows_die("cudaIpcOpenMemHandle", "opened another block");
	close_handle(ptr, "kept", cudaSuccess);
	rows_runtime_copy_default(pinned, ptr, "DtoH");
	close_handle(ptr, "known", cudaSuccess);
	close_handle(ptr, UNKNOWN, cudaErrorInvalidValue);
	free_pinned(pinned);
	rows_runtime_free(block, 91009, "device");
	exit(0);
}

void rows_runtime_fork(void)
{
	int fds[2];

	if (pipe(fds))
		rows_die("pipe", "failed");
	importer.fd = fds[1];
	importer.pid = fork();
	if (importer.pid < 0)
		rows_die("fork", "failed");
	close(fds[importer.pid ? 0 : 1]);
	if (!importer.pid)
		import_from(fds[0]);
}

static void get_handle(cudaIpcMemHandle_t *handle, void *ptr, cudaError_t wanted)
{
	CALL(wanted, cudaIpcGetMemHandle, P(handle), P(ptr));
	EXPECT(.op = "memory", .api = "cudaIpcGetMemHandle", .driver_api = "cuIpcGetMemHandle",
	       .result = wanted, .addr = HEX(ptr));
}

void rows_runtime_export(void)
{
	void *ptr = rows_runtime_allocate(PLAIN_BYTES);
	cudaIpcMemHandle_t handle;
	int status;

	get_handle(&handle, host, cudaErrorInvalidValue);
	get_handle(&handle, ptr, cudaSuccess);
	fflush(stdout);
	if (write(importer.fd, &handle, sizeof(handle)) != sizeof(handle) ||
	    waitpid(importer.pid, &status, 0) != importer.pid || status)
		rows_die("the importer", "failed");
	rows_runtime_free(ptr, PLAIN_BYTES, "device");
}

/* ---- memory of another API ------------------------------------------------------------------- */

static cudaExternalMemory_t import_external(const struct cudaExternalMemoryHandleDesc *desc,
					    cudaError_t wanted)
{
	cudaExternalMemory_t memory = NULL;

	CALL(wanted, cudaImportExternalMemory, P(&memory), P(desc));
	EXPECT(.op = "alloc", .api = "cudaImportExternalMemory",
	       .driver_api = "cuImportExternalMemory", .result = wanted,
	       .addr = wanted == cudaSuccess ? HEX(memory) : UNKNOWN, .size = DEC(desc->size),
	       .space = "imported", .live = DEC(wanted == cudaSuccess ? desc->size : 0));
	return memory;
}

static void destroy_external(cudaExternalMemory_t memory, uint64_t size, cudaError_t wanted)
{
	bool ok = wanted == cudaSuccess;

	CALL(wanted, cudaDestroyExternalMemory, P(memory));
	EXPECT(.op = "free", .api = "cudaDestroyExternalMemory",
	       .driver_api = "cuDestroyExternalMemory", .result = wanted, .addr = HEX(memory),
	       .size = ok ? DEC(size) : UNKNOWN, .space = ok ? "imported" : UNKNOWN,
	       .live = ok ? "0" : UNKNOWN);
}

static char *map_external(cudaExternalMemory_t memory, uint64_t size, uint64_t live,
			  cudaError_t wanted)
{
	const struct cudaExternalMemoryBufferDesc desc = { .offset = 4096, .size = size };
	void *ptr = NULL;

	CALL(wanted, cudaExternalMemoryGetMappedBuffer, P(&ptr), P(memory), P(&desc));
	EXPECT(.op = "alloc", .api = "cudaExternalMemoryGetMappedBuffer",
	       .driver_api = "cuExternalMemoryGetMappedBuffer", .result = wanted,
	       .addr = wanted == cudaSuccess ? HEX(ptr) : UNKNOWN, .size = DEC(size),
	       .space = "mapped", .live = DEC(live), .backing = HEX(memory));
	return ptr;
}

static void externals(void)
{
	struct cudaExternalMemoryHandleDesc desc = {
		.type = cudaExternalMemoryHandleTypeOpaqueFd,
		.handle.fd = -1,
		.size = 61001,
	};
	cudaExternalMemory_t memory;
	char *ptr;

	import_external(&desc, 304); /* cudaErrorOperatingSystem */
	desc.handle.fd = memfd_create("external", 0);
	desc.size = 62003;
	if (desc.handle.fd < 0 || ftruncate(desc.handle.fd, desc.size))
		rows_die("memfd_create", "failed");
	memory = import_external(&desc, cudaSuccess);
	ptr = map_external(memory, 17001, 17001, cudaSuccess);
	map_external(memory, 1ull << 34, 17001, cudaErrorInvalidValue);
	rows_runtime_copy_default(ptr + INSIDE, host, "HtoD");
	CALL(cudaSuccess, cudaFree, P(ptr));
	EXPECT(.op = "free", .api = "cudaFree", .driver_api = "cuMemFree_v2", .addr = HEX(ptr),
	       .size = "17001", .space = "mapped", .live = "0");
	destroy_external(memory, desc.size, cudaSuccess);
	destroy_external(memory, desc.size, cudaErrorInvalidResourceHandle);
}

/* ---- where managed memory is ----------------------------------------------------------------- */

static struct cudaMemLocation device_of(int id)
{
	return (struct cudaMemLocation){ cudaMemLocationTypeDevice, id };
}

static void prefetch(char *ptr, cudaError_t wanted)
{
	cudaStream_t stream = rows_runtime_stream();
	const struct cudaMemLocation location = device_of(1);

	CALL(wanted, cudaMemPrefetchAsync, P(ptr), 2011,
	     (uint64_t)location.id << 32 | location.type, DIRTY(0), P(stream));
	EXPECT(.op = "copy", .api = NAME(cudaMemPrefetchAsync),
	       .driver_api = PTSZ("cuMemPrefetchAsync_v2"), .result = wanted, .addr = HEX(ptr),
	       .size = "2011", .stream = HEX(stream), .direction = "migrate");
}

static void prefetch_batch(const char *api, void *function, const char *driver_api, char *ptr,
			   cudaError_t wanted)
{
	void *ptrs[] = { ptr, ptr + 4096, ptr + 8192 };
	size_t sizes[] = { 1021, 1031, 1033 }, starts[] = { 0, 1 };
	struct cudaMemLocation locations[] = { device_of(0), device_of(1) };
	cudaStream_t stream = rows_runtime_stream();

	rows_call(api, function, wanted,
		  (uint64_t[ROWS_ARGS]){ P(ptrs), P(sizes), MANY(sizes), P(locations), P(starts),
					 MANY(starts), 0, P(stream) });
	EXPECT(.op = "copy", .api = api, .driver_api = driver_api, .result = wanted,
	       .addr = HEX(ptr), .size = DEC(1021 + 1031 + 1033), .stream = HEX(stream),
	       .direction = "migrate");
}

static void prefetches(char *managed)
{
	prefetch(managed + 16, cudaSuccess);
	prefetch(host, cudaErrorInvalidValue);
	prefetch_batch(API(cudaMemPrefetchBatchAsync), PTSZ("cuMemPrefetchBatchAsync"),
		       managed + 32, cudaSuccess);
	prefetch_batch(API(cudaMemPrefetchBatchAsync), PTSZ("cuMemPrefetchBatchAsync"), host,
		       cudaErrorInvalidValue);
	prefetch_batch(API(cudaMemDiscardAndPrefetchBatchAsync),
		       PTSZ("cuMemDiscardAndPrefetchBatchAsync"), managed + 48, cudaSuccess);
	prefetch_batch(API(cudaMemDiscardAndPrefetchBatchAsync),
		       PTSZ("cuMemDiscardAndPrefetchBatchAsync"), host, cudaErrorInvalidValue);
}

/* ---- batches --------------------------------------------------------------------------------- */

#define BATCH_MAX 4097 /* one more than are added up */

static void copy_batch(char *dst, size_t count)
{
	static void *dsts[BATCH_MAX];
	static const void *srcs[BATCH_MAX];
	static size_t sizes[BATCH_MAX];
	struct cudaMemcpyAttributes attributes = {
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
	};
	size_t start = 0, sum = 0;
	cudaStream_t stream = rows_runtime_stream();

	for (size_t i = 0; i < count; i++) {
		dsts[i] = dst + i;
		srcs[i] = host + count + i;
		sizes[i] = 100 + i;
		sum += sizes[i];
	}
	CALL(cudaSuccess, cudaMemcpyBatchAsync, P(dsts), P(srcs), P(sizes), count, P(&attributes),
	     P(&start), 1, P(stream));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyBatchAsync),
	       .driver_api = PTSZ("cuMemcpyBatchAsync_v2"), .addr = HEX(dst),
	       .size = count < BATCH_MAX ? DEC(sum) : UNKNOWN, .src = HEX(host + count),
	       .stream = HEX(stream), .direction = "HtoD");
}

static void copy_batch_in_vain(char *dst)
{
	void *dsts[] = { dst, dst + 64 };
	const void *srcs[] = { host + 3, host + 4 };
	size_t sizes[] = { 131, 137 };
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaErrorInvalidValue, cudaMemcpyBatchAsync, P(dsts), P(srcs), P(sizes), MANY(sizes),
	     0, 0, 1, P(stream));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyBatchAsync),
	       .driver_api = PTSZ("cuMemcpyBatchAsync_v2"), .result = cudaErrorInvalidValue,
	       .addr = HEX(dst), .size = DEC(131 + 137), .src = HEX(host + 3),
	       .stream = HEX(stream), .direction = "HtoD");
}

/* Neither addresses nor sizes are looked at. */
static void copy_batch_3d(char *dst, unsigned long long flags, cudaError_t wanted)
{
	struct cudaMemcpy3DBatchOp op = {
		.src = { .type = cudaMemcpyOperandTypePointer, .op.ptr.ptr = host },
		.dst = { .type = cudaMemcpyOperandTypePointer, .op.ptr.ptr = dst },
		.extent = { 7, 5, 3 },
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
	};
	cudaStream_t stream = rows_runtime_stream();

	CALL(wanted, cudaMemcpy3DBatchAsync, 1, P(&op), flags, P(stream));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpy3DBatchAsync),
	       .driver_api = PTSZ("cuMemcpy3DBatchAsync_v2"), .result = wanted,
	       .stream = HEX(stream), .direction = "Default");
}

static void copy_with_attributes(char *dst, cudaError_t wanted)
{
	struct cudaMemcpyAttributes attributes = {
		.srcAccessOrder = wanted == cudaSuccess ? cudaMemcpySrcAccessOrderStream : 0,
	};
	cudaStream_t stream = rows_runtime_stream();

	CALL(wanted, cudaMemcpyWithAttributesAsync, P(dst), P(host + 5), 151, P(&attributes),
	     P(stream));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyWithAttributesAsync),
	       .driver_api = PTSZ("cuMemcpyWithAttributesAsync"), .result = wanted,
	       .addr = HEX(dst), .size = DEC(151), .src = HEX(host + 5), .stream = HEX(stream),
	       .direction = "HtoD");
}

static void copy_3d_with_attributes(char *dst, unsigned long long flags, cudaError_t wanted)
{
	struct cudaMemcpy3DBatchOp op = {
		.src = { .type = cudaMemcpyOperandTypePointer, .op.ptr.ptr = host },
		.dst = { .type = cudaMemcpyOperandTypePointer, .op.ptr.ptr = dst },
		.extent = { 7, 5, 3 },
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
	};
	cudaStream_t stream = rows_runtime_stream();

	CALL(wanted, cudaMemcpy3DWithAttributesAsync, P(&op), flags, P(stream));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpy3DWithAttributesAsync),
	       .driver_api = PTSZ("cuMemcpy3DWithAttributesAsync"), .result = wanted,
	       .addr = HEX(dst), .size = DEC(105), .src = HEX(host), .stream = HEX(stream),
	       .direction = "HtoD");
}

static void batches(void)
{
	static const size_t counts[] = { 1, 3, 31, 32, 33, 100, BATCH_MAX - 1, BATCH_MAX };
	char *device = rows_runtime_allocate(PLACE_BYTES);

	for (size_t i = 0; i < MANY(counts); i++)
		copy_batch(device, counts[i]);
	copy_batch_in_vain(device + 2);
	copy_batch_3d(device, 0, cudaSuccess);
	copy_batch_3d(device, 1, cudaErrorInvalidValue);
	copy_with_attributes(device + 3, cudaSuccess);
	copy_with_attributes(device + 3, cudaErrorInvalidValue);
	copy_3d_with_attributes(device + 4, 0, cudaSuccess);
	copy_3d_with_attributes(device + 4, 1, cudaErrorInvalidValue);
	rows_runtime_free(device, PLACE_BYTES, "device");
}

/* ---- everything ------------------------------------------------------------------------------ */

static void memory_info(void)
{
	size_t free_bytes, total;

	CALL(cudaSuccess, cudaMemGetInfo, P(&free_bytes), P(&total));
	EXPECT(.op = "memory", .api = "cudaMemGetInfo", .driver_api = "cuMemGetInfo_v2",
	       .size = DEC(total), .free_bytes = DEC(free_bytes));
}

/* The driver's calls inside do not do the same, but for the last one. */
static void device_info(void)
{
	static const char uuid[] = "GPU-73696d75-6c61-7465-6420-475055200001";
	struct cudaDeviceProp properties;
	char text[32];
	int device;

	CALL(cudaSuccess, cudaGetDeviceProperties, P(&properties), DIRTY(1));
	EXPECT(.op = "memory", .api = "cuDeviceGetName", .device = "1",
	       .identity = "Simulated GPU 1", .nested = true);
	EXPECT(.op = "memory", .api = "cuDeviceTotalMem_v2", .device = "1",
	       .size = DEC(properties.totalGlobalMem), .nested = true);
	EXPECT(.op = "memory", .api = "cudaGetDeviceProperties", .driver_api = "cuDeviceGetUuid_v2",
	       .device = "1", .size = DEC(properties.totalGlobalMem), .identity = uuid);
	CALL(cudaSuccess, cudaDeviceGetPCIBusId, P(text), DIRTY(sizeof(text)), DIRTY(1));
	EXPECT(.op = "memory", .api = "cudaDeviceGetPCIBusId", .driver_api = "cuDeviceGetPCIBusId",
	       .device = "1", .identity = "00000000:02:00.0");
	CALL(cudaSuccess, cudaDeviceGetByPCIBusId, P(&device), P("2:0"));
	EXPECT(.op = "memory", .api = "cudaDeviceGetByPCIBusId",
	       .driver_api = "cuDeviceGetByPCIBusId", .device = "1",
	       .identity = "00000000:02:00.0");
}

void rows_runtime_memory(void)
{
	char *managed = allocate_managed();

	memory_info();
	device_info();
	directions(managed);
	externals();
	prefetches(managed);
	batches();
	rows_runtime_free(managed, PLAIN_BYTES, "managed");
}
