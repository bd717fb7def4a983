// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls every runtime function that bpf/probes.def has a row for, each with arguments of its own,
 * and prints the events to expect: one per call, the driver function in it named beside it, and
 * context calls that it makes on the way as nested events of their own. Needs two devices. Built
 * with libcudart shared and static, and with CUDA_API_PER_THREAD_DEFAULT_STREAM, which makes the
 * _ptds and _ptsz forms of the names.
 */
#include "rows_runtime.h"

#include <dlfcn.h>
#include <stdlib.h>

#define DEVICE_CODE(KERNEL12, KERNEL13, VARIABLE) KERNEL12(scale) KERNEL13(add)
SIMCUDART_MODULE(DEVICE_CODE)

static const void *primary[2]; /* contexts */
static cudaStream_t streams[4];

cudaStream_t rows_runtime_stream(void)
{
	static unsigned int calls;

	return streams[calls++ % MANY(streams)];
}

/* ---- contexts, which the runtime makes on its own -------------------------------------------- */

/* The current one. cuCtxGetCurrent has no row. */
static const void *current(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*get)(void **context) = driver ? dlsym(driver, "cuCtxGetCurrent") : NULL;
	void *context = NULL;

	if (!get)
		rows_die("libcuda.so.1", "is not loaded");
	NEED(get(&context));
	return context;
}

static void expect_retain(int device)
{
	EXPECT(.op = "context", .api = "cuDevicePrimaryCtxRetain", .addr = HEX(primary[device]),
	       .device = DEC(device), .nested = true);
}

static void expect_current(int device)
{
	rows_at(primary[device], device);
	EXPECT(.op = "context", .api = "cuCtxSetCurrent", .addr = HEX(primary[device]),
	       .nested = true);
}

static void set_device(int device)
{
	CALL(cudaSuccess, cudaSetDevice, DIRTY(device));
	primary[device] = current();
	expect_current(device);
	EXPECT(.op = "context", .api = "cudaSetDevice", .device = DEC(device));
}

static void no_device(const char *api, void *function, int device)
{
	rows_call(api, function, cudaErrorInvalidDevice, (uint64_t[ROWS_ARGS]){ DIRTY(device) });
	EXPECT(.op = "context", .api = api, .result = cudaErrorInvalidDevice,
	       .device = DEC(device));
}

/* The first call that needs a context makes it. */
void *rows_runtime_first_call(size_t size)
{
	void *ptr;

	CALL(cudaSuccess, cudaMalloc, P(&ptr), size);
	primary[0] = current();
	expect_retain(0);
	expect_current(0);
	EXPECT(.op = "alloc", .api = "cudaMalloc", .driver_api = "cuMemAlloc_v2", .addr = HEX(ptr),
	       .size = DEC(size), .space = "device");
	return ptr;
}

static void devices(void)
{
	CALL(cudaSuccess, cudaInitDevice, DIRTY(1), 0, 0);
	CALL(cudaSuccess, cudaSetDevice, DIRTY(1));
	primary[1] = current();
	expect_retain(1);
	EXPECT(.op = "context", .api = "cudaInitDevice", .device = "1");
	expect_current(1);
	EXPECT(.op = "context", .api = "cudaSetDevice", .device = "1");
	no_device(API(cudaInitDevice), 7);
	no_device(API(cudaSetDevice), 9);
}

static void reset(void)
{
	CALL(cudaSuccess, cudaDeviceReset, 0);
	EXPECT(.op = "context", .api = "cuDevicePrimaryCtxReset_v2", .device = "0", .nested = true);
	EXPECT(.op = "context", .api = "cuDevicePrimaryCtxRelease_v2", .device = "0",
	       .nested = true);
	EXPECT(.op = "context", .api = "cudaDeviceReset");
}

/* ---- allocations ----------------------------------------------------------------------------- */

struct block {
	void *ptr;
	uint64_t size;
	const char *space;
};

static void free_block(const char *api, void *function, const char *driver_api,
		       const struct block *block)
{
	rows_call(api, function, cudaSuccess, (uint64_t[ROWS_ARGS]){ P(block->ptr) });
	EXPECT(.op = "free", .api = api, .driver_api = driver_api, .addr = HEX(block->ptr),
	       .size = DEC(block->size), .space = block->space);
}

static void free_in_vain(const char *api, void *function, const char *driver_api, void *ptr,
			 cudaError_t wanted)
{
	rows_call(api, function, wanted, (uint64_t[ROWS_ARGS]){ P(ptr) });
	EXPECT(.op = "free", .api = api, .driver_api = driver_api, .result = wanted,
	       .addr = HEX(ptr));
}

