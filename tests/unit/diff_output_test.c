// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a diff looks like: compared with tests/golden/, and names that would rather be something
 * else.
 */
#include "diff_example.h"

#include "golden.h"
#include "json_check.h"
#include "render/diff_html.h"
#include "render/diff_json.h"
#include "render/diff_md.h"
#include "render/diff_text.h"

#define TOP 10

static void assert_is_golden(const char *path, struct string *string)
{
	static struct text out;

	assert_false(string->failed);
	assert_true(string->length < OUTPUT_MAX);
	memcpy(out.bytes, string->bytes, string->length);
	out.bytes[string->length] = '\0';
	out.length = string->length;
	string_fini(string);
	assert_golden(path, &out);
}

/* ---- golden files ---------------------------------------------------------------------------- */

static void test_markdown(void **state)
{
	struct string md = { 0 };

	(void)state;
	make_example();
	diff_md(&md, diffs.diff, TOP);
	assert_is_golden(GOLDEN "diff.md", &md);
	diffs_done(&diffs);
}

static void test_json(void **state)
{
	struct string json = { 0 };

	(void)state;
	make_example();
	diff_json(&json, diffs.diff);
	assert_true(json_check(json.bytes, json.length));
	assert_is_golden(GOLDEN "diff.json", &json);
	diffs_done(&diffs);
}

static void test_text(void **state)
{
	struct string text = { 0 };

	(void)state;
	make_example();
	diff_text(&text, diffs.diff, TOP, &(struct document_text_options){ .width = 100 });
	assert_is_golden(GOLDEN "diff.txt", &text);
	diffs_done(&diffs);
}

/* The table of recordings names those that may have used CUDA, as a report does. */
static void test_children_that_were_not_recorded(void **state)
{
	struct string md = { 0 }, json = { 0 };

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	diffs.a.dump.forks = "10 1 13";
	diffs.b.dump.forks = "10 2 11 12;9 1 14";
	diffs_end(&diffs);
	diff_md(&md, diffs.diff, TOP);
	assert_true(has(&md,
			"| nothing; whether at least 1 child, which was not recorded, used CUDA"
			" is not known |"));
	assert_true(has(&md, "| nothing; whether at least 3 children, which were not recorded, used"
			     " CUDA is not known |"));
	diff_json(&json, diffs.diff);
	assert_true(json_check(json.bytes, json.length));
	assert_true(has(&json, "\"untraced_forks\":[{\"pid\":10,\"children\":1,"
			       "\"children_pids\":[13]}]"));
	assert_true(has(&json, "\"untraced_forks\":[{\"pid\":10,\"children\":2,"
			       "\"children_pids\":[11,12]},{\"pid\":9,\"children\":1,"
			       "\"children_pids\":[14]}]"));
	string_fini(&md);
	string_fini(&json);
	diffs_done(&diffs);
}

/* It has every row, every number in full, and nothing that is said of noise alone. */
static void test_html(void **state)
{
	struct string html = { 0 };

	(void)state;
	make_example();
	diff_html(&html, diffs.diff, TOP);
	assert_false(html.failed);
	assert_true(has(&html, "<h1 id=\"verdict-h\">Something new is wrong</h1>"));
	assert_true(has(&html, "<td class=\"n\" data-v=\"15728643\" title=\"15,728,643 bytes\">"
			       "<strong>+15.0 MiB</strong></td>"));
	assert_true(has(&html, "<td class=\"n\" data-v=\"-16777216\" title=\"16,777,216 bytes\">"
			       "<strong>-16 MiB</strong></td>"));
	assert_true(has(&html, "<td>gemm_v2</td><td class=\"n\" data-v=\"40\">40</td>"));
	assert_true(has(&html, "default-src &#39;none&#39;") || has(&html, "default-src 'none'"));
	assert_false(has(&html, "{{"));
	string_fini(&html);
	diffs_done(&diffs);
}

