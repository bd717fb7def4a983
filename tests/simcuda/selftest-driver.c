/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulated driver: devices, contexts, streams, and what all functions have.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "selftest-driver.h"

static void test_init(void)
{
	size_t free_bytes, total_bytes;
	CUdeviceptr ptr;
	int version, count;
	CUdevice device;

	OK(cuDriverGetVersion(&version));
	CHECK(version == 13050);
	FAILS(NOT_INITIALIZED, cuDeviceGetCount(&count));
	FAILS(NOT_INITIALIZED, cuMemAlloc_v2(&ptr, 1));
	FAILS(INVALID_VALUE, cuInit(1));
	OK(cuInit(0));
	OK(cuInit(0));
	FAILS(INVALID_CONTEXT, cuMemAlloc_v2(&ptr, 1));
	OK(cuDeviceGetCount(&count));
	CHECK(count == 3);
	FAILS(INVALID_DEVICE, cuDeviceGet(&device, 3));
	OK(cuDeviceTotalMem_v2(&total_bytes, 2));
	CHECK(total_bytes == 96 * MIB);
	start();
	OK(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	CHECK(free_bytes == total_bytes && total_bytes == 96 * MIB);
}

static void test_no_device(void)
{
	FAILS(NO_DEVICE, cuInit(0));
}

static void test_device(void)
{
	char id[32], name[2][64];
	CUuuid uuid[2];
	CUdevice device;
	int value;

	OK(cuInit(0));
	for (int i = 0; i < 2; i++) {
		OK(cuDeviceGetName(name[i], sizeof(name[i]), i));
		OK(cuDeviceGetUuid(&uuid[i], i));
		OK(cuDeviceGetPCIBusId(id, sizeof(id), i));
		OK(cuDeviceGetByPCIBusId(&device, id));
		CHECK(device == i);
	}
	CHECK(strcmp(name[0], name[1]) && memcmp(&uuid[0], &uuid[1], sizeof(uuid[0])));
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1));
	CHECK(value == 32);
	FAILS(INVALID_VALUE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 1));
	OK(cuDeviceCanAccessPeer(&value, 0, 1));
	CHECK(value == 1);
}

