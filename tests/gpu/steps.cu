// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program of the CUDA runtime that takes one step after the other, writes down each call with its
 * times, and after each step what the driver says is used. What each call costs of memory and which
 * calls of the driver it makes are read off its lines, a recording of it, and nvlog.c's.
 *
 * usage: steps LINES [SECONDS], waits so long before the first call
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1ull << 20)

static FILE *lines;
static void (*mark_fn)(const char *);

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void put(const char *api, long long began, int result, const void *ptr, size_t size)
{
	fprintf(lines,
		"{\"api\":\"%s\",\"ts\":%lld,\"end\":%lld,\"result\":%d,\"ptr\":\"%p\",\"size\":%zu}\n",
		api, began, now_ns(), result, ptr, size);
}

/* One call, written down with what it is about. */
#define CALL(call, ptr, size)                                                       \
	({                                                                          \
		long long began_ = now_ns();                                        \
		int result_ = (int)(call);                                          \
		char name_[64];                                                     \
		snprintf(name_, sizeof(name_), "%.*s", (int)strcspn(#call, "(<"), #call); \
		put(name_, began_, result_, (const void *)(uintptr_t)(ptr), size);  \
		result_;                                                            \
	})

/* ---- what is used, in the driver's words ------------------------------------------------------ */

struct nvml_process {
	unsigned int pid;
	unsigned long long used;
	unsigned int gpu_instance, compute_instance;
};

struct nvml_memory {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};

static void *nvml, *nvml_device;
static int (*nvml_processes)(void *, unsigned int *, struct nvml_process *);
static int (*nvml_memory)(void *, struct nvml_memory *);

static void open_nvml(void)
{
	int (*init)(void), (*device)(unsigned int, void **);

	nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	if (!nvml)
		return;
	*(void **)&init = dlsym(nvml, "nvmlInit_v2");
	*(void **)&device = dlsym(nvml, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&nvml_processes = dlsym(nvml, "nvmlDeviceGetComputeRunningProcesses_v3");
	*(void **)&nvml_memory = dlsym(nvml, "nvmlDeviceGetMemoryInfo_v2");
	if (init() || device(0, &nvml_device))
		nvml = NULL;
}

static void used(const char *step, int have_context)
{
	struct nvml_process processes[64];
	struct nvml_memory memory = { 0x2000000 | sizeof(memory), 0, 0, 0, 0 };
	unsigned int count = 64, i;
	long long own = -1;
	size_t free_bytes = 0, total = 0;

	if (mark_fn)
		mark_fn("measure");
	if (have_context)
		cudaMemGetInfo(&free_bytes, &total);
	if (nvml && !nvml_memory(nvml_device, &memory) &&
	    !nvml_processes(nvml_device, &count, processes))
		for (i = 0; i < count; i++)
			if (processes[i].pid == (unsigned int)getpid())
				own = processes[i].used;
	fprintf(lines,
		"{\"step\":\"%s\",\"ts\":%lld,\"told_used\":%zu,\"told_total\":%zu,\"nvml_own\":%lld,"
		"\"nvml_used\":%llu,\"nvml_reserved\":%llu,\"nvml_total\":%llu,\"processes\":%u}\n",
		step, now_ns(), total - free_bytes, total, own, memory.used, memory.reserved,
		memory.total, count);
	fflush(lines);
}

static void step(const char *name)
{
	fprintf(lines, "{\"begin\":\"%s\",\"ts\":%lld}\n", name, now_ns());
	if (mark_fn)
		mark_fn(name);
}

/* ---- kernels ----------------------------------------------------------------------------------- */

__global__ void nothing(void)
{
}

__global__ void add(float *data, float value, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i] += value;
}

__global__ void deep(int *out, int n)
{
	volatile int local[4000];

	for (int i = 0; i < 4000; i++)
		local[i] = i * n;
	out[0] = local[n % 4000];
}

__global__ void says(int n)
{
	printf("%d", n);
}

__global__ void takes(void **out)
{
	out[0] = malloc(100);
	free(out[0]);
}

/* ---- steps ------------------------------------------------------------------------------------- */

static void of_sizes(void)
{
	static const size_t sizes[] = { 1, 256, 512, 100000, 1 * MIB, 1 * MIB + 1, 2 * MIB,
					2 * MIB + 1, 3 * MIB, 20 * MIB + 5, 100 * MIB, 1024 * MIB };
	void *blocks[12], *small[64];
	char name[64];

	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "cudaMalloc %zu", sizes[i]);
		step(name);
		CALL(cudaMalloc(&blocks[i], sizes[i]), blocks[i], sizes[i]);
		used(name, 1);
	}
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "cudaFree %zu", sizes[i]);
		step(name);
		CALL(cudaFree(blocks[i]), blocks[i], 0);
		used(name, 1);
	}
	step("64 times 100 KiB");
	for (int i = 0; i < 64; i++)
		CALL(cudaMalloc(&small[i], 100 << 10), small[i], 100 << 10);
	used("64 times 100 KiB", 1);
	step("every second freed");
	for (int i = 0; i < 64; i += 2)
		CALL(cudaFree(small[i]), small[i], 0);
	used("every second freed", 1);
	step("the rest freed");
	for (int i = 1; i < 64; i += 2)
		CALL(cudaFree(small[i]), small[i], 0);
	used("the rest freed", 1);
}

