/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices, and the primary contexts that the runtime retains and makes current on its own: at the
 * first call of a thread that needs one, and in cudaSetDevice.
 */
#include <pthread.h>
#include <string.h>

#include "runtime.h"

#define DEVICE_MAX 64

static struct {
	CUcontext primary;
	bool retained; /* by us; at most once */
} devices[DEVICE_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool device_valid(int device)
{
	return device >= 0 && device < runtime_device_count();
}

static CUcontext primary_of(int device)
{
	return __atomic_load_n(&devices[device].primary, __ATOMIC_ACQUIRE);
}

static CUresult retain(int device)
{
	const struct driver *cu = &runtime_legacy;
	CUresult result = CUDA_SUCCESS;
	CUcontext primary;
	CUdevice handle;

	pthread_mutex_lock(&lock);
	if (!devices[device].retained) {
		result = cu->cuDeviceGet(&handle, device);
		if (result == CUDA_SUCCESS)
			result = cu->cuDevicePrimaryCtxRetain(&primary, handle);
		if (result == CUDA_SUCCESS) {
			__atomic_store_n(&devices[device].primary, primary, __ATOMIC_RELEASE);
			__atomic_store_n(&devices[device].retained, true, __ATOMIC_RELEASE);
		}
	}
	pthread_mutex_unlock(&lock);
	return result;
}

CUcontext runtime_primary(int device)
{
	if (!device_valid(device) || retain(device) != CUDA_SUCCESS)
		return NULL;
	return primary_of(device);
}

static cudaError_t bind(int device)
{
	CUresult result = retain(device);

	if (result == CUDA_SUCCESS)
		result = runtime_legacy.cuCtxSetCurrent(primary_of(device));
	return runtime_error(result);
}

/* A context that the program itself made current stays so. */
cudaError_t runtime_need_CONTEXT(void)
{
	cudaError_t error = runtime_need_DRIVER();
	struct runtime_thread *thread = runtime_thread();
	uint64_t current;

	if (error != cudaSuccess)
		return error;
	current = thread->driver->context;
	if (current && __atomic_load_n(&devices[thread->device].retained, __ATOMIC_ACQUIRE))
		return cudaSuccess;
	if (current && current != (uintptr_t)primary_of(thread->device))
		return cudaSuccess;
	return bind(thread->device);
}

RT_DEFINE(DRIVER, cudaGetDeviceCount, (int *count), (count), OUT_DEC(value, count))
{
	if (!count)
		return cudaErrorInvalidValue;
	*count = runtime_device_count();
	return cudaSuccess;
}

RT_DEFINE(DRIVER, cudaSetDevice, (int device), (device), DEC(ordinal, device))
{
	if (!device_valid(device))
		return cudaErrorInvalidDevice;
	runtime_thread()->device = device;
	return bind(device);
}

RT_DEFINE(DRIVER, cudaGetDevice, (int *device), (device), OUT_DEC(ordinal, device))
{
	if (!device)
		return cudaErrorInvalidValue;
	*device = runtime_thread()->device;
	return cudaSuccess;
}

RT_DEFINE(DRIVER, cudaInitDevice, (int device, unsigned int device_flags, unsigned int flags),
	  (device, device_flags, flags), DEC(ordinal, device), DEC(flags, device_flags))
{
	enum { DEVICE_FLAGS_ARE_VALID = 1 };
	CUresult result = CUDA_SUCCESS;

	if (!device_valid(device))
		return cudaErrorInvalidDevice;
	if (flags & DEVICE_FLAGS_ARE_VALID)
		result = cu->cuDevicePrimaryCtxSetFlags(device, device_flags);
	if (result == CUDA_SUCCESS)
		result = retain(device);
	return runtime_error(result);
}

RT_DEFINE(DRIVER, cudaSetDeviceFlags, (unsigned int flags), (flags), DEC(flags, flags))
{
	return runtime_error(cu->cuDevicePrimaryCtxSetFlags(runtime_thread()->device, flags));
}

RT_DEFINE(DRIVER, cudaGetDeviceFlags, (unsigned int *flags), (flags), OUT_DEC(flags, flags))
{
	int active;

	return runtime_error(
		cu->cuDevicePrimaryCtxGetState(runtime_thread()->device, flags, &active));
}

/* The next call retains the context again, which makes it usable again in every thread. */
RT_DEFINE_VOID(DRIVER, cudaDeviceReset)
{
	int device = runtime_thread()->device;
	CUresult result;

	pthread_mutex_lock(&lock);
	result = cu->cuDevicePrimaryCtxReset(device);
	if (result == CUDA_SUCCESS && devices[device].retained) {
		__atomic_store_n(&devices[device].retained, false, __ATOMIC_RELEASE);
		result = cu->cuDevicePrimaryCtxRelease(device);
	}
	pthread_mutex_unlock(&lock);
	return runtime_error(result);
}

RT_DEFINE_VOID(CONTEXT, cudaDeviceSynchronize)
{
	return runtime_error(cu->cuCtxSynchronize());
}

RT_DEFINE(DRIVER, cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
	  (value, attribute, device), DEC(attribute, attribute), DEC(ordinal, device),
	  OUT_DEC(value, value))
{
	return runtime_error(
		cu->cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device));
}

