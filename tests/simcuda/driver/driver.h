/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a driver function is defined, and what the files of the driver share: devices, contexts,
 * streams and the question what lies at an address.
 *
 *	CU_DEFINE(CONTEXT, cuMemAlloc_v2, (CUdeviceptr *ptr, size_t size), (ptr, size),
 *		  OUT_HEX(addr, ptr), DEC(size, size))
 *	{
 *		...
 *	}
 *
 * defines the exported function: its prologue, injected failures, delay, the check for what it
 * needs (NOTHING, INIT or CONTEXT), the body, and the notes for its line in the oracle. The PTSZ,
 * PTDS and V2 forms export two functions, each with an address of its own, that have one body.
 */
#ifndef SIMCUDA_DRIVER_H
#define SIMCUDA_DRIVER_H

#include "../common/api.h"
#include "arena.h"
#include "observer.h"
#include "simcuda.h"
#include "slab.h"

/* observer.c: NULL, unless a simulated CUPTI is there. It may come at any time. */
extern const struct observer *observer;

static inline void observer_enter(const char *function)
{
	const struct observer *told = __atomic_load_n(&observer, __ATOMIC_ACQUIRE);

	if (unlikely(told))
		told->enter(function);
}

static inline void observer_leave(const char *function)
{
	const struct observer *told = __atomic_load_n(&observer, __ATOMIC_ACQUIRE);

	if (unlikely(told))
		told->leave(function);
}

