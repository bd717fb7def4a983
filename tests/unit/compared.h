/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two recordings, what is different between them, and a program that does a bit of everything.
 */
#ifndef MEMSCOPE_TESTS_COMPARED_H
#define MEMSCOPE_TESTS_COMPARED_H

#include "diffs.h"

static struct diffs diffs;

static inline const struct diff_row *row_at(enum diff_dimension dimension, size_t nth)
{
	size_t i;

	for (i = 0; i < diffs.diff->rows_count; i++)
		if (diffs.diff->rows[i].dimension == dimension && !nth--)
			return &diffs.diff->rows[i];
	return NULL;
}

static inline size_t count_rows(enum diff_dimension dimension)
{
	size_t count = 0;

	while (row_at(dimension, count))
		count++;
	return count;
}

#define assert_values(row, metric, in_a, in_b) \
	do { \
		assert_true((row)->known >> DIFF_##metric & 1); \
		assert_int_equal((row)->a[DIFF_##metric], in_a); \
		assert_int_equal((row)->b[DIFF_##metric], in_b); \
	} while (0)

/* A program that uses a bit of everything, `more` times. */
static inline void add_program(struct side *side, uint32_t pid, const char *comm, int more)
{
	uint64_t addr;
	int i;

	add_process(side, pid, comm);
	add_of(side, pid, record_name(0x11, "gemm"));
	add_alloc(side, pid, "cuMemAlloc_v2", 64 * MIB);
	add_alloc(side, pid, "cudaMallocHost", 8 * MIB);
	for (i = 0; i < 20 * more; i++) {
		addr = add_alloc(side, pid, "cuMemAlloc_v2", 4 * MIB);
		add_of(side, pid, record_copy("cuMemcpyHtoD_v2", MIB, MS_DIRECTION_HTOD));
		add_of(side, pid, record_launch("cuLaunchKernel", 0x11));
		add_of(side, pid, record_call("cuCtxSynchronize"));
		add_free(side, pid, addr);
	}
}

/* As often each of two kernels, copies and the rest; `whole`: until the program ends. */
static inline void add_work(struct side *side, const char *kernel, int times, bool whole)
{
	int i;

	add_process(side, 10, "train");
	add_of(side, 10, record_name(0x11, kernel));
	add_of(side, 10, record_name(0x22, "both"));
	for (i = 0; i < times; i++) {
		add_of(side, 10, record_launch("cuLaunchKernel", 0x11));
		add_of(side, 10, record_launch("cuLaunchKernel", 0x22));
		add_of(side, 10, record_copy("cuMemcpyDtoH_v2", MIB, MS_DIRECTION_DTOH));
		add_of(side, 10, record_alloc("cuMemsetD8_v2", 0x1000, MIB));
		add_of(side, 10, record_call("cuCtxSynchronize"));
		add_free(side, 10, add_alloc(side, 10, "cuMemAlloc_v2", MIB));
	}
	add_of(side, 10, record_failed(1, record_call("cuCtxSynchronize")));
	if (whole)
		add_exit(side, 10, "train");
}

#endif /* MEMSCOPE_TESTS_COMPARED_H */
