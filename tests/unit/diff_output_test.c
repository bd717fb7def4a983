// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a diff looks like: compared with tests/golden/, and names that would rather be something
 * else.
 */
#include "diffs.h"

#include "golden.h"
#include "json_check.h"
#include "output/diff_html.h"
#include "output/diff_json.h"
#include "output/diff_md.h"
#include "output/diff_words.h"

#define TOP 10

static struct diffs diffs;

static bool has(const struct string *string, const char *text)
{
	return memmem(string->bytes, string->length, text, strlen(text));
}

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

static void add_steps(struct side *side, uint32_t pid, const char *kernel, int steps)
{
	int i;

	add_of(side, pid, record_name(0x11, kernel));
	for (i = 0; i < steps; i++) {
		uint64_t addr = add_alloc(side, pid, "cuMemAlloc_v2", 2 * MIB);

		add_of(side, pid,
		       record_taking(100000,
				     record_copy("cuMemcpyHtoD_v2", MIB, MS_DIRECTION_HTOD)));
		add_of(side, pid, record_launch("cuLaunchKernel", 0x11));
		add_of(side, pid, record_launch("cuLaunchKernel", 0x22));
		add_of(side, pid, record_taking(50000, record_call("cuCtxSynchronize")));
		add_of(side, pid, record_alloc("cuMemsetD8_v2", 0x1000, 64));
		add_free(side, pid, addr);
	}
}

static void add_oom(struct side *side, uint32_t pid)
{
	add_of(side, pid,
	       record_on(0, record_failed(
				    2, record_without(MS_KNOWN_ADDR,
						      record_alloc("cudaMalloc", 0, 8ull << 30)))));
}

static void add_before(struct side *side)
{
	add_process(side, 10, "train");
	add_alloc(side, 10, "cudaMalloc", 64 * MIB);
	add_alloc(side, 10, "cudaMallocHost", 16 * MIB);
	add_steps(side, 10, "gemm", 20);
	add_exit(side, 10, "train");
	add_process(side, 11, "load");
	add_alloc(side, 11, "cuMemAlloc_v2", 24 * MIB);
	add_process(side, 12, "worker");
	add_process(side, 13, "worker");
	add_alloc(side, 13, "cuMemAlloc_v2", 4 * MIB);
}

/* Blocks that stay, another kernel, half as many copies, a program more and one less. */
static void add_after(struct side *side)
{
	int i;

	add_process(side, 50, "train");
	add_alloc(side, 50, "cudaMalloc", 64 * MIB);
	for (i = 0; i < 3; i++)
		add_alloc(side, 50, "cudaMalloc", 5 * MIB + 1);
	add_steps(side, 50, "gemm_v2", 40);
	add_oom(side, 50);
	add_exit(side, 50, "train");
	add_process(side, 51, "serve");
	add_alloc(side, 51, "cuMemAllocManaged", 7 * MIB);
	add_of(side, 52, record_process(MS_TYPE_ATTACH, "worker", MS_ATTACH_RUNNING));
	add_alloc(side, 52, "cuMemAlloc_v2", 2 * MIB);
	add_process(side, 53, "worker");
	add_alloc(side, 53, "cuMemAlloc_v2", 4 * MIB);
	add(side, record_account(MS_OP_COPY, 1000, 12));
}

static void make_example(void)
{
	diffs_begin(&diffs);
	add_before(&diffs.a);
	add_after(&diffs.b);
	side_read(&diffs.a);
	side_read(&diffs.b);
	strcpy(diffs.a.reader.report.recordings[0]->coverage.files[0], "before.mscope");
	strcpy(diffs.b.reader.report.recordings[0]->coverage.files[0], "after.mscope");
	diffs_compare(&diffs);
}

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

