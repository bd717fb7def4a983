// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls every driver function that bpf/probes.def has a row for, each with arguments of its own,
 * and prints the events to expect. Needs two devices. The oldest forms, with 32-bit sizes and
 * device addresses, are refused by the simulated driver: then only what the caller passed is known.
 */
#include "rows_driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static CUstream streams[4];

void *rows_driver_symbol(const char *api)
{
	void *function = dlsym(RTLD_DEFAULT, api);

	if (!function)
		rows_die(api, "the driver has no such function");
	return function;
}

CUstream rows_driver_stream(void)
{
	static unsigned int calls;

	return streams[calls++ % MANY(streams)];
}

/* ---- blocks --------------------------------------------------------------------------------- */

void rows_driver_free(const char *api, const struct block *block)
{
	CALL(CUDA_SUCCESS, api, block->addr);
	EXPECT(.op = "free", .api = api, .addr = HEX(block->addr), .size = DEC(block->size),
	       .space = block->space);
}

/* Of a block that is then still there: its real free will know its size. */
static void free_in_vain(const char *api, uint64_t addr, CUresult wanted)
{
	CALL(wanted, api, addr);
	EXPECT(.op = "free", .api = api, .result = wanted, .addr = HEX(addr));
}

/* ---- what has a handle and no size ----------------------------------------------------------- */

/* Functions of (handle to be written, first, second ...). */
void *rows_driver_make(const char *api, CUresult wanted, uint64_t first, uint64_t second)
{
	void *handle = NULL;

	CALL(wanted, api, P(&handle), first, second);
	EXPECT(.op = "memory", .api = api, .result = wanted,
	       .addr = wanted == CUDA_SUCCESS ? HEX(handle) : UNKNOWN);
	return handle;
}

void rows_driver_end(const char *api, const void *handle, CUresult wanted)
{
	CALL(wanted, api, P(handle));
	EXPECT(.op = "memory", .api = api, .result = wanted, .addr = HEX(handle));
}

/* ---- blocks of memory ------------------------------------------------------------------------ */

/* Functions of (address to be written, size, flags). */
struct block rows_driver_allocate(const char *api, const char *space, uint64_t size, uint64_t flags)
{
	struct block block = { .size = size, .space = space };

