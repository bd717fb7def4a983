// SPDX-License-Identifier: BSD-2-Clause
/*
 * Texts of any origin in XML and in commands of workflows.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "render/ci.h"

static void assert_text(struct string *text, const char *expected)
{
	if (text->length != strlen(expected) ||
	    (text->length && memcmp(text->bytes, expected, text->length)))
		fail_msg("%.*s, not %s", (int)text->length, text->length ? text->bytes : "",
			 expected);
	string_fini(text);
}

#define TEXT(text) (text), sizeof(text) - 1

static void test_xml(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		const char *expected;
	} cases[] = {
		{ TEXT("plain"), "plain" },
		{ TEXT("<a b=\"c\" d='e'>&amp;"),
		  "&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;amp;" },
		{ TEXT("]]>"), "]]&gt;" },
		{ TEXT("\1\x1b[31m\x7f"), "\\x01\\x1b[31m\x7f" },
		{ TEXT("a\0b"), "a\\x00b" },
		{ TEXT("one\ntwo\tthree\r"), "one&#10;two&#9;three\\x0d" },
		{ TEXT("caf\xc3\xa9 \xf0\x9f\x98\x80"), "caf\xc3\xa9 \xf0\x9f\x98\x80" },
		{ TEXT("\xc3(\xff"), "\\xc3(\\xff" },
		{ TEXT("\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd"),
		  "\\xef\\xbf\\xbe\\xef\\xbf\\xbf\xef\xbf\xbd" },
		{ TEXT("\xed\xa0\x80"), "\\xed\\xa0\\x80" }, /* a surrogate */
		{ TEXT(""), "" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct string out = { 0 };

		ci_xml(&out, cases[i].text, cases[i].length);
		assert_text(&out, cases[i].expected);
	}
}

static void test_annotations(void **state)
{
	static const struct {
		const char *title, *text, *expected;
	} cases[] = {
		{ "leak", "python3 (7)", "::error title=leak::python3 (7)\n" },
		{ "a: b, c%", "100 %: a, b", "::error title=a%3A b%2C c%25::100 %25: a, b\n" },
		{ "x\n::error::y", "x\r\n::warning::y",
		  "::error title=x%0A%3A%3Aerror%3A%3Ay::x%0D%0A::warning::y\n" },
		{ "%0A", "%0A::set-output", "::error title=%250A::%250A::set-output\n" },
		{ "\1", "\x1b[2J\t", "::error title=\\x01::\\x1b[2J\t\n" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct string out = { 0 }, title = { 0 }, text = { 0 };

		string_append_text(&title, cases[i].title);
		string_append_text(&text, cases[i].text);
		ci_annotation(&out, "error", NULL, &title, &text);
		assert_text(&out, cases[i].expected);
		string_fini(&title);
		string_fini(&text);
	}
}

static void test_annotations_beside_a_line(void **state)
{
	const struct ci_line inside = { "/repo/a,b/train.py", 12 },
			     outside = { "/repository/x.py", 3 };
	struct string out = { 0 }, text = { 0 };

	(void)state;
	setenv("GITHUB_WORKSPACE", "/repo", 1);
	string_append_text(&text, "leak");
	ci_annotation(&out, "error", &inside, &text, &text);
	assert_text(&out, "::error file=a%2Cb/train.py,line=12,title=leak::leak\n");
	ci_annotation(&out, "error", &outside, &text, &text);
	assert_text(&out, "::error file=/repository/x.py,line=3,title=leak::leak\n");
	unsetenv("GITHUB_WORKSPACE");
	string_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xml),
		cmocka_unit_test(test_annotations),
		cmocka_unit_test(test_annotations_beside_a_line),
	};

	return unit_run("formats of CI servers", tests);
}
