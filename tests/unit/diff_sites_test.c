// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rows by call stack of two recordings: lines and addresses do not matter, and what comes from
 * stacks that are not whole can be a part of any row.
 */
#include "diffs.h"

#define PID 10
#define LOADING 1 /* stacks */
#define TRAINING 2
#define CUT 3

/* Where lines and addresses are, each side has its own. */
static void name_frames(struct side *side, uint32_t moved)
{
	static const char *const functions[] = { "load", "train", "main", "step" };
	union record record;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		record = record_frame(i + 1, functions[i], "/opt/program");
		record.frame.address += moved;
		record.frame.offset += moved;
		record.frame.line = moved;
		add_of(side, PID, record);
	}
}

static void give_stack(struct side *side, uint32_t id, uint32_t first, uint8_t end)
{
	union record record = record_stack(id, first, 2);

	record.stack.end = end;
	add_of(side, PID, record);
}

static void begin(struct diffs *diffs)
{
	struct side *sides[] = { &diffs->a, &diffs->b };
	uint32_t i;

	diffs_begin(diffs);
	for (i = 0; i < 2; i++) {
		add_process(sides[i], PID, "train");
		name_frames(sides[i], 16 * i);
		give_stack(sides[i], LOADING, 1, MS_STACK_END_COMPLETE);  /* load < train */
		give_stack(sides[i], TRAINING, 2, MS_STACK_END_COMPLETE); /* train < main */
		give_stack(sides[i], CUT, 3, MS_STACK_END_NO_TABLE);      /* main < step */
	}
}

static void add_from(struct side *side, uint32_t stack, uint64_t mib)
{
	union record record = record_alloc("cudaMalloc", side->next, mib * MIB);

	side->next += mib * MIB;
	add_of(side, PID, record_called_from(stack, record_on(0, record)));
}

static const struct diff_row *row_of(const struct diffs *diffs, const char *function)
{
	size_t i;

	for (i = 0; i < diffs->diff->rows_count; i++) {
		const struct diff_row *row = &diffs->diff->rows[i];

		if (row->dimension == DIFF_SITE && row->stack &&
		    !strcmp(stacks_frame(row->stacks, row->stack, 0)->function, function))
			return row;
	}
	return NULL;
}

static void test_a_line_that_moved_is_no_difference(void **state)
{
	struct diffs diffs;

	(void)state;
	begin(&diffs);
	add_from(&diffs.a, LOADING, 64);
	add_from(&diffs.b, LOADING, 64);
	add_from(&diffs.a, TRAINING, 10);
	add_from(&diffs.b, TRAINING, 30);
	diffs_end(&diffs);
	assert_null(row_of(&diffs, "load"));
	assert_non_null(row_of(&diffs, "train"));
	assert_int_equal(row_of(&diffs, "train")->a[DIFF_LIVE_BYTES], 10 * MIB);
	assert_int_equal(row_of(&diffs, "train")->b[DIFF_LIVE_BYTES], 30 * MIB);
	diffs_done(&diffs);
}

/* Of one run, the table of a file was ready later. */
static void test_less_is_among_the_stacks_that_are_not_whole(void **state)
{
	struct diffs diffs;

	(void)state;
	begin(&diffs);
	add_from(&diffs.a, TRAINING, 64);
	add_from(&diffs.b, TRAINING, 24);
	add_from(&diffs.b, CUT, 40);
	diffs_end(&diffs);
	assert_null(row_of(&diffs, "train"));
	assert_null(row_of(&diffs, "main"));
	diffs_done(&diffs);
	/* And the other way round. */
	begin(&diffs);
	add_from(&diffs.b, TRAINING, 64);
	add_from(&diffs.a, TRAINING, 24);
	add_from(&diffs.a, CUT, 40);
	diffs_end(&diffs);
	assert_null(row_of(&diffs, "train"));
	diffs_done(&diffs);
}

static void test_more_than_those_have_is_a_difference(void **state)
{
	struct diffs diffs;

	(void)state;
	begin(&diffs);
	add_from(&diffs.a, TRAINING, 64);
	add_from(&diffs.b, TRAINING, 23);
	add_from(&diffs.b, CUT, 40);
	diffs_end(&diffs);
	assert_non_null(row_of(&diffs, "train"));
	diffs_done(&diffs);
	/* What is not whole on the side that has less already cannot be what the other has more. */
	begin(&diffs);
	add_from(&diffs.a, TRAINING, 64);
	add_from(&diffs.a, CUT, 100);
	add_from(&diffs.b, TRAINING, 24);
	diffs_end(&diffs);
	assert_non_null(row_of(&diffs, "train"));
	diffs_done(&diffs);
}

