/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the driver at the first call that needs it and asks it for its functions, as the real
 * runtime does: dlopen, cuGetProcAddress, cuInit. Also the state of each thread.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "runtime.h"

struct driver runtime_legacy;
struct driver runtime_per_thread;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t load_error;
static api_thread_fn driver_thread;
static int device_count;

static __thread struct runtime_thread thread;

bool api_owns(const char *name)
{
	return !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
}

struct runtime_thread *runtime_thread(void)
{
	return &thread;
}

const char *runtime_set_via(const char *name)
{
	const char *outer = thread.via;

	thread.via = name;
	if (thread.driver)
		thread.driver->via = name;
	return outer;
}

struct oracle_line *runtime_leave(const struct api *api, uint64_t start_ns, const char *outer,
				  int result)
{
	runtime_set_via(outer);
	return oracle_begin(api->name, start_ns, NULL, result);
}

static void attach_thread(void)
{
	thread.driver = driver_thread();
	thread.driver->via = thread.via;
}

typedef __typeof__(&cuGetProcAddress_v2) get_proc_fn;

/* NULL: the driver has no such function. */
static void *get(get_proc_fn get_proc, const char *name, int version, uint64_t flags)
{
	void *address = NULL;

	if (get_proc(name, &address, version, flags, NULL) != CUDA_SUCCESS)
		return NULL;
	return address;
}

static bool resolve(get_proc_fn get_proc, struct driver *driver, uint64_t flags)
{
	bool complete = true;

#define CALL(base, version, name) \
	driver->base = (__typeof__(driver->base))get(get_proc, #base, version, flags); \
	complete = complete && driver->base;
#include "calls.def"
	return complete;
}

/* Anything but our own simulated driver counts as no driver. */
static bool find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	get_proc_fn get_proc;

	if (!library)
		return false;
	get_proc = (get_proc_fn)dlsym(library, "cuGetProcAddress_v2");
	if (!get_proc)
		return false;
	driver_thread = (api_thread_fn)get(get_proc, "simcuda_thread", CUDART_VERSION, 0);
	if (!driver_thread)
		return false;
	attach_thread();
	return resolve(get_proc, &runtime_legacy, CU_GET_PROC_ADDRESS_LEGACY_STREAM) &&
	       resolve(get_proc, &runtime_per_thread,
		       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
}

static cudaError_t initialize(void)
{
	const struct driver *cu = &runtime_legacy;
	CUresult result;
	int version;

	if (!find_driver())
		return cudaErrorInsufficientDriver;
	result = cu->cuInit(0);
	if (result == CUDA_SUCCESS)
		result = cu->cuDriverGetVersion(&version);
	if (result == CUDA_SUCCESS && version < CUDART_VERSION)
		return cudaErrorInsufficientDriver;
	if (result == CUDA_SUCCESS)
		result = cu->cuDeviceGetCount(&device_count);
	return runtime_error(result);
}

static void load(void)
{
	load_error = initialize();
}

cudaError_t runtime_need_DRIVER(void)
{
	pthread_once(&once, load);
	if (driver_thread && !thread.driver)
		attach_thread();
	return load_error;
}

int runtime_device_count(void)
{
	return device_count;
}
