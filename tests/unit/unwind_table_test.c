// SPDX-License-Identifier: BSD-2-Clause
/*
 * Unwind tables, of sections made by hand, of this program, and of sections that are damaged.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/unwind_table.h"

#define ADDRESS 0x1000 /* of the section */

/* ---- making sections ------------------------------------------------------------------------- */

struct section {
	uint8_t bytes[4096];
	size_t length;
};

static void put(struct section *section, const void *bytes, size_t length)
{
	assert_true(section->length + length <= sizeof(section->bytes));
	memcpy(section->bytes + section->length, bytes, length);
	section->length += length;
}

static void put_u32(struct section *section, uint32_t value)
{
	put(section, &value, sizeof(value));
}

/* An entry's length is only known at its end. */
static size_t begin(struct section *section)
{
	put_u32(section, 0);
	return section->length;
}

static void end(struct section *section, size_t at)
{
	uint32_t length;

	while (section->length % 8)
		put(section, "", 1);
	length = section->length - at;
	memcpy(section->bytes + at - 4, &length, sizeof(length));
}

#define CFA(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* Compilers' own: RSP + 8, the return address is below it. Returns where it begins. */
static size_t put_common(struct section *section, const char *letters, const uint8_t *instructions,
			 size_t length)
{
	const size_t at = begin(section);
	static const uint8_t behind[] = { 1, 0x78, 16, 1, 0x1b }; /* 1, -8, RIP; pcrel sdata4 */

	put_u32(section, 0);
	put(section, "\1", 1);
	put(section, letters, strlen(letters) + 1);
	put(section, behind, sizeof(behind));
	put(section, instructions, length);
	end(section, at);
	return at - 4;
}

static size_t put_usual_common(struct section *section)
{
	/* def_cfa RSP + 8; offset RIP at CFA - 8 */
	return put_common(section, "zR", CFA(0x0c, 7, 8, 0x80 | 16, 1));
}

static void put_function(struct section *section, size_t common, uint64_t address, uint32_t bytes,
			 const uint8_t *instructions, size_t length)
{
	const size_t at = begin(section);

	put_u32(section, section->length - common);
	put_u32(section, address - (ADDRESS + section->length));
	put_u32(section, bytes);
	put(section, "", 1);
	put(section, instructions, length);
	end(section, at);
}

static int make(struct unwind_table *table, const struct section *section)
{
	/* Reading behind its end is an error. */
	uint8_t *copy = malloc(section->length ? section->length : 1);
	int err;

	memcpy(copy, section->bytes, section->length);
	err = unwind_table_make_of(table, copy, section->length, ADDRESS);
	free(copy);
	return err;
}

