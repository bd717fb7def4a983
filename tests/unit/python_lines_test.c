// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tables that four versions of CPython have made for one function, with the lines that they
 * themselves read out of them; tables that end too early; and any bytes.
 */
#include "unit.h"

#include <string.h>

#include "symbols/python_lines.h"

/* From that offset on, this line; 0: none. */
struct run {
	int offset;
	uint32_t line;
};

/* clang-format off */
static const uint8_t table_9[] = {
	0, 2, 4, 1, 8, 1, 2, 1, 2, 1, 2, 255, 2, 255, 4, 3, 16, 127, 0, 36, 4, 1, 6, 255, 6, 3,
	2, 1, 6, 2, 2, 254, 8, 4, 12, 1,
};

static const struct run runs_9[] = {
	{ 0, 4 }, { 4, 5 }, { 12, 6 }, { 14, 7 }, { 16, 8 }, { 18, 7 }, { 20, 6 }, { 24, 9 },
	{ 40, 172 }, { 44, 173 }, { 50, 172 }, { 56, 175 }, { 58, 176 }, { 64, 178 },
	{ 66, 176 }, { 74, 180 }, { 86, 181 },
};

static const uint8_t table_10[] = {
	4, 2, 8, 1, 2, 1, 2, 1, 2, 1, 2, 255, 4, 255, 16, 3, 0, 127, 4, 36, 6, 1, 6, 255, 2, 3,
	6, 1, 2, 2, 8, 254, 4, 4, 4, 1, 6, 255,
};

static const struct run runs_10[] = {
	{ 0, 4 }, { 4, 5 }, { 12, 6 }, { 14, 7 }, { 16, 8 }, { 18, 7 }, { 20, 6 }, { 24, 9 },
	{ 40, 172 }, { 44, 173 }, { 50, 172 }, { 56, 175 }, { 58, 176 }, { 64, 178 },
	{ 66, 176 }, { 74, 180 }, { 78, 181 }, { 82, 180 },
};

static const uint8_t table_11[] = {
	128, 0, 224, 12, 13, 128, 69, 216, 13, 18, 240, 0, 105, 2, 5, 23, 240, 0, 105, 2, 5,
	23, 136, 1, 216, 8, 13, 216, 12, 13, 216, 12, 13, 241, 3, 1, 13, 14, 241, 3, 2, 9, 15,
	136, 5, 240, 6, 0, 12, 17, 144, 50, 138, 58, 136, 58, 144, 117, 160, 1, 145, 122, 144,
	117, 245, 70, 5, 0, 9, 13, 136, 85, 240, 2, 1, 14, 22, 240, 0, 1, 14, 22, 241, 3, 2, 9,
	23, 244, 0, 2, 9, 23, 240, 0, 2, 9, 23, 240, 0, 2, 9, 23, 240, 6, 5, 5, 17, 240, 2, 2,
	13, 20, 240, 0, 2, 13, 20, 224, 13, 18, 240, 5, 2, 13, 20, 241, 0, 2, 13, 20, 244, 0,
	2, 13, 20, 136, 1, 240, 8, 0, 13, 17, 136, 1, 136, 1, 248, 136, 68, 136, 1, 136, 8,
	136, 8, 136, 8, 136, 8, 216, 11, 16, 128, 76,
};

static const struct run runs_11[] = {
	{ 0, 2 }, { 2, 4 }, { 6, 5 }, { 14, 6 }, { 16, 7 }, { 18, 8 }, { 20, 7 }, { 24, 6 },
	{ 30, 9 }, { 52, 172 }, { 66, 173 }, { 70, 172 }, { 88, 175 }, { 90, 176 },
	{ 94, 178 }, { 96, 176 }, { 114, 180 }, { 120, 0 }, { 122, 180 }, { 134, 181 },
};