/* The machine's third device, by its UUID, and then its first; what is behind -1 does not count. */
static void test_visible(void)
{
	char name[64], id[32];
	CUdevice device;
	CUuuid uuid;
	int count;

	OK(cuInit(0));
	OK(cuDeviceGetCount(&count));
	CHECK(count == 2);
	OK(cuDeviceGetUuid(&uuid, 0));
	CHECK(uuid.bytes[15] == 2);
	OK(cuDeviceGetName(name, sizeof(name), 0));
	CHECK(!strcmp(name, "Simulated GPU 2"));
	OK(cuDeviceGetPCIBusId(id, sizeof(id), 0));
	CHECK(!strcmp(id, "0000:03:00.0"));
	OK(cuDeviceGetByPCIBusId(&device, id));
	CHECK(device == 0);
	OK(cuDeviceGetUuid(&uuid, 1));
	CHECK(uuid.bytes[15] == 0);
	FAILS(INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0000:02:00.0"));
}

static void test_errors(void)
{
	const char *text;

	OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	CHECK(!strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY"));
	OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
	CHECK(!strcmp(text, "out of memory"));
	FAILS(INVALID_VALUE, cuGetErrorName((CUresult)35, &text)); /* the runtime's */
	CHECK(!text);
}

static void test_primary_context(void)
{
	CUcontext context, again;
	unsigned int flags;
	CUdeviceptr ptr;
	int active;

	OK(cuInit(0));
	FAILS(INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(flags == CU_CTX_SCHED_YIELD && !active);
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(context == again);
	OK(cuCtxSetCurrent(context));
	allocate(MIB);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	CHECK(used() == MIB);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	FAILS(CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&ptr, 1));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(context == again && used() == 0);
	allocate(MIB);
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(!active);
	OK(cuDevicePrimaryCtxRelease_v2(0)); /* a reset does not release */
	FAILS(INVALID_VALUE, cuCtxDestroy_v2(context));
}

static CUcontext doomed;
static pthread_barrier_t barrier;

static void use_doomed(unsigned int index)
{
	CUdeviceptr ptr;

	if (index) {
		OK(cuCtxSetCurrent(doomed));
		OK(cuMemAlloc_v2(&ptr, MIB));
	}
	pthread_barrier_wait(&barrier);
	if (!index)
		OK(cuCtxDestroy_v2(doomed));
	pthread_barrier_wait(&barrier);
	if (index)
		FAILS(CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&ptr, MIB));
}

static void test_contexts(void)
{
	CUcontext a, b, current, primary = start();
	CUstream stream;
	CUdevice device;
	CUdeviceptr kept;

	OK(cuCtxCreate_v2(&a, 0, 0));
	kept = allocate(MIB);
	OK(cuCtxCreate_v3(&b, NULL, 0, 0, 1));
	OK(cuCtxGetDevice(&device));
	CHECK(device == 1);
	allocate(2 * MIB);
	OK(cuStreamCreate(&stream, 0));
	CHECK(used() == 2 * MIB);
	OK(cuCtxDestroy_v2(b));
	OK(cuCtxGetCurrent(&current));
	CHECK(current == a && used() == MIB); /* only b's went */
	FAILS(INVALID_HANDLE, cuStreamQuery(stream));
	OK(cuCtxCreate_v4(&b, NULL, 0, 1));
	CHECK(used() == 0);
	OK(cuCtxPopCurrent_v2(&current));
	CHECK(current == b);
	OK(cuMemFree_v2(kept));
	OK(cuCtxPushCurrent_v2(b));
	OK(cuCtxSetCurrent(NULL));
	OK(cuCtxPopCurrent_v2(&current));
	CHECK(current == a);
	OK(cuCtxPopCurrent_v2(&current));
	CHECK(current == primary);
	FAILS(INVALID_CONTEXT, cuCtxPopCurrent_v2(&current));
	FAILS(INVALID_CONTEXT, cuCtxSetCurrent((CUcontext)&current));

	OK(cuCtxCreate(&doomed, 0, 0));
	OK(cuCtxPopCurrent(NULL));
	pthread_barrier_init(&barrier, NULL, 4);
	selftest_threads(4, use_doomed);
	OK(cuCtxSetCurrent(primary));
	CHECK(used() == 0);
}

static void set_flag(void *flag)
{
	*(int *)flag = 1;
}

static void stream_callback(CUstream stream, CUresult status, void *flag)
{
	CHECK(stream == CU_STREAM_LEGACY && status == CUDA_SUCCESS);
	set_flag(flag);
}

static void test_streams(void)
{
	CUevent start_event, end_event;
	CUcontext context = start(), of_stream;
	unsigned long long id;
	float milliseconds;
	CUstream stream;
	int flag = 0;

	OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -1));
	OK(cuStreamGetCtx(stream, &of_stream));
	OK(cuStreamGetId(stream, &id));
	CHECK(of_stream == context && id > 2);
	OK(cuLaunchHostFunc(stream, set_flag, &flag));
	CHECK(flag == 1);
	flag = 0;
	OK(cuStreamAddCallback(CU_STREAM_LEGACY, stream_callback, &flag, 0));
	CHECK(flag == 1);
	OK(cuEventCreate(&start_event, 0));
	OK(cuEventCreate(&end_event, 0));
	FAILS(INVALID_HANDLE, cuEventElapsedTime(&milliseconds, start_event, end_event));
	OK(cuEventRecord(start_event, stream));
	usleep(2000);
	OK(cuEventRecord_ptsz(end_event, stream));
	OK(cuStreamWaitEvent(stream, end_event, 0));
	OK(cuEventSynchronize(end_event));
	OK(cuEventElapsedTime_v2(&milliseconds, start_event, end_event));
	CHECK(milliseconds >= 2);
	OK(cuEventDestroy_v2(start_event));
	FAILS(INVALID_HANDLE, cuEventQuery(start_event));
	FAILS(INVALID_VALUE, cuEventCreate(&start_event, CU_EVENT_INTERPROCESS));
	OK(cuStreamDestroy_v2(stream));
	FAILS(INVALID_HANDLE, cuStreamSynchronize(stream));
	FAILS(INVALID_HANDLE, cuStreamDestroy_v2(stream));
}

