// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code objects out of records and out of the memory of a process, which is this one: objects laid
 * out as CPython 3.11 does, well-formed and not.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "symbols/python_code.h"
#include "symbols/python_lines.h"
#include "symbols/python_offsets.h"

/* ---- records --------------------------------------------------------------------------------- */

union whole_record {
	struct ms_python_code record;
	uint8_t bytes[sizeof(struct ms_python_code) + MS_PYTHON_LINES_BYTES];
};

static void set_text(struct ms_python_text *text, uint8_t *bytes, const void *characters,
		     size_t length, unsigned int width)
{
	*text = (struct ms_python_text){ .length = length,
					 .bytes = length * width,
					 .width = width };
	memcpy(bytes, characters, length * width);
}

static struct ms_python_code *make_record(union whole_record *whole)
{
	/* One unit on the first line, one on the next. */
	static const uint8_t lines[] = { 0x80 | 10 << 3, 0, 0, 0x80 | 11 << 3, 0, 0 };
	struct ms_python_code *record = &whole->record;

	memset(whole, 0, sizeof(*whole));
	record->event.size = sizeof(*record) + 8;
	record->version = PYTHON_VERSION(11);
	record->first_line = 7;
	set_text(&record->filename, record->filename_bytes, "/a.py", 5, 1);
	set_text(&record->name, record->name_bytes, "A.f", 3, 1);
	record->lines_size = record->lines_bytes = sizeof(lines);
	memcpy(record->lines, lines, sizeof(lines));
	return record;
}

static void expect_text(const struct string *text, const char *expected)
{
	assert_int_equal(text->length, strlen(expected));
	assert_memory_equal(text->bytes, expected, text->length);
}

static void test_record(void **state)
{
	union whole_record whole;
	struct ms_python_code *record = make_record(&whole);
	struct python_code code;

	(void)state;
	assert_true(python_code_is_well_formed(record, record->event.size));
	assert_int_equal(python_code_of_record(&code, record), 0);
	expect_text(&code.filename, "/a.py");
	expect_text(&code.name, "A.f");
	assert_false(code.is_cut);
	assert_int_equal(python_code_line(&code, 0), 7);
	assert_int_equal(python_code_line(&code, 2), 8);
	assert_int_equal(python_code_line(&code, 4), 0);
	python_code_fini(&code);
}

/* PEP 393: one, two or four bytes for each character. */
static void test_texts_become_utf8(void **state)
{
	static const uint16_t two[] = { 0x44f, 0x20ac, 0xd800, 'x' };
	static const uint32_t four[] = { 0x1f600, 0x110000, 'y' };
	union whole_record whole;
	struct ms_python_code *record = make_record(&whole);
	struct python_code code;

	(void)state;
	set_text(&record->filename, record->filename_bytes, "caf\xe9", 4, 1);
	set_text(&record->name, record->name_bytes, two, 4, 2);
	assert_int_equal(python_code_of_record(&code, record), 0);
	expect_text(&code.filename, "caf\xc3\xa9");
	expect_text(&code.name, "\xd1\x8f\xe2\x82\xac\xef\xbf\xbdx");
	python_code_fini(&code);
	set_text(&record->name, record->name_bytes, four, 3, 4);
	assert_int_equal(python_code_of_record(&code, record), 0);
	expect_text(&code.name, "\xf0\x9f\x98\x80\xef\xbf\xbdy");
	python_code_fini(&code);
}

static void test_what_is_missing_is_said(void **state)
{
	union whole_record whole;
	struct python_code code;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct ms_python_code *record = make_record(&whole);

		if (i == 0)
			record->lines_size++;
		else if (i == 1)
			record->lines_size = record->lines_bytes = 0;
		else if (i == 2)
			record->filename.length++;
		else
			record->name = (struct ms_python_text){ 0 };
		assert_true(python_code_is_well_formed(record, record->event.size));
		assert_int_equal(python_code_of_record(&code, record), 0);
		assert_true(code.is_cut);
		python_code_fini(&code);
	}
}

static void test_records_that_are_none(void **state)
{
	union whole_record whole;
	struct ms_python_code *record = make_record(&whole);

	(void)state;
	assert_false(python_code_is_well_formed(record, sizeof(*record) - 8));
	record->lines_bytes = 9;
	record->lines_size = 9;
	assert_false(python_code_is_well_formed(record, record->event.size));
	record = make_record(&whole);
	record->lines_bytes = record->lines_size + 1;
	assert_false(python_code_is_well_formed(record, record->event.size));
	record = make_record(&whole);
	record->name.width = 3;
	assert_false(python_code_is_well_formed(record, record->event.size));
	record = make_record(&whole);
	record->name.bytes = MS_PYTHON_TEXT_BYTES + 1;
	assert_false(python_code_is_well_formed(record, record->event.size));
}

/* ---- memory ---------------------------------------------------------------------------------- */

#define ASCII_STATE (1u << 2 | 1u << 5 | 1u << 6)
#define LATER_ASCII_STATE (1u << 16 | 1u << 19 | 1u << 20)

static const uint8_t table[] = { 0x80 | 11 << 3, 0, 0 };

struct memory {
	uint8_t code[256];
	uint8_t filename[128];
	uint8_t name[128];
	uint8_t lines[64];
	struct ms_python python;
};

static void put(uint8_t *object, size_t offset, uint64_t value, size_t bytes)
{
	memcpy(object + offset, &value, bytes);
}

