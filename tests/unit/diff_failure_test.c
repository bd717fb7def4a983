// SPDX-License-Identifier: BSD-2-Clause
/*
 * A diff with every single allocation failing once: nothing may crash or leak, and nothing may be
 * missing without an error. And one of records that make no sense.
 */
#include "diffs.h"

#include <stdlib.h>

#include "failing.h"
#include "json_check.h"
#include "render/diff_html.h"
#include "render/diff_json.h"
#include "render/diff_md.h"
#include "render/diff_text.h"

static struct diffs diffs;

static void make_sides(void)
{
	uint32_t pid;
	int i;

	diffs_begin(&diffs);
	for (pid = 10; pid < 14; pid++) {
		add_process(pid == 13 ? &diffs.b : &diffs.a, pid, "train");
		add_process(&diffs.b, pid + 40, pid % 2 ? "train" : "serve");
		add_alloc(&diffs.a, pid, "cudaMalloc", 3 * MIB);
		add_alloc(&diffs.b, pid + 40, "cuMemAllocManaged", 5 * MIB);
		add_of(&diffs.a, pid, record_name(0x11, "gemm"));
		for (i = 0; i < 20; i++) {
			add_of(&diffs.a, pid, record_launch("cuLaunchKernel", 0x11));
			add_of(&diffs.b, pid + 40,
			       record_failed(1, record_call("cuCtxSynchronize")));
		}
	}
	add_of(&diffs.b, 50,
	       record_on(0, record_failed(2, record_without(MS_KNOWN_ADDR,
							    record_alloc("cudaMalloc", 0, 1)))));
	side_read(&diffs.a);
	side_read(&diffs.b);
}

/* Returns whether it is there and nothing of it is missing, as far as it says. */
static bool attempt(long nth, struct string *md, struct string *json, struct string *html)
{
	struct diff *diff;

	until_failure = nth;
	diff = diff_new(&diffs.a.reader.report, &diffs.b.reader.report, &diffs.options);
	if (!diff)
		return false;
	diff_md(md, diff, 10);
	diff_text(md, diff, 10, &(struct document_text_options){ .width = 60 });
	diff_json(json, diff);
	diff_html(html, diff, 10);
	diff_free(diff);
	return !md->failed && !json->failed && !html->failed;
}

static bool is_same(const struct string *a, const struct string *b)
{
	return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

static void test_every_allocation(void **state)
{
	struct string md = { 0 }, json = { 0 }, html = { 0 };
	long nth, complete = 0;

	(void)state;
	make_sides();
	assert_true(attempt(-1, &md, &json, &html));
	for (nth = 0; nth < FAILING_ATTEMPTS; nth++) {
		struct string other_md = { 0 }, other_json = { 0 }, other_html = { 0 };
		bool is_complete = attempt(nth, &other_md, &other_json, &other_html);
		bool happened = stop_failing();

		if (is_complete && (!is_same(&md, &other_md) || !is_same(&json, &other_json) ||
				    !is_same(&html, &other_html)))
			fail_msg("allocation %ld: something is missing, and nothing says so", nth);
		complete += is_complete && happened;
		string_fini(&other_md);
		string_fini(&other_json);
		string_fini(&other_html);
		if (!happened)
			break;
	}
	assert_in_range(nth, 50, FAILING_ATTEMPTS - 1);
	/* Nothing that is allocated is of no use. */
	assert_int_equal(complete, 0);
	string_fini(&md);
	string_fini(&json);
	string_fini(&html);
	side_done(&diffs.a);
	side_done(&diffs.b);
}

/* ---- nonsense -------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252;

static uint64_t below(uint64_t bound)
{
	random_state = unit_random(random_state);
	return (random_state >> 11) % bound;
}

/* Of any magnitude; small numbers come again and again. */
static uint64_t anything(void)
{
	return below(4) ? below(8) << 12 : (below(1ull << 53) << 11 | below(1 << 11)) >> below(64);
}

static union record any_record(void)
{
	const struct probe *probe = probe_at((uint32_t)below(probe_count()));
	union record record = record_call(probe->symbol);

	if (below(16) == 0)
		record = below(2) ? record_exit((uint32_t)anything()) : record_attach_running();
	else if (below(16) == 0)
		record = record_account((uint16_t)below(MS_OPS_COUNT), anything(), anything());
	else if (probe->spec.op == MS_OP_FREE && below(2))
		record = record_begin_of(probe->symbol, anything(), anything());
	else
		record = record_failed(
			below(8) ? 0 : (int32_t)anything(),
			record_on((int32_t)anything(),
				  record_from(anything(), record_alloc(probe->symbol, anything(),
								       anything()))));
	record = record_of((uint32_t)below(100), MS_START_NS * below(3), record);
	return record_at(below(3) ? BEGIN + below(1ull << 34) : anything(), record);
}

static void add_nonsense(struct side *side)
{
	struct pipeline scratch = { 0 };
	int i;

	side_segment(side);
	for (i = 0; i < 600; i++) {
		union record record = any_record();

		/* Only what the recorder's own pipeline takes. */
		pipeline_feed(&scratch, &record, record.event.size);
		if (!scratch.refused)
			report_dump_add(&side->dump, record);
		scratch.refused = 0;
	}
	report_dump_end(&side->dump, anything());
	report_dump_read(&side->dump, &side->reader);
	state_fini(&scratch.state);
}

/* Whatever the records say, there is a diff of them, and no sanitizer has anything to say. */
static void test_nonsense(void **state)
{
	size_t round, rounds = 0, rows = 0;

	(void)state;
	for (round = 0; round < 30; round += unit_stride(5)) {
		struct string md = { 0 }, json = { 0 }, html = { 0 };

		diffs = (struct diffs){ .options = diff_defaults() };
		diffs.options.basis = below(4);
		side_begin(&diffs.a, 7, "a");
		side_begin(&diffs.b, 8, "b");
		add_nonsense(&diffs.a);
		add_nonsense(&diffs.b);
		diffs_compare(&diffs);
		diff_md(&md, diffs.diff, 10);
		diff_text(&md, diffs.diff, 10,
			  &(struct document_text_options){ .width = 1 + below(200) });
		diff_json(&json, diffs.diff);
		diff_html(&html, diffs.diff, 10);
		assert_false(md.failed || json.failed || html.failed);
		assert_true(json_check(json.bytes, json.length));
		rows += diffs.diff->rows_count;
		rounds++;
		string_fini(&md);
		string_fini(&json);
		string_fini(&html);
		diffs_done(&diffs);
	}
	assert_true(rows > rounds * 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_allocation),
		cmocka_unit_test(test_nonsense),
	};

	return unit_run("diff_failure", tests);
}
