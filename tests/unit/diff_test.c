// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is different between two recordings, as the model has it.
 */
#include "compared.h"

#include <stdlib.h>

/* ---- nothing --------------------------------------------------------------------------------- */

static void assert_nothing(void)
{
	assert_int_equal(diffs.diff->rows_count, 0);
	assert_int_equal(diffs.diff->findings_count, 0);
	assert_int_equal(diffs.diff->below_noise, 0);
	assert_int_equal(diff_growth(diffs.diff).bytes, 0);
}

static void test_a_recording_and_itself(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	diffs.options = (struct diff_options){ 0 };
	add_program(&diffs.a, 10, "train", 3);
	side_read(&diffs.a);
	side_read(&diffs.b);
	diffs.diff = diff_new(&diffs.a.reader.report, &diffs.a.reader.report, &diffs.options);
	assert_non_null(diffs.diff);
	assert_int_equal(diffs.diff->pairs_count, 1);
	assert_int_equal(diffs.diff->pairs[0].match, DIFF_MATCH_IDENTITY);
	assert_nothing();
	diffs_done(&diffs);
}

/* Another machine, other pids, other addresses, another time. */
static void test_the_same_again(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	diffs.options = (struct diff_options){ 0 };
	diffs.b.now_ns += 500 * BEGIN;
	diffs.b.next += 1ull << 40;
	add_program(&diffs.a, 10, "train", 3);
	add_exit(&diffs.a, 10, "train");
	add_program(&diffs.b, 99, "train", 3);
	add_exit(&diffs.b, 99, "train");
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->pairs_count, 1);
	assert_int_equal(diffs.diff->pairs[0].match, DIFF_MATCH_TARGETS);
	assert_int_equal(diffs.diff->pairs[0].basis, DIFF_PER_RUN);
	assert_nothing();
	diffs_done(&diffs);
}

static void test_two_empty_ones(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->pairs_count, 0);
	assert_nothing();
	diffs_done(&diffs);
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* B keeps three blocks of 5 MiB that A does not. */
static void test_a_leak_has_an_owner(void **state)
{
	const struct diff_row *row;
	struct diff_growth growth;
	int i;

	(void)state;
	diffs_begin(&diffs);
	add_program(&diffs.a, 10, "train", 1);
	add_program(&diffs.b, 99, "train", 1);
	for (i = 0; i < 3; i++)
		add_alloc(&diffs.b, 99, "cudaMalloc", 5 * MIB + 1);
	diffs_end(&diffs);
	assert_int_equal(count_rows(DIFF_SPACE), 1);
	row = row_at(DIFF_SPACE, 0);
	assert_int_equal(row->space, MS_SPACE_DEVICE);
	assert_int_equal(row->presence, DIFF_IN_BOTH);
	assert_false(row->uncertain);
	assert_values(row, LIVE_BYTES, 64 * MIB, 79 * MIB + 3);
	assert_values(row, LIVE_COUNT, 1, 4);
	assert_values(row, PEAK_BYTES, 68 * MIB, 79 * MIB + 3);
	assert_int_equal(diff_change(row, DIFF_LIVE_BYTES), 15 * MIB + 3);
	assert_int_equal(count_rows(DIFF_API), 2);
	row = row_at(DIFF_API, 0);
	assert_string_equal(probe_at(row->row)->symbol, "cudaMalloc");
	assert_int_equal(row->presence, DIFF_NEW);
	assert_int_equal(row->device, 0);
	assert_values(row, LIVE_BYTES, 0, 15 * MIB + 3);
	/* Of the other one, less is in the peak. */
	row = row_at(DIFF_API, 1);
	assert_string_equal(probe_at(row->row)->symbol, "cuMemAlloc_v2");
	assert_int_equal(row->beyond, 1u << DIFF_PEAK_BYTES);
	assert_values(row, PEAK_BYTES, 68 * MIB, 64 * MIB);
	assert_int_equal(count_rows(DIFF_SIZE), 1);
	row = row_at(DIFF_SIZE, 0);
	assert_string_equal(probe_at(row->row)->symbol, "cudaMalloc");
	assert_int_equal(row->size_class, 22);
	assert_values(row, LIVE_BYTES, 0, 15 * MIB + 3);
	assert_values(row, LIVE_COUNT, 0, 3);
	row = row_at(DIFF_DEVICE, 0);
	assert_int_equal(row->device, 0);
	assert_values(row, LIVE_BYTES, 64 * MIB, 79 * MIB + 3);
	assert_values(row, PEAK_BYTES, 68 * MIB, 79 * MIB + 3);
	growth = diff_growth(diffs.diff);
	assert_int_equal(growth.bytes, 15 * MIB + 3);
	assert_ptr_equal(growth.pair, &diffs.diff->pairs[0]);
	assert_false(growth.peak);
	row = row_at(DIFF_SPACE, 0);
	assert_ptr_equal(diff_part(diffs.diff, row, DIFF_API, DIFF_LIVE_BYTES),
			 row_at(DIFF_API, 0));
	assert_ptr_equal(diff_part(diffs.diff, row, DIFF_SIZE, DIFF_LIVE_BYTES),
			 row_at(DIFF_SIZE, 0));
	assert_true(diffs.diff->pairs[0].differs);
	diffs_done(&diffs);
}