static void test_peers(void)
{
	CUcontext a = start(), b;
	CUdeviceptr here, there;
	char out[8];

	here = allocate(8);
	OK(cuCtxCreate_v2(&b, 0, 1));
	there = allocate(8);
	OK(cuCtxEnablePeerAccess(a, 0));
	FAILS(PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(a, 0));
	OK(cuMemcpyHtoD_v2(there, "a peer", 7));
	OK(cuMemcpyPeer(here, a, there, b, 8));
	OK(cuMemcpyDtoH_v2(out, here, 8));
	CHECK(!strcmp(out, "a peer"));
	OK(cuCtxDisablePeerAccess(a));
	FAILS(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(a));
}

static void test_faults(void)
{
	CUdeviceptr ptr;

	start();
	allocate(1);
	ptr = allocate(1);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&ptr, 1));
	allocate(1);
	CHECK(cuMemAlloc_v2(&ptr, 1) == (CUresult)999);
	allocate(1);
	CHECK(used() == 4 * 512); /* the failed ones had no effect */
	for (int i = 0; i < 3; i++)
		FAILS(INVALID_VALUE, cuMemcpyHtoD_v2(ptr, "", 1));
	OK(cuMemcpyHtoD_v2_ptds(ptr, "", 1)); /* another function */
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void test_delay(void)
{
	uint64_t before;

	start();
	before = now_ns();
	OK(cuStreamSynchronize(NULL));
	CHECK(now_ns() - before >= 20000000);
}

/* Nothing else: the tests with malformed values die before. */
static void test_nothing(void)
{
}

static void *exported(const char *name)
{
	void *address = dlsym(RTLD_DEFAULT, name);

	CHECK(address);
	return address;
}

static void expect_proc(const char *base, int version, uint64_t flags, const char *name)
{
	CUdriverProcAddressQueryResult status;
	void *address;

	OK(cuGetProcAddress_v2(base, &address, version, flags, &status));
	CHECK(status == CU_GET_PROC_ADDRESS_SUCCESS && address == exported(name));
}

static void test_proc_address(void)
{
	enum { PER_THREAD = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM };
	CUdriverProcAddressQueryResult status;
	void *address;

	expect_proc("cuMemAlloc", 2000, 0, "cuMemAlloc");
	expect_proc("cuMemAlloc", 3020, 0, "cuMemAlloc_v2");
	expect_proc("cuMemAlloc", 13000, PER_THREAD, "cuMemAlloc_v2");
	expect_proc("cuMemcpyHtoD", 7000, 0, "cuMemcpyHtoD_v2");
	expect_proc("cuMemcpyHtoD", 7000, PER_THREAD, "cuMemcpyHtoD_v2_ptds");
	expect_proc("cuMemcpyAsync", 12000, PER_THREAD, "cuMemcpyAsync_ptsz");
	expect_proc("cuMemAllocAsync", 11020, PER_THREAD, "cuMemAllocAsync_ptsz");
	expect_proc("cuStreamGetCaptureInfo", 11030, PER_THREAD, "cuStreamGetCaptureInfo_v2_ptsz");
	expect_proc("cuCtxCreate", 12040, 0, "cuCtxCreate_v3");
	expect_proc("cuCtxCreate", 12050, 0, "cuCtxCreate_v4");
	expect_proc("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
	expect_proc("cuGLGetDevices", 6050, 0, "cuGLGetDevices_v2");
	OK(cuGetProcAddress_v2("cuNothing", &address, 13000, 0, &status));
	CHECK(!address && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	OK(cuGetProcAddress_v2("cuMemAllocAsync", &address, 11010, 0, &status));
	CHECK(!address && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	FAILS(INVALID_VALUE, cuGetProcAddress_v2("cuInit", &address, 13060, 0, &status));
	FAILS(NOT_FOUND, cuGetProcAddress("cuNothing", &address, 13000, 0));
}

static void test_not_supported(void)
{
	CUresult (*launch)(void *, void *) = exported("cuGreenCtxStreamCreate");

	FAILS(NOT_SUPPORTED, launch(NULL, NULL));
}

static void log_not_supported(const char *lines)
{
	CHECK(selftest_count(lines, " cuGreenCtxStreamCreate result=801 ") == 1);
}

static void test_injection(void)
{
	OK(cuInit(0));
	CHECK(getenv("SELFTEST_INJECTED"));
}

static void test_fork(void)
{
	CUdeviceptr ptr;
	int status;

	start();
	allocate(100);
	if (!fork()) {
		FAILS(NOT_INITIALIZED, cuMemAlloc_v2(&ptr, 1));
		FAILS(NOT_INITIALIZED, cuInit(0));
		exit(0);
	}
	wait(&status);
	CHECK(!status);
	allocate(200);
}

static void log_fork(const char *lines)
{
	/* The parent's calls before the fork once, although the child had them buffered as well. */
	CHECK(selftest_count(lines, " cuMemAlloc_v2 ") == 3);
	CHECK(selftest_count(lines, " cuMemAlloc_v2 result=0 addr=0x[0-9a-f]+ size=100 ") == 1);
	CHECK(selftest_count(lines, " cuInit result=0 ") == 1);
	CHECK(selftest_count(lines, " cuInit result=3 ") == 1);
}

static void test_log(void)
{
	CUfunction function;
	CUdeviceptr ptr;
	CUmodule module;
	size_t pitch;

	start();
	ptr = allocate(1000);
	OK(cuMemcpyHtoDAsync_v2(ptr, "abc", 3, CU_STREAM_PER_THREAD));
	OK(cuMemcpy(ptr, ptr + 500, 10));
	OK(cuMemFree_v2(ptr));
	FAILS(INVALID_VALUE, cuMemFree_v2(ptr));
	OK(cuMemAllocPitch_v2(&ptr, &pitch, 1000, 3, 4));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&function, module, "scale"));
	OK(cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL));
	OK(cuModuleUnload(module));
	FAILS(OUT_OF_MEMORY, cuMemAllocManaged(&ptr, MIB, 1));
}