/* Of the page: its colour and what is above everything else. */
static void assert_grade(const char *class, const char *title)
{
	struct string html = { 0 }, expected = { 0 };

	diff_html(&html, diffs.diff, TOP);
	assert_false(html.failed);
	string_append_format(&expected, "<section class=\"verdict %s\" id=\"verdict\"", class);
	string_append_char(&expected, '\0');
	if (!has(&html, expected.bytes))
		fail_msg("it is not %s", class);
	string_clear(&expected);
	string_append_format(&expected, ">%s</h1>", title);
	string_append_char(&expected, '\0');
	if (!has(&html, expected.bytes))
		fail_msg("it is not called %s", title);
	string_fini(&html);
	string_fini(&expected);
}

static void test_nothing_is_good_only_if_nothing_is_missing(void **state)
{
	(void)state;
	begin_alike();
	diffs_end(&diffs);
	assert_grade("good", "Nothing changed beyond noise");
	diffs_done(&diffs);
	begin_alike();
	add(&diffs.a, record_account(MS_OP_COPY, 50, 10));
	diffs_end(&diffs);
	assert_grade("warn", "No change beyond noise in what was recorded");
	diffs_done(&diffs);
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_of(&diffs.b, 10, record_process(MS_TYPE_ATTACH, "train", MS_ATTACH_RUNNING));
	diffs_end(&diffs);
	assert_grade("warn", "No change beyond noise, but not all is exact");
	diffs_done(&diffs);
}

static void test_the_grade_of_what_came_and_went(void **state)
{
	struct diff *forth;
	size_t rows;

	(void)state;
	begin_alike();
	add_of(&diffs.b, 10, record_failed(700, record_call("cuCtxSynchronize")));
	diffs_end(&diffs);
	assert_grade("bad", "Something new is wrong");
	diffs_done(&diffs);
	begin_alike();
	add_oom(&diffs.b, 10);
	diffs_end(&diffs);
	assert_grade("bad", "Something new is wrong");
	/* Gone, and nothing else is different. */
	forth = diffs.diff;
	diffs.diff = diff_new(&diffs.b.reader.report, &diffs.a.reader.report, &diffs.options);
	assert_non_null(diffs.diff);
	rows = diffs.diff->rows_count;
	assert_int_equal(diffs.diff->findings_count, 1);
	assert_grade("warn", "What changed");
	diffs.diff->rows_count = 0;
	assert_grade("warn", "What changed");
	diffs.diff->rows_count = rows;
	diff_free(forth);
	diffs_done(&diffs);
}

/* Small blocks that come and go: only numbers without a column differ. */
static void test_every_row_says_why(void **state)
{
	struct string md = { 0 }, html = { 0 };
	int i;

	(void)state;
	begin_alike();
	add_free(&diffs.a, 10, add_alloc(&diffs.a, 10, "cuMemAlloc_v2", 4096));
	for (i = 0; i < 21; i++)
		add_free(&diffs.b, 10, add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 4096));
	add_exit(&diffs.a, 10, "train");
	add_exit(&diffs.b, 10, "train");
	diffs_end(&diffs);
	diff_md(&md, diffs.diff, TOP);
	assert_true(has(&md, "| train (10) | device | 0 B | 0 B | 4 KiB | 0 B | 84 KiB | +80 KiB |"
			     " **allocations +20, frees +20** |\n"));
	assert_true(has(&md, "| train (10) | cuMemAlloc_v2 | device | 0 | 0 B | 0 B | 4 KiB | 0 B |"
			     " 84 KiB | +80 KiB | **allocations +20, frees +20** |\n"));
	/* Where there is a column, it is enough. */
	assert_true(has(&md, "| 21 | **+20** |  |\n"));
	diff_html(&html, diffs.diff, TOP);
	assert_true(has(&html, "<td><strong>allocations +20, frees +20</strong></td>"));
	string_fini(&md);
	string_fini(&html);
	diffs_done(&diffs);
}

