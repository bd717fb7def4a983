/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a runtime function is defined, and what the files of the stand-in runtime share.
 *
 *	RT_DEFINE(CONTEXT, cudaMalloc, (void **ptr, size_t size), (ptr, size),
 *		  OUT_HEX(addr, ptr), DEC(size, size))
 *	{
 *		return cu->cuMemAlloc(...);
 *	}
 *
 * The body has `cu`, the driver's functions: the ordinary ones or, in the _ptds and _ptsz forms
 * that RT_DEFINE_PTDS and RT_DEFINE_PTSZ add, those with a per-thread default stream. What a
 * function needs is prepared before: the driver loaded and initialised (DRIVER), also a current
 * context (CONTEXT), or NOTHING, and then its result is not remembered for cudaGetLastError.
 */
#ifndef SIMCUDA_RUNTIME_H
#define SIMCUDA_RUNTIME_H

#include "../common/api.h"
#include "simcuda.h"
#include "simcudart.h"

struct driver {
#define CALL(base, version, name) __typeof__(&name) base;
#include "calls.def"
};

/* load.c */
extern struct driver runtime_legacy;
extern struct driver runtime_per_thread;

struct runtime_thread {
	struct api_thread *driver; /* NULL until this thread has called the driver */
	const char *via;           /* the function the program is in; kept only for the oracle */
	int device;
	cudaError_t last_error;
};
struct runtime_thread *runtime_thread(void);

cudaError_t runtime_need_DRIVER(void);
int runtime_device_count(void);

/* device.c */
cudaError_t runtime_need_CONTEXT(void);
CUcontext runtime_primary(int device); /* retained if need be; NULL: no such device */

static inline cudaError_t runtime_need_NOTHING(void)
{
	return cudaSuccess;
}

static inline void runtime_done_NOTHING(cudaError_t result)
{
	(void)result;
}

static inline void runtime_done_DRIVER(cudaError_t result)
{
	if (result != cudaSuccess)
		runtime_thread()->last_error = result;
}

static inline void runtime_done_CONTEXT(cudaError_t result)
{
	runtime_done_DRIVER(result);
}

/* Says in which function driver calls happen from now on; returns in which they did. */
const char *runtime_set_via(const char *name);

/* A thread is in `name` until runtime_leave, which returns the line to add notes to, or NULL. */
static inline const char *runtime_enter(const struct api *api)
{
	return unlikely(api_active) ? runtime_set_via(api->name) : NULL;
}

struct oracle_line *runtime_leave(const struct api *api, uint64_t start_ns, const char *outer,
				  int result);

#define RT_LOG(...) \
	do { \
		if (unlikely(api_active)) { \
			struct oracle_line *line = \
				runtime_leave(&api, start_ns, outer, (int)result); \
\
			if (line) { \
				__VA_ARGS__; \
				api_leave(line, runtime_thread()->driver); \
			} \
		} \
	} while (0)

#define RT_ENTRY(need, symbol, table, params, call, ...) \
	API_EXPORT cudaError_t symbol params \
	{ \
		const struct driver *cu __attribute__((unused)) = &table; \
		API_SITE(symbol); \
		cudaError_t result = (cudaError_t)api_enter(&api, &start_ns); \
		const char *outer = runtime_enter(&api); \
\
		if (result == cudaSuccess) \
			result = runtime_need_##need(); \
		if (result == cudaSuccess) \
			result = call; \
		runtime_done_##need(result); \
		RT_LOG(__VA_ARGS__); \
		return result; \
	}

/* (a, b) with the driver's functions in front. */
#define RT_PARAMS(...) (const struct driver *cu __attribute__((unused)), __VA_ARGS__)
#define RT_ARGS(...) (cu, __VA_ARGS__)

#define RT_DEFINE(need, name, params, args, ...) \
	static cudaError_t body_##name RT_PARAMS params; \
	RT_ENTRY(need, name, runtime_legacy, params, body_##name RT_ARGS args, __VA_ARGS__) \
	static cudaError_t body_##name RT_PARAMS params

#define RT_DEFINE_TWO(need, name, suffix, params, args, ...) \
	static cudaError_t body_##name RT_PARAMS params; \
	RT_ENTRY(need, name, runtime_legacy, params, body_##name RT_ARGS args, __VA_ARGS__) \
	RT_ENTRY(need, name##suffix, runtime_per_thread, params, body_##name RT_ARGS args, \
		 __VA_ARGS__) \
	static cudaError_t body_##name RT_PARAMS params

#define RT_DEFINE_PTDS(need, name, ...) RT_DEFINE_TWO(need, name, _ptds, __VA_ARGS__)
#define RT_DEFINE_PTSZ(need, name, ...) RT_DEFINE_TWO(need, name, _ptsz, __VA_ARGS__)

/* Without arguments. */
#define RT_DEFINE_VOID(need, name) \
	static cudaError_t body_##name(const struct driver *cu); \
	RT_ENTRY(need, name, runtime_legacy, (void), body_##name(cu), NO_NOTES) \
	static cudaError_t body_##name(const struct driver *cu __attribute__((unused)))

/* In the few functions that do not return an error; they end with RT_LOG. */
#define RT_BEGIN(symbol) \
	API_SITE(symbol); \
	const int result = 0; \
	const char *outer = runtime_enter(&api); \
\
	(void)api_enter(&api, &start_ns); \
	(void)result, (void)outer

/* The codes are the same in both APIs wherever both have them. */
static inline cudaError_t runtime_error(CUresult result)
{
	return (cudaError_t)result;
}

static inline CUdeviceptr runtime_ptr(const void *ptr)
{
	return (uintptr_t)ptr;
}

/* copy.c; stream matters only if async */
cudaError_t runtime_copy(const struct driver *cu, CUdeviceptr dst, CUdeviceptr src, size_t size,
			 enum cudaMemcpyKind kind, bool async, cudaStream_t stream);

/* As the driver describes the same copy. */
cudaError_t runtime_copy_params(const struct driver *cu, const struct cudaMemcpy3DParms *params,
				CUDA_MEMCPY3D *copy);
void runtime_copy_note(struct oracle_line *line, const struct cudaMemcpy3DParms *params);

const char *runtime_kind_name(enum cudaMemcpyKind kind); /* "HtoD"; NULL: no such kind */

/* array.c: how long an element is, and a row */
cudaError_t runtime_array_bytes(const struct driver *cu, cudaArray_const_t array, size_t *element,
				size_t *row);

/* register.c: from the address of a host stub or variable to what it stands for */
cudaError_t runtime_kernel(const struct driver *cu, const void *stub, CUkernel *kernel);
const char *runtime_kernel_name(const void *stub); /* NULL: not registered */
const char *runtime_kernel_handle_name(CUkernel kernel);
cudaError_t runtime_variable(const struct driver *cu, const void *host, CUdeviceptr *ptr,
			     size_t *size);

#endif
