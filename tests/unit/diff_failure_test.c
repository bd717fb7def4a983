// SPDX-License-Identifier: BSD-2-Clause
/*
 * A diff with every single allocation failing once: nothing may crash or leak, and nothing may be
 * missing without an error.
 */
#include "diffs.h"

#include <stdlib.h>

#include "failing.h"
#include "output/diff_html.h"
#include "output/diff_json.h"
#include "output/diff_md.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_allocation),
	};

	return unit_run("diff_failure", tests);
}