/* Functions of (pointer to be written, size, flags). */
struct allocator {
	const char *api;
	void *function;
	const char *driver_api, *space;
	uint64_t size, flags;
	cudaError_t wanted;
};

static struct block allocate(const struct allocator *a)
{
	struct block block = { .size = a->size, .space = a->space };
	bool ok = a->wanted == cudaSuccess;

	rows_call(a->api, a->function, a->wanted,
		  (uint64_t[ROWS_ARGS]){ P(&block.ptr), a->size, DIRTY(a->flags) });
	EXPECT(.op = "alloc", .api = a->api, .driver_api = a->driver_api, .result = a->wanted,
	       .addr = ok ? HEX(block.ptr) : UNKNOWN, .size = DEC(a->size), .space = a->space);
	return block;
}

static struct block allocate_device(uint64_t size)
{
	const struct allocator a = { API(cudaMalloc), "cuMemAlloc_v2", "device", size, 0, 0 };

	return allocate(&a);
}

static void free_device(const struct block *block)
{
	free_block(API(cudaFree), "cuMemFree_v2", block);
}

void *rows_runtime_allocate(uint64_t size)
{
	return allocate_device(size).ptr;
}

void rows_runtime_free(void *ptr, uint64_t size, const char *space)
{
	free_device(&(struct block){ ptr, size, space });
}

static void failures(void)
{
	static const struct allocator rows[] = {
		{ API(cudaMalloc), "cuMemAlloc_v2", "device", (1ull << 45) + 3, 0,
		  cudaErrorMemoryAllocation },
		{ API(cudaMallocManaged), "cuMemAllocManaged", "managed", 20023, 0x55,
		  cudaErrorInvalidValue },
		{ API(cudaMallocHost), "cuMemHostAlloc", "pinned", (1ull << 45) + 7, 0,
		  cudaErrorMemoryAllocation },
		{ API(cudaHostAlloc), "cuMemHostAlloc", "pinned", 40031, 0x80,
		  cudaErrorInvalidValue },
	};

	for (size_t i = 0; i < MANY(rows); i++)
		allocate(&rows[i]);
}

/* The runtime does not ask the driver for these. */
static void nothing(void)
{
	void *ptr = &ptr;

	CALL(cudaSuccess, cudaMalloc, P(&ptr), 0);
	EXPECT(.op = "alloc", .api = "cudaMalloc", .addr = "0x0", .size = "0", .space = "device");
	CALL(cudaSuccess, cudaFree, 0);
	EXPECT(.op = "free", .api = "cudaFree", .addr = "0x0", .freed = "null");
	CALL(cudaSuccess, cudaFreeHost, 0);
	EXPECT(.op = "free", .api = "cudaFreeHost", .addr = "0x0", .freed = "null");
}

static void pitched(void)
{
	struct block block = { .space = "device" };
	size_t pitch;

	CALL(cudaSuccess, cudaMallocPitch, P(&block.ptr), P(&pitch), 1009, 5);
	block.size = pitch * 5; /* not 1009 * 5 */
	EXPECT(.op = "alloc", .api = "cudaMallocPitch", .driver_api = "cuMemAllocPitch_v2",
	       .addr = HEX(block.ptr), .size = DEC(block.size), .space = "device");
	free_device(&block);
	CALL(cudaErrorMemoryAllocation, cudaMallocPitch, P(&block.ptr), P(&pitch), 1013,
	     1ull << 32);
	EXPECT(.op = "alloc", .api = "cudaMallocPitch", .driver_api = "cuMemAllocPitch_v2",
	       .result = cudaErrorMemoryAllocation, .size = DEC(1013ull << 32), .space = "device");
}

/* An extent by value is passed differently on every architecture: not through rows_call(). */
static void boxed(void)
{
	struct cudaPitchedPtr pitched_ptr = { .xsize = 1 };
	struct block block = { .space = "device" };
	cudaError_t result;

	result = cudaMalloc3D(&pitched_ptr, (struct cudaExtent){ 1019, 6, 7 });
	rows_check("cudaMalloc3D", cudaSuccess, result);
	block.ptr = pitched_ptr.ptr;
	block.size = pitched_ptr.pitch * 6 * 7;
	EXPECT(.op = "alloc", .api = "cudaMalloc3D", .driver_api = "cuMemAllocPitch_v2",
	       .addr = HEX(block.ptr), .size = DEC(block.size), .space = "device");
	free_device(&block);
	result = cudaMalloc3D(&pitched_ptr, (struct cudaExtent){ 1021, 1 << 16, 1 << 15 });
	rows_check("cudaMalloc3D", cudaErrorMemoryAllocation, result);
	EXPECT(.op = "alloc", .api = "cudaMalloc3D", .driver_api = "cuMemAllocPitch_v2",
	       .result = cudaErrorMemoryAllocation, .size = DEC(1021ull << 31), .space = "device");
}