static void begin_alike(void)
{
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
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

/* ---- what is said ---------------------------------------------------------------------------- */

static void say(struct string *out)
{
	struct verdict verdict;
	size_t i;

	diff_verdict(&verdict, diffs.diff);
	for (i = 0; i < verdict.count; i++) {
		string_append(out, verdict.sentences[i].bytes, verdict.sentences[i].length);
		string_append_char(out, '\n');
	}
	verdict_fini(&verdict);
}

static void test_what_shrank(void **state)
{
	struct string said = { 0 };

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	add_alloc(&diffs.a, 10, "cudaMalloc", 3 * MIB);
	add_alloc(&diffs.a, 10, "cudaMalloc", 3 * MIB);
	add_alloc(&diffs.b, 10, "cudaMalloc", 3 * MIB);
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said,
			"train (10) holds 3 MiB less device memory at the end: 6 MiB before,"
			" 3 MiB now; most of it by cudaMalloc on device 0 (-3 MiB), in blocks"
			" of 2 MiB to 4 MiB (-3 MiB in 1 block less).\n"));
	assert_true(has(&said, "Nothing was lost on either side: the numbers are exact.\n"));
	string_fini(&said);
	diffs_done(&diffs);
}

static void test_missed_processes(void **state)
{
	struct string said = { 0 };

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	diffs.b.dump.missed = 1;
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "Nothing was lost on either side; of processes that could not be"
			       " attached to in time in B, calls may be missing.\n"));
	diffs_done(&diffs);

	string_fini(&said);
	diffs_begin(&diffs);
	add_of(&diffs.a, 10, record_process(MS_TYPE_ATTACH, "train", MS_ATTACH_RUNNING));
	add_process(&diffs.b, 10, "train");
	diffs.a.dump.missed = diffs.b.dump.missed = 1;
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "but what is live and the peaks are not exact in A; of processes"
			       " that could not be attached to in time in either, calls may be"
			       " missing.\n"));
	string_fini(&said);
	diffs_done(&diffs);
}

static void test_other_differences(void **state)
{
	struct string said = { 0 };
	int i;

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	for (i = 0; i < 20; i++)
		add_of(&diffs.b, 10, record_launch("cuLaunchKernel", 0x77));
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said,
			"No process holds more or less beyond noise; other numbers differ, in"
			" 1 row: Kernels.\n"));
	string_fini(&said);
	diffs_done(&diffs);
}

static bool begins(const struct string *string, const char *text)
{
	return string->length >= strlen(text) && !memcmp(string->bytes, text, strlen(text));
}

/* That a function fails for want of memory is no reason to keep quiet about why else it fails. */
static void test_another_failure_of_what_ran_out_of_memory(void **state)
{
	struct string said = { 0 };

	(void)state;
	begin_alike();
	add_oom(&diffs.b, 10);
	add_of(&diffs.b, 10, record_failed(700, record_call("cudaMalloc")));
	diffs_end(&diffs);
	say(&said);
	assert_true(begins(&said,
			   "New: oom in train (10) by cudaMalloc (8 GiB)."
			   " Also new: cudaMalloc failed with cudaErrorIllegalAddress (700)"));
	diffs_done(&diffs);
	string_fini(&said);
}

/* Before what grew; and a failure for want of memory is said once. */
static void test_what_is_wrong_comes_first(void **state)
{
	struct string said = { 0 };
	int i;

	(void)state;
	begin_alike();
	add_oom(&diffs.b, 10);
	add_of(&diffs.b, 10, record_failed(700, record_call("cuCtxSynchronize")));
	add_alloc(&diffs.b, 10, "cudaMalloc", 9 * MIB);
	for (i = 0; i < 20; i++)
		add_of(&diffs.b, 10, record_launch("cuLaunchKernel", 0x77));
	diffs_end(&diffs);
	say(&said);
	assert_true(begins(&said,
			   "New: oom in train (10) by cudaMalloc (8 GiB)."
			   " Also new: cuCtxSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS"
			   " (700) in train (10).\ntrain (10) holds 9 MiB more"));
	diff_free(diffs.diff);
	/* That it is gone comes after. */
	diffs.diff = diff_new(&diffs.b.reader.report, &diffs.a.reader.report, &diffs.options);
	assert_non_null(diffs.diff);
	string_clear(&said);
	say(&said);
	assert_true(begins(&said, "train (10) holds 9 MiB less"));
	assert_true(has(&said, "\nGone: oom in train (10) by cudaMalloc (8 GiB).\n"));
	/* Findings alone. */
	diffs.diff->rows_count = 0;
	diffs.diff->below_noise = 2;
	string_clear(&said);
	say(&said);
	assert_true(begins(&said, "Apart from findings, nothing differs by more than noise; 2 rows"
				  " differ by less.\nGone: oom"));
	string_fini(&said);
	diffs_done(&diffs);
}

