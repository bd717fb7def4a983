// SPDX-License-Identifier: BSD-2-Clause
/*
 * The HTML report: elements that are closed as they were opened, data that cannot end their
 * element, and names that would rather be something else. What it looks like is for
 * tests/e2e/html.bats.
 */
#include "golden.h"
#include "json_check.h"
#include "report/lanes.h"
#include "render/report_html.h"
#include "report_dump.h"

#define OPEN_MAX 64

extern const char html_frame[], html_style[], html_script[], html_policy[];

static bool has(const struct string *string, const char *text)
{
	return memmem(string->bytes, string->length, text, strlen(text));
}

/* ---- well-formed ----------------------------------------------------------------------------- */

/* Names of elements that are open; they point into the page. */
struct elements {
	struct {
		const char *name;
		size_t length;
	} open[OPEN_MAX];
	size_t depth, seen;
};

static bool is(const char *name, size_t length, const char *wanted)
{
	return length == strlen(wanted) && !memcmp(name, wanted, length);
}

static bool is_void(const char *name, size_t length)
{
	return is(name, length, "meta") || is(name, length, "link");
}

static const char *begin_element(struct elements *elements, const char *name, const char *end)
{
	const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
	const char *place = memchr(name, '>', end - name);

	assert_non_null(place);
	assert_true(length);
	elements->seen++;
	if (is_void(name, length))
		return place + 1;
	assert_true(elements->depth < OPEN_MAX);
	elements->open[elements->depth].name = name;
	elements->open[elements->depth++].length = length;
	/* What is in them is no markup: they go on up to their end. */
	if (is(name, length, "script"))
		return memmem(place, end - place, "</script>", 9);
	if (is(name, length, "style"))
		return memmem(place, end - place, "</style>", 8);
	return place + 1;
}

static const char *end_element(struct elements *elements, const char *name)
{
	assert_true(elements->depth);
	elements->depth--;
	assert_memory_equal(elements->open[elements->depth].name, name,
			    elements->open[elements->depth].length);
	assert_int_equal(name[elements->open[elements->depth].length], '>');
	return name + elements->open[elements->depth].length + 1;
}

