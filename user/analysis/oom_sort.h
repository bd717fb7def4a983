/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sort of thing a call asks for that may fail because memory has run out. A part of
 * analysis/oom_watch.h.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_SORT_H
#define MEMSCOPE_ANALYSIS_OOM_SORT_H

#include <stdint.h>

#include "abi.h"

/* A call that succeeds says how a failure ended only if it is of the same sort. */
enum oom_sort {
	OOM_SORT_NONE,
	OOM_SORT_DEVICE, /* memory of a device, or managed */
	OOM_SORT_HOST,
	OOM_SORT_ADDRESSES,
	OOM_SORT_LAUNCH,
	OOM_SORT_CONTEXT,
	OOM_SORT_ROW, /* and of the same function */
};

enum oom_sort oom_sort_of_space(uint8_t space);
enum oom_sort oom_sort_of(const struct ms_spec *spec);

#endif /* MEMSCOPE_ANALYSIS_OOM_SORT_H */
