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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_that_moved_is_no_difference),
		cmocka_unit_test(test_less_is_among_the_stacks_that_are_not_whole),
		cmocka_unit_test(test_more_than_those_have_is_a_difference),
		cmocka_unit_test(test_a_deep_stack_is_whole),
	};

	return unit_run("diff_sites", tests);
}
