// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of dumps.
 */
#include "unit.h"

#include <errno.h>

#include "store/dump_name.h"

static void assert_expands(const char *template, const char *expected)
{
	const struct dump_name name = { .host = "a/b",
					.pid = 4711,
					.realtime_ns = 1795276500123456789 };
	struct string out = { 0 };

	assert_int_equal(dump_name_expand(&out, template, &name), expected ? 0 : -EINVAL);
	if (expected)
		assert_string_equal(out.bytes, expected);
	string_fini(&out);
}

static void test_letters(void **state)
{
	(void)state;
	assert_expands("run.mscope", "run.mscope");
	assert_expands("/x/%h/%p", "/x/a_b/4711");
	assert_expands("%t", "20261121T155500");
	assert_expands("100%%%p%%", "100%4711%");
	assert_expands("%x", NULL);
	assert_expands("%", NULL);
	assert_expands("%P", NULL);
}

static void assert_with(const char *path, const char *expected)
{
	struct string out = { 0 };

	dump_name_with(&out, path, "oom-1");
	assert_string_equal(out.bytes, expected);
	string_fini(&out);
}

static void test_suffixes(void **state)
{
	(void)state;
	assert_with("run.mscope", "run.oom-1.mscope");
	assert_with("a.b/run", "a.b/run.oom-1");
	assert_with("a.b/c.d.mscope", "a.b/c.d.oom-1.mscope");
	assert_with("/x/.hidden", "/x/.hidden.oom-1");
	assert_with(".hidden.mscope", ".hidden.oom-1.mscope");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_suffixes),
	};

	return unit_run("dump_name", tests);
}
