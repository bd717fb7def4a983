// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two recordings: which processes and findings of theirs are the same, and what is not known.
 */
#include "compared.h"

#include <stdlib.h>
#include <string.h>

#include "render/diff_md.h"

/* ---- who is who ------------------------------------------------------------------------------ */

static const struct diff_pair *pair_of(uint32_t in_a, uint32_t in_b)
{
	size_t i;

	for (i = 0; i < diffs.diff->pairs_count; i++) {
		const struct diff_pair *pair = &diffs.diff->pairs[i];

		if ((pair->a.process ? pair->a.process->pid : 0) == in_a &&
		    (pair->b.process ? pair->b.process->pid : 0) == in_b)
			return pair;
	}
	fail_msg("%u is not %u", in_a, in_b);
	return NULL;
}

static void test_names(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "load");
	add_process(&diffs.a, 11, "train");
	add_process(&diffs.a, 12, "train");
	add_process(&diffs.a, 13, "old");
	add_process(&diffs.b, 50, "train");
	add_process(&diffs.b, 51, "new");
	add_process(&diffs.b, 52, "load");
	add_process(&diffs.b, 53, "train");
	add_process(&diffs.b, 54, "train");
	add_alloc(&diffs.a, 13, "cuMemAlloc_v2", 9 * MIB);
	add_alloc(&diffs.b, 51, "cuMemAlloc_v2", 8 * MIB);
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->pairs_count, 6);
	assert_int_equal(pair_of(10, 52)->alike_a, 1);
	assert_int_equal(pair_of(11, 50)->alike_a, 2);
	assert_int_equal(pair_of(12, 53)->alike_b, 3);
	assert_int_equal(pair_of(0, 54)->presence, DIFF_NEW);
	assert_int_equal(pair_of(13, 0)->presence, DIFF_GONE);
	assert_int_equal(pair_of(0, 51)->presence, DIFF_NEW);
	/* Who did nothing makes no difference. */
	assert_true(pair_of(0, 51)->differs);
	assert_true(pair_of(13, 0)->differs);
	assert_false(pair_of(0, 54)->differs);
	assert_int_equal(row_at(DIFF_SPACE, 0)->presence, DIFF_GONE);
	assert_int_equal(diff_growth(diffs.diff).bytes, 8 * MIB);
	diffs_done(&diffs);
}

/* Two recordings on each side: the host tells them apart, the command even more so. */
static void test_hosts_and_targets(void **state)
{
	static const char *const hosts[2][2] = { { "north", "south" }, { "south", "north" } };
	static struct side second[2];
	struct side *sides[2][2] = { { &diffs.a, &second[0] }, { &diffs.b, &second[1] } };
	int use_targets, i, j;

	(void)state;
	for (use_targets = 0; use_targets < 2; use_targets++) {
		diffs = (struct diffs){ .options = diff_defaults() };
		for (i = 0; i < 2; i++) {
			struct dump_set set = { 0 };

			for (j = 0; j < 2; j++) {
				side_begin(sides[i][j], 2 * i + j + 1, hosts[i][j]);
				if (use_targets)
					sides[i][j]->dump.targets = i == j ? "x" : "y";
				side_segment(sides[i][j]);
				add_process(sides[i][j], 10 * (2 * i + j + 1), "train");
				report_dump_end(&sides[i][j]->dump, sides[i][j]->now_ns);
				report_dump_use(&sides[i][j]->dump, 0, &set);
			}
			assert_int_equal(report_reader_read(&sides[i][0]->reader, &set), 0);
			dump_set_fini(&set);
		}
		diffs_compare(&diffs);
		assert_int_equal(diffs.diff->pairs_count, 2);
		/* 10 is north x, 20 south y, 30 south y, 40 north x. */
		pair_of(10, 40);
		assert_int_equal(pair_of(20, 30)->match, DIFF_MATCH_HOST_AND_TARGETS);
		assert_true(diffs.diff->devices_skipped);
		diffs_done(&diffs);
		side_done(&second[0]);
		side_done(&second[1]);
	}
}

static void test_targets_before_hosts(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 20, "train");
	diffs_end(&diffs);
	assert_int_equal(pair_of(10, 20)->match, DIFF_MATCH_TARGETS);
	diffs_done(&diffs);
	side_begin(&diffs.a, 1, "here");
	side_begin(&diffs.b, 2, "here");
	diffs.a.dump.targets = "command train --old";
	side_segment(&diffs.a);
	side_segment(&diffs.b);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 20, "train");
	diffs_end(&diffs);
	assert_int_equal(pair_of(10, 20)->match, DIFF_MATCH_HOST);
	diffs_done(&diffs);
}

