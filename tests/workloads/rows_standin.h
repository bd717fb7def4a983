/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of rows_standin share.
 */
#ifndef ROWS_STANDIN_H
#define ROWS_STANDIN_H

#include "rows.h"

#define CALL(function, ...) \
	rows_call(#function, (void *)(function), 0, (const uint64_t[ROWS_ARGS]){ __VA_ARGS__ })

/* What the simulated driver cannot do with graphs, pools, arrays and variables. */
void rows_standin_driver(void);

/* Functions that the simulated runtime does not have. */
void rows_standin_runtime(void);

#endif /* ROWS_STANDIN_H */
