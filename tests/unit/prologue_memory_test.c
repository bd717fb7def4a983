// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a process has of a function's code: the file's, with probes in it, or what somebody else has
 * made of it.
 */
#include "unit.h"

#include "elf/prologue.h"

#ifdef __x86_64__

#define ENDBR 0xf3, 0x0f, 0x1e, 0xfa
#define PUSH_RBX 0x53
#define NOP5 0x0f, 0x1f, 0x44, 0x00, 0x00

#define CODE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

#define ADDRESS 0x7f0000001000
#define TRAMPOLINE 0x7f0000001104 /* ADDRESS + 4 + 5 + 0xfb */

static bool is_trampoline(uint64_t address, const void *context)
{
	(void)context;
	return address == TRAMPOLINE;
}

static void assert_compared(enum prologue_change change, const uint8_t *memory, size_t length)
{
	static const uint8_t code[] = { ENDBR, NOP5, PUSH_RBX };

	assert_int_equal(length, sizeof(code));
	assert_int_equal(prologue_compare(code, memory, length, ADDRESS, is_trampoline, NULL),
			 change);
}

static void test_uprobes_are_no_change(void **state)
{
	(void)state;
	assert_compared(PROLOGUE_SAME, CODE(ENDBR, NOP5, PUSH_RBX));
	assert_compared(PROLOGUE_SAME, CODE(0xcc, 0x0f, 0x1e, 0xfa, NOP5, PUSH_RBX));
	assert_compared(PROLOGUE_SAME, CODE(ENDBR, 0xcc, 0x1f, 0x44, 0, 0, PUSH_RBX));
	assert_compared(PROLOGUE_SAME, CODE(ENDBR, NOP5, 0xcc));
	assert_compared(PROLOGUE_SAME, CODE(0xcc, 0x0f, 0x1e, 0xfa, NOP5, 0xcc));
	assert_compared(PROLOGUE_SAME, CODE(ENDBR, 0xe8, 0xfb, 0, 0, 0, PUSH_RBX));
}

static void test_hooks_are_changes(void **state)
{
	(void)state;
	assert_compared(PROLOGUE_CHANGED, CODE(0xe9, 1, 2, 3, 4, 0x1f, 0x44, 0, 0, PUSH_RBX));
	assert_compared(PROLOGUE_CHANGED, CODE(ENDBR, 0xe9, 1, 2, 3, 4, PUSH_RBX));
	assert_compared(PROLOGUE_CHANGED, CODE(ENDBR, 0xe8, 1, 2, 3, 4, PUSH_RBX)); /* not ours */
	assert_compared(PROLOGUE_CHANGED, CODE(ENDBR, NOP5, 0x90));
	/* A breakpoint where no instruction begins, and one over something else. */
	assert_compared(PROLOGUE_CHANGED, CODE(0xf3, 0xcc, 0x1e, 0xfa, NOP5, PUSH_RBX));
	assert_compared(PROLOGUE_CHANGED, CODE(0xcc, 0x0f, 0x1e, 0xfb, NOP5, PUSH_RBX));
	/* Only a nop becomes a call. */
	assert_int_equal(prologue_compare((uint8_t[]){ 0xb8, 1, 0, 0, 0 },
					  (uint8_t[]){ 0xe8, 0xff, 0, 0, 0 }, 5, ADDRESS,
					  is_trampoline, NULL),
			 PROLOGUE_CHANGED);
}

static void test_unknown_instructions_are_compared_too(void **state)
{
	static const uint8_t code[] = { 0xc5, 0xf8 };

	(void)state;
	assert_int_equal(prologue_compare(code, code, 2, ADDRESS, is_trampoline, NULL),
			 PROLOGUE_SAME);
	assert_int_equal(prologue_compare(code, (uint8_t[]){ 0xcc, 0xf8 }, 2, ADDRESS,
					  is_trampoline, NULL),
			 PROLOGUE_SAME);
	assert_int_equal(prologue_compare(code, (uint8_t[]){ 0xff, 0x25 }, 2, ADDRESS,
					  is_trampoline, NULL),
			 PROLOGUE_CHANGED);
}

static bool is_probed(enum prologue_form form, const uint8_t *memory)
{
	const struct prologue_point point = { .form = form };

	return prologue_is_probed(&point, memory, ADDRESS + 4, is_trampoline, NULL);
}

static void test_a_probe_is_a_breakpoint_or_a_call_of_the_trampoline(void **state)
{
	const uint8_t call[] = { 0xe8, 0xfb, 0, 0, 0 }, another[] = { 0xe8, 0xfc, 0, 0, 0 };

	(void)state;
	assert_true(is_probed(PROLOGUE_PUSH, (uint8_t[]){ 0xcc }));
	assert_true(is_probed(PROLOGUE_NOP5, (uint8_t[]){ 0xcc, 0x1f, 0x44, 0, 0 }));
	assert_true(is_probed(PROLOGUE_NOP5, call));
	assert_false(is_probed(PROLOGUE_NOP5, another));
	assert_false(is_probed(PROLOGUE_CALL, call));
	assert_false(is_probed(PROLOGUE_NOP5, (uint8_t[]){ NOP5 }));
	assert_false(is_probed(PROLOGUE_PUSH, (uint8_t[]){ PUSH_RBX }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uprobes_are_no_change),
		cmocka_unit_test(test_hooks_are_changes),
		cmocka_unit_test(test_unknown_instructions_are_compared_too),
		cmocka_unit_test(test_a_probe_is_a_breakpoint_or_a_call_of_the_trampoline),
	};

	return unit_run("prologue_memory", tests);
}

#else

int main(void)
{
	return 0; /* prologue_test.c says what other machines have */
}

#endif
