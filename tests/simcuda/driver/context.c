/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts: the primary one of each device, with its reference count, those that programs create,
 * and each thread's stack of current ones. Destroying or resetting a context frees what was
 * allocated in it (by graphs, too), except (as documented for the real driver) memory from pools.
 * Nor does physical memory belong to a context; resetting the primary one frees its device's.
 */
#include "graph.h"
#include "kernel.h"

#define STACK_MAX 64
#define PRIORITY_LEAST 0
#define PRIORITY_GREATEST (-5)

static struct slab contexts = SLAB(struct CUctx_st, 4096);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* primary contexts */
static unsigned long long last_id;

static __thread CUcontext stack[STACK_MAX];
static __thread unsigned int depth;
static __thread struct api_thread thread;

struct api_thread *driver_thread(void)
{
	return &thread;
}

CUcontext context_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

/* Keeps the runtime's and the oracle's view of this thread up to date. */
static void current_changed(void)
{
	CUcontext current = context_current();

	thread.context = (uintptr_t)current;
	if (current)
		thread.device = current->device->ordinal;
}

bool context_alive(CUcontext context)
{
	return slab_has(&contexts, context) && __atomic_load_n(&context->active, __ATOMIC_ACQUIRE);
}

CUresult driver_need_CONTEXT(void)
{
	CUcontext current = context_current();

	if (!driver_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!current)
		return CUDA_ERROR_INVALID_CONTEXT;
	return context_alive(current) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static CUresult push(CUcontext context)
{
	if (!slab_has(&contexts, context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth == STACK_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = context;
	current_changed();
	return CUDA_SUCCESS;
}

static CUcontext pop(void)
{
	CUcontext context = stack[--depth];

	current_changed();
	return context;
}

static CUcontext context_new(struct device *device, bool primary, unsigned int flags)
{
	struct CUctx_st context = {
		.device = device,
		.primary = primary,
		.active = !primary,
		.flags = flags,
		.id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED),
		.limit[CU_LIMIT_STACK_SIZE] = 1024,
		.limit[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
		.limit[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
	};

	return slab_new(&contexts, &context);
}

/*
 * What pools and graphs have allocated, and what cuMemCreate has made, stays, as with a real driver
 * (docs/real-hardware.md).
 */
static void clear(CUcontext context)
{
	kernel_context_ended(context->device->physical);
	__atomic_store_n(&context->active, false, __ATOMIC_RELEASE);
	capture_free_owned(context);
	stream_free_owned(context);
	event_free_owned(context);
	module_free_owned(context);
	array_free_owned(context);
	mapping_free_owned(context);
	external_free_owned(context);
	space_free_owned(context);
}

/* The primary context, made on first use; it stays the same object from then on. */
static CUcontext primary_of(struct device *device)
{
	if (!device->primary)
		device->primary = context_new(device, true, 0);
	return device->primary;
}

static void primary_clear(struct device *device)
{
	if (device->primary && device->primary->active)
		clear(device->primary);
}

CU_DEFINE(INIT, cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice ordinal),
	  (context, ordinal), DEC(ordinal, ordinal), OUT_HEX(handle, context))
{
	struct device *device = device_find(ordinal);

	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	*context = primary_of(device);
	if (*context) {
		if (!(*context)->active)
			kernel_context_made(device->physical);
		(*context)->references++;
		__atomic_store_n(&(*context)->active, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return *context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE_V2(INIT, cuDevicePrimaryCtxRelease, (CUdevice ordinal), (ordinal), DEC(ordinal, ordinal))
{
	struct device *device = device_find(ordinal);
	CUresult result = CUDA_ERROR_INVALID_CONTEXT;

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	if (device->primary && device->primary->references) {
		if (!--device->primary->references)
			primary_clear(device);
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

CU_DEFINE_V2(INIT, cuDevicePrimaryCtxReset, (CUdevice ordinal), (ordinal), DEC(ordinal, ordinal))
{
	if (!device_find(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	primary_clear(device_find(ordinal));
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CU_DEFINE_V2(INIT, cuDevicePrimaryCtxSetFlags, (CUdevice ordinal, unsigned int flags),
	     (ordinal, flags), DEC(ordinal, ordinal), DEC(flags, flags))
{
	struct device *device = device_find(ordinal);
	CUcontext primary;

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	primary = primary_of(device);
	if (primary)
		primary->flags = flags;
	pthread_mutex_unlock(&lock);
	return primary ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(INIT, cuDevicePrimaryCtxGetState, (CUdevice ordinal, unsigned int *flags, int *active),
	  (ordinal, flags, active), DEC(ordinal, ordinal), OUT_DEC(flags, flags),
	  OUT_DEC(value, active))
{
	struct device *device = device_find(ordinal);

	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	*flags = device->primary ? device->primary->flags : 0;
	*active = device->primary && device->primary->active;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult create(CUcontext *context, unsigned int flags, CUdevice ordinal)
{
	CUresult result;

	if (!context || flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*context = context_new(device_find(ordinal), false, flags);
	if (!*context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = push(*context);
	if (result != CUDA_SUCCESS)
		slab_delete(&contexts, *context);
	else
		kernel_context_made(device_find(ordinal)->physical);
	return result;
}

CU_DEFINE_V2(INIT, cuCtxCreate, (CUcontext *context, unsigned int flags, CUdevice ordinal),
	     (context, flags, ordinal), OUT_HEX(handle, context), DEC(flags, flags),
	     DEC(ordinal, ordinal))
{
	return create(context, flags, ordinal);
}

CU_DEFINE(INIT, cuCtxCreate_v3,
	  (CUcontext *context, CUexecAffinityParam *affinity, int count, unsigned int flags,
	   CUdevice ordinal),
	  (context, affinity, count, flags, ordinal), OUT_HEX(handle, context), DEC(flags, flags),
	  DEC(ordinal, ordinal))
{
	(void)affinity;
	if (count < 0)
		return CUDA_ERROR_INVALID_VALUE;
	return create(context, flags, ordinal);
}

CU_DEFINE(INIT, cuCtxCreate_v4,
	  (CUcontext *context, CUctxCreateParams *params, unsigned int flags, CUdevice ordinal),
	  (context, params, flags, ordinal), OUT_HEX(handle, context), DEC(flags, flags),
	  DEC(ordinal, ordinal))
{
	(void)params;
	return create(context, flags, ordinal);
}

CU_DEFINE_V2(INIT, cuCtxDestroy, (CUcontext context), (context), HEX(handle, context))
{
	if (!slab_has(&contexts, context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context->primary)
		return CUDA_ERROR_INVALID_VALUE;
	clear(context);
	slab_delete(&contexts, context);
	if (context_current() == context)
		pop();
	return CUDA_SUCCESS;
}

CU_DEFINE_V2(INIT, cuCtxPushCurrent, (CUcontext context), (context), HEX(handle, context))
{
	return push(context);
}

CU_DEFINE_V2(INIT, cuCtxPopCurrent, (CUcontext *context), (context), OUT_HEX(handle, context))
{
	CUcontext popped;

	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	popped = pop();
	if (context)
		*context = popped;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuCtxSetCurrent, (CUcontext context), (context), HEX(handle, context))
{
	if (context && !slab_has(&contexts, context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth)
		pop();
	return context ? push(context) : CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuCtxGetCurrent, (CUcontext *context), (context), OUT_HEX(handle, context))
{
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	*context = context_current();
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxGetDevice, (CUdevice *device), (device), OUT_DEC(ordinal, device))
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = context_current()->device->ordinal;
	return CUDA_SUCCESS;
}

/* For functions that take a context of which NULL means the current one. */
static CUcontext given_or_current(CUcontext context)
{
	if (!context)
		context = context_current();
	return context_alive(context) ? context : NULL;
}

CU_DEFINE(INIT, cuCtxGetDevice_v2, (CUdevice *device, CUcontext context), (device, context),
	  HEX(handle, context), OUT_DEC(ordinal, device))
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	context = given_or_current(context);
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = context->device->ordinal;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxGetFlags, (unsigned int *flags), (flags), OUT_DEC(flags, flags))
{
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = context_current()->flags;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxSetFlags, (unsigned int flags), (flags), DEC(flags, flags))
{
	if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	context_current()->flags = flags;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuCtxGetId, (CUcontext context, unsigned long long *id), (context, id),
	  HEX(handle, context), OUT_DEC(value, id))
{
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	context = given_or_current(context);
	if (!context)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*id = context->id;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuCtxGetApiVersion, (CUcontext context, unsigned int *version),
	  (context, version), HEX(handle, context), OUT_DEC(value, version))
{
	enum { API_VERSION = 3020 }; /* since when contexts have been what they are */

	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	if (!given_or_current(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = API_VERSION;
	return CUDA_SUCCESS;
}

static CUresult synchronize(CUcontext context)
{
	CUresult result = capture_refuse_unsafe();

	if (result == CUDA_SUCCESS)
		pool_synchronize(context->device);
	return result;
}

CU_DEFINE(CONTEXT, cuCtxSynchronize, (void), (), NO_NOTES)
{
	return synchronize(context_current());
}

CU_DEFINE(INIT, cuCtxSynchronize_v2, (CUcontext context), (context), HEX(handle, context))
{
	context = given_or_current(context);
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	return synchronize(context);
}

CU_DEFINE(CONTEXT, cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value),
	  DEC(attribute, limit), DEC(value, value))
{
	if ((unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	context_current()->limit[limit] = value;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxGetLimit, (size_t *value, CUlimit limit), (value, limit),
	  DEC(attribute, limit), OUT_DEC(value, value))
{
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*value = context_current()->limit[limit];
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxSetCacheConfig, (CUfunc_cache config), (config), DEC(value, config))
{
	context_current()->cache_config = config;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxGetCacheConfig, (CUfunc_cache *config), (config), OUT_DEC(value, config))
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = context_current()->cache_config;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxSetSharedMemConfig, (CUsharedconfig config), (config), DEC(value, config))
{
	context_current()->shared_config = config;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxGetSharedMemConfig, (CUsharedconfig *config), (config),
	  OUT_DEC(value, config))
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = context_current()->shared_config;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxGetStreamPriorityRange, (int *least, int *greatest),
	  (least, greatest), NO_NOTES)
{
	if (least)
		*least = PRIORITY_LEAST;
	if (greatest)
		*greatest = PRIORITY_GREATEST;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxResetPersistingL2Cache, (void), (), NO_NOTES)
{
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxEnablePeerAccess, (CUcontext peer, unsigned int flags), (peer, flags),
	  HEX(handle, peer), DEC(flags, flags))
{
	CUcontext current = context_current();
	unsigned int bit;

	if (!context_alive(peer) || peer->device == current->device)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	bit = 1u << peer->device->ordinal;
	if (__atomic_fetch_or(&current->peers, bit, __ATOMIC_RELAXED) & bit)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuCtxDisablePeerAccess, (CUcontext peer), (peer), HEX(handle, peer))
{
	CUcontext current = context_current();
	unsigned int bit;

	if (!context_alive(peer) || peer->device == current->device)
		return CUDA_ERROR_INVALID_CONTEXT;
	bit = 1u << peer->device->ordinal;
	if (!(__atomic_fetch_and(&current->peers, ~bit, __ATOMIC_RELAXED) & bit))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	return CUDA_SUCCESS;
}
