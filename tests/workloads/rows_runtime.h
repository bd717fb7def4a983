/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of rows_runtime share.
 */
#ifndef ROWS_RUNTIME_H
#define ROWS_RUNTIME_H

#include "rows.h"
#include "simcudart.h"

/* The name that the function is called by, after the header's mapping. */
#define NAME(function) TEXT_OF(function)
#define TEXT_OF(function) #function
#define API(function) NAME(function), (void *)(function)

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define PTDS(driver_api) driver_api "_ptds"
#define PTSZ(driver_api) driver_api "_ptsz"
#else
#define PTDS(driver_api) driver_api
#define PTSZ(driver_api) driver_api
#endif

#define CALL(wanted, function, ...) \
	rows_call(API(function), wanted, (const uint64_t[ROWS_ARGS]){ __VA_ARGS__ })

/* Another stream at each call. */
cudaStream_t rows_runtime_stream(void);

#define PLACE_BYTES (64 << 10)

/* What there is to copy between. */
struct place {
	char *device[2];
	char *there; /* on the other device */
};

/* A call that needs a context, before there is one: cudaMalloc. */
void *rows_runtime_first_call(size_t size);

/* cudaMalloc, and cudaFree of what is in that space. */
void *rows_runtime_allocate(uint64_t size);
void rows_runtime_free(void *ptr, uint64_t size, const char *space);

/*
 * What has a handle and no size: functions of (handle to be written, first, second ...), and of a
 * handle.
 */
void *rows_runtime_make(const char *api, void *function, const char *driver_api, uint64_t first,
			uint64_t second);
void rows_runtime_end(const char *api, void *function, const char *driver_api, const void *handle);

/* A copy whose kind is left to the driver; in which direction must be known all the same. */
void rows_runtime_copy_default(void *dst, void *src, const char *direction);

/*
 * Starts a process that will import memory, before this one has to do with CUDA; and has it done.
 * The more happens in between, the surer it is that the process is traced by then.
 */
void rows_runtime_fork(void);
void rows_runtime_export(void);

/* The parts. All that rows_runtime_copies() does is last: it asks where variables are. */
void rows_runtime_pools(void);
void rows_runtime_objects(void);
void rows_runtime_memory(void);
void rows_runtime_arrays(void);
void rows_runtime_graphs(void);
void rows_runtime_copies(const struct place *place);

#endif /* ROWS_RUNTIME_H */
