// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report looks like: the example run through a dump and back, compared with tests/golden/,
 * and names that would rather be something else.
 */
#include "example.h"

#include "golden.h"
#include "json_check.h"
#include "render/report_html.h"
#include "render/report_json.h"
#include "render/report_md.h"
#include "render/report_text.h"
#include "report_dump.h"

static void account(struct report_dump *dump, const struct summary *summary, uint64_t ts_ns)
{
	uint16_t op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		report_dump_add(dump,
				record_at(ts_ns, record_account(op, summary->counters.seen[op],
								summary->counters.lost[op])));
}

static void read_example(struct report_dump *dump, struct report_reader *reader, uint64_t recording)
{
	struct example example;
	struct summary summary;
	size_t i;

	example_init(&example);
	summary = example_summary(&example);
	report_dump_init(dump, recording, "example|host");
	report_dump_segment(dump, summary.start_ns);
	for (i = 0; i < example.count; i++)
		report_dump_add(dump, example.records[i]);
	account(dump, &summary, summary.end_ns);
	report_dump_end(dump, summary.end_ns);
	report_dump_read(dump, reader);
	strcpy(reader->report.recordings[0]->coverage.files[0], "run.mscope");
}

static void copy(struct text *out, struct string *string)
{
	assert_false(string->failed);
	assert_true(string->length < OUTPUT_MAX);
	memcpy(out->bytes, string->bytes, string->length);
	out->bytes[string->length] = '\0';
	out->length = string->length;
	string_fini(string);
}

/* The example's report in a format. */
static struct string report_as(void (*format)(struct string *out, const struct report *report))
{
	struct report_reader reader = report_dump_reader();
	static struct report_dump dump;
	struct string string = { 0 };

	read_example(&dump, &reader, 7);
	format(&string, &reader.report);
	report_reader_fini(&reader);
	report_dump_fini(&dump);
	return string;
}

static void in_unicode(struct string *out, const struct report *report)
{
	report_md(out, report, false, false);
}

static void in_ascii(struct string *out, const struct report *report)
{
	report_md(out, report, true, true);
	report_text(out, report, true,
		    &(struct document_text_options){ .width = 80, .look = { .ascii = true } });
}

static void test_markdown(void **state)
{
	struct string string = report_as(in_unicode);
	static struct text out;

	(void)state;
	copy(&out, &string);
	assert_golden(GOLDEN "report.md", &out);
}

static void in_text(struct string *out, const struct report *report)
{
	report_text(out, report, false, &(struct document_text_options){ .width = 100 });
}

static void test_text(void **state)
{
	struct string string = report_as(in_text);
	static struct text out;

	(void)state;
	copy(&out, &string);
	assert_golden(GOLDEN "report.txt", &out);
}

static void test_json(void **state)
{
	struct string string = report_as(report_json);
	static struct text out;

	(void)state;
	copy(&out, &string);
	assert_true(json_check(out.bytes, out.length));
	assert_golden(GOLDEN "report.json", &out);
}

static void test_a_terminal_that_knows_ascii_only(void **state)
{
	struct string string = report_as(in_ascii);
	size_t i;

	(void)state;
	assert_true(string.length > 0);
	for (i = 0; i < string.length; i++)
		assert_true((unsigned char)string.bytes[i] < 0x80);
	string_fini(&string);
}

static bool has(const struct string *string, const char *text)
{
	return memmem(string->bytes, string->length, text, strlen(text));
}

/* ---- all formats ----------------------------------------------------------------------------- */

static bool is_in_page(const struct string *page, const char *name, size_t length)
{
	struct string head = { 0 };
	bool found;

	string_append_char(&head, '>');
	string_append(&head, name, length);
	string_append_text(&head, "</th>");
	found = memmem(page->bytes, page->length, head.bytes, head.length);
	string_fini(&head);
	return found;
}

/* The names in a line "| Name | Value |"; some have none there. */
static size_t assert_heads_are_in_page(const struct string *page, const char *line, const char *end)
{
	static const char when[] = "Live at ";
	const char *name, *name_end;
	size_t count = 0;

	for (name = line + 1; name < end; name = name_end + 1) {
		size_t length;

		name_end = memchr(name, '|', end - name);
		assert_non_null(name_end);
		length = name_end - name;
		if (length < 3)
			continue;
		if (length > strlen(when) && !memcmp(name + 1, when, strlen(when)))
			assert_true(is_in_page(page, "Live", 4));
		else if (!is_in_page(page, name + 1, length - 2))
			fail_msg("the page has no column %.*s", (int)length, name);
		count++;
	}
	return count;
}