/* 50 ms with 1 MiB, 50 ms with 5 MiB; before, it was 1 MiB all the time. */
static void test_since_when(void **state)
{
	const struct diff_row *row;
	uint64_t grown_ns = 0;
	int i;

	(void)state;
	diffs_begin(&diffs);
	for (i = 0; i < 2; i++) {
		struct side *side = i ? &diffs.b : &diffs.a;
		int step;

		add_process(side, 10, "train");
		add_alloc(side, 10, "cuMemAlloc_v2", MIB);
		for (step = 0; step < 100; step++) {
			if (step == 50 && i) {
				add_alloc(side, 10, "cuMemAlloc_v2", 4 * MIB);
				grown_ns = side->now_ns;
			}
			add_of(side, 10, record_call("cuCtxSynchronize"));
		}
		add_exit(side, 10, "train");
	}
	diffs_end(&diffs);
	row = row_at(DIFF_SPACE, 0);
	assert_values(row, LIVE_BYTES, MIB, 5 * MIB);
	assert_in_range(diff_since_ns(row), grown_ns - 2500000, grown_ns);
	diffs_done(&diffs);
}

/* What is held at the end is the same, but once it was more. */
static void test_a_peak_alone(void **state)
{
	const struct diff_row *row;
	struct diff_growth growth;
	uint64_t addr;

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	add_alloc(&diffs.a, 10, "cuMemAlloc_v2", 2 * MIB);
	addr = add_alloc(&diffs.b, 10, "cuMemAllocManaged", 30 * MIB);
	add_free(&diffs.b, 10, addr);
	add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 2 * MIB);
	diffs_end(&diffs);
	row = row_at(DIFF_SPACE, 0);
	assert_int_equal(row->space, MS_SPACE_MANAGED);
	assert_int_equal(row->presence, DIFF_NEW);
	assert_values(row, LIVE_BYTES, 0, 0);
	assert_values(row, PEAK_BYTES, 0, 30 * MIB);
	assert_true(diff_since_ns(row) > BEGIN);
	growth = diff_growth(diffs.diff);
	assert_true(growth.peak);
	/* It was all of one kind in A, and another in B. */
	assert_int_equal(growth.space, MS_SPACE_NONE);
	assert_int_equal(growth.bytes, 28 * MIB);
	/* Managed memory is of no device for certain. */
	assert_int_equal(count_rows(DIFF_DEVICE), 0);
	diffs_done(&diffs);
}

/* Memory of the host is shown, and is no growth of device memory. */
static void test_host_memory_is_no_growth(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	add_alloc(&diffs.b, 10, "cudaMallocHost", 30 * MIB);
	diffs_end(&diffs);
	assert_int_equal(row_at(DIFF_SPACE, 0)->space, MS_SPACE_PINNED);
	assert_int_equal(diff_growth(diffs.diff).bytes, 0);
	diffs_done(&diffs);
}

