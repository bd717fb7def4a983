// SPDX-License-Identifier: BSD-2-Clause
/*
 * The benchmark's target: functions that are called like CUDA's and do nothing, so that what is
 * measured is the tracing. Each begins with a push, as NVIDIA's do, but for three launches.
 */
#include "target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((noinline, noclone, visibility("default")))

/* A register that has to be saved makes a push the first instruction. */
#define BEGIN_WITH_PUSH() asm volatile("" : : : "rbx", "memory")

int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		   unsigned int block_x, unsigned int block_y, unsigned int block_z,
		   unsigned int shared_bytes, void *stream, void **arguments, void **extra);
__typeof__(cuLaunchKernel) cuLaunchKernel_ptsz, cuLaunchCooperativeKernel,
	cuLaunchCooperativeKernel_ptsz;
int cuMemAlloc_v2(uint64_t *address, size_t size_bytes);
int cuMemFree_v2(uint64_t address);
int bench_reference(void);

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

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void call(enum bench_call what)
{
	uint64_t address = 0;

	switch (what) {
	case BENCH_REF:
		bench_reference();
		break;
	case BENCH_LAUNCH:
		cuLaunchKernel((void *)0x1000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL);
		break;
	case BENCH_LAUNCH_ENDBR:
		cuLaunchKernel_ptsz((void *)0x1000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL);
		break;
	case BENCH_LAUNCH_SUB:
		cuLaunchCooperativeKernel((void *)0x1000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL);
		break;
	case BENCH_LAUNCH_MOV:
		cuLaunchCooperativeKernel_ptsz((void *)0x1000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL,
					       NULL);
		break;
	case BENCH_ALLOC:
		cuMemAlloc_v2(&address, 512);
		break;
	case BENCH_ALLOC_FREE:
		cuMemAlloc_v2(&address, 512);
		cuMemFree_v2(address);
		break;
	default:
		break;
	}
}

static void run_batches(struct bench_order *order)
{
	uint64_t i, start;
	int batch;

	for (batch = 0; batch < BENCH_BATCHES; batch++) {
		start = now_ns();
		for (i = 0; i < order->calls; i++)
			call(order->call);
		order->ns[batch] = (double)(now_ns() - start) / order->calls;
	}
}

static void run_paced(struct bench_order *order)
{
	uint64_t start = now_ns(), next = start, end = start + order->duration_ns;

	order->made = 0;
	while (next < end) {
		while (now_ns() < next)
			;
		call(order->call);
		order->made++;
		next += order->pace_ns;
	}
}

int main(int argc, char **argv)
{
	struct bench_order *order;
	uint32_t seen = 0;

	order = argc == 2 ? mmap(NULL, sizeof(*order), PROT_READ | PROT_WRITE, MAP_SHARED,
				 atoi(argv[1]), 0) :
			    MAP_FAILED;
	if (order == MAP_FAILED) {
		fprintf(stderr, "target: to be started by the benchmark\n");
		return 2;
	}
	for (;;) {
		while (atomic_load(&order->sequence) == seen)
			usleep(500);
		seen = atomic_load(&order->sequence);
		if (order->call == BENCH_EXIT)
			return 0;
		if (order->call == BENCH_IDLE)
			usleep(order->duration_ns / 1000);
		else if (order->pace_ns)
			run_paced(order);
		else
			run_batches(order);
		atomic_store(&order->done, seen);
	}
}