static void host_memory(void)
{
	void *ptr, *mapped, *own = aligned_alloc(4096, 8 * MIB);

	step("page-locked");
	CALL(cudaMallocHost(&ptr, 16 * MIB), ptr, 16 * MIB);
	CALL(cudaHostAlloc(&mapped, 4 * MIB, cudaHostAllocMapped | cudaHostAllocPortable), mapped,
	     4 * MIB);
	CALL(cudaHostRegister(own, 8 * MIB, cudaHostRegisterDefault), own, 8 * MIB);
	used("page-locked", 1);
	step("page-locked freed");
	CALL(cudaHostUnregister(own), own, 0);
	CALL(cudaFreeHost(mapped), mapped, 0);
	CALL(cudaFreeHost(ptr), ptr, 0);
	used("page-locked freed", 1);
}

static void managed(void)
{
	struct cudaMemLocation here = { cudaMemLocationTypeDevice, 0 };
	float *ptr;

	step("managed");
	CALL(cudaMallocManaged(&ptr, 64 * MIB), ptr, 64 * MIB);
	used("managed", 1);
	step("managed, touched by the CPU");
	memset(ptr, 1, 64 * MIB);
	used("managed, touched by the CPU", 1);
	step("managed, on the device");
	CALL(cudaMemPrefetchAsync(ptr, 64 * MIB, here, 0, 0), ptr, 64 * MIB);
	CALL(cudaDeviceSynchronize(), 0, 0);
	used("managed, on the device", 1);
	step("managed, freed");
	CALL(cudaFree(ptr), ptr, 0);
	used("managed, freed", 1);
}

static void pools(void)
{
	cudaStream_t stream;
	cudaMemPool_t pool;
	cudaMemPoolProps props = {};
	void *a, *b, *c;

	step("stream");
	CALL(cudaStreamCreate(&stream), stream, 0);
	used("stream", 1);
	step("pool: 10 MiB and 1 KiB");
	CALL(cudaMallocAsync(&a, 10 * MIB, stream), a, 10 * MIB);
	CALL(cudaMallocAsync(&b, 1024, stream), b, 1024);
	CALL(cudaStreamSynchronize(stream), stream, 0);
	used("pool: 10 MiB and 1 KiB", 1);
	step("pool: freed");
	CALL(cudaFreeAsync(a, stream), a, 0);
	CALL(cudaFreeAsync(b, stream), b, 0);
	used("pool: freed", 1);
	CALL(cudaStreamSynchronize(stream), stream, 0);
	used("pool: freed, synchronized", 1);
	step("pool of its own");
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	CALL(cudaMemPoolCreate(&pool, &props), pool, 0);
	CALL(cudaMallocFromPoolAsync(&c, 200 * MIB, pool, stream), c, 200 * MIB);
	CALL(cudaStreamSynchronize(stream), stream, 0);
	used("pool of its own", 1);
	CALL(cudaFreeAsync(c, stream), c, 0);
	CALL(cudaMemPoolTrimTo(pool, 0), pool, 0);
	used("pool of its own, trimmed", 1);
	CALL(cudaMemPoolDestroy(pool), pool, 0);
	CALL(cudaStreamDestroy(stream), stream, 0);
	used("pool of its own, destroyed", 1);
}