static void registered(void)
{
	static char memory[16 << 10];
	const char *api = NAME(cudaHostRegister), *driver_api = "cuMemHostRegister_v2";
	const struct block block = { memory, 12037, "registered" };
	const cudaError_t again = 712; /* cudaErrorHostMemoryAlreadyRegistered */

	CALL(cudaSuccess, cudaHostRegister, P(memory), block.size, DIRTY(0));
	EXPECT(.op = "alloc", .api = api, .driver_api = driver_api, .addr = HEX(memory),
	       .size = DEC(block.size), .space = block.space);
	CALL(again, cudaHostRegister, P(memory + 16), 12041);
	EXPECT(.op = "alloc", .api = api, .driver_api = driver_api, .result = again,
	       .addr = HEX(memory + 16), .size = DEC(12041), .space = block.space);
	free_in_vain(API(cudaHostUnregister), "cuMemHostUnregister", memory + 1, 713);
	free_block(API(cudaHostUnregister), "cuMemHostUnregister", &block);
}

static void allocations(void)
{
	static const struct allocator rows[] = {
		{ API(cudaMalloc), "cuMemAlloc_v2", "device", 110017, 0, 0 },
		{ API(cudaMallocManaged), "cuMemAllocManaged", "managed", 21001,
		  cudaMemAttachGlobal, 0 },
		{ API(cudaMallocHost), "cuMemHostAlloc", "pinned", 31019, 0, 0 },
		{ API(cudaHostAlloc), "cuMemHostAlloc", "pinned", 41011, cudaHostAllocPortable, 0 },
	};
	struct block blocks[MANY(rows)];

	for (size_t i = 0; i < MANY(rows); i++)
		blocks[i] = allocate(&rows[i]);
	failures();
	nothing();
	pitched();
	boxed();
	registered();
	free_in_vain(API(cudaFree), "cuMemFree_v2", blocks[2].ptr, cudaErrorInvalidValue);
	free_in_vain(API(cudaFreeHost), "cuMemFreeHost", blocks[0].ptr, cudaErrorInvalidValue);
	free_device(&blocks[1]);
	free_block(API(cudaFreeHost), "cuMemFreeHost", &blocks[3]);
	free_block(API(cudaFreeHost), "cuMemFreeHost", &blocks[2]);
	free_device(&blocks[0]);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* A dim3 by value in two registers, of the second only half. */
#define WORDS(d) ((uint64_t)(d)[1] << 32 | (d)[0]), DIRTY((d)[2])

struct launch {
	const char *api;
	void *function;
	const char *driver_api;
	uint32_t grid[3], block[3], shared;
};

/* addr: the driver's handle, or the stub if it did not come to that. */
static void expect_launch(const struct launch *l, const void *addr, const char *kernel,
			  cudaStream_t stream, cudaError_t result)
{
	EXPECT(.op = "launch", .api = l->api, .driver_api = l->driver_api, .result = result,
	       .addr = HEX(addr), .stream = HEX(stream), .kernel = kernel, .grid = DIMS(l->grid),
	       .block = DIMS(l->block), .shared = DEC(l->shared));
}

/* `what`: a stub or a handle. Returns the stream. */
static cudaStream_t launch(const struct launch *l, const void *what, cudaError_t wanted)
{
	cudaStream_t stream = rows_runtime_stream();

	rows_call(l->api, l->function, wanted,
		  (uint64_t[ROWS_ARGS]){ P(what), WORDS(l->grid), WORDS(l->block), 0, l->shared,
					 P(stream) });
	return stream;
}

static cudaStream_t launch_ex(const struct launch *l, const void *stub, cudaError_t wanted)
{
	const cudaLaunchConfig_t config = {
		.gridDim = { l->grid[0], l->grid[1], l->grid[2] },
		.blockDim = { l->block[0], l->block[1], l->block[2] },
		.dynamicSmemBytes = l->shared,
		.stream = rows_runtime_stream(),
	};

	CALL(wanted, cudaLaunchKernelExC, P(&config), P(stub));
	return config.stream;
}

/* cudaGetKernel has no row. */
static cudaKernel_t handle_of(const void *stub)
{
	cudaKernel_t kernel;

	NEED(cudaGetKernel(&kernel, stub));
	return kernel;
}

/* As the compiler of CUDA 12 does <<<>>>, and that of CUDA 13. */
static void launch_as_compiled(void)
{
	static const struct launch old = {
		API(cudaLaunchKernel), PTSZ("cuLaunchKernel"), { 31, 32, 33 }, { 2, 3, 4 }, 901
	};
	static const struct launch new = {
		API(__cudaLaunchKernel), PTSZ("cuLaunchKernel"), { 34, 35, 36 }, { 3, 4, 5 }, 902
	};
	dim3 grid = { 31, 32, 33 }, block = { 2, 3, 4 };

	cudaGetLastError(); /* of calls before */
	NEED(simcudart_launch(scale, grid, block, 901, streams[1], NULL));
	expect_launch(&old, handle_of(scale), "scale", streams[1], cudaSuccess);
	grid = (dim3){ 34, 35, 36 };
	block = (dim3){ 3, 4, 5 };
	NEED(simcudart_launch(add, grid, block, 902, streams[2], NULL));
	expect_launch(&new, handle_of(add), "add", streams[2], cudaSuccess);
	NEED(cudaGetLastError());
}

static void launch_each(void)
{
	static const struct launch rows[] = {
		{ API(cudaLaunchKernel), PTSZ("cuLaunchKernel"), { 41, 42, 43 }, { 4, 5, 6 }, 911 },
		{ API(__cudaLaunchKernel),
		  PTSZ("cuLaunchKernel"),
		  { 44, 45, 46 },
		  { 5, 6, 7 },
		  912 },
		{ API(cudaLaunchCooperativeKernel),
		  PTSZ("cuLaunchCooperativeKernel"),
		  { 47, 48, 49 },
		  { 6, 7, 8 },
		  913 },
	};
	static const struct launch ex = { API(cudaLaunchKernelExC),
					  PTSZ("cuLaunchKernelEx"),
					  { 0x7fffffff, 65535, 65534 },
					  { 7, 8, 9 },
					  200914 };
	cudaKernel_t handle = handle_of(scale);
	cudaStream_t stream;

	stream = launch(&rows[0], scale, cudaSuccess);
	expect_launch(&rows[0], handle, "scale", stream, cudaSuccess);
	stream = launch(&rows[1], handle, cudaSuccess);
	expect_launch(&rows[1], handle, "scale", stream, cudaSuccess);
	stream = launch(&rows[2], scale, cudaSuccess);
	expect_launch(&rows[2], handle, "scale", stream, cudaSuccess);
	stream = launch_ex(&ex, scale, cudaSuccess);
	expect_launch(&ex, handle, "scale", stream, cudaSuccess);
}

static void launch_in_vain(void)
{
	static const struct launch in_driver = {
		API(cudaLaunchKernel), PTSZ("cuLaunchKernel"), { 1, 2, 3 }, { 1024, 2, 1 }, 921
	};
	static const struct launch before = {
		API(cudaLaunchCooperativeKernel), NULL, { 3, 2, 1 }, { 1, 2, 3 }, 922
	};
	static const struct launch ex = { API(cudaLaunchKernelExC),
					  PTSZ("cuLaunchKernelEx"),
					  { 6, 5, 4 },
					  { 4, 5, 6 },
					  0x7fffffff };
	cudaStream_t stream = launch(&in_driver, add, cudaErrorInvalidConfiguration);

	expect_launch(&in_driver, handle_of(add), "add", stream, cudaErrorInvalidConfiguration);
	stream = launch_ex(&ex, add, cudaErrorInvalidConfiguration);
	expect_launch(&ex, handle_of(add), "add", stream, cudaErrorInvalidConfiguration);
	stream = launch(&before, streams, cudaErrorInvalidDeviceFunction);
	expect_launch(&before, streams, NULL, stream, cudaErrorInvalidDeviceFunction);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void register_kernel(void **module, const char *stub, const char *name)
{
	char device_function[] = "not this one";

	__cudaRegisterFunction(module, stub, device_function, name, -1, NULL, NULL, NULL, NULL,
			       NULL);
}

/*
 * The runtime asks the driver for a kernel by its name, which names it once more. Not this one: the
 * module does not have it, so that the driver refuses. Its registration alone tells the name.
 */
static void launch_registered(void)
{
	static const struct launch l = {
		API(cudaLaunchKernel), NULL, { 51, 52, 53 }, { 5, 6, 7 }, 931
	};
	static const char stub[1];
	cudaStream_t stream;

	register_kernel(simcudart_handle, stub, "by___cudaRegisterFunction");
	stream = launch(&l, stub, cudaErrorSymbolNotFound);
	expect_launch(&l, stub, "by___cudaRegisterFunction", stream, cudaErrorSymbolNotFound);
}

static void launch_named(void **module, const char *stub, const char *name, const char *shown)
{
	static struct launch l = {
		API(cudaLaunchKernel), PTSZ("cuLaunchKernel"), { 61, 62, 63 }, { 6, 7, 8 }, 941
	};
	cudaStream_t stream;

	l.shared++;
	register_kernel(module, stub, name);
	stream = launch(&l, stub, cudaSuccess);
	expect_launch(&l, handle_of(stub), shown, stream, cudaSuccess);
}

static void launch_strangely_named(void)
{
	/* Not PTX: the simulated driver takes any name to be in it. */
	static struct simcudart_fatbin fatbin = { 0x466243b1, 1, "\177ELF", NULL };
	static const char stubs[2];
	void **module = __cudaRegisterFatBinary(&fatbin);
	char *name = rows_long_name(700), *shown = rows_long_name(ROWS_NAME_KEPT);

	launch_named(module, &stubs[0], ROWS_ODD_NAME, ROWS_ODD_NAME_SHOWN);
	launch_named(module, &stubs[1], name, shown);
	__cudaRegisterFatBinaryEnd(module);
	__cudaUnregisterFatBinary(module);
	free(shown);
	free(name);
}

/* ---- synchronisation ------------------------------------------------------------------------- */

static void sync_stream(cudaStream_t stream, cudaError_t wanted)
{
	CALL(wanted, cudaStreamSynchronize, P(stream));
	EXPECT(.op = "sync", .api = NAME(cudaStreamSynchronize),
	       .driver_api = PTSZ("cuStreamSynchronize"), .result = wanted, .stream = HEX(stream));
}

static void sync_event(cudaEvent_t event, cudaError_t wanted)
{
	CALL(wanted, cudaEventSynchronize, P(event));
	EXPECT(.op = "sync", .api = "cudaEventSynchronize", .driver_api = "cuEventSynchronize",
	       .result = wanted, .addr = HEX(event));
}

static void syncs(void)
{
	cudaEvent_t event;

	CALL(cudaSuccess, cudaDeviceSynchronize, DIRTY(7)); /* which is no argument */
	EXPECT(.op = "sync", .api = "cudaDeviceSynchronize", .driver_api = "cuCtxSynchronize");
	sync_stream(NULL, cudaSuccess);
	sync_stream(cudaStreamLegacy, cudaSuccess);
	sync_stream(cudaStreamPerThread, cudaSuccess);
	sync_stream(streams[3], cudaSuccess);
	sync_stream((cudaStream_t)&event, cudaErrorInvalidResourceHandle);
	event = rows_runtime_make(API(cudaEventCreate), "cuEventCreate", 0, 0);
	sync_event(event, cudaSuccess);
	rows_runtime_end(API(cudaEventDestroy), "cuEventDestroy_v2", event);
	sync_event(event, cudaErrorInvalidResourceHandle);
}

/* ---- everything ------------------------------------------------------------------------------ */

/* What needs memory to work on. */
static void transfers(const struct block *there)
{
	struct block blocks[] = { allocate_device(PLACE_BYTES), allocate_device(PLACE_BYTES) };
	const struct place place = { { blocks[0].ptr, blocks[1].ptr }, there->ptr };

	rows_runtime_copies(&place);
	free_device(&blocks[0]);
	free_device(&blocks[1]);
}

int main(void)
{
	struct block block = { NULL, 77003, "device" }, there;

	rows_runtime_fork();
	block.ptr = rows_runtime_first_call(block.size);
	free_device(&block);
	devices();
	there = allocate_device(PLACE_BYTES);
	set_device(0);
	for (size_t i = 0; i < MANY(streams); i++)
		streams[i] = rows_runtime_make(API(cudaStreamCreate), "cuStreamCreate", 0, 0);

	allocations();
	rows_runtime_objects();
	rows_runtime_pools();
	rows_runtime_memory();
	rows_runtime_arrays();
	rows_runtime_graphs();
	transfers(&there);
	launch_as_compiled();
	launch_each();
	launch_in_vain();
	launch_registered();
	launch_strangely_named();
	syncs();
	rows_runtime_export();
	reset();
	block.size = 77017;
	block.ptr = rows_runtime_first_call(block.size);
	free_device(&block);
	return 0;
}
