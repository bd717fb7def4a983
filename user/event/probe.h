/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User space's view of the probe table (bpf/probes.def) and of the words in bpf/cuda_abi.h.
 */
#ifndef MEMSCOPE_EVENT_PROBE_H
#define MEMSCOPE_EVENT_PROBE_H

#include <stdint.h>

#include "abi.h"

struct probe {
	const char *symbol;
	enum ms_layer layer;
	struct ms_spec spec;
};

uint32_t probe_count(void);

/* `row` must be below probe_count(). */
const struct probe *probe_at(uint32_t row);

/* The row of a function's name, or -1. */
int probe_find(const char *symbol);

const char *probe_op_name(uint32_t op);               /* "alloc" */
const char *probe_space_name(uint32_t space);         /* "device" */
int probe_find_space(const char *name);               /* -1: there is none, or `name` is NULL */
const char *probe_direction_name(uint32_t direction); /* "HtoD" */
const char *probe_layer_name(uint32_t layer);         /* "driver" */

/*
 * What a call's result is called in its own API, or NULL for a code that CUDA 13.5 does not know:
 * 2 is CUDA_ERROR_OUT_OF_MEMORY from the driver and cudaErrorMemoryAllocation from the runtime.
 */
const char *probe_result_name(enum ms_layer layer, int32_t result);

#endif /* MEMSCOPE_EVENT_PROBE_H */