#define START "^[0-9]+ [0-9]+ [0-9]+ [0-9]+ "
#define WHERE " context=0x[0-9a-f]+ device=0$"
#define ADDR "0x[0-9a-f]+"

static void log_log(const char *lines)
{
	static const char *const expected[] = {
		"cuInit result=0 flags=0 context=0x0$",
		"cuMemAlloc_v2 result=0 addr=" ADDR " size=1000" WHERE,
		("cuMemcpyHtoDAsync_v2 result=0 dst=" ADDR " src=" ADDR
		 " size=3 direction=HtoD stream=0x2" WHERE),
		"cuMemcpy result=0 dst=" ADDR " src=" ADDR " size=10 direction=DtoD" WHERE,
		"cuMemFree_v2 result=0 addr=" ADDR WHERE,
		"cuMemFree_v2 result=1 addr=" ADDR WHERE,
		("cuMemAllocPitch_v2 result=0 addr=" ADDR
		 " pitch=1024 size=3072 width=1000 height=3" WHERE),
		"cuModuleGetFunction result=0 handle=" ADDR " module=" ADDR " name=scale" WHERE,
		("cuLaunchKernel result=0 handle=" ADDR
		 " kernel=scale grid=1,2,3 block=4,5,6 shared=7 stream=0x0" WHERE),
		"cuMemAllocManaged result=2 size=1048576 flags=1" WHERE,
	};
	char regex[512];

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		snprintf(regex, sizeof(regex), START "%s", expected[i]);
		CHECK(selftest_count(lines, regex) == 1);
	}
	CHECK(selftest_count(lines, START) == selftest_count(lines, "^"));
	CHECK(selftest_count(lines, START) == 14);
}

static CUcontext shared_context;

static void log_a_lot(unsigned int index)
{
	CUdeviceptr ptr;

	OK(cuCtxSetCurrent(shared_context));
	for (unsigned int i = 0; i < 5000; i++) {
		OK(cuMemAlloc_v2(&ptr, 1 + index));
		OK(cuMemFree_v2(ptr));
	}
}

static void test_log_threads(void)
{
	shared_context = start();
	selftest_threads(8, log_a_lot);
}

static void log_log_threads(const char *lines)
{
	CHECK(selftest_count(lines, START "cuMemAlloc_v2 result=0 addr=" ADDR
					  " size=[1-8]" WHERE) == 40000);
	CHECK(selftest_count(lines, START "cuMemFree_v2 result=0 addr=" ADDR WHERE) == 40000);
	CHECK(selftest_count(lines, "^") == 80000 + 8 + 3);
}

