/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of rows_driver share.
 */
#ifndef ROWS_DRIVER_H
#define ROWS_DRIVER_H

#include "rows.h"
#include "simcuda.h"

void *rows_driver_symbol(const char *api);

#define CALL(wanted, api, ...) \
	rows_call(api, rows_driver_symbol(api), wanted, (const uint64_t[ROWS_ARGS]){ __VA_ARGS__ })

/* Another stream at each call. */
CUstream rows_driver_stream(void);

struct block {
	uint64_t addr, size;
	const char *space;
};

/* Functions of (address to be written, size, flags). */
struct block rows_driver_allocate(const char *api, const char *space, uint64_t size,
				  uint64_t flags);
void rows_driver_free(const char *api, const struct block *block);

/* `device_arg`: which argument the device is; the flags are before it. */
CUcontext rows_driver_create(const char *api, unsigned int device_arg, int device, CUresult wanted);

/* Of device 0. */
CUmemoryPool rows_driver_create_pool(void);
void rows_driver_destroy_pool(CUmemoryPool pool);

#define PLACE_BYTES (64 << 10)

/* What there is to copy between. */
struct place {
	CUcontext own, peer; /* the current context, and one on the other device */
	CUdeviceptr device[2];
	CUdeviceptr there; /* on the other device */
};

/* Copies and memsets. */
void rows_driver_copies(const struct place *place);
void rows_driver_batches(const struct place *place);

/* Array copies need what these make. */
CUarray rows_driver_create_array(const CUDA_ARRAY3D_DESCRIPTOR *shape);
void rows_driver_destroy_array(CUarray array, uint64_t size);

/* Modules, libraries, streams, events, graphs: what has a handle and no size. */
void *rows_driver_make(const char *api, CUresult wanted, uint64_t first, uint64_t second);
void rows_driver_end(const char *api, const void *handle, CUresult wanted);

void rows_driver_devices(void);
void rows_driver_objects(const void *image);
void rows_driver_pools(void);
void rows_driver_vmm(void);
void rows_driver_arrays(void);
void rows_driver_graphs(void);

/* Memory of other processes: the first one before CUDA is initialized. */
void rows_driver_fork(void);
void rows_driver_shared(void);

/* Leaves that many bytes behind that a graph allocated. */
uint64_t rows_driver_leave(void);

#endif /* ROWS_DRIVER_H */