static size_t count_lines_with(const struct string *string, const char *text)
{
	size_t count = 0;
	const char *at = string->bytes;

	while ((at = memmem(at, string->bytes + string->length - at, text, strlen(text)))) {
		count++;
		at += strlen(text);
	}
	return count;
}

static void test_only_so_many(void **state)
{
	struct string md = { 0 };

	(void)state;
	make_example();
	diff_md(&md, diffs.diff, 1);
	assert_true(has(&md, " more.\n"));
	/* First in the tables of processes, kernels, copies, calls, failures and rates. */
	assert_int_equal(count_lines_with(&md, "\n| train"), 6);
	assert_int_equal(count_lines_with(&md, "\n| load"), 3);
	string_fini(&md);
	diffs_done(&diffs);
}

/* ---- names of programs, hosts and kernels ---------------------------------------------------- */

static void render(const char *name, struct string *md, struct string *json, struct string *html)
{
	int i;

	diffs = (struct diffs){ .options = diff_defaults() };
	side_begin(&diffs.a, 7, name);
	side_begin(&diffs.b, 8, name);
	diffs.a.dump.targets = name;
	side_segment(&diffs.a);
	side_segment(&diffs.b);
	add_process(&diffs.b, 50, name);
	add_of(&diffs.b, 50, record_name(0x11, name));
	for (i = 0; i < 20; i++)
		add_of(&diffs.b, 50, record_launch("cuLaunchKernel", 0x11));
	add_alloc(&diffs.b, 50, "cudaMalloc", 9 * MIB);
	add_oom(&diffs.b, 50);
	diffs_end(&diffs);
	diff_md(md, diffs.diff, TOP);
	diff_json(json, diffs.diff);
	diff_html(html, diffs.diff, TOP);
	diffs_done(&diffs);
}

static void test_hostile_names(void **state)
{
	static const struct {
		const char *name, *never, *instead;
	} cases[] = {
		{ "a|b", "a|b", "a\\|b" },
		{ "a\nb", "a\nb", "a\\\\x0ab" },
		{ "\033[2J", "\033", "x1b\\[2J" },
		{ "</script>", " </script", "\\</script\\>" },
		{ "*a*", " *a*", "\\*a\\*" },
		{ "[a](b)", " [a]", "\\[a\\](b)" },
		{ "![a](b)", "![", "\\!\\[a\\](b)" },
		{ "http://a.b", "http://", "http\\://a.b" },
		{ "\xe2\x80\xae", "\xe2\x80\xae", "\\\\x" },
		{ "\xff", "\xff", "\\\\xff" },
		{ "\"", NULL, "\"" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct string md = { 0 }, json = { 0 }, html = { 0 };
		size_t plain;

		render("plain", &md, &json, &html);
		plain = count_lines_with(&html, "<");
		string_clear(&md);
		string_clear(&json);
		string_clear(&html);
		render(cases[i].name, &md, &json, &html);
		/* No element more than with a name that is none. */
		assert_int_equal(count_lines_with(&html, "<"), plain);
		string_fini(&html);
		if (cases[i].never && has(&md, cases[i].never))
			fail_msg("case %zu: \"%s\" is in the Markdown", i, cases[i].never);
		if (!has(&md, cases[i].instead))
			fail_msg("case %zu: \"%s\" is not", i, cases[i].instead);
		assert_true(json_check(json.bytes, json.length));
		string_fini(&md);
		string_fini(&json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_markdown),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_children_that_were_not_recorded),
		cmocka_unit_test(test_html),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_nothing_is_good_only_if_nothing_is_missing),
		cmocka_unit_test(test_the_grade_of_what_came_and_went),
		cmocka_unit_test(test_every_row_says_why),
		cmocka_unit_test(test_only_so_many),
		cmocka_unit_test(test_hostile_names),
	};

	return unit_run("diff_output", tests);
}
