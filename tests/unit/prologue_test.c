// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reader of function prologues: each rule of elf/prologue.h by functions made by hand,
 * which the reader would take if it were not for that rule.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "elf/prologue.h"

#ifdef __x86_64__

#define ENDBR 0xf3, 0x0f, 0x1e, 0xfa
#define PUSH_RBX 0x53
#define NOP5 0x0f, 0x1f, 0x44, 0x00, 0x00
#define SUB_24 0x48, 0x83, 0xec, 0x18
#define TEST_RDI 0x48, 0x85, 0xff
#define CALL_AWAY 0xe8, 0x00, 0x10, 0x00, 0x00
#define RET 0xc3

#define CODE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static struct prologue read_as(const uint8_t *code, size_t length, uint64_t size, bool nops)
{
	struct prologue prologue;

	memset(&prologue, 0x5a, sizeof(prologue));
	prologue_read(&prologue, code, length, size, nops);
	return prologue;
}

static void assert_point(const struct prologue_point *point, uint32_t offset,
			 enum prologue_form form, enum prologue_price price, uint32_t stack_bytes)
{
	assert_int_equal(point->offset, offset);
	assert_string_equal(prologue_form_name(point->form), prologue_form_name(form));
	assert_string_equal(prologue_price_name(point->price), prologue_price_name(price));
	assert_int_equal(point->stack_bytes, stack_bytes);
}

/* The same point for both purposes. */
static void assert_cheap(const uint8_t *code, size_t length, uint32_t offset,
			 enum prologue_form form)
{
	struct prologue prologue = read_as(code, length, length, false);

	assert_point(&prologue.entry, offset, form, PROLOGUE_EMULATED, 0);
	assert_point(&prologue.result, offset, form, PROLOGUE_EMULATED, 0);
	assert_int_equal(prologue.first.offset, 0);
}