	CALL(CUDA_SUCCESS, api, P(&block.addr), size, flags);
	EXPECT(.op = "alloc", .api = api, .addr = HEX(block.addr), .size = DEC(size),
	       .space = space);
	return block;
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* `device_arg`: which argument the device is; the flags are before it. */
CUcontext rows_driver_create(const char *api, unsigned int device_arg, int device, CUresult wanted)
{
	CUcontext context = NULL;
	uint64_t args[ROWS_ARGS] = { P(&context) };

	args[device_arg - 1] = DIRTY(CU_CTX_SCHED_YIELD);
	args[device_arg] = DIRTY(device);
	rows_call(api, rows_driver_symbol(api), wanted, args);
	if (wanted == CUDA_SUCCESS)
		rows_at(context, device);
	EXPECT(.op = "context", .api = api, .result = wanted, .device = DEC(device),
	       .addr = wanted == CUDA_SUCCESS ? HEX(context) : UNKNOWN);
	return context;
}

static CUcontext retain(int device)
{
	CUcontext context;

	CALL(CUDA_SUCCESS, "cuDevicePrimaryCtxRetain", P(&context), DIRTY(device));
	EXPECT(.op = "context", .api = "cuDevicePrimaryCtxRetain", .addr = HEX(context),
	       .device = DEC(device));
	return context;
}

/* Releases and resets: of a device. */
static void of_device(const char *api, int device, CUresult wanted)
{
	CALL(wanted, api, DIRTY(device));
	EXPECT(.op = "context", .api = api, .result = wanted, .device = DEC(device));
}

/* Destroys, makes current or pushes `context`; afterwards `current` is. */
static void of_context(const char *api, CUcontext context, CUresult wanted, CUcontext current,
		       int device)
{
	CALL(wanted, api, P(context));
	rows_at(current, device);
	EXPECT(.op = "context", .api = api, .result = wanted, .addr = HEX(context));
}

static void pop(const char *api, CUcontext *popped, CUcontext current, int device)
{
	CALL(CUDA_SUCCESS, api, P(popped));
	rows_at(current, device);
	EXPECT(.op = "context", .api = api, .addr = popped ? HEX(*popped) : UNKNOWN);
}

static void creations(CUcontext below)
{
	static const struct {
		const char *create, *destroy;
		unsigned int device_arg;
		int no_device;
	} rows[] = {
		{ "cuCtxCreate", "cuCtxDestroy", 2, 10 },
		{ "cuCtxCreate_v2", "cuCtxDestroy_v2", 2, 11 },
		{ "cuCtxCreate_v3", "cuCtxDestroy", 4, 12 },
		{ "cuCtxCreate_v4", "cuCtxDestroy_v2", 3, 13 },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		CUcontext context =
			rows_driver_create(rows[i].create, rows[i].device_arg, 1, CUDA_SUCCESS);

		rows_driver_create(rows[i].create, rows[i].device_arg, rows[i].no_device,
				   CUDA_ERROR_INVALID_DEVICE);
		of_context(rows[i].destroy, context, CUDA_SUCCESS, below, 0);
		of_context(rows[i].destroy, context, CUDA_ERROR_INVALID_CONTEXT, below, 0);
	}
}

/* An end takes the memory with it: if not, the next block at that address comes as a surprise. */
static void primary_ends(void)
{
	static const char *const ends[] = { "cuDevicePrimaryCtxRelease",
					    "cuDevicePrimaryCtxRelease_v2",
					    "cuDevicePrimaryCtxReset",
					    "cuDevicePrimaryCtxReset_v2" };

	for (size_t i = 0; i < MANY(ends); i++) {
		CUcontext primary = retain(1);
		struct block block;

		of_context("cuCtxSetCurrent", primary, CUDA_SUCCESS, primary, 1);
		rows_driver_allocate("cuMemAlloc_v2", "device", 70001, 0);
		CALL(CUDA_SUCCESS, ends[i], DIRTY(1));
		EXPECT(.op = "context", .api = ends[i], .device = DEC(1),
		       .ended = AMOUNT("device", 1, 70001));
		retain(1);
		block = rows_driver_allocate("cuMemAlloc_v2", "device", 70001, 0);
		rows_driver_free("cuMemFree_v2", &block);
		of_context("cuCtxSetCurrent", NULL, CUDA_SUCCESS, NULL, 0);
		of_device("cuDevicePrimaryCtxRelease_v2", 1, CUDA_SUCCESS);
		if (strstr(ends[i], "Reset")) /* which did not release */
			of_device("cuDevicePrimaryCtxRelease_v2", 1, CUDA_SUCCESS);
	}
}

static void contexts(void)
{
	CUcontext primary, other, popped = NULL;

	CALL(CUDA_ERROR_INVALID_DEVICE, "cuDevicePrimaryCtxRetain", P(&popped), DIRTY(9));
	EXPECT(.op = "context", .api = "cuDevicePrimaryCtxRetain",
	       .result = CUDA_ERROR_INVALID_DEVICE, .device = DEC(9));
	primary = retain(0);
	retain(0);
	of_context("cuCtxSetCurrent", primary, CUDA_SUCCESS, primary, 0);
	creations(primary);

	other = rows_driver_create("cuCtxCreate_v2", 2, 1, CUDA_SUCCESS);
	pop("cuCtxPopCurrent", &popped, primary, 0);
	of_context("cuCtxPushCurrent", other, CUDA_SUCCESS, other, 1);
	pop("cuCtxPopCurrent_v2", NULL, primary, 0);
	of_context("cuCtxPushCurrent_v2", other, CUDA_SUCCESS, other, 1);
	of_context("cuCtxPushCurrent_v2", (CUcontext)&popped, CUDA_ERROR_INVALID_CONTEXT, other, 1);
	pop("cuCtxPopCurrent_v2", &popped, primary, 0);
	of_context("cuCtxDestroy_v2", other, CUDA_SUCCESS, primary, 0);

	of_context("cuCtxSetCurrent", NULL, CUDA_SUCCESS, NULL, 0);
	of_device("cuDevicePrimaryCtxRelease", 0, CUDA_SUCCESS);
	of_device("cuDevicePrimaryCtxRelease_v2", 0, CUDA_SUCCESS);
	of_device("cuDevicePrimaryCtxRelease", 1, CUDA_ERROR_INVALID_CONTEXT);
	of_device("cuDevicePrimaryCtxReset", 1, CUDA_SUCCESS);
	of_device("cuDevicePrimaryCtxReset_v2", 0, CUDA_SUCCESS);
	of_device("cuDevicePrimaryCtxReset_v2", 8, CUDA_ERROR_INVALID_DEVICE);
	primary_ends();
}

/* ---- allocations ----------------------------------------------------------------------------- */

static void allocate_in_vain(const char *api, const char *space, uint64_t size, uint64_t flags,
			     CUresult wanted)
{
	uint64_t untouched = 0x5a5a;

	CALL(wanted, api, P(&untouched), size, flags);
	EXPECT(.op = "alloc", .api = api, .result = wanted, .size = DEC(size), .space = space);
}

/* The 32-bit forms. */
static void allocate_narrow(const char *api, const char *space, uint32_t size)
{
	uint64_t untouched = 0x5a5a;

	CALL(CUDA_ERROR_NOT_SUPPORTED, api, P(&untouched), DIRTY(size));
	EXPECT(.op = "alloc", .api = api, .result = CUDA_ERROR_NOT_SUPPORTED, .size = DEC(size),
	       .space = space);
}

static void pitched_in_vain(uint64_t width, uint64_t height)
{
	uint64_t untouched = 0x5a5a;

	CALL(CUDA_ERROR_OUT_OF_MEMORY, "cuMemAllocPitch_v2", P(&untouched), P(&untouched), width,
	     height, DIRTY(16));
	EXPECT(.op = "alloc", .api = "cuMemAllocPitch_v2", .result = CUDA_ERROR_OUT_OF_MEMORY,
	       .size = DEC(width * height), .space = "device");
}

static void pitched(void)
{
	struct block block = { .space = "device" };
	uint64_t pitch = 0;

	CALL(CUDA_SUCCESS, "cuMemAllocPitch_v2", P(&block.addr), P(&pitch), 1001, 7, DIRTY(8));
	block.size = pitch * 7; /* not 1001 * 7 */
	EXPECT(.op = "alloc", .api = "cuMemAllocPitch_v2", .addr = HEX(block.addr),
	       .size = DEC(block.size), .space = "device");
	rows_driver_free("cuMemFree_v2", &block);

	pitched_in_vain(1003, 1ull << 33);
	pitched_in_vain(1ull << 34, 1005);
	CALL(CUDA_ERROR_NOT_SUPPORTED, "cuMemAllocPitch", P(&block.addr), P(&pitch), DIRTY(1007),
	     DIRTY(11), DIRTY(4));
	EXPECT(.op = "alloc", .api = "cuMemAllocPitch", .result = CUDA_ERROR_NOT_SUPPORTED,
	       .size = DEC(1007 * 11), .space = "device");
}

static void registered(const char *api, size_t size)
{
	static unsigned char memory[16 << 10];
	const struct block block = { P(memory), size, "registered" };
	const CUresult again = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;

	CALL(CUDA_SUCCESS, api, block.addr, size, DIRTY(CU_MEMHOSTREGISTER_PORTABLE));
	EXPECT(.op = "alloc", .api = api, .addr = HEX(block.addr), .size = DEC(size),
	       .space = "registered");
	CALL(again, api, block.addr + 8, size << 32, 0);
	EXPECT(.op = "alloc", .api = api, .result = again, .addr = HEX(block.addr + 8),
	       .size = DEC(size << 32), .space = "registered");
	free_in_vain("cuMemHostUnregister", block.addr + 1, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	rows_driver_free("cuMemHostUnregister", &block);
}

static void allocations(void)
{
	struct block device = rows_driver_allocate("cuMemAlloc_v2", "device", 100003, 0);
	struct block managed = rows_driver_allocate("cuMemAllocManaged", "managed", 20011,
						    DIRTY(CU_MEM_ATTACH_GLOBAL));
	struct block pinned = rows_driver_allocate("cuMemAllocHost_v2", "pinned", 30011, 0);
	struct block mapped = rows_driver_allocate("cuMemHostAlloc", "pinned", 40009,
						   DIRTY(CU_MEMHOSTALLOC_PORTABLE));

	allocate_narrow("cuMemAlloc", "device", 4001);
	allocate_narrow("cuMemAllocHost", "pinned", 0xfffff003);
	allocate_in_vain("cuMemAlloc_v2", "device", (1ull << 45) + 5, 0, CUDA_ERROR_OUT_OF_MEMORY);
	allocate_in_vain("cuMemAllocManaged", "managed", 20021ull << 32, 0x55,
			 CUDA_ERROR_INVALID_VALUE);
	allocate_in_vain("cuMemAllocHost_v2", "pinned", 1ull << 46, 0, CUDA_ERROR_OUT_OF_MEMORY);
	allocate_in_vain("cuMemHostAlloc", "pinned", 40013ull << 32, 0x80,
			 CUDA_ERROR_INVALID_VALUE);
	pitched();
	registered("cuMemHostRegister", 12007);
	registered("cuMemHostRegister_v2", 12011);

	free_in_vain("cuMemFree_v2", pinned.addr, CUDA_ERROR_INVALID_VALUE);
	free_in_vain("cuMemFreeHost", device.addr, CUDA_ERROR_INVALID_VALUE);
	CALL(CUDA_ERROR_NOT_SUPPORTED, "cuMemFree", DIRTY(device.addr));
	EXPECT(.op = "free", .api = "cuMemFree", .result = CUDA_ERROR_NOT_SUPPORTED,
	       .addr = HEX((uint32_t)device.addr));
	rows_driver_free("cuMemFreeHost", &pinned);
	rows_driver_free("cuMemFree_v2", &device);
	rows_driver_free("cuMemFreeHost", &mapped);
	rows_driver_free("cuMemFree_v2", &managed);
}

/* ---- launches -------------------------------------------------------------------------------- */

struct launch {
	const char *api;
	uint32_t grid[3], block[3], shared;
};

static void expect_launch(const struct launch *l, CUfunction function, const char *kernel,
			  CUstream stream, CUresult wanted)
{
	EXPECT(.op = "launch", .api = l->api, .result = wanted, .addr = HEX(function),
	       .stream = HEX(stream), .kernel = kernel, .grid = DIMS(l->grid),
	       .block = DIMS(l->block), .shared = DEC(l->shared));
}

static void launch(const struct launch *l, CUfunction function, const char *kernel, CUresult wanted)
{
	CUstream stream = rows_driver_stream();

	CALL(wanted, l->api, P(function), DIRTY(l->grid[0]), DIRTY(l->grid[1]), DIRTY(l->grid[2]),
	     DIRTY(l->block[0]), DIRTY(l->block[1]), DIRTY(l->block[2]), DIRTY(l->shared),
	     P(stream));
	expect_launch(l, function, kernel, stream, wanted);
}

static void launch_ex(const struct launch *l, CUfunction function, const char *kernel,
		      CUresult wanted)
{
	const CUlaunchConfig config = {
		l->grid[0],  l->grid[1], l->grid[2],           l->block[0], l->block[1],
		l->block[2], l->shared,  rows_driver_stream(), NULL,        0
	};

	CALL(wanted, l->api, P(&config), P(function));
	expect_launch(l, function, kernel, config.hStream, wanted);
}

static void launch_each(CUfunction function, const char *kernel)
{
	static const struct launch good[] = {
		{ "cuLaunchKernel", { 101, 102, 103 }, { 4, 5, 6 }, 1001 },
		{ "cuLaunchKernel_ptsz", { 104, 105, 106 }, { 5, 6, 7 }, 1002 },
		{ "cuLaunchCooperativeKernel", { 107, 108, 109 }, { 6, 7, 8 }, 1003 },
		{ "cuLaunchCooperativeKernel_ptsz", { 110, 111, 112 }, { 7, 8, 9 }, 1004 },
		{ "cuLaunchKernelEx", { 113, 114, 115 }, { 8, 9, 10 }, 1005 },
		{ "cuLaunchKernelEx_ptsz", { 0x7fffffff, 65533, 65531 }, { 9, 10, 11 }, 200006 },
	};
	static const struct launch too_big = { "cuLaunchKernel", { 1, 2, 3 }, { 4, 5, 65 }, 7 };
	static const struct launch too_much = {
		"cuLaunchKernelEx", { 4, 3, 2 }, { 7, 6, 5 }, 1u << 31
	};

	for (size_t i = 0; i < MANY(good); i++)
		(i < 4 ? launch : launch_ex)(&good[i], function, kernel, CUDA_SUCCESS);
	launch(&too_big, function, kernel, CUDA_ERROR_INVALID_VALUE);
	launch_ex(&too_much, function, kernel, CUDA_ERROR_INVALID_VALUE);
	launch(&good[0], (CUfunction)&good, NULL, CUDA_ERROR_INVALID_HANDLE);
}

/* ---- names: a kernel called by_X has its name from function X alone -------------------------- */

/* Not PTX: the simulated driver takes any name to be in it. */
static const char image[] = "\177ELF";

static void launch_named(CUfunction function, const char *kernel)
{
	static struct launch l = { "cuLaunchKernel", { 21, 22, 23 }, { 2, 3, 4 }, 9 };

	l.shared++;
	launch(&l, function, kernel, CUDA_SUCCESS);
}

static CUfunction function_of(CUmodule module, const char *name)
{
	CUfunction function = NULL;

	CALL(CUDA_SUCCESS, "cuModuleGetFunction", P(&function), P(module), P(name));
	return function;
}

static CUkernel kernel_of(CUlibrary library, const char *name)
{
	CUkernel kernel = NULL;

	CALL(CUDA_SUCCESS, "cuLibraryGetKernel", P(&kernel), P(library), P(name));
	return kernel;
}

/* What a call that fails finds in its place must not be named by it. */
static void name_in_vain(const char *api, void *function, const char *name)
{
	CALL(CUDA_ERROR_INVALID_HANDLE, api, P(&function), P(image), P(name));
}

static void launch_long(CUmodule module, size_t length)
{
	char *name = rows_long_name(length);
	CUfunction function = function_of(module, name);

	if (length > ROWS_NAME_KEPT)
		name[ROWS_NAME_KEPT] = '\0';
	launch_named(function, name);
	free(name);
}

/* ---- variables of modules -------------------------------------------------------------------- */

/* Once it knows of one, the program may know of others: any address may be a device's. */
static void copy_default(CUdeviceptr dst, CUdeviceptr src, const char *direction)
{
	static char host[16];

	CALL(CUDA_SUCCESS, "cuMemcpy", dst ? dst : P(host), src ? src : P(host), 7);
	EXPECT(.op = "copy", .api = "cuMemcpy", .addr = HEX(dst ? dst : P(host)), .size = "7",
	       .src = HEX(src ? src : P(host)), .direction = direction);
}

static CUdeviceptr global(const char *api, void *holder, const char *name, CUresult wanted)
{
	CUdeviceptr addr = 0;
	size_t size = 0;

	CALL(wanted, api, P(&addr), P(&size), P(holder), P(name));
	EXPECT(.op = "memory", .api = api, .result = wanted,
	       .addr = wanted == CUDA_SUCCESS ? HEX(addr) : UNKNOWN,
	       .size = wanted == CUDA_SUCCESS ? DEC(size) : UNKNOWN);
	return addr;
}

static void globals(CUmodule module, CUlibrary library)
{
	CUdeviceptr addr;

	copy_default(0, 0, "HtoH");
	global("cuModuleGetGlobal_v2", library, "none", CUDA_ERROR_INVALID_HANDLE);
	global("cuLibraryGetManaged", library, "managed", CUDA_ERROR_NOT_SUPPORTED);
	copy_default(0, 0, "HtoH");
	addr = global("cuModuleGetGlobal_v2", module, "of_module", CUDA_SUCCESS);
	copy_default(0, addr, "Default");
	copy_default(0, 0, "Default");
	global("cuLibraryGetGlobal", module, "none", CUDA_ERROR_INVALID_HANDLE);
	global("cuLibraryGetGlobal", library, "of_library", CUDA_SUCCESS);
	CALL(CUDA_SUCCESS, "cuModuleGetGlobal_v2", P(&addr), 0, P(module), P("of_module"));
	EXPECT(.op = "memory", .api = "cuModuleGetGlobal_v2", .addr = HEX(addr));
}

static void launches(void)
{
	CUfunction function;
	CUlibrary library;
	CUkernel kernel;
	CUmodule module;

	module = rows_driver_make("cuModuleLoadData", CUDA_SUCCESS, P(image), 0);
	function = function_of(module, "by_cuModuleGetFunction");
	name_in_vain("cuModuleGetFunction", function, "no_module");
	launch_each(function, "by_cuModuleGetFunction");
	launch_named(function_of(module, ROWS_ODD_NAME), ROWS_ODD_NAME_SHOWN);
	launch_long(module, ROWS_NAME_KEPT);
	launch_long(module, ROWS_NAME_KEPT + 1);
	launch_long(module, 650);

	library = rows_driver_make("cuLibraryLoadData", CUDA_SUCCESS, P(image), 0);
	kernel = kernel_of(library, "by_cuLibraryGetKernel");
	name_in_vain("cuLibraryGetKernel", kernel, "no_library");
	launch_named((CUfunction)kernel, "by_cuLibraryGetKernel");
	kernel = kernel_of(library, "by_cuKernelGetFunction");
	CALL(CUDA_SUCCESS, "cuKernelGetFunction", P(&function), P(kernel));
	name_in_vain("cuKernelGetFunction", function, NULL);
	launch_named(function, "by_cuKernelGetFunction");
	globals(module, library);
	rows_driver_end("cuLibraryUnload", library, CUDA_SUCCESS);
	rows_driver_end("cuModuleUnload", module, CUDA_SUCCESS);
	rows_driver_objects(image);
}

/* ---- synchronisation ------------------------------------------------------------------------- */

static void sync_stream(const char *api, CUstream stream, CUresult wanted)
{
	CALL(wanted, api, P(stream));
	EXPECT(.op = "sync", .api = api, .result = wanted, .stream = HEX(stream));
}

static void sync_event(CUevent event, CUresult wanted)
{
	CALL(wanted, "cuEventSynchronize", P(event));
	EXPECT(.op = "sync", .api = "cuEventSynchronize", .result = wanted, .addr = HEX(event));
}

static void syncs(CUcontext peer)
{
	CUevent event;

	CALL(CUDA_SUCCESS, "cuCtxSynchronize", DIRTY(7)); /* which is no argument */
	EXPECT(.op = "sync", .api = "cuCtxSynchronize");
	CALL(CUDA_SUCCESS, "cuCtxSynchronize_v2", P(peer));
	EXPECT(.op = "sync", .api = "cuCtxSynchronize_v2");
	sync_stream("cuStreamSynchronize", NULL, CUDA_SUCCESS);
	sync_stream("cuStreamSynchronize", CU_STREAM_LEGACY, CUDA_SUCCESS);
	sync_stream("cuStreamSynchronize", CU_STREAM_PER_THREAD, CUDA_SUCCESS);
	sync_stream("cuStreamSynchronize", streams[2], CUDA_SUCCESS);
	sync_stream("cuStreamSynchronize_ptsz", streams[3], CUDA_SUCCESS);
	sync_stream("cuStreamSynchronize", (CUstream)&event, CUDA_ERROR_INVALID_HANDLE);
	event = rows_driver_make("cuEventCreate", CUDA_SUCCESS, DIRTY(CU_EVENT_DEFAULT), 0);
	sync_event(event, CUDA_SUCCESS);
	rows_driver_end("cuEventDestroy_v2", event, CUDA_SUCCESS);
	sync_event(event, CUDA_ERROR_INVALID_HANDLE);
}

/* ---- everything ------------------------------------------------------------------------------ */

/* What needs memory to work on. */
static void transfers(CUcontext own, CUcontext peer, const struct block *there)
{
	struct block blocks[] = { rows_driver_allocate("cuMemAlloc_v2", "device", PLACE_BYTES, 0),
				  rows_driver_allocate("cuMemAlloc_v2", "device", PLACE_BYTES, 0) };
	const struct place place = { own, peer, { blocks[0].addr, blocks[1].addr }, there->addr };

	rows_driver_copies(&place);
	rows_driver_batches(&place);
	rows_driver_free("cuMemFree_v2", &blocks[0]);
	rows_driver_free("cuMemFree_v2", &blocks[1]);
}

int main(void)
{
	CUcontext own, peer;
	struct block there;
	int count;

	rows_driver_fork();
	NEED(cuInit(0));
	NEED(cuDeviceGetCount(&count));
	if (count < 2)
		rows_die("rows_driver", "needs two devices (SIMCUDA_DEVICES=2)");
	contexts();
	own = rows_driver_create("cuCtxCreate_v2", 2, 0, CUDA_SUCCESS);
	peer = rows_driver_create("cuCtxCreate_v2", 2, 1, CUDA_SUCCESS);
	there = rows_driver_allocate("cuMemAlloc_v2", "device", PLACE_BYTES, 0);
	pop("cuCtxPopCurrent_v2", &peer, own, 0);
	for (size_t i = 0; i < MANY(streams); i++)
		streams[i] = rows_driver_make("cuStreamCreate", CUDA_SUCCESS,
					      DIRTY(CU_STREAM_NON_BLOCKING), 0);

	allocations();
	rows_driver_devices();
	rows_driver_pools();
	rows_driver_vmm();
	rows_driver_arrays();
	rows_driver_shared();
	transfers(own, peer, &there);
	rows_driver_graphs();
	launches();
	syncs(peer);
	CALL(CUDA_SUCCESS, "cuCtxEnablePeerAccess", P(peer), DIRTY(0));
	EXPECT(.op = "memory", .api = "cuCtxEnablePeerAccess", .addr = HEX(peer));
	CALL(CUDA_SUCCESS, "cuCtxDestroy_v2", P(peer));
	EXPECT(.op = "context", .api = "cuCtxDestroy_v2", .addr = HEX(peer),
	       .ended = AMOUNT("device", 1, PLACE_BYTES));
	rows_driver_leave(); /* what a graph has allocated outlives the context */
	CALL(CUDA_SUCCESS, "cuCtxDestroy_v2", P(own));
	rows_at(NULL, 0);
	EXPECT(.op = "context", .api = "cuCtxDestroy_v2", .addr = HEX(own));
	return 0;
}