const struct selftest selftests[] = {
	{ "init", test_init, { "SIMCUDA_DEVICES=3", "SIMCUDA_MEMORY=96M" }, NULL, 0 },
	{ "no-device", test_no_device, { "SIMCUDA_DEVICES=0" }, NULL, 0 },
	{ "device", test_device, { "SIMCUDA_DEVICES=2" }, NULL, 0 },
	{ "visible",
	  test_visible,
	  { "SIMCUDA_DEVICES=3",
	    "CUDA_VISIBLE_DEVICES=GPU-73696d75-6c61-7465-6420-475055200002,0,-1,1" },
	  NULL,
	  0 },
	{ "none-visible", test_no_device, { "CUDA_VISIBLE_DEVICES=" }, NULL, 0 },
	{ "no-such-visible", test_no_device, { "CUDA_VISIBLE_DEVICES=1,0" }, NULL, 0 },
	{ "none-by-number", test_no_device, { "CUDA_VISIBLE_DEVICES=-1" }, NULL, 0 },
	{ "ambiguous-uuid",
	  test_no_device,
	  { "SIMCUDA_DEVICES=2", "CUDA_VISIBLE_DEVICES=GPU-73" },
	  NULL,
	  0 },
	{ "visible-twice",
	  test_no_device,
	  { "SIMCUDA_DEVICES=2", "CUDA_VISIBLE_DEVICES=1,1" },
	  NULL,
	  0 },
	{ "errors", test_errors, { NULL }, NULL, 0 },
	{ "primary-context", test_primary_context, { NULL }, NULL, 0 },
	{ "contexts", test_contexts, { "SIMCUDA_DEVICES=2" }, NULL, 0 },
	{ "streams", test_streams, { NULL }, NULL, 0 },
	{ "peers", test_peers, { "SIMCUDA_DEVICES=2" }, NULL, 0 },
	{ "faults",
	  test_faults,
	  { "SIMCUDA_FAIL=cuMemAlloc_v2:3=2,cuMemcpyHtoD_v2:*=1,cuMemAlloc_v2:5=999,cudaFree:*=1" },
	  NULL,
	  0 },
	{ "delay", test_delay, { "SIMCUDA_DELAY=cuStreamSynchronize=20ms,cudaFree=1s" }, NULL, 0 },
	{ "proc-address", test_proc_address, { NULL }, NULL, 0 },
	{ "not-supported", test_not_supported, { NULL }, log_not_supported, 0 },
	{ "injection",
	  test_injection,
	  { "CUDA_INJECTION64_PATH=libselftest-injection.so" },
	  NULL,
	  0 },
	{ "fork", test_fork, { NULL }, log_fork, 0 },
	{ "log", test_log, { "SIMCUDA_FAIL=cuMemAllocManaged:1=2" }, log_log, 0 },
	{ "log-threads", test_log_threads, { NULL }, log_log_threads, 0 },
	{ "bad-log", test_nothing, { "SIMCUDA_LOG=/nonexistent/log" }, NULL, SIGABRT },
	{ "bad-memory", test_init, { "SIMCUDA_MEMORY=64X" }, NULL, SIGABRT },
	{ "bad-devices", test_init, { "SIMCUDA_DEVICES=one" }, NULL, SIGABRT },
	{ "bad-fail-name", test_nothing, { "SIMCUDA_FAIL=cuMemAlok:1=2" }, NULL, SIGABRT },
	{ "bad-fail-count", test_nothing, { "SIMCUDA_FAIL=cuMemAlloc_v2:0=2" }, NULL, SIGABRT },
	{ "bad-fail-result", test_nothing, { "SIMCUDA_FAIL=cuMemAlloc_v2:1" }, NULL, SIGABRT },
	{ "bad-delay-unit", test_nothing, { "SIMCUDA_DELAY=cuMemAlloc_v2=3h" }, NULL, SIGABRT },
	{ "bad-delay-list", test_nothing, { "SIMCUDA_DELAY=cuInit=1s,,cuInit=1s" }, NULL, SIGABRT },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