static void put_text(uint8_t *object, const char *text, uint32_t state)
{
	put(object, 16, strlen(text), 8);
	put(object, 32, state, 4);
	memcpy(object + 48, text, strlen(text));
}

static void lay_out(struct memory *memory)
{
	memset(memory, 0, sizeof(*memory));
	assert_int_equal(python_offsets_of_version(&memory->python, 0x030b02f0), 0);
	put(memory->code, 72, 41, 4);
	put(memory->code, 112, (uintptr_t)memory->filename, 8);
	put(memory->code, 128, (uintptr_t)memory->name, 8);
	put(memory->code, 136, (uintptr_t)memory->lines, 8);
	put_text(memory->filename, "/train.py", ASCII_STATE);
	put_text(memory->name, "Model.forward", LATER_ASCII_STATE);
	put(memory->lines, 16, sizeof(table), 8);
	memcpy(memory->lines + 32, table, sizeof(table));
}

static uint32_t check_of(const struct memory *memory)
{
	return ms_python_check(41, (uintptr_t)memory->filename, (uintptr_t)memory->name,
			       (uintptr_t)memory->lines);
}

static int read_code(const struct memory *memory, struct python_code *code)
{
	return python_code_read(code, getpid(), &memory->python, (uintptr_t)memory->code,
				check_of(memory));
}

static void test_memory(void **state)
{
	struct memory memory;
	struct python_code code;

	(void)state;
	lay_out(&memory);
	assert_int_equal(read_code(&memory, &code), 0);
	expect_text(&code.filename, "/train.py");
	expect_text(&code.name, "Model.forward");
	assert_int_equal(code.first_line, 41);
	assert_int_equal(python_code_line(&code, 0), 42);
	python_code_fini(&code);
}

static void test_another_object_at_the_address(void **state)
{
	struct memory memory;
	struct python_code code;

	(void)state;
	lay_out(&memory);
	put(memory.code, 72, 40, 4);
	assert_int_equal(read_code(&memory, &code), -ESTALE);
}

static void test_hostile_memory(void **state)
{
	struct memory memory;
	struct python_code code;

	(void)state;
	lay_out(&memory);
	put(memory.lines, 16, UINT64_MAX, 8); /* a table as large as the address space */
	assert_int_equal(read_code(&memory, &code), -EFAULT);
	lay_out(&memory);
	put(memory.name, 16, UINT64_MAX / 4, 8);
	assert_int_equal(read_code(&memory, &code), 0); /* what follows is read as characters */
	assert_true(code.name.length <= PYTHON_CODE_TEXT_MAX * 4);
	python_code_fini(&code);
	lay_out(&memory);
	put(memory.name, 32, 0, 4); /* a str that is none */
	assert_int_equal(read_code(&memory, &code), -EBADMSG);
	lay_out(&memory);
	put(memory.code, 112, (uintptr_t)memory.code + 16, 8);
	assert_int_equal(read_code(&memory, &code), -ESTALE);
	assert_int_equal(python_code_read(&code, getpid(), &memory.python, 8, 0), -EFAULT);
}

/* ---- offsets --------------------------------------------------------------------------------- */

static void test_debug_offsets_are_checked(void **state)
{
	uint8_t bytes[PYTHON_DEBUG_BYTES] = "xdebugpy";
	struct ms_python python;

	(void)state;
	assert_int_equal(python_offsets_of_runtime(&python, bytes, sizeof(bytes)), -EOPNOTSUPP);
	put(bytes, 8, 0x030d00f0, 8);
	put(bytes, 280, 112, 8);
	assert_int_equal(python_offsets_of_runtime(&python, bytes, sizeof(bytes)), 0);
	assert_int_equal(python.version, 0x030d00f0);
	put(bytes, 232, 1000, 8); /* a frame that does not fit into what is read */
	assert_int_equal(python_offsets_of_runtime(&python, bytes, sizeof(bytes)), -EBADMSG);
	put(bytes, 232, UINT64_MAX, 8);
	assert_int_equal(python_offsets_of_runtime(&python, bytes, sizeof(bytes)), -EBADMSG);
	put(bytes, 232, 8, 8);
	put(bytes, 16, 1, 8); /* free-threaded */
	assert_int_equal(python_offsets_of_runtime(&python, bytes, sizeof(bytes)), -EOPNOTSUPP);
	bytes[0] = 'y';
	assert_int_equal(python_offsets_of_runtime(&python, bytes, sizeof(bytes)), -EBADMSG);
	assert_int_equal(python_offsets_of_version(&python, 0x030700f0), -EOPNOTSUPP);
	assert_int_equal(python_offsets_of_version(&python, 0x02070000), -EOPNOTSUPP);
}

static void test_frames_of_the_interpreter(void **state)
{
	struct python_code code = { 0 };

	(void)state;
	string_append_text(&code.name, "__init__");
	string_append_text(&code.filename, "__init__");
	assert_true(python_code_is_own(&code));
	/* A program's own. */
	code.first_line = 12;
	assert_false(python_code_is_own(&code));
	code.first_line = 0;
	string_append_text(&code.filename, ".py");
	assert_false(python_code_is_own(&code));
	python_code_fini(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_of_the_interpreter),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_texts_become_utf8),
		cmocka_unit_test(test_what_is_missing_is_said),
		cmocka_unit_test(test_records_that_are_none),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_another_object_at_the_address),
		cmocka_unit_test(test_hostile_memory),
		cmocka_unit_test(test_debug_offsets_are_checked),
	};

	return unit_run("python_code", tests);
}