static const uint8_t table_13[] = {
	128, 0, 224, 12, 13, 128, 69, 219, 13, 18, 136, 1, 216, 8, 13, 216, 12, 13, 216, 12,
	13, 241, 3, 1, 13, 14, 241, 3, 2, 9, 15, 136, 5, 240, 6, 0, 12, 17, 144, 50, 139, 58,
	144, 117, 160, 1, 145, 122, 144, 117, 244, 70, 5, 0, 9, 13, 136, 85, 241, 2, 1, 14, 22,
	246, 3, 2, 9, 23, 241, 79, 5, 0, 14, 19, 240, 84, 5, 5, 5, 17, 241, 6, 0, 14, 19, 243,
	5, 2, 13, 20, 225, 13, 18, 240, 3, 0, 18, 19, 243, 3, 0, 14, 15, 225, 13, 18, 240, 5,
	0, 9, 10, 240, 0, 2, 13, 20, 240, 8, 0, 13, 17, 136, 1, 216, 11, 16, 128, 76, 249, 242,
	11, 2, 13, 20, 248, 240, 8, 0, 13, 17, 137, 1, 250,
};

static const struct run runs_13[] = {
	{ 0, 2 }, { 2, 4 }, { 6, 5 }, { 16, 6 }, { 18, 7 }, { 20, 8 }, { 22, 7 }, { 26, 6 },
	{ 32, 9 }, { 54, 172 }, { 66, 173 }, { 70, 172 }, { 84, 5 }, { 88, 175 }, { 90, 178 },
	{ 94, 176 }, { 102, 178 }, { 106, 177 }, { 108, 176 }, { 116, 178 }, { 120, 176 },
	{ 124, 180 }, { 128, 181 }, { 132, 0 }, { 136, 176 }, { 142, 0 }, { 144, 180 },
	{ 150, 0 },
};

struct example {
	uint32_t version;
	const uint8_t *bytes;
	size_t length;
	const struct run *runs;
	size_t count;
	int end;
};

#define EXAMPLE(minor, end_offset) \
	{ PYTHON_VERSION(minor), table_##minor, sizeof(table_##minor), runs_##minor, \
	  sizeof(runs_##minor) / sizeof(*runs_##minor), end_offset }

static const struct example examples[] = {
	EXAMPLE(9, 90),
	EXAMPLE(10, 88),
	EXAMPLE(11, 138),
	EXAMPLE(13, 156),
};
/* clang-format on */

#define EXAMPLES (sizeof(examples) / sizeof(*examples))
#define FIRST_LINE 2 /* of that function */

static enum python_lines_answer find(const struct example *example, size_t length, int offset,
				     uint32_t *line)
{
	/* In memory of its own, so that what is read behind it is noticed. */
	uint8_t *copy = malloc(length ? length : 1);
	const struct python_lines table = { .version = example->version,
					    .first_line = FIRST_LINE,
					    .bytes = copy,
					    .length = length,
					    .is_cut = length < example->length };
	enum python_lines_answer answer;

	assert_non_null(copy);
	memcpy(copy, example->bytes, length);
	answer = python_lines_find(&table, offset, line);
	free(copy);
	return answer;
}

static uint32_t expected_line(const struct example *example, int offset)
{
	size_t i;
	uint32_t line = FIRST_LINE; /* up to 3.9 the table need not begin with the first one */

	for (i = 0; i < example->count && example->runs[i].offset <= offset; i++)
		line = example->runs[i].line;
	return line;
}

static void test_every_instruction_has_its_line(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < EXAMPLES; i++) {
		int offset;

		for (offset = examples[i].runs[0].offset; offset < examples[i].end; offset += 2) {
			const uint32_t expected = expected_line(&examples[i], offset);
			uint32_t line = 0;

			assert_int_equal(find(&examples[i], examples[i].length, offset, &line),
					 expected ? PYTHON_LINES_FOUND : PYTHON_LINES_NONE);
			assert_int_equal(line, expected);
		}
	}
}

static void test_before_the_first_instruction(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < EXAMPLES; i++) {
		uint32_t line = 0;

		assert_int_equal(find(&examples[i], examples[i].length, -2, &line),
				 PYTHON_LINES_FOUND);
		assert_int_equal(line, FIRST_LINE);
	}
}