/* Of very many that ended, most are known as a sum. */
static void test_sums_of_processes(void **state)
{
	const struct diff_row *row = NULL;
	uint32_t pid;
	size_t i;

	(void)state;
	diffs_begin(&diffs);
	for (pid = 10; pid < 110; pid++) {
		add_process(&diffs.a, pid, "worker");
		add_process(&diffs.b, pid + 300, "worker");
		add_alloc(&diffs.a, pid, "cuMemAlloc_v2", MIB);
		/* Those that end first and hold least. */
		add_alloc(&diffs.b, pid + 300, "cuMemAlloc_v2", pid < 20 ? MIB / 2 : MIB);
		add_exit(&diffs.a, pid, "worker");
		add_exit(&diffs.b, pid + 300, "worker");
	}
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->pairs_count, 66);
	for (i = 0; i < diffs.diff->rows_count; i++)
		if (!diffs.diff->rows[i].pair->a.shown)
			row = &diffs.diff->rows[i];
	assert_non_null(row);
	assert_int_equal(row->dimension, DIFF_SPACE);
	assert_null(row->pair->b.shown);
	assert_values(row, ALLOC_BYTES, 35 * MIB, 30 * MIB);
	assert_int_equal(diffs.diff->rows_count, 1);
	diffs_done(&diffs);
}

/* ---- findings -------------------------------------------------------------------------------- */

static void add_oom(struct side *side, int times)
{
	while (times--) {
		add_of(side, 10,
		       record_on(0, record_failed(2, record_without(MS_KNOWN_ADDR,
								    record_alloc("cudaMalloc", 0,
										 8 << 20)))));
		side->now_ns += 40 * BEGIN; /* later than a retry */
	}
}

static void test_new_and_gone_findings(void **state)
{
	const struct diff_finding *finding;

	(void)state;
	diffs_begin(&diffs);
	add_program(&diffs.a, 10, "train", 1);
	add_program(&diffs.b, 10, "train", 1);
	add_oom(&diffs.b, 2);
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->findings_count, 1);
	finding = &diffs.diff->findings[0];
	assert_int_equal(finding->presence, DIFF_NEW);
	assert_int_equal(finding->b->rule, FINDING_OOM);
	assert_int_equal(finding->count_a, 0);
	assert_int_equal(finding->count_b, 2);
	assert_true(finding->beyond);
	assert_ptr_equal(finding->pair, &diffs.diff->pairs[0]);
	diff_free(diffs.diff);
	diffs.diff = diff_new(&diffs.b.reader.report, &diffs.a.reader.report, &diffs.options);
	assert_non_null(diffs.diff);
	assert_int_equal(diffs.diff->findings[0].presence, DIFF_GONE);
	diffs_done(&diffs);
}

static void test_the_same_finding_is_none(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_program(&diffs.a, 10, "train", 1);
	add_program(&diffs.b, 20, "train", 1);
	add_oom(&diffs.a, 1);
	diffs.b.now_ns += 3 * BEGIN;
	add_of(&diffs.b, 20,
	       record_on(0,
			 record_failed(2, record_without(MS_KNOWN_ADDR,
							 record_alloc("cudaMalloc", 0, 8 << 20)))));
	diffs_end(&diffs);
	assert_int_equal(diffs.diff->findings_count, 0);
	diffs_done(&diffs);
}

/* ---- what is not known ----------------------------------------------------------------------- */

static void test_losses_make_rows_uncertain(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_work(&diffs.a, "same", 20, true);
	add_work(&diffs.b, "same", 40, true);
	add(&diffs.b, record_account(MS_OP_COPY, 50, 10));
	diffs_end(&diffs);
	assert_true(row_at(DIFF_COPY, 0)->uncertain);
	assert_false(row_at(DIFF_KERNEL, 0)->uncertain);
	assert_false(row_at(DIFF_SPACE, 0)->uncertain);
	assert_true(diffs.diff->pairs[0].uncertain);
	assert_true(diff_has_losses(diffs.diff->b));
	assert_false(diff_has_losses(diffs.diff->a));
	diffs_done(&diffs);
}