#define CU_ENTRY(need, symbol, params, call, ...) \
	API_EXPORT CUresult symbol params \
	{ \
		API_SITE(symbol); \
		CUresult result; \
\
		observer_enter(#symbol); \
		result = (CUresult)api_enter(&api, &start_ns); \
\
		if (result == CUDA_SUCCESS) \
			result = driver_need_##need(); \
		if (result == CUDA_SUCCESS) \
			result = call; \
		if (unlikely(api_active)) { \
			struct oracle_line *line = driver_line(&api, start_ns, result); \
\
			if (line) { \
				__VA_ARGS__; \
				api_leave(line, driver_thread()); \
			} \
		} \
		observer_leave(#symbol); \
		return result; \
	}

#define CU_DEFINE(need, name, params, args, ...) \
	static CUresult body_##name params; \
	CU_ENTRY(need, name, params, body_##name args, __VA_ARGS__) \
	static CUresult body_##name params

#define CU_DEFINE_TWO(need, name, suffix, params, args, ...) \
	static CUresult body_##name params; \
	CU_ENTRY(need, name, params, body_##name args, __VA_ARGS__) \
	CU_ENTRY(need, name##suffix, params, body_##name args, __VA_ARGS__) \
	static CUresult body_##name params

#define CU_DEFINE_PTDS(need, name, ...) CU_DEFINE_TWO(need, name, _ptds, __VA_ARGS__)
#define CU_DEFINE_PTSZ(need, name, ...) CU_DEFINE_TWO(need, name, _ptsz, __VA_ARGS__)
#define CU_DEFINE_V2(need, name, ...) CU_DEFINE_TWO(need, name, _v2, __VA_ARGS__)

/*
 * Batches: `name` and `name`_ptsz, whose body is also told what a stream of NULL stands for:
 * BATCH_STREAM is the stream with that resolved.
 */
#define CU_BATCH_PARAMS(...) (CUstream default_stream, __VA_ARGS__)
#define CU_BATCH_LEGACY(...) (CU_STREAM_LEGACY, __VA_ARGS__)
#define CU_BATCH_PER_THREAD(...) (CU_STREAM_PER_THREAD, __VA_ARGS__)
#define CU_DEFINE_BATCH(name, params, args, ...) \
	static CUresult body_##name CU_BATCH_PARAMS params; \
	CU_ENTRY(CONTEXT, name, params, body_##name CU_BATCH_LEGACY args, __VA_ARGS__) \
	CU_ENTRY(CONTEXT, name##_ptsz, params, body_##name CU_BATCH_PER_THREAD args, __VA_ARGS__) \
	static CUresult body_##name CU_BATCH_PARAMS params
#define BATCH_STREAM (stream ? stream : default_stream)

/* The names without behaviour; their arguments do not matter. */
#define CU_NOT_SUPPORTED(name) \
	CUresult name(void); \
	CU_ENTRY(NOTHING, name, (void), CUDA_ERROR_NOT_SUPPORTED, NO_NOTES)

struct device {
	int ordinal;
	unsigned int physical; /* which of the machine's */
	struct arena *memory;
	struct arena *graph_space;   /* addresses only; the memory is charged to the one above */
	uint64_t graph_attribute[4]; /* by CUgraphMem_attribute */
	CUcontext primary;
	CUmemoryPool default_pool;
	CUmemoryPool pool; /* the current one */
};

struct CUctx_st {
	struct object object;
	struct device *device;
	bool primary;
	bool active; /* a primary context that was reset is not, until it is retained again */
	unsigned int references; /* of a primary context */
	unsigned int flags;
	unsigned long long id;
	unsigned int peers; /* a bit per device that access was enabled to */
	size_t limit[CU_LIMIT_MAX];
	CUfunc_cache cache_config;
	CUsharedconfig shared_config;
};

/* driver.c */
bool driver_ready(void);
struct oracle_line *driver_line(const struct api *api, uint64_t start_ns, CUresult result);

static inline CUresult driver_need_NOTHING(void)
{
	return CUDA_SUCCESS;
}

static inline CUresult driver_need_INIT(void)
{
	return driver_ready() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

/* context.c */
CUresult driver_need_CONTEXT(void);
struct api_thread *driver_thread(void);
CUcontext context_current(void); /* not NULL in a function that needs CONTEXT */
bool context_alive(CUcontext context);

/* device.c */
#define DEVICE_MAX 16
void device_setup(void);
unsigned int device_count(void);
struct device *device_find(CUdevice ordinal); /* NULL: no such device */
int device_attribute(const struct device *device, CUdevice_attribute attribute);

/* visible.c */
void device_uuid(unsigned int physical, CUuuid *uuid);
/* Which of so many devices of the machine the program sees, in order. Returns how many. */
unsigned int device_visible(unsigned int machine, unsigned int physical[DEVICE_MAX]);

/* space.c */
void space_setup(void);
struct arena *space_host(void);
struct arena *space_arena(CUdeviceptr addr); /* NULL: in none */
bool space_find(CUdeviceptr addr, struct arena_block *block);
bool space_valid(CUdeviceptr addr, uint64_t size_bytes);    /* all of it there, in one piece */
bool space_readable(CUdeviceptr addr, uint64_t size_bytes); /* that, or ordinary host memory */
bool space_writable(CUdeviceptr addr, uint64_t size_bytes); /* not mapped for reading only */
bool space_on_host(const struct arena_block *block);
char space_letter(CUdeviceptr addr);                          /* H, D or M(anaged), as in HtoD */
struct device *space_device(const struct arena_block *block); /* NULL: mapped host memory */
CUcontext space_context(const struct arena_block *block);
bool space_register(const struct arena_block *block); /* false: overlaps a known one */
bool space_unregister(CUdeviceptr addr);
void space_free_owned(CUcontext owner);

/* pool.c */
bool pool_free(CUdeviceptr addr);             /* false: not from a pool */
void pool_synchronize(struct device *device); /* gives back what is above the thresholds */
CUmemoryPool pool_new_default(struct device *device);

/* mapping.c: see mapping.h for the rest; flags as in cuMemSetAccess */
void mapping_setup(void);
bool mapping_contains(CUdeviceptr addr);
bool mapping_find(CUdeviceptr addr, struct arena_block *block);
bool mapping_accessible(CUdeviceptr addr, uint64_t size_bytes, unsigned int flags);
struct device *mapping_device(CUdeviceptr addr); /* NULL: mapped host memory */
void mapping_free_owned(CUcontext owner);

/* vmm.c, external.c */
bool vmm_reserved(CUdeviceptr addr, CUdeviceptr *start, size_t *size_bytes);
bool external_free(CUdeviceptr addr); /* false: not a buffer of external memory */
void external_free_owned(CUcontext owner);

/* copy.c, copy3d.c: between whatever the addresses are */
CUresult copy_unified(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream);
CUresult copy_box(const CUDA_MEMCPY3D *copy, CUstream stream);

/* batch.c: attributes each of which is for the copies from a start on, until the next one's */
CUresult batch_check_stream(CUstream stream);
bool batch_starts_valid(const size_t *starts, size_t start_count, size_t count);
void batch_note(struct oracle_line *line, const CUdeviceptr *dsts, const CUdeviceptr *srcs,
		const size_t *sizes, size_t count); /* srcs may be NULL: no copies */

/* stream.c, event.c */
bool stream_valid(CUstream stream);
CUcontext stream_context(CUstream stream); /* NULL: the default stream and no current context */
void stream_free_owned(CUcontext owner);
bool event_valid(CUevent event);
bool event_captured(CUevent event); /* last recorded in a capture */
void event_free_owned(CUcontext owner);

/* module.c */
const char *module_function_name(CUfunction function); /* NULL: no such function or kernel */
void module_free_owned(CUcontext owner);

/* observer.c: what is told has been done */
void observer_kernel(const CUDA_KERNEL_NODE_PARAMS *params, CUstream stream);
void observer_copy(char from, char to, uint64_t bytes, CUstream stream);
void observer_memset(char to, uint64_t bytes, CUstream stream);
void observer_set_graph(unsigned int number); /* that the thread launches; 0: none */

/* array.c: an array is rows of row_bytes, height of them to a slice, depth slices */
struct array_layout {
	CUdeviceptr addr;
	uint64_t element_bytes;
	uint64_t row_bytes;
	uint64_t height;
	uint64_t depth;
};
bool array_layout(CUarray array, struct array_layout *layout); /* false: no such array */
void array_free_owned(CUcontext owner);

#endif
