/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver as a whole: initialisation, version, error names.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/errors.h"
#include "driver.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool ready;
static bool forked; /* from a process that used CUDA: as on the real driver, no good any more */

bool api_owns(const char *name)
{
	return strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6);
}

bool driver_ready(void)
{
	return __atomic_load_n(&ready, __ATOMIC_ACQUIRE);
}

struct oracle_line *driver_line(const struct api *api, uint64_t start_ns, CUresult result)
{
	return oracle_begin(api->name, start_ns, driver_thread()->via, (int)result);
}

static void after_fork_child(void)
{
	if (!ready)
		return;
	ready = false;
	forked = true;
}

/* True for the caller that did it. */
static bool initialize(void)
{
	bool first;

	pthread_mutex_lock(&lock);
	first = !ready && !forked;
	if (first) {
		device_setup();
		space_setup();
		mapping_setup();
		pthread_atfork(NULL, NULL, after_fork_child);
		__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return first;
}

/* How tools get into a process on the real driver. What they load may call cuInit again. */
static void inject(const char *path)
{
	int (*initialize_injection)(void);
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	if (!library) {
		fprintf(stderr, "simcuda: CUDA_INJECTION64_PATH: %s\n", dlerror());
		return;
	}
	initialize_injection = (int (*)(void))dlsym(library, "InitializeInjection");
	if (initialize_injection)
		initialize_injection();
	else
		fprintf(stderr, "simcuda: CUDA_INJECTION64_PATH: %s\n", dlerror());
}

CU_DEFINE(NOTHING, cuInit, (unsigned int flags), (flags), DEC(flags, flags))
{
	const char *injection = getenv("CUDA_INJECTION64_PATH");

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (initialize() && injection)
		inject(injection);
	if (!driver_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	return device_count() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CU_DEFINE(NOTHING, cuDriverGetVersion, (int *version), (version), OUT_DEC(value, version))
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = CUDA_VERSION;
	return CUDA_SUCCESS;
}

CU_DEFINE(NOTHING, cuGetErrorName, (CUresult error, const char **name), (error, name),
	  DEC(value, error), OUT_STR(name, name))
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = errors_driver_name((int)error);
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CU_DEFINE(NOTHING, cuGetErrorString, (CUresult error, const char **text), (error, text),
	  DEC(value, error))
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = errors_driver_text((int)error);
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
