/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where in a function a uprobe is cheapest: how x86-64 functions begin, and what the kernel does
 * with a breakpoint there. Some instructions it carries out itself ("emulates"), all others it
 * copies out of line and single-steps, which costs a second trap: on bare metal twice to three
 * times as much, in a nested virtual machine 18 times. So a function that begins with endbr64 is
 * better probed at the push behind it.
 *
 * A point behind the first instruction stands for the entry only if that can be proven. The rules,
 * all of them:
 *
 * 1. Straight line: every instruction from the entry to the point is one of the forms in
 *    prologue.c, none of which branches. A thread that enters the function reaches the point, once.
 * 2. Nothing jumps there: nowhere in the function lies a direct branch into (entry, point],
 *    whichever byte one takes for the beginning of an instruction; nor an indirect jump of the
 *    kinds that switch and computed goto are made of (by register, or by a table and an index;
 *    through a fixed place in memory, relative to rip or to a register, other functions are
 *    called, and by register, too, where at least two registers have just been restored: nothing
 *    is left then of the frame that the rest of the function needs). So the whole function has to
 *    be there, and its size known. What lies outside of it (other functions, and its own parts
 *    that the compiler has put elsewhere) is looked at by the caller, with
 *    prologue_find_branches(), for it needs the whole file.
 * 3. Arguments are as they were: nothing before the point writes one of rdi, rsi, rdx, rcx, r8, r9,
 *    or stores to memory (the red zone below rsp, where the call that replaces a nop writes, is
 *    still unused). Neither is rbp written, so that a stack walk is as good as at the entry. Flags
 *    carry no argument, and the kernel leaves them as they are.
 * 4. The stack pointer: at a probe that wants the function's return, the kernel puts a return
 *    address of its own into the word that rsp points to, so rsp must be what it was at the entry.
 *    A probe of the entry alone may come later, as long as it is known how far rsp has moved.
 *
 * Should 2 be wrong of some code after all, there are events too many, but nothing breaks: compiled
 * code has one depth of the stack at each instruction, so by 4 the return address is where it is
 * thought to be.
 *
 * What cannot be proven is probed at its first byte, as ever, and costs what it costs. Of several
 * points, the first. The reader knows just the forms that stand before such points, and ends at any
 * other: a disassembler library would be several megabytes in a static program, to read what this
 * must refuse anyway.
 *
 * Sources: arch/x86/kernel/uprobes.c (what is emulated); Intel SDM, volume 2 (encodings).
 */
#ifndef MEMSCOPE_ELF_PROLOGUE_H
#define MEMSCOPE_ELF_PROLOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROLOGUE_REACH 32       /* bytes: no point lies farther from the entry */
#define PROLOGUE_BYTES 48       /* all that can matter of one: reach and the longest instruction */
#define PROLOGUE_MAX_SIZE 65536 /* of a function that is looked at to its end */

/* Forms of instructions, as far as they are distinguished. */
enum prologue_form {
	PROLOGUE_OTHER, /* none of these */
	PROLOGUE_ENDBR,
	PROLOGUE_NOP,  /* one opcode byte, with operand size prefixes or none */
	PROLOGUE_NOP5, /* the five bytes that new kernels replace by a call */
	PROLOGUE_NOPS, /* any other of several bytes */
	PROLOGUE_PUSH, /* of a register */
	PROLOGUE_SUB,  /* from the stack pointer */
	PROLOGUE_MOV,
	PROLOGUE_LEA,
	PROLOGUE_XOR,
	PROLOGUE_TEST,
	PROLOGUE_CMP,
	PROLOGUE_JMP,
	PROLOGUE_JCC,
	PROLOGUE_CALL,
	PROLOGUE_FORMS_COUNT,
};

/* What a hit of a probe costs there. */
enum prologue_price {
	PROLOGUE_UNPRICED,  /* not on this machine */
	PROLOGUE_OPTIMISED, /* a system call instead of a breakpoint */
	PROLOGUE_EMULATED,
	PROLOGUE_STEPPED, /* single-stepped */
	PROLOGUE_PRICES_COUNT,
};

struct prologue_point {
	uint32_t offset;      /* from the function's first byte */
	uint32_t stack_bytes; /* by which rsp is lower there than at the entry */
	uint8_t length;       /* of the instruction; 0: unknown */
	uint8_t form;         /* enum prologue_form */
	uint8_t price;        /* enum prologue_price */
};

struct prologue {
	struct prologue_point first;  /* the function's first byte */
	struct prologue_point entry;  /* the best point if the entry alone is wanted */
	struct prologue_point result; /* ... if the return is wanted too: stack_bytes is 0 */
};

/*
 * Reads how a function begins. `code` are its first `length` bytes in the file, `size` is what its
 * symbol says (0: unknown); rule 2 needs all of it. `nops`: this kernel emulates nops of several
 * bytes, and optimises the one of five (Linux 6.18). On other machines than x86-64 the answer is
 * the first byte, without a price.
 */
void prologue_read(struct prologue *prologue, const uint8_t *code, size_t length, uint64_t size,
		   bool nops);

/* Falls back to the first byte: something outside of the function jumps to its points. */
void prologue_distrust(struct prologue *prologue);

/*
 * Finds direct branches in any code: calls `visit` with the place of each possible one, whichever
 * byte an instruction begins at, and with that of its target, both relative to `code`.
 */
void prologue_find_branches(const uint8_t *code, size_t length,
			    void (*visit)(size_t place, int64_t target, void *context),
			    void *context);

/*
 * The same, several times faster, but only those that reach far (32 bits); of the others, which
 * reach PROLOGUE_NEAR_BYTES, it may leave out any.
 */
void prologue_find_far_branches(const uint8_t *code, size_t length,
				void (*visit)(size_t place, int64_t target, void *context),
				void *context);

#define PROLOGUE_NEAR_BYTES 130 /* from a branch of two bytes to its target, either way, at most */

/* What the memory of a process has where the file has `code`. */
enum prologue_change {
	PROLOGUE_SAME,    /* but for uprobes and breakpoints of debuggers */
	PROLOGUE_CHANGED, /* another program has changed the function: a hook */
};

/*
 * Compares the `length` bytes from a function's first one, which end with an instruction. A
 * breakpoint may stand for any instruction's first byte, and a call of something that
 * `is_trampoline` agrees to for a nop of five bytes; `address` is where the memory lies.
 */
enum prologue_change prologue_compare(const uint8_t *code, const uint8_t *memory, size_t length,
				      uint64_t address,
				      bool (*is_trampoline)(uint64_t address, const void *context),
				      const void *context);

/* Whether a probe has been put at a point: its memory is what is said above of uprobes. */
bool prologue_is_probed(const struct prologue_point *point, const uint8_t *memory, uint64_t address,
			bool (*is_trampoline)(uint64_t address, const void *context),
			const void *context);

const char *prologue_form_name(enum prologue_form form);    /* "push" */
const char *prologue_price_name(enum prologue_price price); /* "emulated" */

#endif /* MEMSCOPE_ELF_PROLOGUE_H */