static void test_behind_the_last_instruction(void **state)
{
	size_t i;

	(void)state;
	for (i = 1; i < EXAMPLES; i++) {
		uint32_t line = 0;

		assert_int_equal(find(&examples[i], examples[i].length, examples[i].end + 100000,
				      &line),
				 PYTHON_LINES_SHORT);
	}
}

/* Of a table that is cut short anywhere, no other line comes than of the whole one. */
static void test_cut_tables_do_not_mislead(void **state)
{
	size_t i, length;
	int offset;

	(void)state;
	for (i = 0; i < EXAMPLES; i++)
		for (length = 0; length < examples[i].length; length++)
			for (offset = examples[i].runs[0].offset; offset < examples[i].end;
			     offset += 2) {
				const uint32_t expected = expected_line(&examples[i], offset);
				uint32_t line = 0;

				switch (find(&examples[i], length, offset, &line)) {
				case PYTHON_LINES_FOUND:
					assert_int_equal(line, expected);
					break;
				case PYTHON_LINES_NONE:
					assert_int_equal(expected, 0);
					break;
				case PYTHON_LINES_SHORT:
					break;
				}
			}
}

/* Lines go back, too, and a number may have more groups than any line needs. */
static void test_long_steps(void **state)
{
	/* A long entry: 1100 lines on, no columns; then without columns, 1000 back. */
	static const uint8_t steps[] = { 0x80 | 14 << 3, 0x40 | (2200 & 0x3f), 2200 >> 6, 0, 0, 0,
					 0x80 | 13 << 3, 0x40 | (2001 & 0x3f), 2001 >> 6 };
	static const uint8_t endless[] = { 0x80 | 13 << 3, 0x7f, 0x7f, 0x7f, 0x7f,
					   0x7f,           0x7f, 0x7f, 0x7f, 0 };
	struct python_lines table = { .version = PYTHON_VERSION(12),
				      .first_line = 10,
				      .bytes = steps,
				      .length = sizeof(steps) };
	uint32_t line = 0;

	(void)state;
	assert_int_equal(python_lines_find(&table, 0, &line), PYTHON_LINES_FOUND);
	assert_int_equal(line, 1110);
	assert_int_equal(python_lines_find(&table, 2, &line), PYTHON_LINES_FOUND);
	assert_int_equal(line, 110);
	table.first_line = 0;
	assert_int_equal(python_lines_find(&table, 2, &line), PYTHON_LINES_FOUND);
	/* A line below 0 is none. */
	table.bytes = steps + 6;
	table.length = sizeof(steps) - 6;
	assert_int_equal(python_lines_find(&table, 0, &line), PYTHON_LINES_NONE);
	table.bytes = endless;
	table.length = sizeof(endless);
	assert_int_equal(python_lines_find(&table, 0, &line), PYTHON_LINES_SHORT);
}

static void test_any_bytes_do_no_harm(void **state)
{
	uint64_t seed = 3;
	unsigned int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		uint8_t bytes[64];
		struct example example = { .version = PYTHON_VERSION(8 + round % 7),
					   .bytes = bytes,
					   .length = round % sizeof(bytes) };
		uint32_t line = 0;
		size_t i;

		for (i = 0; i < sizeof(bytes); i++) {
			seed = unit_random(seed);
			bytes[i] = (uint8_t)(seed >> 32);
			if (round & 1 && i % 3 == 0)
				bytes[i] |= 0x80;
		}
		if (find(&example, example.length, (int)(seed % 200), &line) == PYTHON_LINES_FOUND)
			assert_true(line <= INT32_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_instruction_has_its_line),
		cmocka_unit_test(test_before_the_first_instruction),
		cmocka_unit_test(test_behind_the_last_instruction),
		cmocka_unit_test(test_cut_tables_do_not_mislead),
		cmocka_unit_test(test_long_steps),
		cmocka_unit_test(test_any_bytes_do_no_harm),
	};

	return unit_run("python_lines", tests);
}