static void assert_not_moved(const uint8_t *code, size_t length)
{
	struct prologue prologue = read_as(code, length, length, false);

	assert_int_equal(prologue.entry.offset, 0);
	assert_int_equal(prologue.result.offset, 0);
	assert_int_equal(prologue.entry.stack_bytes, 0);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void test_what_the_kernel_emulates_is_cheap_where_it_stands(void **state)
{
	(void)state;
	assert_cheap(CODE(0x55, RET), 0, PROLOGUE_PUSH);
	assert_cheap(CODE(0x41, 0x57, RET), 0, PROLOGUE_PUSH);
	assert_cheap(CODE(0x90, RET), 0, PROLOGUE_NOP);
	assert_cheap(CODE(0x66, 0x90, RET), 0, PROLOGUE_NOP);
	assert_cheap(CODE(0x66, 0x66, 0x90, RET), 0, PROLOGUE_NOP);
	assert_cheap(CODE(0xeb, 0x00, RET), 0, PROLOGUE_JMP);
	assert_cheap(CODE(0xe9, 0, 0x10, 0, 0, RET), 0, PROLOGUE_JMP);
	assert_cheap(CODE(0x74, 0x00, RET), 0, PROLOGUE_JCC);
	assert_cheap(CODE(0x0f, 0x84, 0, 0x10, 0, 0, RET), 0, PROLOGUE_JCC);
	assert_cheap(CODE(CALL_AWAY, RET), 0, PROLOGUE_CALL);
}

static void test_forms_that_the_kernel_does_not_emulate(void **state)
{
	(void)state;
	/* Pushes with another prefix than REX.B, of memory, of a number; branches with a prefix. */
	assert_not_moved(CODE(ENDBR, 0x48, 0x53, RET));
	assert_not_moved(CODE(ENDBR, 0x66, 0x53, RET));
	assert_not_moved(CODE(ENDBR, 0x64, 0x53, RET));
	assert_not_moved(CODE(ENDBR, 0x64, 0x74, 0x00, RET));
	assert_not_moved(CODE(ENDBR, 0x64, CALL_AWAY, RET));
	assert_not_moved(CODE(ENDBR, 0xff, 0x37, RET));
	assert_not_moved(CODE(ENDBR, 0x6a, 0x01, RET));
	assert_not_moved(CODE(ENDBR, 0x66, 0xe9, 0, 0x10, 0, 0, RET));
	assert_not_moved(CODE(ENDBR, 0xf2, 0xe9, 0, 0x10, 0, 0, RET));
	assert_not_moved(CODE(ENDBR, 0xe3, 0x00, RET)); /* jrcxz */
	assert_not_moved(CODE(ENDBR, RET));
	assert_not_moved(CODE(ENDBR, 0xff, 0x25, 0, 0, 0, 0));
}

static void test_what_may_stand_before(void **state)
{
	(void)state;
	assert_cheap(CODE(ENDBR, PUSH_RBX, RET), 4, PROLOGUE_PUSH);
	assert_cheap(CODE(TEST_RDI, 0x74, 0x01, PUSH_RBX, RET), 3, PROLOGUE_JCC);
	assert_cheap(CODE(0x48, 0x89, 0xf8, PUSH_RBX, RET), 3, PROLOGUE_PUSH); /* mov %rdi,%rax */
	assert_cheap(CODE(0x48, 0x8b, 0x47, 8, PUSH_RBX, RET), 4, PROLOGUE_PUSH); /* 8(%rdi),%rax */
	assert_cheap(CODE(0x8b, 0x05, 1, 2, 3, 4, PUSH_RBX, RET), 6,
		     PROLOGUE_PUSH); /* x(%rip),%eax */
	assert_cheap(CODE(0x4c, 0x8d, 0x54, 0x24, 8, PUSH_RBX, RET), 5, PROLOGUE_PUSH); /* lea */
	assert_cheap(CODE(0x31, 0xc0, PUSH_RBX, RET), 2, PROLOGUE_PUSH);
	assert_cheap(CODE(0xb8, 1, 0, 0, 0, PUSH_RBX, RET), 5, PROLOGUE_PUSH);
	assert_cheap(CODE(0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, PUSH_RBX, RET), 10, PROLOGUE_PUSH);
	assert_cheap(CODE(0x48, 0xc7, 0xc0, 1, 0, 0, 0, PUSH_RBX, RET), 7, PROLOGUE_PUSH);
	assert_cheap(CODE(0x0f, 0xb6, 0x07, PUSH_RBX, RET), 3,
		     PROLOGUE_PUSH); /* movzbl (%rdi),%eax */
	assert_cheap(CODE(0x80, 0x3d, 0, 0, 0, 0, 0, 0x74, 0, RET), 7, PROLOGUE_JCC); /* cmpb */
	assert_cheap(CODE(0x83, 0xff, 5, 0x77, 0, RET), 3, PROLOGUE_JCC);
	assert_cheap(CODE(0x3d, 1, 0, 0, 0, 0x77, 0, RET), 5, PROLOGUE_JCC);
	assert_cheap(CODE(0xf7, 0xc6, 1, 0, 0, 0, 0x74, 0, RET), 6, PROLOGUE_JCC);
	/* the stack protector's value, %fs:0x28; an index with a base, and one without */
	assert_cheap(CODE(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, PUSH_RBX, RET), 9,
		     PROLOGUE_PUSH);
	assert_cheap(CODE(0x8b, 0x84, 0xb7, 1, 2, 3, 4, PUSH_RBX, RET), 7, PROLOGUE_PUSH);
	assert_cheap(CODE(0x8b, 0x44, 0xb7, 1, PUSH_RBX, RET), 4, PROLOGUE_PUSH);
	assert_cheap(CODE(0x8b, 0x04, 0xb7, PUSH_RBX, RET), 3, PROLOGUE_PUSH);
}

static void test_nops_of_several_bytes_depend_on_the_kernel(void **state)
{
	static const uint8_t code[] = { ENDBR, NOP5, PUSH_RBX, RET };
	static const uint8_t longer[] = {
		0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, PUSH_RBX, RET
	};
	struct prologue prologue = read_as(code, sizeof(code), sizeof(code), true);

	(void)state;
	assert_point(&prologue.result, 4, PROLOGUE_NOP5, PROLOGUE_OPTIMISED, 0);
	prologue = read_as(code, sizeof(code), sizeof(code), false);
	assert_point(&prologue.result, 9, PROLOGUE_PUSH, PROLOGUE_EMULATED, 0);
	prologue = read_as(longer, sizeof(longer), sizeof(longer), true);
	assert_point(&prologue.result, 0, PROLOGUE_NOPS, PROLOGUE_EMULATED, 0);
	prologue = read_as(longer, sizeof(longer), sizeof(longer), false);
	assert_point(&prologue.first, 0, PROLOGUE_NOPS, PROLOGUE_STEPPED, 0);
	assert_point(&prologue.result, 10, PROLOGUE_PUSH, PROLOGUE_EMULATED, 0);
}

/* ---- rule 1: a straight line of known forms -------------------------------------------------- */

static void test_nothing_unknown_stands_before(void **state)
{
	(void)state;
	assert_not_moved(CODE(0xc5, 0xf8, 0x77, PUSH_RBX, RET)); /* vzeroupper */
	assert_not_moved(CODE(0xf3, 0x0f, 0x1e, 0xc8, PUSH_RBX, RET));
	assert_not_moved(CODE(0xf0, 0x31, 0xc0, PUSH_RBX, RET));
	assert_not_moved(CODE(0x0f, 0x1f, 0xc0, PUSH_RBX, RET)); /* a nop with a register */
	assert_not_moved(CODE(0x0f, 0x1f, 0x48, 0, PUSH_RBX, RET));
	assert_not_moved(CODE(0x48, 0x8d, 0xc0, PUSH_RBX, RET)); /* lea of a register */
	assert_not_moved(CODE(0xf7, 0xd8, PUSH_RBX, RET));       /* neg %eax */
	assert_not_moved(CODE(0x83, 0xc0, 1, PUSH_RBX, RET));    /* add */
	assert_not_moved(CODE(0xc7, 0xf8, 1, 0, 0, 0, PUSH_RBX, RET));
}

static void test_an_instruction_that_is_cut_off_is_unknown(void **state)
{
	static const uint8_t code[] = { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 1, 0,   0,
					0,    0x64, 0x48, 0x8b, 0x04, 0, 0, 0x55 };
	size_t length;

	(void)state;
	for (length = 0; length < 16; length++) {
		struct prologue prologue = read_as(code, length, length, false);

		assert_int_equal(prologue.result.offset, 0);
		assert_int_equal(prologue.first.length, length < 10 ? 0 : 10);
	}
	for (length = 0; length <= 5; length++) {
		struct prologue prologue =
			read_as((uint8_t[]){ 0xb8, 0x90, 0x90, 0x90, 0x90 }, length, length, false);

		assert_int_equal(prologue.first.length, length < 5 ? 0 : 5);
	}
}

static void test_an_instruction_that_is_too_long_is_unknown(void **state)
{
	uint8_t code[PROLOGUE_BYTES + 16];

	(void)state;
	memset(code, 0x66, sizeof(code));
	code[14] = 0x90;
	assert_int_equal(read_as(code, sizeof(code), sizeof(code), false).first.length, 15);
	code[14] = 0x66;
	code[15] = 0x90;
	assert_int_equal(read_as(code, sizeof(code), sizeof(code), false).first.length, 0);
	code[15] = 0x66;
	code[PROLOGUE_BYTES] = 0x90;
	assert_int_equal(read_as(code, sizeof(code), sizeof(code), false).first.length, 0);
}

static void test_no_point_is_far_away(void **state)
{
	uint8_t code[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(code); i += 2)
		memcpy(code + i, (uint8_t[]){ 0x31, 0xc0 }, 2);
	code[PROLOGUE_REACH - 2] = PUSH_RBX;
	assert_cheap(code, sizeof(code), PROLOGUE_REACH - 2, PROLOGUE_PUSH);
	code[PROLOGUE_REACH - 2] = 0x31;
	code[PROLOGUE_REACH] = PUSH_RBX;
	assert_not_moved(code, sizeof(code));
}

/* ---- rule 2: nothing jumps there ------------------------------------------------------------- */

static void test_a_branch_into_the_line(void **state)
{
	(void)state;
	/* To the point, and to an instruction before it; by each form. */
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xeb, 0xfd));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x75, 0xfd));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xe0, 0xfd));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xe3, 0xfd));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xe8, 0xfa, 0xff, 0xff, 0xff));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xe9, 0xfa, 0xff, 0xff, 0xff));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x0f, 0x8f, 0xf9, 0xff, 0xff, 0xff));
	assert_not_moved(CODE(ENDBR, 0x31, 0xc0, PUSH_RBX, 0xeb, 0xfb));
	/* In what may be the middle of another instruction: a prefix, a number. */
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x3e, 0x75, 0xfc));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xb8, 0xeb, 0xfc, 0, 0, RET));
	/* Just past the point, and back to the entry: both fine. */
	assert_cheap(CODE(ENDBR, PUSH_RBX, 0xeb, 0xfe), 4, PROLOGUE_PUSH);
	assert_cheap(CODE(ENDBR, PUSH_RBX, 0xeb, 0xf9), 4, PROLOGUE_PUSH);
}