/* ---- work ------------------------------------------------------------------------------------ */

static void test_twice_the_work(void **state)
{
	const struct diff_row *row;

	(void)state;
	diffs_begin(&diffs);
	add_work(&diffs.a, "old", 20, true);
	add_work(&diffs.b, "new", 40, true);
	diffs_end(&diffs);
	assert_int_equal(count_rows(DIFF_KERNEL), 3);
	row = row_at(DIFF_KERNEL, 0);
	assert_string_equal(row->kernel, "new");
	assert_int_equal(row->presence, DIFF_NEW);
	assert_values(row, CALLS, 0, 40);
	row = row_at(DIFF_KERNEL, 1);
	assert_true(!strcmp(row->kernel, "both") || !strcmp(row->kernel, "old"));
	assert_int_equal(abs((int)diff_change(row, DIFF_CALLS)), 20);
	row = row_at(DIFF_COPY, 0);
	assert_int_equal(row->direction, MS_DIRECTION_DTOH);
	assert_values(row, CALLS, 20, 40);
	assert_values(row, CALL_BYTES, 20 * MIB, 40 * MIB);
	assert_int_equal(count_rows(DIFF_CALL), 2);
	assert_int_equal(row_at(DIFF_CALL, 0)->call, DIFF_CALL_MEMSETS);
	assert_values(row_at(DIFF_CALL, 0), CALL_BYTES, 20 * MIB, 40 * MIB);
	assert_int_equal(row_at(DIFF_CALL, 1)->call, DIFF_CALL_SYNCS);
	row = row_at(DIFF_SPACE, 0);
	assert_values(row, ALLOCS, 20, 40);
	assert_values(row, FREES, 20, 40);
	assert_values(row, ALLOC_BYTES, 20 * MIB, 40 * MIB);
	assert_int_equal(row->beyond & 1u << DIFF_LIVE_BYTES, 0);
	diffs_done(&diffs);
}

/* Of parts of runs, what was done depends on how long was looked. */
static void test_parts_of_runs(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_work(&diffs.a, "same", 20, false);
	add_work(&diffs.b, "same", 40, false);
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->pairs[0].basis, DIFF_PER_SECOND);
	assert_int_equal(diffs.diff->rows_count, 0);
	assert_true(diffs.diff->below_noise > 0);
	diff_free(diffs.diff);
	/* For each launch, the same is done. */
	diffs.options.basis = DIFF_PER_LAUNCH;
	diffs_compare(&diffs);
	assert_int_equal(diffs.diff->pairs[0].basis, DIFF_PER_LAUNCH);
	assert_int_equal(diffs.diff->rows_count, 0);
	diff_free(diffs.diff);
	diffs.options.basis = DIFF_PER_RUN;
	diffs_compare(&diffs);
	assert_true(diffs.diff->rows_count > 5);
	diffs_done(&diffs);
}

/* As often launched, and 30 copies of 1 MiB more. */
static void test_more_for_each_launch(void **state)
{
	int i;

	(void)state;
	diffs_begin(&diffs);
	diffs.options.basis = DIFF_PER_LAUNCH;
	add_work(&diffs.a, "same", 20, false);
	add_work(&diffs.b, "same", 40, false);
	for (i = 0; i < 30; i++)
		add_of(&diffs.b, 10, record_copy("cuMemcpyDtoH_v2", MIB, MS_DIRECTION_DTOH));
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->rows_count, 1);
	assert_values(row_at(DIFF_COPY, 0), CALLS, 20, 70);
	diffs_done(&diffs);
}

