// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocates COUNT times, each time on a stack of its own making: what is above the call, from its
 * return address on, are random words, addresses of code, of the stack and of nothing, which
 * another thread changes all the while. The frame pointer is one of them, too. Waits for a line
 * first.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "simcuda.h"

#define STACK_WORDS 65536
#define OWN_WORDS 49152 /* below the call: what is called needs them */

static uint64_t *stack;
static atomic_bool ending;

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t word(uint64_t *state)
{
	const uint64_t value = next_random(state);

	switch (value % 8) {
	case 0:
		return value;
	case 1:
		return (uintptr_t)&next_random + value % 4096;
	case 2:
		return (uintptr_t)&printf + value % 65536;
	case 3:
		return (uintptr_t)&cuMemAlloc_v2 + value % 4096;
	case 4:
		return 0;
	case 5:
		return UINT64_MAX - value % 64;
	default:
		return (uintptr_t)(stack + OWN_WORDS + value % (STACK_WORDS - OWN_WORDS));
	}
}

static void scribble(uint64_t *state)
{
	stack[OWN_WORDS + 1 + next_random(state) % (STACK_WORDS - OWN_WORDS - 1)] = word(state);
}

static void *rewrite(void *context)
{
	uint64_t state = 88172645463325252ull;

	while (!atomic_load_explicit(&ending, memory_order_relaxed))
		scribble(&state);
	return context;
}

/* The call's own return address lies in front of what is rewritten. */
static CUresult allocate(CUdeviceptr *block, size_t bytes, uint64_t frame)
{
	uint64_t top = (uintptr_t)(stack + OWN_WORDS), function = (uintptr_t)&cuMemAlloc_v2;

	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %%rbp, %%r12\n\t"
			 "mov %%rcx, %%rsp\n\t"
			 "mov %%rdx, %%rbp\n\t"
			 "call *%%rax\n\t"
			 "mov %%r12, %%rbp\n\t"
			 "mov %%rbx, %%rsp\n\t"
			 : "+a"(function), "+D"(block), "+S"(bytes), "+c"(top), "+d"(frame)
			 :
			 : "rbx", "r12", "r8", "r9", "r10", "r11", "memory", "cc");
	return (CUresult)function;
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 1;
	uint64_t state = 1;
	pthread_t thread;
	CUcontext context;
	CUdeviceptr block;
	int i, j;

	stack = mmap(NULL, STACK_WORDS * sizeof(*stack), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || cuInit(0) || cuCtxCreate_v2(&context, 0, 0) ||
	    pthread_create(&thread, NULL, rewrite, NULL))
		return 2;
	getchar();
	for (i = 0; i < count; i++) {
		for (j = 0; j < 64; j++)
			scribble(&state);
		/* The words that are looked at first. */
		for (j = 1; j < 16; j++)
			stack[OWN_WORDS + j] = word(&state);
		if (allocate(&block, 512, word(&state)) || cuMemFree_v2(block))
			return 3;
	}
	ending = true;
	pthread_join(thread, NULL);
	printf("%d\n", count);
	return 0;
}
