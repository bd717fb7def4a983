/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What nvcc's generated constructors register: fat binaries, and in them kernels (by the address of
 * their host stub) and variables (by the address of their host shadow). A fat binary is loaded into
 * the driver, as a library, when something in it is first used.
 */
#include <pthread.h>
#include <stdlib.h>

#include "runtime.h"

#define BUCKETS 1024

struct fatbin {
	const void *data;
	CUlibrary library; /* NULL: not loaded yet */
};

struct entry {
	struct entry *next;        /* in by_host */
	struct entry *next_kernel; /* in by_kernel */
	struct fatbin *fatbin;
	const void *host;
	const char *name;
	CUkernel kernel; /* NULL: a variable, or not looked up yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *by_host[BUCKETS];
static struct entry *by_kernel[BUCKETS]; /* those that have been looked up */

static struct entry **bucket(struct entry **table, const void *key)
{
	return &table[((uintptr_t)key * 0x9e3779b97f4a7c15ull) >> 54];
}

static void lock_all(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&lock);
}

/* A forked child unregisters when it exits, whatever the parent's other threads were doing. */
__attribute__((constructor)) static void survive_fork(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_all);
}

/* Locked. */
static struct entry *find(const void *host)
{
	struct entry *entry = *bucket(by_host, host);

	while (entry && entry->host != host)
		entry = entry->next;
	return entry;
}

static void add(void **handle, const void *host, const char *name)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		abort();
	entry->fatbin = (struct fatbin *)handle;
	entry->host = host;
	entry->name = name;
	pthread_mutex_lock(&lock);
	entry->next = *bucket(by_host, host);
	*bucket(by_host, host) = entry;
	pthread_mutex_unlock(&lock);
}

/* Locked. */
static void forget_kernel(const struct entry *entry)
{
	struct entry **at = bucket(by_kernel, entry->kernel);

	while (*at && *at != entry)
		at = &(*at)->next_kernel;
	if (*at)
		*at = entry->next_kernel;
}

/* Locked. */
static void remove_all(const struct fatbin *fatbin)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct entry **at = &by_host[i];

		while (*at) {
			struct entry *entry = *at;

			if (entry->fatbin != fatbin) {
				at = &entry->next;
				continue;
			}
			*at = entry->next;
			forget_kernel(entry);
			free(entry);
		}
	}
}

/* Locked. */
static CUresult load(const struct driver *cu, struct fatbin *fatbin)
{
	if (fatbin->library)
		return CUDA_SUCCESS;
	return cu->cuLibraryLoadData(&fatbin->library, fatbin->data, NULL, NULL, 0, NULL, NULL, 0);
}

/* Locked. */
static CUresult load_kernel(const struct driver *cu, struct entry *entry)
{
	CUresult result = load(cu, entry->fatbin);

	if (result == CUDA_SUCCESS)
		result =
			cu->cuLibraryGetKernel(&entry->kernel, entry->fatbin->library, entry->name);
	if (result != CUDA_SUCCESS)
		return result;
	entry->next_kernel = *bucket(by_kernel, entry->kernel);
	*bucket(by_kernel, entry->kernel) = entry;
	return CUDA_SUCCESS;
}

cudaError_t runtime_kernel(const struct driver *cu, const void *stub, CUkernel *kernel)
{
	CUresult result = CUDA_SUCCESS;
	struct entry *entry;

	pthread_mutex_lock(&lock);
	entry = find(stub);
	if (entry && !entry->kernel)
		result = load_kernel(cu, entry);
	*kernel = entry ? entry->kernel : NULL;
	pthread_mutex_unlock(&lock);
	return entry ? runtime_error(result) : cudaErrorInvalidDeviceFunction;
}

const char *runtime_kernel_name(const void *stub)
{
	struct entry *entry;

	pthread_mutex_lock(&lock);
	entry = find(stub);
	pthread_mutex_unlock(&lock);
	return entry ? entry->name : NULL;
}

const char *runtime_kernel_handle_name(CUkernel kernel)
{
	struct entry *entry;

	pthread_mutex_lock(&lock);
	entry = *bucket(by_kernel, kernel);
	while (entry && entry->kernel != kernel)
		entry = entry->next_kernel;
	pthread_mutex_unlock(&lock);
	return entry ? entry->name : NULL;
}

cudaError_t runtime_variable(const struct driver *cu, const void *host, CUdeviceptr *ptr,
			     size_t *size)
{
	CUresult result = CUDA_SUCCESS;
	struct entry *entry;

	pthread_mutex_lock(&lock);
	entry = find(host);
	if (entry) {
		result = load(cu, entry->fatbin);
		if (result == CUDA_SUCCESS)
			result = cu->cuLibraryGetGlobal(ptr, size, entry->fatbin->library,
							entry->name);
	}
	pthread_mutex_unlock(&lock);
	return entry ? runtime_error(result) : cudaErrorInvalidSymbol;
}

API_EXPORT void **__cudaRegisterFatBinary(void *data)
{
	struct fatbin *fatbin = calloc(1, sizeof(*fatbin));

	RT_BEGIN(__cudaRegisterFatBinary);
	if (!fatbin)
		abort();
	fatbin->data = data;
	RT_LOG(HEX(handle, fatbin));
	return (void **)fatbin;
}

API_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
	RT_BEGIN(__cudaRegisterFatBinaryEnd);
	RT_LOG(HEX(handle, handle));
}

API_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
	struct fatbin *fatbin = (struct fatbin *)handle;

	RT_BEGIN(__cudaUnregisterFatBinary);
	pthread_mutex_lock(&lock);
	remove_all(fatbin);
	if (fatbin->library)
		runtime_legacy.cuLibraryUnload(fatbin->library);
	pthread_mutex_unlock(&lock);
	RT_LOG(HEX(handle, handle));
	free(fatbin);
}

API_EXPORT void __cudaRegisterFunction(void **handle, const char *stub, char *device_function,
				       const char *name, int thread_limit, uint3 *thread_id,
				       uint3 *block_id, dim3 *block_dim, dim3 *grid_dim,
				       int *warp_size)
{
	RT_BEGIN(__cudaRegisterFunction);
	(void)device_function, (void)thread_limit, (void)thread_id, (void)block_id;
	(void)block_dim, (void)grid_dim, (void)warp_size;
	add(handle, stub, name);
	RT_LOG(HEX(handle, handle), HEX(stub, stub), STR(name, name));
}

API_EXPORT void __cudaRegisterVar(void **handle, char *host_variable, char *device_address,
				  const char *name, int external, size_t size, int constant,
				  int global)
{
	RT_BEGIN(__cudaRegisterVar);
	(void)device_address, (void)external, (void)constant, (void)global;
	add(handle, host_variable, name);
	RT_LOG(HEX(handle, handle), HEX(value, host_variable), STR(name, name), DEC(size, size));
}

/* Nothing to do before the first use. */
API_EXPORT char __cudaInitModule(void **handle)
{
	RT_BEGIN(__cudaInitModule);
	RT_LOG(HEX(handle, handle));
	return 1;
}