static void test_a_jump_to_who_knows_where(void **state)
{
	(void)state;
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xff, 0xe0));             /* jmp *%rax */
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x3e, 0x41, 0xff, 0xe3)); /* notrack jmp *%r11 */
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xff, 0x24, 0xc5, 0, 0, 0, 0)); /* a table */
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xff, 0x64, 0xc8, 0x08));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0xff, 0xa4, 0xc8, 0, 1, 0, 0));
	/* A tail call restores what calls keep: two registers at least, nothing between. */
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x5b, 0xff, 0xe0)); /* one is restored */
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x41, 0x5e, 0xff, 0xe0));
	/* mov 0x58(%rcx), %rax: no register is */
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x48, 0x8b, 0x41, 0x58, 0xff, 0xe0));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x5b, 0x5d, 0x90, 0xff, 0xe0));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x5b, 0x5d, 0xff, 0x24, 0xc5, 0, 0, 0, 0));
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x5b, 0x5d, 0x3e, 0xff, 0xe0)); /* notrack */
	/* A tail call that is not the only jump. */
	assert_not_moved(CODE(ENDBR, PUSH_RBX, 0x5b, 0x5d, 0xff, 0xe0, 0xff, 0xe0));
	assert_cheap(CODE(ENDBR, PUSH_RBX, 0x5b, 0x5d, 0xff, 0xe0), 4, PROLOGUE_PUSH);
	assert_cheap(CODE(ENDBR, PUSH_RBX, 0x41, 0x5d, 0x41, 0x5e, 0xff, 0xe0), 4, PROLOGUE_PUSH);
	assert_cheap(CODE(ENDBR, PUSH_RBX, 0x5d, 0x41, 0x5d, 0x41, 0xff, 0xe1), 4, PROLOGUE_PUSH);
	/* Other functions, through fixed places; and calls come back. */
	assert_cheap(CODE(ENDBR, PUSH_RBX, 0xff, 0x60, 0x08), 4, PROLOGUE_PUSH);
	assert_cheap(CODE(ENDBR, PUSH_RBX, 0xff, 0x25, 0, 0, 0, 0), 4, PROLOGUE_PUSH);
	assert_cheap(CODE(ENDBR, PUSH_RBX, 0xff, 0xd0, RET), 4, PROLOGUE_PUSH);
}