static void add_graph_launches(struct side *side, uint32_t pid, int count)
{
	while (count--)
		add_of(side, pid, record_launch("cuGraphLaunch", 0x88));
}

/* They are lost as calls about memory. */
static void test_lost_launches_of_graphs(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_program(&diffs.a, 10, "train", 1);
	add_program(&diffs.b, 10, "train", 2);
	add_graph_launches(&diffs.b, 10, 20);
	add(&diffs.b, record_account(MS_OP_MEMORY, 50, 10));
	add_exit(&diffs.a, 10, "train");
	add_exit(&diffs.b, 10, "train");
	diffs_end(&diffs);
	assert_int_equal(count_rows(DIFF_CALL), 2);
	assert_int_equal(row_at(DIFF_CALL, 0)->call, DIFF_CALL_GRAPH_LAUNCHES);
	assert_true(row_at(DIFF_CALL, 0)->uncertain);
	assert_false(row_at(DIFF_CALL, 1)->uncertain);
	diffs_done(&diffs);
}

static void test_a_process_that_ran_before(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_of(&diffs.b, 10, record_process(MS_TYPE_ATTACH, "train", MS_ATTACH_RUNNING));
	add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 2 * MIB);
	diffs_end(&diffs);
	assert_true(row_at(DIFF_SPACE, 0)->uncertain);
	assert_true(row_at(DIFF_API, 0)->uncertain);
	assert_true(row_at(DIFF_DEVICE, 0)->uncertain);
	assert_true(diff_growth(diffs.diff).uncertain);
	assert_true(diff_is_inexact(diffs.diff->b));
	diffs_done(&diffs);
}

/* And executes another program, as which it is known from its beginning to its end. */
static void test_a_process_that_ran_before_as_another_program(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_exit(&diffs.a, 10, "train");
	add_of(&diffs.b, 10, record_process(MS_TYPE_ATTACH, "sh", MS_ATTACH_RUNNING));
	add_of(&diffs.b, 10, record_process(MS_TYPE_EXEC, "train", 0));
	add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 2 * MIB);
	add_exit(&diffs.b, 10, "train");
	diffs_end(&diffs);
	assert_true(row_at(DIFF_SPACE, 0)->uncertain);
	assert_true(diff_is_inexact(diffs.diff->b));
	assert_int_equal(diffs.diff->pairs[0].basis, DIFF_PER_SECOND);
	diffs_done(&diffs);
}

static void test_a_process_that_freed_what_nobody_saw(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 2 * MIB);
	add_of(&diffs.b, 10, record_free("cuMemFree_v2", 0xdead0000));
	diffs_end(&diffs);
	assert_true(row_at(DIFF_SPACE, 0)->uncertain);
	diffs_done(&diffs);
}

/* B begins with an anchor: what was there before is known, but not of what its peak was made. */
static void test_a_peak_that_nobody_saw(void **state)
{
	uint64_t addr;

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_alloc(&diffs.a, 10, "cuMemAlloc_v2", 30 * MIB);
	add_process(&diffs.b, 10, "train");
	addr = add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 20 * MIB);
	add_free(&diffs.b, 10, addr);
	add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 2 * MIB);
	diffs.b.dump.files = 2;
	side_segment(&diffs.b);
	add_of(&diffs.b, 10, record_call("cuCtxSynchronize"));
	report_dump_end(&diffs.b.dump, diffs.b.now_ns + 1000000);
	side_read(&diffs.a);
	{
		struct dump_set set = { 0 };

		report_dump_use(&diffs.b.dump, 1, &set);
		assert_int_equal(report_reader_read(&diffs.b.reader, &set), 0);
		dump_set_fini(&set);
	}
	diffs_compare(&diffs);
	assert_values(row_at(DIFF_SPACE, 0), PEAK_BYTES, 30 * MIB, 20 * MIB);
	assert_values(row_at(DIFF_API, 0), LIVE_BYTES, 30 * MIB, 2 * MIB);
	assert_false(row_at(DIFF_API, 0)->known & 1u << DIFF_PEAK_BYTES);
	assert_true(row_at(DIFF_API, 0)->uncertain);
	assert_false(row_at(DIFF_SPACE, 0)->uncertain);
	diffs_done(&diffs);
}