/* Depth is the same in each run: such a stack has a place. */
static void test_a_deep_stack_is_whole(void **state)
{
	struct diffs diffs;

	(void)state;
	begin(&diffs);
	give_stack(&diffs.a, 4, 3, MS_STACK_END_DEPTH);
	give_stack(&diffs.b, 4, 3, MS_STACK_END_DEPTH);
	add_from(&diffs.a, 4, 10);
	add_from(&diffs.b, 4, 50);
	diffs_end(&diffs);
	assert_non_null(row_of(&diffs, "main"));
	diffs_done(&diffs);
}

/* alloc < handle, from two lines of handle: a frame each, with the stack of the same number. */
static void give_lines(struct side *side, uint32_t first_line, uint32_t lines)
{
	union record record;
	uint32_t i;

	for (i = 0; i < lines; i++) {
		record = record_frame(10 + 2 * i, "alloc", "/opt/program");
		record.frame.line = 3;
		add_of(side, PID, record);
		record = record_frame(11 + 2 * i, "handle", "/opt/program");
		record.frame.line = first_line + 2 * i;
		add_of(side, PID, record);
		give_stack(side, 10 + i, 10 + 2 * i, MS_STACK_END_COMPLETE);
	}
}

static void add_and_free_from(struct side *side, uint32_t stack, uint64_t mib)
{
	const uint64_t addr = side->next;

	add_from(side, stack, mib);
	add_free(side, PID, addr);
}

static uint32_t line_of(const struct diff_row *row)
{
	return stacks_frame(row->stacks, row->stack, 1)->line;
}

/* A line whose memory is freed again is the biggest on one side. */
static void test_the_line_that_differs_is_named(void **state)
{
	uint32_t moved;

	(void)state;
	for (moved = 0; moved < 2; moved++) {
		struct diffs diffs;

		begin(&diffs);
		give_lines(&diffs.a, 8, 2);
		give_lines(&diffs.b, 8 + moved, 2);
		add_and_free_from(&diffs.a, 10, 64);
		add_and_free_from(&diffs.b, 10, 64);
		add_from(&diffs.a, 11, 20);
		add_and_free_from(&diffs.b, 11, 20);
		diffs_end(&diffs);
		assert_non_null(row_of(&diffs, "alloc"));
		assert_false(row_of(&diffs, "alloc")->no_line);
		assert_int_equal(line_of(row_of(&diffs, "alloc")), 10 + moved);
		diffs_done(&diffs);
	}
}

static const struct diff_row *row_at(const struct diffs *diffs, uint32_t line)
{
	size_t i;

	for (i = 0; i < diffs->diff->rows_count; i++) {
		const struct diff_row *row = &diffs->diff->rows[i];

		if (row->dimension == DIFF_SITE && row->stack && line_of(row) == line)
			return row;
	}
	return NULL;
}

/* Sums of both would stand under the name of one. */
static void test_each_line_has_its_own_numbers(void **state)
{
	struct diffs diffs;

	(void)state;
	begin(&diffs);
	give_lines(&diffs.a, 8, 2);
	give_lines(&diffs.b, 8, 2);
	add_from(&diffs.a, 10, 5);
	add_from(&diffs.a, 11, 5);
	add_from(&diffs.b, 10, 25);
	add_from(&diffs.b, 11, 20);
	diffs_end(&diffs);
	assert_int_equal(row_at(&diffs, 8)->a[DIFF_PEAK_BYTES], 5 * MIB);
	assert_int_equal(row_at(&diffs, 8)->b[DIFF_PEAK_BYTES], 25 * MIB);
	assert_false(row_at(&diffs, 8)->no_line);
	assert_int_equal(row_at(&diffs, 10)->b[DIFF_LIVE_BYTES], 20 * MIB);
	assert_false(row_at(&diffs, 10)->no_line);
	diffs_done(&diffs);
	/* A new one beside one that is the same. */
	begin(&diffs);
	give_lines(&diffs.a, 8, 1);
	give_lines(&diffs.b, 8, 2);
	add_and_free_from(&diffs.a, 10, 16);
	add_and_free_from(&diffs.b, 10, 16);
	add_from(&diffs.b, 11, 100);
	diffs_end(&diffs);
	assert_null(row_at(&diffs, 8));
	assert_int_equal(row_at(&diffs, 10)->presence, DIFF_NEW);
	assert_int_equal(row_at(&diffs, 10)->b[DIFF_PEAK_BYTES], 100 * MIB);
	assert_int_equal(row_at(&diffs, 10)->b[DIFF_ALLOC_BYTES], 100 * MIB);
	diffs_done(&diffs);
}

