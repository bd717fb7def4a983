// SPDX-License-Identifier: BSD-2-Clause
/*
 * The place behind the system call of ioctl(), in code as compilers make it, and in code that must
 * not be taken for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "elf/syscall_tail.h"

/* glibc 2.36 */
static const uint8_t glibc[] = {
	0x48, 0x83, 0xec, 0x58,                               /* sub $0x58,%rsp */
	0x48, 0x89, 0x54, 0x24, 0x30,                         /* mov %rdx,0x30(%rsp) */
	0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0x00, 0x00, 0x00, /* mov %fs:0x28,%rax */
	0x48, 0x89, 0x44, 0x24, 0x18, 0x31, 0xc0,             /* ... */
	0xb8, 0x10, 0x00, 0x00, 0x00,                         /* mov $0x10,%eax */
	0x0f, 0x05,                                           /* syscall */
	0x89, 0xc2,                                           /* mov %eax,%edx */
	0x3d, 0x00, 0xf0, 0xff, 0xff,                         /* cmp $0xfffff000,%eax */
	0x77, 0x1c,                                           /* ja */
	0x48, 0x8b, 0x44, 0x24, 0x18,
};

#define CALL 30
#define JUMP 39

static bool find(const uint8_t *code, size_t length)
{
	struct syscall_tail tail;

	return syscall_tail_find(code, length, &tail);
}

static void test_glibc(void **state)
{
	uint8_t code[sizeof(glibc) + 1];
	struct syscall_tail tail;

	(void)state;
	assert_true(syscall_tail_find(glibc, sizeof(glibc), &tail));
	assert_int_equal(tail.jump, JUMP);
	assert_int_equal(tail.saved, 0x30);
	/* The whole register is compared, and the jump is a far one. */
	memcpy(code, glibc, CALL + 2);
	memcpy(code + CALL + 2, "\x48\x3d\x00\xf0\xff\xff\x0f\x87\x10", 9);
	assert_true(syscall_tail_find(code, sizeof(code), &tail));
	assert_int_equal(tail.jump, CALL + 8);
}

static void test_any_other_code(void **state)
{
	uint8_t code[sizeof(glibc)];
	size_t i;

	(void)state;
	/* Cut short, or with any of the bytes that matter changed. */
	for (i = 0; i <= JUMP; i++)
		assert_false(find(glibc, i));
	assert_true(find(glibc, JUMP + 1));
	for (i = CALL; i <= JUMP; i++) {
		memcpy(code, glibc, sizeof(code));
		code[i] ^= 0x40;
		assert_false(find(code, sizeof(code)));
	}
	for (i = 4; i < 8; i++) {
		memcpy(code, glibc, sizeof(code));
		code[i] ^= 0x01;
		assert_false(find(code, sizeof(code)));
	}
	/* The third argument is in two places, or none of a word, or the stack is moved since. */
	memcpy(code, glibc, sizeof(code));
	memcpy(code + 18, "\x48\x89\x54\x24\x38", 5);
	assert_false(find(code, sizeof(code)));
	memcpy(code, glibc, sizeof(code));
	code[8] = 0x31;
	assert_false(find(code, sizeof(code)));
	memcpy(code, glibc, sizeof(code));
	memcpy(code + 18, "\x48\x83\xec\x10", 4);
	assert_false(find(code, sizeof(code)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_glibc),
		cmocka_unit_test(test_any_other_code),
	};

	return cmocka_run_group_tests_name("behind a system call", tests, NULL, NULL);
}