static void arrays(void)
{
	cudaChannelFormatDesc desc = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
	cudaMipmappedArray_t mipmapped;
	cudaPitchedPtr pitched;
	cudaArray_t array;
	size_t pitch;
	void *ptr;

	step("pitched and arrays");
	CALL(cudaMallocPitch(&ptr, &pitch, 1000, 1000), ptr, pitch * 1000);
	CALL(cudaMalloc3D(&pitched, make_cudaExtent(1000, 100, 10)), pitched.ptr,
	     pitched.pitch * 1000);
	CALL(cudaMallocArray(&array, &desc, 1024, 1024), array, 4 * MIB);
	CALL(cudaMallocMipmappedArray(&mipmapped, &desc, make_cudaExtent(256, 256, 0), 5),
	     mipmapped, 0);
	used("pitched and arrays", 1);
	CALL(cudaFreeMipmappedArray(mipmapped), mipmapped, 0);
	CALL(cudaFreeArray(array), array, 0);
	CALL(cudaFree(pitched.ptr), pitched.ptr, 0);
	CALL(cudaFree(ptr), ptr, 0);
	used("pitched and arrays freed", 1);
}

static void copies(void)
{
	float *device, *other, *locked, *pageable = (float *)malloc(32 * MIB);

	cudaMalloc(&device, 32 * MIB);
	cudaMalloc(&other, 32 * MIB);
	cudaMallocHost(&locked, 32 * MIB);
	step("copies");
	CALL(cudaMemcpy(device, pageable, 32 * MIB, cudaMemcpyHostToDevice), device, 32 * MIB);
	CALL(cudaMemcpy(pageable, device, 1000, cudaMemcpyDeviceToHost), device, 1000);
	CALL(cudaMemcpy(device, pageable, 64, cudaMemcpyDefault), device, 64);
	CALL(cudaMemcpyAsync(device, locked, 32 * MIB, cudaMemcpyHostToDevice, 0), device, 32 * MIB);
	CALL(cudaMemcpyAsync(other, device, 32 * MIB, cudaMemcpyDeviceToDevice, 0), other, 32 * MIB);
	CALL(cudaMemcpy2D(device, 2000, pageable, 1000, 1000, 500, cudaMemcpyHostToDevice), device,
	     500000);
	CALL(cudaMemset(device, 0, 32 * MIB), device, 32 * MIB);
	CALL(cudaMemsetAsync(device, 0, 100, 0), device, 100);
	CALL(cudaDeviceSynchronize(), 0, 0);
	used("copies", 1);
	cudaFree(device);
	cudaFree(other);
	cudaFreeHost(locked);
	free(pageable);
}

static void launches(void)
{
	void *args[3], *out;
	float *data, value = 1;
	int count = 1000;
	cudaLaunchConfig_t config = {};

	cudaMalloc(&data, 4096);
	cudaMalloc(&out, 4096);
	step("first launch");
	long long began = now_ns();
	nothing<<<1, 1>>>();
	put("launch nothing", began, cudaGetLastError(), 0, 0);
	CALL(cudaDeviceSynchronize(), 0, 0);
	used("first launch", 1);
	step("launches");
	args[0] = &data, args[1] = &value, args[2] = &count;
	CALL(cudaLaunchKernel((void *)add, dim3(10), dim3(128), args, 0, 0), 0, 0);
	CALL(cudaLaunchCooperativeKernel((void *)add, dim3(10), dim3(128), args, 0, 0), 0, 0);
	config.gridDim = dim3(10);
	config.blockDim = dim3(128);
	CALL(cudaLaunchKernelExC(&config, (void *)add, args), 0, 0);
	CALL(cudaLaunchHostFunc(0, [](void *) {}, NULL), 0, 0);
	CALL(cudaDeviceSynchronize(), 0, 0);
	used("launches", 1);
	step("local memory");
	deep<<<1000, 256>>>((int *)out, 7);
	CALL(cudaDeviceSynchronize(), 0, 0);
	used("local memory", 1);
	step("printf");
	says<<<1, 1>>>(7);
	CALL(cudaDeviceSynchronize(), 0, 0);
	used("printf", 1);
	step("malloc on the device");
	takes<<<1, 1>>>((void **)out);
	CALL(cudaDeviceSynchronize(), 0, 0);
	used("malloc on the device", 1);
	step("limits");
	CALL(cudaDeviceSetLimit(cudaLimitStackSize, 32768), 0, 32768);
	used("stack limit 32 KiB", 1);
	CALL(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256 * MIB), 0, 256 * MIB);
	used("heap limit 256 MiB", 1);
	CALL(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 64 * MIB), 0, 64 * MIB);
	used("printf limit 64 MiB", 1);
	cudaFree(data);
	cudaFree(out);
}

