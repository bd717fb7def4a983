/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of rows_refused share.
 */
#ifndef ROWS_REFUSED_H
#define ROWS_REFUSED_H

#include "rows.h"
#include "simcudart.h"

#define REFUSED 46 /* cudaErrorDevicesUnavailable, and what SIMCUDA_FAIL must say */

#define API(function) #function, (void *)(function)

struct api {
	const char *name;
	void *function;
};

/* Argument n of every call, unless the call says otherwise; as a 32-bit one it is dirty. */
#define A(n) (((n) + 1) * 0x1000000001ull)
#define ALL A(0), A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9), A(10)

/* Which argument something is; NONE: there is no such thing. */
#define NONE ROWS_ARGS
#define HANDLE(n) ((n) == NONE ? UNKNOWN : HEX(A(n)))

/*
 * By cudaMemcpyKind. Nothing is allocated: the kind that leaves the direction to the driver can
 * only mean the host.
 */
#define KINDS 5
extern const char *const rows_refused_directions[KINDS];

void rows_refused_call(const struct api *api, const uint64_t *args);
void rows_refused_call_all(const struct api *api);

/* With `value` as argument `n`. */
void rows_refused_call_with(const struct api *api, unsigned int n, uint64_t value);

/* All that is about arrays, memory of others, pools, batches and graphs. */
void rows_refused_memory(void);

#endif /* ROWS_REFUSED_H */
