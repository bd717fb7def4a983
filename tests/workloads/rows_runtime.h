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

/* Copies and memsets. */
void rows_runtime_copies(const struct place *place);

#endif /* ROWS_RUNTIME_H */