static void test_failures(void **state)
{
	const struct diff_row *row;
	int i;

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	for (i = 0; i < 12; i++) {
		add_of(&diffs.a, 10, record_failed(700, record_call("cuCtxSynchronize")));
		add_of(&diffs.b, 10, record_failed(719, record_call("cuCtxSynchronize")));
	}
	diffs_end(&diffs);
	assert_int_equal(count_rows(DIFF_FAILURE), 2);
	row = row_at(DIFF_FAILURE, 0);
	assert_int_equal(row->result, 700);
	assert_int_equal(row->presence, DIFF_GONE);
	assert_values(row, CALLS, 12, 0);
	row = row_at(DIFF_FAILURE, 1);
	assert_int_equal(row->result, 719);
	assert_int_equal(row->presence, DIFF_NEW);
	diffs_done(&diffs);
}

/* ---- noise ----------------------------------------------------------------------------------- */

static void test_noise(void **state)
{
	struct diff_options options = diff_defaults();

	(void)state;
	assert_false(diff_is_beyond(&options, FINDING_BYTES, 5, 5));
	assert_false(diff_is_beyond(&options, FINDING_BYTES, 0, MIB - 1));
	assert_true(diff_is_beyond(&options, FINDING_BYTES, 0, MIB));
	assert_true(diff_is_beyond(&options, FINDING_BYTES, MIB, 0));
	assert_true(diff_is_beyond(&options, FINDING_BYTES, 99 * MIB, 100 * MIB));
	assert_false(diff_is_beyond(&options, FINDING_BYTES, 100 * MIB, 101 * MIB));
	assert_true(diff_is_beyond(&options, FINDING_BYTES, 0, UINT64_MAX));
	assert_false(diff_is_beyond(&options, FINDING_COUNT, 0, 9));
	assert_true(diff_is_beyond(&options, FINDING_COUNT, 0, 10));
	assert_false(diff_is_beyond(&options, FINDING_COUNT, 1000, 1010));
	options = (struct diff_options){ 0 };
	assert_false(diff_is_beyond(&options, FINDING_COUNT, 7, 7));
	assert_true(diff_is_beyond(&options, FINDING_COUNT, 1000000, 1000001));
}

static void test_what_is_below_is_counted(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_program(&diffs.a, 10, "train", 1);
	add_program(&diffs.b, 10, "train", 1);
	add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 1000);
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->rows_count, 0);
	/* The device, the space, the function, its size. */
	assert_int_equal(diffs.diff->below_noise, 4);
	assert_int_equal(diff_growth(diffs.diff).bytes, 1000);
	assert_false(diffs.diff->pairs[0].differs);
	diffs_done(&diffs);
}

/* A kernel, a copy, a kind of memory and a failure, each of them once: nothing is too little. */
static void test_what_is_new_is_no_noise(void **state)
{
	static const enum diff_dimension dimensions[] = { DIFF_SPACE, DIFF_API, DIFF_KERNEL,
							  DIFF_COPY, DIFF_FAILURE };
	struct diff *back;
	size_t i;

	(void)state;
	diffs_begin(&diffs);
	add_program(&diffs.a, 10, "train", 1);
	add_program(&diffs.b, 10, "train", 1);
	add_of(&diffs.b, 10, record_launch("cuLaunchKernel", 0x99));
	add_of(&diffs.b, 10, record_copy("cuMemcpyDtoD_v2", 1, MS_DIRECTION_DTOD));
	add_of(&diffs.b, 10, record_failed(700, record_call("cuCtxSynchronize")));
	add_alloc(&diffs.b, 10, "cuMemAllocManaged", 1);
	diffs_end(&diffs);
	/* In parts of runs, too. */
	assert_int_equal(diffs.diff->pairs[0].basis, DIFF_PER_SECOND);
	assert_int_equal(diffs.diff->rows_count, sizeof(dimensions) / sizeof(*dimensions));
	back = diff_new(&diffs.b.reader.report, &diffs.a.reader.report, &diffs.options);
	assert_non_null(back);
	for (i = 0; i < diffs.diff->rows_count; i++) {
		assert_int_equal(count_rows(dimensions[i]), 1);
		assert_int_equal(row_at(dimensions[i], 0)->presence, DIFF_NEW);
		assert_int_equal(back->rows[i].presence, DIFF_GONE);
	}
	assert_int_equal(row_at(DIFF_FAILURE, 0)->result, 700);
	assert_values(row_at(DIFF_FAILURE, 0), CALLS, 0, 1);
	/* What is there already has to be more than noise, and so has a size. */
	assert_int_equal(count_rows(DIFF_SIZE), 0);
	assert_true(diffs.diff->below_noise > 0);
	diff_free(back);
	diffs_done(&diffs);
}

