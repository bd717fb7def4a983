/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread's registers and stack, as they lie in the file that the sampler writes. */
#ifndef MEMSCOPE_TESTS_STACKS_SAMPLE_H
#define MEMSCOPE_TESTS_STACKS_SAMPLE_H

#include <stdint.h>

#define SAMPLE_REGISTERS 17 /* as DWARF numbers them; the last one is the address of the code */
#define SAMPLE_SP 7
#define SAMPLE_IP 16
#define SAMPLE_RED_ZONE 128 /* bytes below the stack pointer; what was just restored is there */
#define SAMPLE_STACK_BYTES (500u << 10)
#define SAMPLE_BYTES (sizeof(struct sample) + SAMPLE_STACK_BYTES)

/* The stack follows, from the red zone on; what there is none of is 0. */
struct sample {
	uint32_t number, padding;
	uint64_t registers[SAMPLE_REGISTERS];
};

#endif /* MEMSCOPE_TESTS_STACKS_SAMPLE_H */