static void assert_row(const struct unwind_table *table, size_t place, uint32_t pc, uint8_t rule,
		       uint8_t bp, int16_t offset)
{
	const struct ms_unwind_row *row = &table->rows[place];

	assert_true(place < table->count);
	assert_int_equal(row->pc, pc);
	assert_int_equal(row->rule, rule);
	assert_int_equal(row->bp, bp);
	assert_int_equal(row->offset, offset);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_a_function_with_a_frame_pointer(void **state)
{
	struct section section = { 0 };
	struct unwind_table table;
	const size_t common = put_usual_common(&section);

	(void)state;
	/* push; mov; ... ; pop: advance 1, def_cfa_offset 16, RBP at CFA - 16, advance 3, ... */
	put_function(&section, common, 0x2000, 0x40,
		     CFA(0x41, 0x0e, 16, 0x80 | 6, 2, 0x43, 0x0d, 6, 0x02, 0x30, 0x0c, 7, 8));
	assert_int_equal(make(&table, &section), 0);
	assert_int_equal(table.count, 5);
	assert_row(&table, 0, 0x2000, MS_UNWIND_SP, 0, 1);
	assert_row(&table, 1, 0x2001, MS_UNWIND_SP, 2, 2);
	assert_row(&table, 2, 0x2004, MS_UNWIND_BP, 2, 2);
	assert_row(&table, 3, 0x2034, MS_UNWIND_SP, 2, 1);
	assert_row(&table, 4, 0x2040, MS_UNWIND_NONE, 0, 0);
	unwind_table_fini(&table);
}

static void test_functions_are_sorted_and_gaps_are_known(void **state)
{
	struct section section = { 0 };
	struct unwind_table table;
	const size_t common = put_usual_common(&section);

	(void)state;
	put_function(&section, common, 0x3000, 0x10, CFA(0));
	put_function(&section, common, 0x2010, 0x10, CFA(0));
	put_function(&section, common, 0x2000, 0x10, CFA(0)); /* joins the one before */
	assert_int_equal(make(&table, &section), 0);
	assert_int_equal(table.count, 4);
	assert_row(&table, 0, 0x2000, MS_UNWIND_SP, 0, 1);
	assert_row(&table, 1, 0x2020, MS_UNWIND_NONE, 0, 0);
	assert_row(&table, 2, 0x3000, MS_UNWIND_SP, 0, 1);
	assert_row(&table, 3, 0x3010, MS_UNWIND_NONE, 0, 0);
	unwind_table_fini(&table);
}

static void test_states_are_remembered(void **state)
{
	struct section section = { 0 };
	struct unwind_table table;
	const size_t common = put_usual_common(&section);

	(void)state;
	/* offset 32; +4 remember, offset 8; +4 restore; then restore what was never remembered */
	put_function(&section, common, 0x2000, 0x40,
		     CFA(0x0e, 32, 0x44, 0x0a, 0x0e, 8, 0x44, 0x0b, 0x44, 0x0b));
	assert_int_equal(make(&table, &section), 0);
	assert_row(&table, 0, 0x2000, MS_UNWIND_SP, 0, 4);
	assert_row(&table, 1, 0x2004, MS_UNWIND_SP, 0, 1);
	assert_row(&table, 2, 0x2008, MS_UNWIND_SP, 0, 4);
	assert_row(&table, 3, 0x200c, MS_UNWIND_UNSUPPORTED, 0, 0);
	unwind_table_fini(&table);
}

static void test_expressions(void **state)
{
	struct section section = { 0 };
	struct unwind_table table;
	const size_t common = put_usual_common(&section);

	(void)state;
	/* That of a linkage table; one that aligned its stack; one that is not known. */
	put_function(&section, common, 0x2000, 0x10,
		     CFA(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
	put_function(&section, common, 0x2010, 0x10,
		     CFA(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0));
	put_function(&section, common, 0x2020, 0x10, CFA(0x0f, 2, 0x77, 0));
	put_function(&section, common, 0x2030, 0x10, CFA(0x0c, 3, 16));      /* RBX + 16 */
	put_function(&section, common, 0x2040, 0x10, CFA(0x0e, 12));         /* no word */
	put_function(&section, common, 0x2050, 0x10, CFA(0x09, 6, 3));       /* RBP is in RBX */
	put_function(&section, common, 0x2060, 0x10, CFA(0x07, 16));         /* RIP: outermost */
	put_function(&section, common, 0x2070, 0x10, CFA(0x3f));             /* no instruction */
	put_function(&section, common, 0x2080, 0x10, CFA(0x0f, 0xff, 0x7f)); /* too long */
	assert_int_equal(make(&table, &section), 0);
	assert_row(&table, 0, 0x2000, MS_UNWIND_PLT, 0, 11);
	assert_row(&table, 1, 0x2010, MS_UNWIND_AT_BP, MS_UNWIND_BP_AT_BP, -1);
	assert_row(&table, 2, 0x2020, MS_UNWIND_UNSUPPORTED, 0, 0);
	assert_row(&table, 3, 0x2060, MS_UNWIND_END, 0, 0);
	assert_row(&table, 4, 0x2070, MS_UNWIND_UNSUPPORTED, 0, 0);
	unwind_table_fini(&table);
}

static void test_frames_of_signals(void **state)
{
	struct section section = { 0 };
	struct unwind_table table;
	const size_t common = put_common(&section, "zRS", CFA(0));

	(void)state;
	put_function(&section, common, 0x2000, 0x10, CFA(0));
	assert_int_equal(make(&table, &section), 0);
	assert_row(&table, 0, 0x2000, MS_UNWIND_SIGNAL, 0, 0);
	unwind_table_fini(&table);
}

static void test_code_that_overlaps_or_is_nowhere(void **state)
{
	struct section section = { 0 };
	struct unwind_table table;
	const size_t common = put_usual_common(&section);

	(void)state;
	put_function(&section, common, 0, 0x10, CFA(0));
	put_function(&section, common, 0x2000, 0, CFA(0));
	put_function(&section, common, 0x3000, 0x100, CFA(0x44, 0x0e, 16));
	put_function(&section, common, 0x3010, 0x10, CFA(0x0e, 64));
	/* Its instructions go on behind its end. */
	put_function(&section, common, 0x4000, 0x10, CFA(0x44, 0x0e, 16, 0x60, 0x0e, 24));
	assert_int_equal(make(&table, &section), 0);
	assert_int_equal(table.count, 6);
	assert_row(&table, 1, 0x3004, MS_UNWIND_SP, 0, 2);
	assert_row(&table, 2, 0x3100, MS_UNWIND_NONE, 0, 0);
	assert_row(&table, 4, 0x4004, MS_UNWIND_SP, 0, 2);
	assert_row(&table, 5, 0x4010, MS_UNWIND_NONE, 0, 0);
	unwind_table_fini(&table);
}

static void test_no_section(void **state)
{
	struct section section = { 0 };
	struct unwind_table table;

	(void)state;
	assert_int_equal(make(&table, &section), -ENODATA);
	put_usual_common(&section);
	assert_int_equal(make(&table, &section), -ENODATA);
	assert_int_equal(unwind_table_make(&table, -1), -ENOEXEC);
	assert_null(table.rows);
}

static void test_the_table_of_this_program(void **state)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct unwind_table table;
	size_t i, ends = 0;

	(void)state;
	assert_int_equal(unwind_table_make(&table, fd), 0);
	assert_true(table.count > 1000);
	for (i = 1; i < table.count; i++)
		assert_true(table.rows[i - 1].pc < table.rows[i].pc);
	for (i = 0; i < table.count; i++)
		ends += table.rows[i].rule == MS_UNWIND_END;
	assert_int_equal(ends, 1); /* _start() */
	unwind_table_fini(&table);
	close(fd);
}

/* Whatever is in it: rows are sorted, and what is read is there. */
static void test_damaged_sections(void **state)
{
	struct section good = { 0 };
	const size_t common = put_usual_common(&good);
	size_t round, i;

	(void)state;
	for (i = 0; i < 20; i++)
		put_function(&good, common, 0x2000 + 0x40 * i, 0x40,
			     CFA(0x41, 0x0e, 16, 0x80 | 6, 2, 0x43, 0x0d, 6, 0x0a, 0x42, 0x0b, 0x0f,
				 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0));
	srandom(1);
	for (round = 0; round < 20000; round++) {
		struct section section = good;
		struct unwind_table table;

		for (i = 0; i <= round % 4; i++)
			section.bytes[random() % section.length] = random();
		if (round % 3 == 0)
			section.length = random() % section.length;
		if (make(&table, &section))
			continue;
		for (i = 1; i < table.count; i++)
			assert_true(table.rows[i - 1].pc < table.rows[i].pc);
		unwind_table_fini(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_function_with_a_frame_pointer),
		cmocka_unit_test(test_functions_are_sorted_and_gaps_are_known),
		cmocka_unit_test(test_states_are_remembered),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_frames_of_signals),
		cmocka_unit_test(test_code_that_overlaps_or_is_nowhere),
		cmocka_unit_test(test_no_section),
		cmocka_unit_test(test_the_table_of_this_program),
		cmocka_unit_test(test_damaged_sections),
	};

	return unit_run("unwind tables", tests);
}