static void assert_well_formed(const struct string *page)
{
	const char *place = page->bytes, *end = place + page->length;
	struct elements elements = { 0 };

	assert_false(page->failed);
	assert_memory_equal(place, "<!doctype html>", 15);
	place += 15;
	while (place && (place = memchr(place, '<', end - place)))
		place = place[1] == '/' ? end_element(&elements, place + 2) :
					  begin_element(&elements, place + 1, end);
	assert_int_equal(elements.depth, 0);
	assert_true(elements.seen > 100);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void assert_data(const struct string *page, const char *id)
{
	char tag[80];
	const char *begin, *end, *place;

	snprintf(tag, sizeof(tag), "<script type=\"application/json\" id=\"%s\">", id);
	begin = memmem(page->bytes, page->length, tag, strlen(tag));
	assert_non_null(begin);
	begin += strlen(tag);
	end = memmem(begin, page->bytes + page->length - begin, "</script>", 9);
	assert_non_null(end);
	assert_true(json_check(begin, end - begin));
	for (place = begin; place < end; place++)
		if (*place == '<' || *place == '>' || *place == '&' ||
		    !memcmp(place, "\xe2\x80\xa8", 3) || !memcmp(place, "\xe2\x80\xa9", 3))
			fail_msg("%s: \"%.20s\"", id, place);
}

static void assert_page(const struct string *page)
{
	assert_well_formed(page);
	assert_data(page, "report");
	assert_data(page, "lanes");
	assert_data(page, "words");
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void render(const char *name, bool lanes_too, struct string *page)
{
	struct report_reader reader = report_dump_reader();
	static struct report_dump dump;
	struct lanes lanes = { 0 };

	report_dump_init(&dump, 7, name);
	report_dump_segment(&dump, 1000000000);
	report_dump_add(&dump, record_at(1000000001, record_process(MS_TYPE_ATTACH, name, 0)));
	report_dump_add(&dump, record_at(1000000002, record_name(0x1000, name)));
	report_dump_add(&dump, record_at(1000000003, record_launch("cuLaunchKernel", 0x1000)));
	report_dump_add(&dump,
			record_at(1000000004, record_on(0, record_alloc("cudaMalloc", 4096, 512))));
	report_dump_add(
		&dump,
		record_at(1000000005,
			  record_on(0, record_failed(2, record_without(MS_KNOWN_ADDR,
								       record_alloc("cudaMalloc", 0,
										    1 << 30))))));
	report_dump_end(&dump, 1000000006);
	if (lanes_too) {
		lanes_init(&lanes);
		reader.sink = &lanes.sink;
	}
	report_dump_read(&dump, &reader);
	report_html(page, &reader.report, lanes_too ? &lanes : NULL);
	lanes_fini(&lanes);
	report_reader_fini(&reader);
	report_dump_fini(&dump);
}

static void test_hostile_names(void **state)
{
	static const struct {
		const char *name, *never, *instead;
	} cases[] = {
		{ "</script><b>", "</script><b>", "&lt;/script&gt;&lt;b&gt;" },
		{ "<img src=x>", "<img", "&lt;img src=x&gt;" },
		{ "\" onload=\"x", "\" onload", "&quot; onload=&quot;x" },
		{ "' onload='x", "' onload", "&#39; onload=&#39;x" },
		{ "<!--<script", "<!--", "&lt;!--&lt;script" },
		{ "]]>&lt;", "]]>", "]]&gt;&amp;lt;" },
		{ "a\nb\033[2J", "\033", "a\\x0ab\\x1b[2J" },
		{ "\xe2\x80\xae\x7f", "\x7f", "\\xe2\\x80\\xae\\x7f" },
		{ "\xe2\x80\xa8", NULL, "\\xe2\\x80\\xa8" },
		{ "\xff\xc0\x80", "\xff", "\\xff\\xc0\\x80" },
		{ "{{script}}", NULL, "{{script}}" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct string page = { 0 };

		render(cases[i].name, true, &page);
		assert_page(&page);
		/* Data have their own rules; names have been looked for in them. */
		page.length =
			(const char *)memmem(page.bytes, page.length, "<script", 7) - page.bytes;
		if (cases[i].never && has(&page, cases[i].never))
			fail_msg("case %zu: \"%s\" is in the page", i, cases[i].never);
		if (!has(&page, cases[i].instead))
			fail_msg("case %zu: \"%s\" is not", i, cases[i].instead);
		string_fini(&page);
	}
}

static void test_without_lanes(void **state)
{
	struct string page = { 0 };

	(void)state;
	render("host", false, &page);
	assert_page(&page);
	assert_true(has(&page, "id=\"lanes\">[null]</script>"));
	assert_true(has(&page, "<h1 id=\"verdict-h\">Out of memory</h1>"));
	assert_true(has(&page, "data-v=\"512\""));
	string_fini(&page);
}

/* Of real events, from the first version of the format. */
static void test_golden_dump(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct lanes lanes = { 0 };
	struct dump_set set = { 0 };
	struct string page = { 0 };

	(void)state;
	lanes_init(&lanes);
	reader.sink = &lanes.sink;
	assert_int_equal(dump_set_add(&set, GOLDEN "dump-1.0.mscope"), 0);
	assert_int_equal(report_reader_read(&reader, &set), 0);
	dump_set_fini(&set);
	report_html(&page, &reader.report, &lanes);
	assert_page(&page);
	assert_true(has(&page, html_script));
	assert_true(has(&page, html_style));
	assert_true(has(&page, html_policy));
	string_fini(&page);
	lanes_fini(&lanes);
	report_reader_fini(&reader);
}

/* In the page's own parts, nothing may look like what ends them, or load anything. */
static void test_parts(void **state)
{
	(void)state;
	assert_null(strstr(html_script, "</script"));
	assert_null(strstr(html_script, "<!--"));
	assert_null(strstr(html_style, "</style"));
	assert_null(strstr(html_style, "url("));
	assert_null(strstr(html_style, "@import"));
	assert_null(strstr(html_script, "innerHTML"));
	assert_null(strstr(html_script, "{{"));
	assert_non_null(strstr(html_frame, "{{body}}"));
	assert_true(strlen(html_frame) + strlen(html_style) + strlen(html_script) < 400000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_without_lanes),
		cmocka_unit_test(test_golden_dump),
		cmocka_unit_test(test_parts),
	};

	return unit_run("report_html", tests);
}
