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

#define PLACE_BYTES (64 << 10)

/* What there is to copy between. */
struct place {
	CUcontext own, peer; /* the current context, and one on the other device */
	CUdeviceptr device[2];
	CUdeviceptr there; /* on the other device */
};

/* Copies and memsets. */
void rows_driver_copies(const struct place *place);

#endif /* ROWS_DRIVER_H */