static void in_page(struct string *out, const struct report *report)
{
	report_html(out, report, NULL);
}

/* A table that is described is in the page, too; of the timeline, it has a longer one. */
static void test_the_page_has_every_table(void **state)
{
	struct string md = report_as(in_unicode), page = report_as(in_page);
	const char *line = md.bytes, *end, *rule;
	size_t heads = 0;

	(void)state;
	while ((rule = memmem(line, md.bytes + md.length - line, "\n|--", 4))) {
		for (end = rule, line = end; line[-1] != '\n';)
			line--;
		if (memcmp(line, "| From |", 8))
			heads += assert_heads_are_in_page(&page, line, end);
		line = rule + 1;
	}
	assert_true(heads > 40);
	string_fini(&md);
	string_fini(&page);
}

/* ---- thresholds ------------------------------------------------------------------------------ */

/* Only those that a person set, unless all are asked for. */
static void test_thresholds(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct string set = { 0 }, all = { 0 };
	static struct report_dump dump;

	(void)state;
	reader.thresholds.leak_bytes = 4096;
	read_example(&dump, &reader, 7);
	report_md(&set, &reader.report, false, false);
	report_md(&all, &reader.report, false, true);
	assert_true(has(&set, "\n## Thresholds\n"));
	assert_true(has(&set, "\n| leak-size | 4 KiB | 1 MiB | less than this is no leak |\n"));
	assert_false(has(&set, "\n| leak-count |"));
	assert_true(has(&all, "\n| leak-size | 4 KiB | 1 MiB | less than this is no leak |\n"));
	assert_true(has(&all, "\n| leak-count |"));
	assert_true(has(&all, "\n| pressure-free |"));
	string_fini(&set);
	string_fini(&all);
	report_reader_fini(&reader);
	report_dump_fini(&dump);
}

/* ---- names of programs and hosts ------------------------------------------------------------- */

/* Whether it is ASCII, or what bars are made of, and moves nothing. */
static void assert_inert(const struct string *text)
{
	size_t i, length;

	for (i = 0; i < text->length; i += length) {
		const unsigned char c = text->bytes[i];

		length = string_utf8_length(text->bytes + i, text->length - i);
		if (length == 3 && !memcmp(text->bytes + i, "\xe2\x96", 2))
			continue;
		if (length != 1 || (c != '\n' && (c < 0x20 || c == 0x7f)))
			fail_msg("byte %zu of the text: %#x", i, c);
	}
}

static void render(const char *comm, struct string *md, struct string *json, struct string *text)
{
	struct report_reader reader = report_dump_reader();
	static struct report_dump dump;

	report_dump_init(&dump, 7, comm);
	report_dump_segment(&dump, 1000000000);
	report_dump_add(&dump, record_at(1000000001, record_process(MS_TYPE_ATTACH, comm, 0)));
	report_dump_add(&dump,
			record_at(1000000002, record_on(0, record_alloc("cudaMalloc", 4096, 512))));
	report_dump_add(
		&dump,
		record_at(1000000003,
			  record_on(0, record_failed(2, record_without(MS_KNOWN_ADDR,
								       record_alloc("cudaMalloc", 0,
										    1 << 30))))));
	report_dump_end(&dump, 1000000004);
	report_dump_read(&dump, &reader);
	report_md(md, &reader.report, false, true);
	report_json(json, &reader.report);
	report_text(text, &reader.report, true, &(struct document_text_options){ .width = 100 });
	report_reader_fini(&reader);
	report_dump_fini(&dump);
}