/*
 * Python's lines, called through other native code the second time: one block at a time, from one
 * line.
 */
static void test_a_line_reached_in_two_ways_has_its_own_peak(void **state)
{
	const uint32_t step = 20; /* a frame */
	struct side *sides[2];
	struct diffs diffs;
	uint32_t i, way;

	(void)state;
	begin(&diffs);
	sides[0] = &diffs.a;
	sides[1] = &diffs.b;
	for (i = 0; i < 2; i++) {
		union record record = record_frame(step, "step", "/opt/job.py");

		record.frame.kind = MS_FRAME_PYTHON;
		record.frame.line = 16;
		add_of(sides[i], PID, record);
		for (way = 0; way < 2; way++) {
			record = record_stack(20 + way, 1 + way, 2);
			memcpy(record.stack.frames + 4, &step, sizeof(step));
			record.stack.end = MS_STACK_END_COMPLETE;
			add_of(sides[i], PID, record);
		}
		add_and_free_from(sides[i], 20, 16);
		add_and_free_from(sides[i], 20 + i, 16);
	}
	diffs_end(&diffs);
	assert_null(row_at(&diffs, 16));
	diffs_done(&diffs);
}

/* Two lines have become three, elsewhere: which of them is the new one is not known. */
static void test_lines_without_a_counterpart_are_not_named(void **state)
{
	struct diffs diffs;
	uint32_t i;

	(void)state;
	begin(&diffs);
	give_lines(&diffs.a, 8, 2);
	give_lines(&diffs.b, 11, 3);
	for (i = 0; i < 2; i++)
		add_from(&diffs.a, 10 + i, 5);
	for (i = 0; i < 3; i++)
		add_from(&diffs.b, 10 + i, i ? 5 : 90);
	diffs_end(&diffs);
	assert_true(row_of(&diffs, "alloc")->no_line);
	diffs_done(&diffs);
}

/* Two places of a program without symbols. */
static void give_stripped(struct side *side, const char *build_id)
{
	union record record;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		record = record_frame(10 + i, "", "/opt/stripped");
		memcpy(record.frame.texts + strlen("") + 1 + strlen("/opt/stripped") + 1, build_id,
		       strlen(build_id));
		add_of(side, PID, record);
		give_stack(side, 10 + i, 10 + i, MS_STACK_END_COMPLETE);
	}
}

static size_t stripped_rows(const char *build_id, struct diffs *diffs)
{
	size_t rows = 0, i;

	begin(diffs);
	give_stripped(&diffs->a, "c0ffee");
	give_stripped(&diffs->b, build_id);
	add_from(&diffs->a, 10, 64);
	add_from(&diffs->b, 10, 64);
	add_from(&diffs->b, 11, 20);
	diffs_end(diffs);
	for (i = 0; i < diffs->diff->rows_count; i++)
		rows += diffs->diff->rows[i].dimension == DIFF_SITE;
	return rows;
}

static void test_code_without_names_is_told_apart_by_its_address(void **state)
{
	struct diffs diffs;

	(void)state;
	assert_int_equal(stripped_rows("c0ffee", &diffs), 1);
	assert_int_equal(row_of(&diffs, "")->a[DIFF_LIVE_BYTES], 0);
	assert_int_equal(row_of(&diffs, "")->b[DIFF_LIVE_BYTES], 20 * MIB);
	diffs_done(&diffs);
	/* Of another build, its addresses say nothing. */
	assert_int_equal(stripped_rows("0ther0", &diffs), 0);
	diffs_done(&diffs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_that_moved_is_no_difference),
		cmocka_unit_test(test_less_is_among_the_stacks_that_are_not_whole),
		cmocka_unit_test(test_more_than_those_have_is_a_difference),
		cmocka_unit_test(test_a_deep_stack_is_whole),
		cmocka_unit_test(test_the_line_that_differs_is_named),
		cmocka_unit_test(test_each_line_has_its_own_numbers),
		cmocka_unit_test(test_a_line_reached_in_two_ways_has_its_own_peak),
		cmocka_unit_test(test_lines_without_a_counterpart_are_not_named),
		cmocka_unit_test(test_code_without_names_is_told_apart_by_its_address),
	};

	return unit_run("diff_sites", tests);
}