RT_DEFINE(DRIVER, cudaDeviceGetPCIBusId, (char *id, int length, int device), (id, length, device),
	  DEC(ordinal, device))
{
	return runtime_error(cu->cuDeviceGetPCIBusId(id, length, device));
}

RT_DEFINE(DRIVER, cudaDeviceGetByPCIBusId, (int *device, const char *id), (device, id),
	  STR(name, id), OUT_DEC(ordinal, device))
{
	return runtime_error(cu->cuDeviceGetByPCIBusId(device, id));
}

RT_DEFINE(DRIVER, cudaDeviceCanAccessPeer, (int *can, int device, int peer), (can, device, peer),
	  DEC(ordinal, device), DEC(peer, peer), OUT_DEC(value, can))
{
	return runtime_error(cu->cuDeviceCanAccessPeer(can, device, peer));
}

RT_DEFINE(CONTEXT, cudaDeviceEnablePeerAccess, (int peer, unsigned int flags), (peer, flags),
	  DEC(peer, peer), DEC(flags, flags))
{
	CUcontext context = runtime_primary(peer);

	if (!context)
		return cudaErrorInvalidDevice;
	return runtime_error(cu->cuCtxEnablePeerAccess(context, flags));
}

RT_DEFINE(CONTEXT, cudaDeviceDisablePeerAccess, (int peer), (peer), DEC(peer, peer))
{
	CUcontext context = runtime_primary(peer);

	if (!context)
		return cudaErrorInvalidDevice;
	return runtime_error(cu->cuCtxDisablePeerAccess(context));
}

RT_DEFINE(CONTEXT, cudaDeviceSetLimit, (enum cudaLimit limit, size_t value), (limit, value),
	  DEC(attribute, limit), DEC(value, value))
{
	return runtime_error(cu->cuCtxSetLimit((CUlimit)limit, value));
}

RT_DEFINE(CONTEXT, cudaDeviceGetLimit, (size_t *value, enum cudaLimit limit), (value, limit),
	  DEC(attribute, limit), OUT_DEC(value, value))
{
	return runtime_error(cu->cuCtxGetLimit(value, (CUlimit)limit));
}

RT_DEFINE(CONTEXT, cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
	  (least, greatest), OUT_DEC(least, least), OUT_DEC(greatest, greatest))
{
	return runtime_error(cu->cuCtxGetStreamPriorityRange(least, greatest));
}

/* The fields of cudaDeviceProp that are attributes, with the attribute's number. */
static const struct {
	size_t offset;
	int attribute;
	bool is_size; /* a size_t, not an int */
} fields[] = {
#define INT(field, attribute) { offsetof(struct cudaDeviceProp, field), attribute, false },
#define SIZE(field, attribute) { offsetof(struct cudaDeviceProp, field), attribute, true },
#include "properties.def"
};

static CUresult get_fields(const struct driver *cu, struct cudaDeviceProp *p, int device)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		char *field = (char *)p + fields[i].offset;
		CUresult result;
		int value;

		result = cu->cuDeviceGetAttribute(&value, fields[i].attribute, device);
		if (result != CUDA_SUCCESS)
			return result;
		if (fields[i].is_size)
			*(size_t *)field = (size_t)value;
		else
			*(int *)field = value;
	}
	return CUDA_SUCCESS;
}

RT_DEFINE(DRIVER, cudaGetDeviceProperties, (struct cudaDeviceProp *p, int device), (p, device),
	  DEC(ordinal, device))
{
	CUresult result;
	CUuuid uuid;

	if (!p)
		return cudaErrorInvalidValue;
	memset(p, 0, sizeof(*p));
	result = cu->cuDeviceGetName(p->name, sizeof(p->name), device);
	if (result == CUDA_SUCCESS)
		result = cu->cuDeviceTotalMem(&p->totalGlobalMem, device);
	if (result == CUDA_SUCCESS)
		result = cu->cuDeviceGetUuid(&uuid, device);
	if (result == CUDA_SUCCESS)
		result = get_fields(cu, p, device);
	if (result == CUDA_SUCCESS)
		memcpy(p->uuid.bytes, uuid.bytes, sizeof(p->uuid.bytes));
	return runtime_error(result);
}

RT_DEFINE(CONTEXT, cudaMemGetInfo, (size_t *free_bytes, size_t *total_bytes),
	  (free_bytes, total_bytes), OUT_DEC(free, free_bytes), OUT_DEC(total, total_bytes))
{
	return runtime_error(cu->cuMemGetInfo(free_bytes, total_bytes));
}