/* A hundredth larger, which is noise, but beyond a power of two. */
static void test_a_new_size_class_is_nothing_new(void **state)
{
	int i;

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	for (i = 0; i < 20; i++) {
		add_alloc(&diffs.a, 10, "cuMemAlloc_v2", 4 * MIB - MIB / 50);
		add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 4 * MIB + MIB / 50);
	}
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->rows_count, 2);
	assert_int_equal(count_rows(DIFF_SIZE), 2);
	assert_true(diff_differs(diffs.diff));
	assert_false(diff_has_new(diffs.diff));
	diffs_done(&diffs);
}

/* Who did only a little is new all the same. */
static void test_a_small_process_is_new(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.b, 10, "probe");
	add_of(&diffs.b, 10, record_launch("cuLaunchKernel", 0x99));
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->rows_count, 1);
	assert_int_equal(diffs.diff->pairs[0].presence, DIFF_NEW);
	assert_true(diffs.diff->pairs[0].differs);
	diffs_done(&diffs);
}

/* ---- anything -------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252;

static uint64_t below(uint64_t bound)
{
	random_state = unit_random(random_state);
	return (random_state >> 11) % bound;
}

static void add_anything(struct side *side)
{
	static const char *const comms[] = { "train", "serve", "train", "load" };
	static const char *const kernels[] = { "k1", "k2", "k3", "k4" };
	static const char *const symbols[] = { "cuMemAlloc_v2", "cudaMalloc", "cudaMallocHost",
					       "cuMemAllocManaged", "cudaMallocAsync" };
	uint64_t addrs[64] = { 0 }, i;

	for (i = 0; i < 4; i++)
		if (below(5))
			add_process(side, 10 + i, comms[i]);
	for (i = 0; i < 400; i++) {
		uint32_t pid = 10 + below(4);
		uint64_t *addr = &addrs[below(16) * 4 + pid - 10];

		switch (below(7)) {
		case 0:
			if (*addr)
				add_free(side, pid, *addr);
			*addr = 0;
			break;
		case 1:
			add_of(side, pid,
			       record_copy("cuMemcpyHtoD_v2", below(9 * MIB), 1 + below(3)));
			break;
		case 2:
			add_of(side, pid, record_name(0x10 + below(5), kernels[below(4)]));
			break;
		case 3:
			add_of(side, pid, record_launch("cuLaunchKernel", 0x10 + below(5)));
			break;
		case 4:
			add_of(side, pid,
			       record_failed(700 + below(3), record_call("cuCtxSynchronize")));
			break;
		default:
			if (!*addr)
				*addr = add_alloc(side, pid, symbols[below(5)],
						  below(1ull << below(28)));
			break;
		}
	}
}

static bool is_reverse(const struct diff_row *row, const struct diff_row *other)
{
	static const enum diff_presence reverse[] = {
		[DIFF_IN_BOTH] = DIFF_IN_BOTH, [DIFF_GONE] = DIFF_NEW, [DIFF_NEW] = DIFF_GONE
	};

	if (row->dimension != other->dimension || row->row != other->row ||
	    row->space != other->space || row->size_class != other->size_class ||
	    row->device != other->device || row->result != other->result ||
	    row->direction != other->direction || row->call != other->call ||
	    !row->pair != !other->pair)
		return false;
	if (row->pair && (row->pair->a.process != other->pair->b.process ||
			  row->pair->b.process != other->pair->a.process))
		return false;
	if (!row->kernel != !other->kernel || (row->kernel && strcmp(row->kernel, other->kernel)))
		return false;
	assert_int_equal(row->presence, reverse[other->presence]);
	assert_int_equal(row->known, other->known);
	assert_int_equal(row->beyond, other->beyond);
	assert_int_equal(row->uncertain, other->uncertain);
	assert_memory_equal(row->a, other->b, sizeof(row->a));
	assert_memory_equal(row->b, other->a, sizeof(row->a));
	return true;
}

/* B and A is A and B the other way round; a side and itself is nothing. */
static void test_anything(void **state)
{
	size_t round, rows = 0, i, j;

	(void)state;
	for (round = 0; round < 60; round++) {
		struct diff *back, *same;

		diffs_begin(&diffs);
		if (below(2))
			diffs.options = (struct diff_options){ 0 };
		diffs.options.basis = below(4);
		add_anything(&diffs.a);
		add_anything(&diffs.b);
		diffs_end(&diffs);
		back = diff_new(&diffs.b.reader.report, &diffs.a.reader.report, &diffs.options);
		assert_non_null(back);
		assert_int_equal(back->rows_count, diffs.diff->rows_count);
		assert_int_equal(back->below_noise, diffs.diff->below_noise);
		assert_int_equal(back->pairs_count, diffs.diff->pairs_count);
		assert_int_equal(back->findings_count, diffs.diff->findings_count);
		rows += back->rows_count;
		for (i = 0; i < back->rows_count; i++) {
			for (j = 0; j < back->rows_count; j++)
				if (is_reverse(&diffs.diff->rows[i], &back->rows[j]))
					break;
			assert_true(j < back->rows_count);
		}
		same = diff_new(&diffs.b.reader.report, &diffs.b.reader.report,
				&(struct diff_options){ 0 });
		assert_non_null(same);
		assert_int_equal(same->rows_count + same->below_noise + same->findings_count, 0);
		diff_free(back);
		diff_free(same);
		diffs_done(&diffs);
	}
	assert_true(rows > 60 * 20);
}