static void objects(void)
{
	cudaStream_t streams[32];
	cudaEvent_t events[1000];

	step("32 streams");
	for (int i = 0; i < 32; i++)
		CALL(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), streams[i], 0);
	used("32 streams", 1);
	step("work on 32 streams");
	for (int i = 0; i < 32; i++)
		nothing<<<1, 1, 0, streams[i]>>>();
	cudaDeviceSynchronize();
	used("work on 32 streams", 1);
	for (int i = 0; i < 32; i++)
		CALL(cudaStreamDestroy(streams[i]), streams[i], 0);
	used("32 streams destroyed", 1);
	step("1000 events");
	for (int i = 0; i < 1000; i++)
		cudaEventCreate(&events[i]);
	used("1000 events", 1);
	for (int i = 0; i < 1000; i++)
		cudaEventDestroy(events[i]);
	used("1000 events destroyed", 1);
}

static void graphs(void)
{
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;
	void *ptr;

	cudaStreamCreate(&stream);
	step("graph with memory");
	CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), stream, 0);
	CALL(cudaMallocAsync(&ptr, 100 * MIB, stream), ptr, 100 * MIB);
	nothing<<<1, 1, 0, stream>>>();
	CALL(cudaFreeAsync(ptr, stream), ptr, 0);
	CALL(cudaStreamEndCapture(stream, &graph), graph, 0);
	used("graph with memory, captured", 1);
	CALL(cudaGraphInstantiate(&exec, graph, 0), exec, 0);
	used("graph with memory, instantiated", 1);
	CALL(cudaGraphLaunch(exec, stream), exec, 0);
	CALL(cudaStreamSynchronize(stream), stream, 0);
	used("graph with memory, launched", 1);
	CALL(cudaGraphExecDestroy(exec), exec, 0);
	CALL(cudaGraphDestroy(graph), graph, 0);
	used("graph with memory, destroyed", 1);
	CALL(cudaDeviceGraphMemTrim(0), 0, 0);
	used("graph with memory, trimmed", 1);
	cudaStreamDestroy(stream);
}

/* By functions of the driver, as the runtime hands them out. */
static void virtual_memory(void)
{
	CUmemAllocationProp prop = {};
	CUmemGenericAllocationHandle handle;
	CUmemAccessDesc access = {};
	CUdeviceptr ptr;
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	decltype(&cuMemCreate) create;
	decltype(&cuMemAddressReserve) reserve;
	decltype(&cuMemMap) map;
	decltype(&cuMemSetAccess) set_access;
	decltype(&cuMemUnmap) unmap;
	decltype(&cuMemRelease) release;
	decltype(&cuMemAddressFree) address_free;

	*(void **)&create = dlsym(lib, "cuMemCreate");
	*(void **)&reserve = dlsym(lib, "cuMemAddressReserve");
	*(void **)&map = dlsym(lib, "cuMemMap");
	*(void **)&set_access = dlsym(lib, "cuMemSetAccess");
	*(void **)&unmap = dlsym(lib, "cuMemUnmap");
	*(void **)&release = dlsym(lib, "cuMemRelease");
	*(void **)&address_free = dlsym(lib, "cuMemAddressFree");
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	step("cuMemCreate 64 MiB");
	CALL(create(&handle, 64 * MIB, &prop, 0), handle, 64 * MIB);
	used("cuMemCreate 64 MiB", 1);
	step("mapped");
	CALL(reserve(&ptr, 1024 * MIB, 0, 0, 0), ptr, 1024 * MIB);
	CALL(map(ptr, 64 * MIB, 0, handle, 0), ptr, 64 * MIB);
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CALL(set_access(ptr, 64 * MIB, &access, 1), ptr, 64 * MIB);
	used("mapped", 1);
	step("released, mapped still");
	CALL(release(handle), handle, 0);
	used("released, mapped still", 1);
	step("unmapped");
	CALL(unmap(ptr, 64 * MIB), ptr, 64 * MIB);
	CALL(address_free(ptr, 1024 * MIB), ptr, 0);
	used("unmapped", 1);
}

