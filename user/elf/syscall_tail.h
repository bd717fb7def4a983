/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The place in a C library's ioctl() behind its system call: a conditional jump, which a probe does
 * not have to single-step, as it would the function's first instruction. There the kernel's answer
 * is in a register, and so are the first two arguments; the third lies on the stack, where the
 * function has put it as one of a variable number. This is how glibc is compiled for x86-64:
 *
 *   mov %rdx,0x30(%rsp) ... syscall; mov %eax,%edx; cmp $0xfffff000,%eax; ja
 */
#ifndef MEMSCOPE_ELF_SYSCALL_TAIL_H
#define MEMSCOPE_ELF_SYSCALL_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct syscall_tail {
	uint32_t jump; /* bytes from the function's first */
	uint8_t saved; /* bytes from the stack pointer to the third argument */
};

/* `code`: the function's first bytes. Returns whether it is of that form. */
bool syscall_tail_find(const uint8_t *code, size_t length, struct syscall_tail *tail);

#endif /* MEMSCOPE_ELF_SYSCALL_TAIL_H */
