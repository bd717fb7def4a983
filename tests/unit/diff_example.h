/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two recordings between which much is different, for those who look at what is made of that.
 */
#ifndef MEMSCOPE_TESTS_DIFF_EXAMPLE_H
#define MEMSCOPE_TESTS_DIFF_EXAMPLE_H

#include "diffs.h"

static struct diffs diffs;

static inline bool has(const struct string *string, const char *text)
{
	return memmem(string->bytes, string->length, text, strlen(text));
}

static inline void add_steps(struct side *side, uint32_t pid, const char *kernel, int steps)
{
	int i;

	add_of(side, pid, record_name(0x11, kernel));
	for (i = 0; i < steps; i++) {
		uint64_t addr = add_alloc(side, pid, "cuMemAlloc_v2", 2 * MIB);

		add_of(side, pid,
		       record_taking(100000,
				     record_copy("cuMemcpyHtoD_v2", MIB, MS_DIRECTION_HTOD)));
		add_of(side, pid, record_launch("cuLaunchKernel", 0x11));
		add_of(side, pid, record_launch("cuLaunchKernel", 0x22));
		add_of(side, pid, record_taking(50000, record_call("cuCtxSynchronize")));
		add_of(side, pid, record_alloc("cuMemsetD8_v2", 0x1000, 64));
		add_free(side, pid, addr);
	}
}

static inline void add_oom(struct side *side, uint32_t pid)
{
	add_of(side, pid,
	       record_on(0, record_failed(
				    2, record_without(MS_KNOWN_ADDR,
						      record_alloc("cudaMalloc", 0, 8ull << 30)))));
}

static inline void add_before(struct side *side)
{
	add_process(side, 10, "train");
	add_alloc(side, 10, "cudaMalloc", 64 * MIB);
	add_alloc(side, 10, "cudaMallocHost", 16 * MIB);
	add_steps(side, 10, "gemm", 20);
	add_exit(side, 10, "train");
	add_process(side, 11, "load");
	add_alloc(side, 11, "cuMemAlloc_v2", 24 * MIB);
	add_process(side, 12, "worker");
	add_process(side, 13, "worker");
	add_alloc(side, 13, "cuMemAlloc_v2", 4 * MIB);
}

/* Blocks that stay, another kernel, half as many copies, a program more and one less. */
static inline void add_after(struct side *side)
{
	int i;

	add_process(side, 50, "train");
	add_alloc(side, 50, "cudaMalloc", 64 * MIB);
	for (i = 0; i < 3; i++)
		add_alloc(side, 50, "cudaMalloc", 5 * MIB + 1);
	add_steps(side, 50, "gemm_v2", 40);
	add_oom(side, 50);
	add_exit(side, 50, "train");
	add_process(side, 51, "serve");
	add_alloc(side, 51, "cuMemAllocManaged", 7 * MIB);
	add_of(side, 52, record_process(MS_TYPE_ATTACH, "worker", MS_ATTACH_RUNNING));
	add_alloc(side, 52, "cuMemAlloc_v2", 2 * MIB);
	add_process(side, 53, "worker");
	add_alloc(side, 53, "cuMemAlloc_v2", 4 * MIB);
	add(side, record_account(MS_OP_COPY, 1000, 12));
}

static inline void make_example(void)
{
	diffs_begin(&diffs);
	add_before(&diffs.a);
	add_after(&diffs.b);
	side_read(&diffs.a);
	side_read(&diffs.b);
	strcpy(diffs.a.reader.report.recordings[0]->coverage.files[0], "before.mscope");
	strcpy(diffs.b.reader.report.recordings[0]->coverage.files[0], "after.mscope");
	diffs_compare(&diffs);
}

static inline void begin_alike(void)
{
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
}

#endif /* MEMSCOPE_TESTS_DIFF_EXAMPLE_H */
