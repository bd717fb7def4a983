/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a block of a framework's allocator whose call stack was taken stands for. The stack of a
 * small block is taken by chance, the more likely the larger it is (MS_TENSOR_CHANCE), so that one
 * that was taken stands for as many as there are to one on average: sums over those are right on
 * average, and how far they may be off is known.
 */
#ifndef MEMSCOPE_LEDGER_TENSOR_WORTH_H
#define MEMSCOPE_LEDGER_TENSOR_WORTH_H

#include <stdint.h>

#include "ledger/tensors.h"

#define TENSOR_WORTH_PARTS 65536 /* of a block, in which blocks are counted */

struct tensor_worth {
	uint64_t bytes;
	uint64_t parts;    /* of TENSOR_WORTH_PARTS: how many blocks */
	uint64_t variance; /* of the bytes, in bytes squared */
};

/* Of a block whose stack was taken; of one that was not left to chance, the block itself. */
struct tensor_worth tensor_worth(const struct tensor_block *block);

/* As a whole number of blocks, at least 1. */
uint64_t tensor_worth_blocks(const struct tensor_worth *worth);

/*
 * How many bytes a sum of such blocks may be off, or of what else chance chose: in at least 95 of
 * 100 cases it is not more. `most`: the bytes that a block stood for at most, of those whose
 * stack was left to chance, whether it was taken or not; 0: there were none.
 */
uint64_t tensor_worth_error(double variance, uint64_t most);

#endif /* MEMSCOPE_LEDGER_TENSOR_WORTH_H */
