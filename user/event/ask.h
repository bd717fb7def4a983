/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions by which a thread asks CUDA where it is: bpf/asks.def.
 */
#ifndef MEMSCOPE_EVENT_ASK_H
#define MEMSCOPE_EVENT_ASK_H

#include <stdint.h>

#include "abi.h"

/* The row of a function; -1: there is none. */
int ask_find(const char *symbol);

const char *ask_symbol(uint32_t row);

#endif /* MEMSCOPE_EVENT_ASK_H */
