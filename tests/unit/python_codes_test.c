// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which code object a frame refers to, while addresses and pids are used again and again.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "symbols/python_codes.h"
#include "symbols/python_lines.h"

#define PID 100
#define START_NS 50000000

static struct ms_python_code record(uint64_t addr, uint32_t check, char name)
{
	return (struct ms_python_code){
		.event = { .pid = PID,
			   .start_ns = START_NS,
			   .size = sizeof(struct ms_python_code) },
		.code = addr,
		.check = check,
		.version = PYTHON_VERSION(12),
		.name = { .length = 1, .bytes = 1, .width = 1 },
		.name_bytes = { (uint8_t)name },
	};
}

static int add(struct python_codes *codes, struct ms_python_code added)
{
	return python_codes_add(codes, &added, sizeof(added), NULL);
}

/* '\0': it is not known. */
static char find(const struct python_codes *codes, uint64_t addr, uint32_t check)
{
	const struct python_code *code = python_codes_find(codes, PID, START_NS, addr, check);

	if (!code)
		return '\0';
	assert_int_equal(code->name.length, 1);
	return code->name.bytes[0];
}

static void test_codes_are_found_by_address_and_check(void **state)
{
	struct python_codes codes = { 0 };

	(void)state;
	assert_int_equal(add(&codes, record(0x1000, 1, 'a')), 0);
	assert_int_equal(add(&codes, record(0x2000, 2, 'b')), 0);
	assert_int_equal(find(&codes, 0x1000, 1), 'a');
	assert_int_equal(find(&codes, 0x2000, 2), 'b');
	assert_int_equal(find(&codes, 0x1000, 2), '\0');
	assert_int_equal(find(&codes, 0x3000, 1), '\0');
	python_codes_fini(&codes);
}

static void test_an_address_is_used_again(void **state)
{
	struct python_codes codes = { 0 };
	size_t bytes;

	(void)state;
	assert_int_equal(add(&codes, record(0x1000, 1, 'a')), 0);
	bytes = codes.bytes;
	assert_int_equal(add(&codes, record(0x1000, 2, 'b')), 0);
	assert_int_equal(codes.bytes, bytes);
	assert_int_equal(find(&codes, 0x1000, 2), 'b');
	assert_int_equal(find(&codes, 0x1000, 1), '\0');
	python_codes_fini(&codes);
}

static void test_a_process_ends(void **state)
{
	struct python_codes codes = { 0 };
	struct ms_python_code other = record(0x1000, 1, 'b');

	(void)state;
	assert_int_equal(add(&codes, record(0x1000, 1, 'a')), 0);
	python_codes_forget(&codes, PID + 1);
	assert_int_equal(find(&codes, 0x1000, 1), 'a');
	/* Its end was not seen, and another one has its pid. */
	other.event.start_ns += MS_START_NS;
	assert_int_equal(add(&codes, other), 0);
	assert_int_equal(find(&codes, 0x1000, 1), '\0');
	python_codes_forget(&codes, PID);
	assert_int_equal(codes.bytes, 0);
	assert_null(python_codes_find(&codes, PID, other.event.start_ns, 0x1000, 1));
	python_codes_fini(&codes);
}

static void test_memory_is_bounded(void **state)
{
	struct python_codes codes = { 0 };
	uint64_t i;

	(void)state;
	for (i = 1; !codes.refused && i < 1000000; i++)
		add(&codes, record(i * 16, 1, 'x'));
	assert_int_equal(codes.refused, 1);
	assert_true(codes.bytes <= PYTHON_CODES_MAX_BYTES);
	assert_int_equal(find(&codes, 16, 1), 'x');
	python_codes_fini(&codes);
}

static void test_a_record_that_is_none(void **state)
{
	struct python_codes codes = { 0 };
	struct ms_python_code added = record(0x1000, 1, 'a');

	(void)state;
	assert_int_equal(python_codes_add(&codes, &added, sizeof(added) - 8, NULL), -EINVAL);
	added.lines_bytes = 8;
	assert_int_equal(add(&codes, added), -EINVAL);
	assert_int_equal(find(&codes, 0x1000, 1), '\0');
	python_codes_fini(&codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes_are_found_by_address_and_check),
		cmocka_unit_test(test_an_address_is_used_again),
		cmocka_unit_test(test_a_process_ends),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_a_record_that_is_none),
	};

	return unit_run("python_codes", tests);
}