/* A service without a name in B, as the recording began while it ran: A may know it. */
static void test_the_name_of_either_side(void **state)
{
	static const char *const comms[][3] = {
		{ "ffmpeg", "ffmpeg", "ffmpeg (10, now 20)" },
		{ "ffmpeg", "", "ffmpeg (10, now 20)" },
		{ "", "ffmpeg", "ffmpeg (10, now 20)" },
		{ "old", "new", "new (10, now 20)" },
		{ "", "", "process (10, now 20)" },
	};
	struct process a = { .pid = 10 }, b = { .pid = 20 };
	struct report_process shown = { 0 };
	struct finding finding = { .pid = 20, .rule = FINDING_OOM, .row = MS_NO_ROW };
	struct diff_pair pair = { .a = { .process = &a, .shown = &shown },
				  .b = { .process = &b, .shown = &shown } };
	struct diff_finding one = { .pair = &pair, .b = &finding };
	struct string said = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(comms) / sizeof(*comms); i++) {
		strcpy(a.comm, comms[i][0]);
		strcpy(b.comm, comms[i][1]);
		strcpy(finding.comm, comms[i][1]);
		string_clear(&said);
		diff_append_pair(&said, &pair);
		assert_int_equal(said.length, strlen(comms[i][2]));
		assert_true(has(&said, comms[i][2]));
	}
	string_clear(&said);
	strcpy(a.comm, "ffmpeg");
	diff_append_finding(&said, &one);
	assert_true(has(&said, "oom in ffmpeg (20)"));
	string_fini(&said);
}

static void test_growth_in_words(void **state)
{
	struct diff_growth growth;
	struct string said = { 0 };

	(void)state;
	make_example();
	growth = diff_growth(diffs.diff);
	diff_append_growth(&said, &growth);
	assert_true(has(&said, "train (10, now 50) holds 15.0 MiB more device memory at the end"
			       " (64 MiB before, 79.0 MiB now)"));
	string_clear(&said);
	growth.peak = true;
	growth.space = MS_SPACE_DEVICE;
	diff_append_growth(&said, &growth);
	assert_true(has(&said, "train (10, now 50): its peak of device memory is 15.0 MiB higher"));
	string_clear(&said);
	growth.pair = NULL;
	growth.device = 3;
	diff_append_growth(&said, &growth);
	assert_true(has(&said, "device 3: the peak of what is held on it is 15.0 MiB higher"));
	string_fini(&said);
	diffs_done(&diffs);
}

static void test_classes_in_words(void **state)
{
	struct string said = { 0 };

	(void)state;
	diff_append_class(&said, 0);
	string_append_char(&said, '|');
	diff_append_class(&said, 20);
	string_append_char(&said, '|');
	diff_append_class(&said, 62);
	string_append_char(&said, '|');
	diff_append_class(&said, 63);
	assert_true(has(&said, "1 B or unknown|1 MiB to 2 MiB|4 EiB to 8 EiB|8 EiB or more"));
	string_fini(&said);
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
		cmocka_unit_test(test_html),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_nothing_is_good_only_if_nothing_is_missing),
		cmocka_unit_test(test_the_grade_of_what_came_and_went),
		cmocka_unit_test(test_every_row_says_why),
		cmocka_unit_test(test_only_so_many),
		cmocka_unit_test(test_what_shrank),
		cmocka_unit_test(test_missed_processes),
		cmocka_unit_test(test_other_differences),
		cmocka_unit_test(test_another_failure_of_what_ran_out_of_memory),
		cmocka_unit_test(test_what_is_wrong_comes_first),
		cmocka_unit_test(test_the_name_of_either_side),
		cmocka_unit_test(test_growth_in_words),
		cmocka_unit_test(test_classes_in_words),
		cmocka_unit_test(test_hostile_names),
	};

	return unit_run("diff_output", tests);
}
