/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the benchmark's target calls, and the interposer stands in for.
 */
#ifndef MEMSCOPE_BENCH_TARGET_API_H
#define MEMSCOPE_BENCH_TARGET_API_H

#include <stddef.h>
#include <stdint.h>

int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		   unsigned int block_x, unsigned int block_y, unsigned int block_z,
		   unsigned int shared_bytes, void *stream, void **arguments, void **extra);
__typeof__(cuLaunchKernel) cuLaunchKernel_ptsz, cuLaunchCooperativeKernel,
	cuLaunchCooperativeKernel_ptsz;
int cuMemAlloc_v2(uint64_t *address, size_t size_bytes);
int cuMemFree_v2(uint64_t address);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size_bytes, void *stream);
struct bench_dim3 {
	unsigned int x, y, z;
};

int cudaLaunchKernel(const void *function, struct bench_dim3 grid, struct bench_dim3 block,
		     void **arguments, size_t shared_bytes, void *stream); /* as cudaMalloc() */
int cudaMalloc(uint64_t *address, size_t size_bytes);                      /* calls the driver's */
int bench_reference(void);

#endif /* MEMSCOPE_BENCH_TARGET_API_H */