/* Each would be something else than text if it were not escaped, in tables or outside. */
static void test_hostile_names(void **state)
{
	static const struct {
		const char *comm, *never, *instead;
	} cases[] = {
		{ "a|b", "a|b", "a\\|b" },
		{ "a\nb", "a\nb", "a\\\\x0ab" },
		{ "\033[2J", "\033", "x1b\\[2J" },
		{ "<b>x</b>", "<b>", "\\<b\\>x\\</b\\>" },
		{ "*a*", " *a*", "\\*a\\*" },
		{ "_a_", " _a_", "\\_a\\_" },
		{ "a_b", "a\\_b", "a_b" },
		{ "`a`", " `a", "\\`a\\`" },
		{ "[a](b)", " [a]", "\\[a\\](b)" },
		{ "![a](b)", "![", "\\!\\[a\\](b)" },
		{ "# a", " # a", "\\# a" },
		{ "~~a~~", "~~a", "\\~\\~a\\~\\~" },
		{ "&lt;", " &lt;", "\\&lt;" },
		{ "http://a.b", "http://", "http\\://a.b" },
		{ "\\", "| \\ ", "\\" },
		{ "\xe2\x80\xae", "\xe2\x80\xae", "\\\\x" },
		{ "\xff", "\xff", "\\\\xff" },
		{ "\"", NULL, "\"" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct string md = { 0 }, json = { 0 }, text = { 0 };

		render(cases[i].comm, &md, &json, &text);
		assert_false(text.failed);
		assert_inert(&text);
		string_fini(&text);
		if (cases[i].never && has(&md, cases[i].never))
			fail_msg("case %zu: \"%s\" is in the Markdown", i, cases[i].never);
		if (!has(&md, cases[i].instead))
			fail_msg("case %zu: \"%s\" is not", i, cases[i].instead);
		assert_true(json_check(json.bytes, json.length));
		string_fini(&md);
		string_fini(&json);
	}
}

/* ---- several recordings ---------------------------------------------------------------------- */

static void test_a_fleet(void **state)
{
	struct report_reader reader = report_dump_reader();
	static struct report_dump first, second;
	struct string md = { 0 }, json = { 0 };
	struct dump_set set = { 0 };

	(void)state;
	report_dump_init(&first, 7, "node-1");
	report_dump_segment(&first, 1000000000);
	report_dump_add(&first,
			record_at(1000000001, record_on(0, record_alloc("cudaMalloc", 4096, 512))));
	report_dump_end(&first, 1000000002);
	report_dump_init(&second, 8, "node-2");
	report_dump_segment(&second, 1000000000);
	report_dump_add(&second, record_at(1000000001,
					   record_on(0, record_alloc("cudaMalloc", 4096, 2048))));
	report_dump_end(&second, 1000000002);
	report_dump_use(&first, 0, &set);
	report_dump_use(&second, 0, &set);
	report_dump_read_set(&set, &reader);
	report_md(&md, &reader.report, false, true);
	assert_true(has(&md, "## Fleet: 2 recordings"));
	assert_true(has(&md, "| node-1 | process (100) | device | 512 B | 512 B | 0 |"));
	assert_true(has(&md, "| node-2 | process (100) | device | 2 KiB | 2 KiB | 0 |"));
	assert_true(has(&md, "device 0 on node-2: 2 KiB"));
	assert_true(has(&md, "## Recording 2: node-2"));
	report_json(&json, &reader.report);
	assert_true(json_check(json.bytes, json.length));
	string_fini(&md);
	string_fini(&json);
	report_reader_fini(&reader);
	report_dump_fini(&first);
	report_dump_fini(&second);
}

static void test_communicators_beyond_those_that_are_followed(void **state)
{
	struct report_reader reader = report_dump_reader();
	static struct report_dump dump;
	struct string md = { 0 };
	uint64_t i;

	(void)state;
	report_dump_init(&dump, 7, "host");
	report_dump_segment(&dump, 1000000000);
	report_dump_add(&dump,
			record_at(1000000001, record_on(0, record_alloc("cudaMalloc", 4096, 512))));
	for (i = 0; i < LIMIT_COMMUNICATORS + 3; i++)
		report_dump_add(&dump, record_at(1000000010 + i, record_nccl(MS_NCCL_ncclAllReduce,
									     0x1000 + i, 100)));
	report_dump_end(&dump, 1000001000);
	report_dump_read(&dump, &reader);
	report_md(&md, &reader.report, false, true);
	assert_true(has(&md, "| (others) | | 3 | | | | | | | |"));
	string_fini(&md);
	report_reader_fini(&reader);
	report_dump_fini(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_markdown),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_a_terminal_that_knows_ascii_only),
		cmocka_unit_test(test_the_page_has_every_table),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_a_fleet),
		cmocka_unit_test(test_communicators_beyond_those_that_are_followed),
	};

	return unit_run("report_output", tests);
}