static void out_of_memory(void)
{
	size_t free_bytes, total;
	void *ptr = NULL;

	step("out of memory");
	cudaMemGetInfo(&free_bytes, &total);
	CALL(cudaMalloc(&ptr, 1ull << 45), ptr, 1ull << 45);
	CALL(cudaMalloc(&ptr, free_bytes + 4096 * MIB), ptr, free_bytes + 4096 * MIB);
	CALL(cudaMalloc(&ptr, free_bytes - 4 * MIB), ptr, free_bytes - 4 * MIB);
	used("all but 4 MiB", 1);
	if (ptr)
		CALL(cudaFree(ptr), ptr, 0);
	CALL(cudaGetLastError(), 0, 0);
	used("out of memory, after", 1);
}

static void shared(void)
{
	cudaIpcMemHandle_t handle;
	void *ptr, *theirs;
	int ends[2], status;
	pid_t child;

	/* The child is forked before there is a context, and waits for the handle. */
	if (pipe(ends))
		return;
	child = fork();
	if (!child) {
		if (read(ends[0], &handle, sizeof(handle)) != sizeof(handle))
			_exit(1);
		used("child begins", 0);
		CALL(cudaIpcOpenMemHandle(&theirs, handle, cudaIpcMemLazyEnablePeerAccess), theirs,
		     0);
		used("child has opened", 1);
		CALL(cudaIpcCloseMemHandle(theirs), theirs, 0);
		used("child has closed", 1);
		fflush(lines);
		_exit(0);
	}
	step("first cudaMalloc, 32 MiB");
	used("nothing", 0);
	CALL(cudaMalloc(&ptr, 32 * MIB), ptr, 32 * MIB);
	used("first cudaMalloc, 32 MiB", 1);
	CALL(cudaIpcGetMemHandle(&handle, ptr), ptr, 0);
	if (write(ends[1], &handle, sizeof(handle)) != sizeof(handle))
		return;
	waitpid(child, &status, 0);
	used("child has ended", 1);
	CALL(cudaFree(ptr), ptr, 0);
	used("shared block freed", 1);
}

static void contexts(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	decltype(&cuCtxDestroy_v2) destroy;
	CUresult (*create)(CUcontext *, unsigned int, CUdevice);
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUdeviceptr ptr;
	CUcontext context;

	*(void **)&create = dlsym(lib, "cuCtxCreate_v2");
	*(void **)&destroy = dlsym(lib, "cuCtxDestroy_v2");
	*(void **)&alloc = dlsym(lib, "cuMemAlloc_v2");
	step("second context");
	CALL(create(&context, 0, 0), context, 0);
	used("second context", 1);
	CALL(alloc(&ptr, 50 * MIB), ptr, 50 * MIB);
	used("second context, 50 MiB", 1);
	CALL(destroy(context), context, 0);
	used("second context destroyed", 0);
	step("reset");
	CALL(cudaDeviceReset(), 0, 0);
	used("reset", 0);
	CALL(cudaFree(0), 0, 0);
	used("again", 1);
}

int main(int argc, char **argv)
{
	lines = fopen(argc > 1 ? argv[1] : "/dev/stdout", "ae");
	if (!lines)
		return 1;
	*(void **)&mark_fn = dlsym(RTLD_DEFAULT, "nvlog_mark");
	open_nvml();
	if (argc > 2)
		sleep(atoi(argv[2]));
	shared();
	of_sizes();
	host_memory();
	managed();
	pools();
	arrays();
	copies();
	launches();
	objects();
	graphs();
	virtual_memory();
	out_of_memory();
	contexts();
	step("end");
	fclose(lines);
	return 0;
}
