/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Totals of allocators that do not tell them (TensorFlow's and JAX's): by the blocks that they have
 * given, and the allocations that these lie in. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_TENSOR_TOTALS_H
#define MEMSCOPE_LEDGER_TENSOR_TOTALS_H

#include <stdbool.h>

#include "abi.h"

struct process;

/*
 * Makes of the record one that says its device and totals, and of what came back the size. Returns
 * false if it is about no device's memory: such allocators have page-locked memory, too.
 */
bool tensor_totals_tell(struct process *process, struct ms_tensor *record);

#endif /* MEMSCOPE_LEDGER_TENSOR_TOTALS_H */