static void test_a_function_that_is_not_all_there(void **state)
{
	static const uint8_t code[] = { ENDBR, PUSH_RBX, RET, 0xeb, 0xfc };
	struct prologue prologue = read_as(code, 6, 0, false);

	(void)state;
	assert_int_equal(prologue.entry.offset, 0); /* size unknown */
	prologue = read_as(code, 6, 7, false);
	assert_int_equal(prologue.entry.offset, 0); /* cut off */
	prologue = read_as(code, 6, 6, false);
	assert_int_equal(prologue.entry.offset, 4);
	prologue = read_as(code, sizeof(code), 6, false);
	assert_int_equal(prologue.entry.offset, 4); /* what follows is another function */
	prologue = read_as(code, sizeof(code), sizeof(code), false);
	assert_int_equal(prologue.entry.offset, 0);
}

static void test_what_is_found_outside_can_be_told(void **state)
{
	struct prologue prologue = read_as(CODE(ENDBR, PUSH_RBX, RET), 6, false);

	(void)state;
	prologue_distrust(&prologue);
	assert_point(&prologue.entry, 0, PROLOGUE_ENDBR, PROLOGUE_STEPPED, 0);
	assert_point(&prologue.result, 0, PROLOGUE_ENDBR, PROLOGUE_STEPPED, 0);
}

