/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that allocators of frameworks call about themselves: bpf/frameworks.def.
 */
#ifndef MEMSCOPE_EVENT_FRAMEWORK_H
#define MEMSCOPE_EVENT_FRAMEWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

enum framework_row {
#define MS_FRAMEWORK(framework, action, symbol, ...) FRAMEWORK_ROW_##symbol,
#include "frameworks.def"
#undef MS_FRAMEWORK
	FRAMEWORK_ROWS_COUNT,
};

/* The row of a function; -1: there is none, or it would have to be exported. */
int framework_find(const char *symbol, bool is_exported);

/* Whether its result is wanted. */
bool framework_row_returns(uint32_t row);

const char *framework_symbol(uint32_t row);

/* "PyTorch"; NULL: there is no such framework. */
const char *framework_name(uint32_t framework);

#endif /* MEMSCOPE_EVENT_FRAMEWORK_H */
