// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/tensor_worth.h"

#include <math.h>

struct tensor_worth tensor_worth(const struct tensor_block *block)
{
	const uint64_t odds =
		block->bytes < MS_TENSOR_LEAST_BYTES ? MS_TENSOR_LEAST_BYTES : block->bytes;
	struct tensor_worth worth = { .bytes = block->bytes, .parts = TENSOR_WORTH_PARTS };

	if (!block->by_chance || block->bytes >= MS_TENSOR_ALWAYS_BYTES)
		return worth;
	worth.bytes = block->bytes * MS_TENSOR_ALWAYS_BYTES / odds;
	worth.parts = (uint64_t)TENSOR_WORTH_PARTS * MS_TENSOR_ALWAYS_BYTES / odds;
	worth.variance = worth.bytes * (worth.bytes - block->bytes);
	return worth;
}

uint64_t tensor_worth_blocks(const struct tensor_worth *worth)
{
	return (worth->parts + TENSOR_WORTH_PARTS / 2) / TENSOR_WORTH_PARTS;
}

/*
 * 1.96 standard deviations are 95 of 100 of a normal distribution. Where few blocks were taken, or
 * none, that is too little: the exact bounds for a count k of rare events are within k +- (1.96
 * sqrt(k + 1) + 1.92), and none is worth more than `most`.
 */
uint64_t tensor_worth_error(double variance, uint64_t most)
{
	const double unit = (double)most;

	if (!most)
		return 0;
	return (uint64_t)(1.96 * sqrt((variance > 0 ? variance : 0) + unit * unit) + 1.92 * unit);
}