/* ---- rule 3: arguments are as they were ------------------------------------------------------ */

static void test_no_argument_register_is_written(void **state)
{
	static const uint8_t refused[] = { 1, 2, 4, 5, 6, 7, 8, 9 }; /* 4, 5: rsp, rbp */
	uint8_t number, i;

	(void)state;
	for (number = 0; number < 16; number++) {
		bool is_refused = memchr(refused, number, sizeof(refused));
		uint8_t high = number >> 3, low = number & 7;
		/* mov %rax,REG; mov %rcx -> REG the other way; mov $1,REG; xor; lea (%rax),REG */
		const uint8_t codes[][10] = {
			{ 0x48 | high, 0x89, 0xc0 | low, PUSH_RBX, RET },
			{ 0x48 | high << 2, 0x8b, 0xc1 | low << 3, PUSH_RBX, RET },
			{ 0x40 | high, 0xb8 | low, 1, 0, 0, 0, PUSH_RBX, RET },
			{ 0x40 | high, 0x31, 0xc0 | low, PUSH_RBX, RET },
			{ 0x48 | high << 2, 0x8d, 0x00 | low << 3, PUSH_RBX, RET },
			{ 0x40 | high, 0xc7, 0xc0 | low, 1, 0, 0, 0, PUSH_RBX, RET },
			{ 0x40 | high << 2, 0x33, 0xc0 | low << 3, PUSH_RBX, RET },
		};

		for (i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
			struct prologue prologue =
				read_as(codes[i], sizeof(codes[i]), sizeof(codes[i]), false);

			assert_int_equal(prologue.result.offset == 0, is_refused);
		}
	}
}

static void test_registers_of_8_bits_are_not_written(void **state)
{
	(void)state;
	assert_not_moved(CODE(0x88, 0xc5, PUSH_RBX, RET)); /* mov %al,%ch */
	assert_not_moved(CODE(0x8a, 0x37, PUSH_RBX, RET)); /* mov (%rdi),%dh */
	assert_not_moved(CODE(0xb6, 0x01, PUSH_RBX, RET)); /* mov $1,%dh */
}

static void test_nothing_is_stored(void **state)
{
	(void)state;
	assert_not_moved(CODE(0x48, 0x89, 0x07, PUSH_RBX, RET)); /* mov %rax,(%rdi) */
	assert_not_moved(CODE(0x48, 0x89, 0x44, 0x24, 0x08, PUSH_RBX, RET));
	assert_not_moved(CODE(0xc7, 0x07, 1, 0, 0, 0, PUSH_RBX, RET));
	assert_not_moved(CODE(0x31, 0x07, PUSH_RBX, RET));
	assert_not_moved(CODE(0x48, 0x89, 0x38, PUSH_RBX, RET)); /* mov %rdi,(%rax) */
	assert_not_moved(CODE(0xc7, 0x00, 1, 0, 0, 0, PUSH_RBX, RET));
	assert_not_moved(CODE(0x83, 0x2c, 0x24, 0x18, 0x74, 0, RET)); /* subl $24,(%rsp) */
}

/* ---- rule 4: the stack pointer --------------------------------------------------------------- */

static void assert_lowered(const uint8_t *code, size_t length, uint32_t offset,
			   uint32_t stack_bytes)
{
	struct prologue prologue = read_as(code, length, length, false);

	assert_int_equal(prologue.entry.offset, offset);
	assert_int_equal(prologue.entry.stack_bytes, stack_bytes);
	assert_int_equal(prologue.entry.price, PROLOGUE_EMULATED);
	assert_int_equal(prologue.result.offset, 0);
	assert_int_equal(prologue.result.stack_bytes, 0);
	assert_int_equal(prologue.result.price, PROLOGUE_STEPPED);
}

