/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the instructions of unwind information (DWARF 4, 6.4.2) and says, for each piece of code,
 * how to get from a frame there to its caller's, in the few forms that the kernel side knows
 * (struct ms_unwind_row). What has none of these forms is a row that says so.
 */
#ifndef MEMSCOPE_SYMBOLS_UNWIND_RULES_H
#define MEMSCOPE_SYMBOLS_UNWIND_RULES_H

#include "abi.h"
#include "symbols/eh_frame.h"

/*
 * Calls `put` for the rows of a function, in the order of their addresses, all of them in it, until
 * it returns non-zero; returns that, or 0. Where the instructions cannot be followed, rows end with
 * one that says so.
 */
int unwind_rules_each(const struct eh_section *section, const struct eh_common *common,
		      const struct eh_function *function,
		      int (*put)(const struct ms_unwind_row *row, void *context), void *context);

#endif /* MEMSCOPE_SYMBOLS_UNWIND_RULES_H */