static void test_what_was_not_captured_is_not_compared(void **state)
{
	(void)state;
	diffs_begin(&diffs);
	side_done(&diffs.b);
	side_begin(&diffs.b, 8, "host-b");
	diffs.b.dump.ops = "alloc,launch,sync";
	side_segment(&diffs.b);
	add_work(&diffs.a, "same", 20, true);
	add_work(&diffs.b, "same", 40, true);
	diffs_end(&diffs);
	assert_int_equal(count_rows(DIFF_COPY), 0);
	assert_int_equal(count_rows(DIFF_KERNEL), 2);
	assert_int_equal(count_rows(DIFF_CALL), 1);
	assert_true(diffs.diff->pairs[0].not_compared & 1u << MS_OP_COPY);
	/* Without frees, nobody knows what is live. */
	assert_true(diffs.diff->pairs[0].no_levels);
	assert_false(row_at(DIFF_SPACE, 0)->known & 1u << DIFF_LIVE_BYTES);
	assert_false(row_at(DIFF_SPACE, 0)->known & 1u << DIFF_FREES);
	assert_values(row_at(DIFF_SPACE, 0), ALLOCS, 20, 40);
	assert_int_equal(diff_growth(diffs.diff).bytes, 0);
	diffs_done(&diffs);
}

/* The process `pid` on both sides, with as many launches of graphs on each; nothing else. */
static void add_graph_program(uint32_t pid, const char *comm, int in_a, int in_b)
{
	add_process(&diffs.a, pid, comm);
	add_process(&diffs.b, pid, comm);
	add_graph_launches(&diffs.a, pid, in_a);
	add_graph_launches(&diffs.b, pid, in_b);
	add_exit(&diffs.a, pid, comm);
	add_exit(&diffs.b, pid, comm);
}

/* They are captured for what they allocate, whatever was asked for. */
static void test_launches_of_graphs_alone(void **state)
{
	struct string text = { 0 };

	(void)state;
	diffs_begin_as(&diffs, "alloc,free");
	add_graph_program(10, "train", 20, 40);
	add_graph_program(11, "serve", 20, 0);
	add_graph_program(12, "infer", 0, 30);
	diffs_end(&diffs);
	assert_int_equal(count_rows(DIFF_CALL), 3);
	assert_values(row_at(DIFF_CALL, 0), CALLS, 0, 30);
	assert_values(row_at(DIFF_CALL, 1), CALLS, 20, 0);
	assert_values(row_at(DIFF_CALL, 2), CALLS, 20, 40);
	diff_md(&text, diffs.diff, 10);
	string_append_char(&text, '\0');
	assert_non_null(
		strstr(text.bytes, "not compared: copy, memset, launch (except graphs), sync"));
	string_fini(&text);
	diffs_done(&diffs);
}

/* Older versions did not: there, none says nothing. */
static void test_launches_of_graphs_of_an_older_recording(void **state)
{
	(void)state;
	diffs_begin_as(&diffs, "alloc,free");
	side_done(&diffs.a);
	side_begin(&diffs.a, 7, "host-a");
	diffs.a.dump.ops = "alloc,free";
	diffs.a.dump.graph_launches = NULL;
	side_segment(&diffs.a);
	add_graph_program(12, "infer", 0, 30);
	diffs_end(&diffs);
	assert_int_equal(count_rows(DIFF_CALL), 0);
	assert_true(pair_of(12, 12)->no_graph_launches);
	diffs_done(&diffs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hosts_and_targets),
		cmocka_unit_test(test_targets_before_hosts),
		cmocka_unit_test(test_sums_of_processes),
		cmocka_unit_test(test_new_and_gone_findings),
		cmocka_unit_test(test_the_same_finding_is_none),
		cmocka_unit_test(test_losses_make_rows_uncertain),
		cmocka_unit_test(test_lost_launches_of_graphs),
		cmocka_unit_test(test_a_process_that_ran_before),
		cmocka_unit_test(test_a_process_that_ran_before_as_another_program),
		cmocka_unit_test(test_a_process_that_freed_what_nobody_saw),
		cmocka_unit_test(test_a_peak_that_nobody_saw),
		cmocka_unit_test(test_what_was_not_captured_is_not_compared),
		cmocka_unit_test(test_launches_of_graphs_alone),
		cmocka_unit_test(test_launches_of_graphs_of_an_older_recording),
	};

	return unit_run("diff: matching", tests);
}