static void test_a_lowered_stack_pointer_is_for_entries_alone(void **state)
{
	(void)state;
	assert_lowered(CODE(SUB_24, CALL_AWAY, RET), 4, 24);
	assert_lowered(CODE(ENDBR, SUB_24, CALL_AWAY, RET), 8, 24);
	assert_lowered(CODE(SUB_24, SUB_24, CALL_AWAY, RET), 8, 48);
	assert_lowered(CODE(0x48, 0x81, 0xec, 0x98, 0x12, 0, 0, PUSH_RBX, RET), 7, 0x1298);
	assert_lowered(CODE(0x48, 0x83, 0xc4, 0x80, PUSH_RBX, RET), 4, 128); /* add $-128,%rsp */
}

static void test_other_changes_of_the_stack_pointer(void **state)
{
	(void)state;
	assert_not_moved(CODE(0x48, 0x83, 0xc4, 0x18, PUSH_RBX, RET)); /* add */
	assert_not_moved(CODE(0x48, 0x83, 0xec, 0xe8, PUSH_RBX, RET)); /* sub $-24 */
	assert_not_moved(CODE(0x48, 0x83, 0xe4, 0xf0, PUSH_RBX, RET)); /* and */
	assert_not_moved(CODE(0x48, 0x83, 0xe4, 0x10, PUSH_RBX, RET));
	assert_not_moved(CODE(0x48, 0x83, 0x2c, 0x24, 0x18, PUSH_RBX, RET)); /* of the word there */
	assert_not_moved(CODE(0x83, 0xec, 0x18, PUSH_RBX, RET));             /* %esp */
	assert_not_moved(CODE(0x49, 0x83, 0xec, 0x18, PUSH_RBX, RET));       /* %r12 */
	assert_not_moved(CODE(0x48, 0x83, 0xe8, 0x18, PUSH_RBX, RET));       /* %rax */
	assert_not_moved(
		CODE(0x48, 0x8d, 0x64, 0x24, 0xe8, PUSH_RBX, RET)); /* lea -24(%rsp),%rsp */
	assert_not_moved(CODE(0xc8, 0x18, 0, 0, PUSH_RBX, RET));    /* enter */
}

static void test_the_lowering_does_not_wrap_around(void **state)
{
	uint8_t code[4 * 7 + 2] = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		memcpy(code + 7 * i, (uint8_t[]){ 0x48, 0x81, 0xec, 0xff, 0xff, 0xff, 0x7f }, 7);
	code[28] = PUSH_RBX;
	assert_not_moved(code, sizeof(code));
}

/* ---- branches in other code ------------------------------------------------------------------ */

struct branches {
	size_t count;
	size_t places[8];
	int64_t targets[8];
};

static void note_branch(size_t place, int64_t target, void *context)
{
	struct branches *branches = context;

	assert_true(branches->count < 8);
	branches->places[branches->count] = place;
	branches->targets[branches->count++] = target;
}

static void test_branches_are_found_wherever_they_begin(void **state)
{
	struct branches branches = { 0 };

	(void)state;
	prologue_find_branches(CODE(0x90, 0xe9, 0xfa, 0xff, 0xff, 0xff, 0x0f, 0x8f, 0, 1, 0, 0,
				    0xc3, 0xe2, 0x02, 0xe8, 0, 0, 0),
			       note_branch, &branches);
	assert_int_equal(branches.count, 3); /* the last one is cut off */
	assert_int_equal(branches.places[0], 1);
	assert_int_equal(branches.targets[0], 0);
	assert_int_equal(branches.places[1], 6);
	assert_int_equal(branches.targets[1], 0x10c);
	assert_int_equal(branches.places[2], 13);
	assert_int_equal(branches.targets[2], 17);
}

struct far {
	const uint8_t *code;
	size_t count;
	uint64_t sum; /* of places and targets */
};

