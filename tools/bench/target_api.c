// SPDX-License-Identifier: BSD-2-Clause
/*
 * The target's library: functions that are called like CUDA's and do nothing, so that what is
 * measured is the tracing. Each begins with a push, as NVIDIA's do, but for three launches.
 */
#include "target_api.h"

#define API __attribute__((noinline, noclone, visibility("default")))

/* A register that has to be saved makes a push the first instruction. */
#define BEGIN_WITH_PUSH() asm volatile("" : : : "rbx", "memory")

API int bench_reference(void)
{
	BEGIN_WITH_PUSH();
	return 0;
}

API int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y,
		       unsigned int grid_z, unsigned int block_x, unsigned int block_y,
		       unsigned int block_z, unsigned int shared_bytes, void *stream,
		       void **arguments, void **extra)
{
	(void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y;
	(void)block_z, (void)shared_bytes, (void)stream, (void)arguments, (void)extra;
	BEGIN_WITH_PUSH();
	return 0;
}

API int cuMemAlloc_v2(uint64_t *address, size_t size_bytes)
{
	static uint64_t next = 0x7f0000000000;

	BEGIN_WITH_PUSH();
	*address = next;
	next += size_bytes;
	return 0;
}

API int cuMemFree_v2(uint64_t address)
{
	(void)address;
	BEGIN_WITH_PUSH();
	return 0;
}

API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size_bytes, void *stream)
{
	(void)to, (void)from, (void)size_bytes, (void)stream;
	BEGIN_WITH_PUSH();
	return 0;
}

API int cudaMalloc(uint64_t *address, size_t size_bytes)
{
	int result;

	BEGIN_WITH_PUSH();
	result = cuMemAlloc_v2(address, size_bytes);
	BEGIN_WITH_PUSH(); /* and no jump makes an end */
	return result;
}

API int cudaLaunchKernel(const void *function, struct bench_dim3 grid, struct bench_dim3 block,
			 void **arguments, size_t shared_bytes, void *stream)
{
	int result;

	BEGIN_WITH_PUSH();
	result = cuLaunchKernel((void *)function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
				shared_bytes, stream, arguments, NULL);
	BEGIN_WITH_PUSH();
	return result;
}

/* The same function with other beginnings; far from other code, which could seem to jump there. */
#ifdef __x86_64__
#define BEGIN_WITH(function, first, last) \
	asm(".balign 256; .globl " function "; .type " function ", @function\n" function ":" \
	    " " first "\npush %rbx; pop %rbx; xor %eax, %eax\n" last "\nret\n" \
	    ".size " function ", . - " function "; .balign 256")
#else
#define BEGIN_WITH(function, first, last) \
	asm(".globl " function "; .set " function ", cuLaunchKernel")
#endif

BEGIN_WITH("cuLaunchKernel_ptsz", "endbr64", "");
BEGIN_WITH("cuLaunchCooperativeKernel", "sub $24, %rsp", "add $24, %rsp");
BEGIN_WITH("cuLaunchCooperativeKernel_ptsz", "mov %rdi, %rax", "");