/* A start-up buffer that stays is only a note, and no reason to look at a run. */
static void test_notes_are_not_compared(void **state)
{
	uint64_t block;
	int i;

	(void)state;
	diffs_begin(&diffs);
	for (i = 0; i < 2; i++) {
		struct side *side = i ? &diffs.b : &diffs.a;

		add_process(side, 100, "train");
		block = add_alloc(side, 100, "cuMemAlloc_v2", 64 * MIB);
		add_free(side, 100, add_alloc(side, 100, "cuMemAlloc_v2", 128 * MIB));
		side->now_ns += 1000000000;
		add_free(side, 100, add_alloc(side, 100, "cuMemAlloc_v2", 128 * MIB));
		if (!i)
			add_free(side, 100, block);
		add_exit(side, 100, "train");
	}
	diffs_end(&diffs);
	assert_int_equal(diffs.b.reader.report.recordings[0]->findings_count, 1);
	assert_int_equal(diffs.b.reader.report.recordings[0]->findings[0].finding->rule,
			 FINDING_KEPT_TO_END);
	assert_int_equal(diffs.diff->findings_count, 0);
	diffs_done(&diffs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_recording_and_itself),
		cmocka_unit_test(test_the_same_again),
		cmocka_unit_test(test_two_empty_ones),
		cmocka_unit_test(test_a_leak_has_an_owner),
		cmocka_unit_test(test_since_when),
		cmocka_unit_test(test_a_peak_alone),
		cmocka_unit_test(test_host_memory_is_no_growth),
		cmocka_unit_test(test_twice_the_work),
		cmocka_unit_test(test_parts_of_runs),
		cmocka_unit_test(test_more_for_each_launch),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_notes_are_not_compared),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_what_is_below_is_counted),
		cmocka_unit_test(test_what_is_new_is_no_noise),
		cmocka_unit_test(test_a_new_size_class_is_nothing_new),
		cmocka_unit_test(test_a_small_process_is_new),
		cmocka_unit_test(test_anything),
	};

	return unit_run("diff", tests);
}