static void note_far(size_t place, int64_t target, void *context)
{
	struct far *far = context;

	if (far->code[place] >> 4 == 7 || far->code[place] >> 2 == 0xe0 >> 2 ||
	    far->code[place] == 0xeb)
		return; /* two bytes */
	far->count++;
	far->sum += place * 31 + (uint64_t)target;
}

static void test_far_branches_are_all_found_by_the_faster_way(void **state)
{
	uint8_t code[400];
	size_t i, length, found = 0;

	(void)state;
	srand(7);
	for (length = 0; length < sizeof(code); length++) {
		struct far all = { .code = code }, far = { .code = code };

		for (i = 0; i < sizeof(code); i++)
			code[i] = rand() % 4 ? rand() : rand() % 2 ? 0xe8 + rand() % 2 : 0x0f;
		prologue_find_branches(code, length, note_far, &all);
		prologue_find_far_branches(code, length, note_far, &far);
		assert_int_equal(far.count, all.count);
		assert_int_equal(far.sum, all.sum);
		found += far.count;
	}
	assert_true(found > 1000);
}

/* ---- any bytes at all ------------------------------------------------------------------------ */

static void test_no_random_bytes_do_harm(void **state)
{
	static const uint8_t likely[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x66, 0x2e,
					  0x1f, 0x84, 0x64, 0x8b, 0x89, 0x31, 0x85, 0x55, 0xc7 };
	uint8_t code[PROLOGUE_BYTES];
	uint64_t random = 4711;
	size_t round, i;

	(void)state;
	for (round = 0; round < 200000; round++) {
		size_t length = (random >> 40) % (sizeof(code) + 1);
		struct prologue prologue;

		for (i = 0; i < sizeof(code); i++) {
			random = unit_random(random);
			code[i] =
				random & 1 ? likely[(random >> 32) % sizeof(likely)] : random >> 32;
		}
		prologue = read_as(code, length, length, random & 2);
		assert_true(prologue.entry.offset + prologue.entry.length <= length);
		assert_true(prologue.entry.offset < PROLOGUE_REACH);
		assert_int_equal(prologue.result.stack_bytes, 0);
		assert_true(prologue.entry.price <= prologue.first.price);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_kernel_emulates_is_cheap_where_it_stands),
		cmocka_unit_test(test_forms_that_the_kernel_does_not_emulate),
		cmocka_unit_test(test_what_may_stand_before),
		cmocka_unit_test(test_nops_of_several_bytes_depend_on_the_kernel),
		cmocka_unit_test(test_nothing_unknown_stands_before),
		cmocka_unit_test(test_an_instruction_that_is_cut_off_is_unknown),
		cmocka_unit_test(test_an_instruction_that_is_too_long_is_unknown),
		cmocka_unit_test(test_no_point_is_far_away),
		cmocka_unit_test(test_a_branch_into_the_line),
		cmocka_unit_test(test_a_jump_to_who_knows_where),
		cmocka_unit_test(test_a_function_that_is_not_all_there),
		cmocka_unit_test(test_what_is_found_outside_can_be_told),
		cmocka_unit_test(test_no_argument_register_is_written),
		cmocka_unit_test(test_registers_of_8_bits_are_not_written),
		cmocka_unit_test(test_nothing_is_stored),
		cmocka_unit_test(test_a_lowered_stack_pointer_is_for_entries_alone),
		cmocka_unit_test(test_other_changes_of_the_stack_pointer),
		cmocka_unit_test(test_the_lowering_does_not_wrap_around),
		cmocka_unit_test(test_branches_are_found_wherever_they_begin),
		cmocka_unit_test(test_far_branches_are_all_found_by_the_faster_way),
		cmocka_unit_test(test_no_random_bytes_do_harm),
	};

	return unit_run("prologue", tests);
}

#else

static void test_other_machines_have_the_first_byte(void **state)
{
	struct prologue prologue;

	(void)state;
	prologue_read(&prologue, (const uint8_t *)"12345678", 8, 8, true);
	assert_int_equal(prologue.result.offset, 0);
	assert_int_equal(prologue.result.price, PROLOGUE_UNPRICED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_machines_have_the_first_byte),
	};

	return unit_run("prologue", tests);
}

#endif
