// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reading JSON that may be anything.
 */
#include <errno.h>
#include <string.h>

#include "base/json_tree.h"
#include "unit.h"

/* In memory of its own, so that nothing beyond it is read unnoticed. */
static int read_text(struct json_tree *tree, const char *text, size_t length, char **copy)
{
	*copy = malloc(length ? length : 1);
	assert_non_null(*copy);
	memcpy(*copy, text, length);
	return json_tree_read(tree, *copy, length);
}

static void assert_read(const char *text, int expected)
{
	struct json_tree tree = { 0 };
	char *copy;

	if (read_text(&tree, text, strlen(text), &copy) != expected)
		fail_msg("%s: not %d", text, expected);
	json_tree_fini(&tree);
	free(copy);
}

static void test_what_is_json(void **state)
{
	static const char *const good[] = { "null",
					    " true ",
					    "false",
					    "0",
					    "-0",
					    "12.5e-3",
					    "1E+9",
					    "\"\"",
					    "[]",
					    "{}",
					    "[1,[2],{\"a\":[]}]",
					    "{\"a\":1,\"b\":{}}",
					    "\"\\u0041\\ud83d\\ude00\\n\"",
					    "99999999999999999999" };
	static const char *const bad[] = {
		"",      " ",          "nul",      "tru",        "01",      "1.",        "1e",
		"-",     "+1",         "[1,]",     "[1 2]",      "[",       "{\"a\"}",   "{\"a\":}",
		"{a:1}", "{\"a\":1,}", "\"",       "\"\\",       "\"\\x\"", "\"\\u12\"", "\"\n\"",
		"1 2",   "]",          "{\"a\":1", "\"\\u12g4\""
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_read(good[i], 0);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_read(bad[i], -EINVAL);
}

static void test_values(void **state)
{
	static const char text[] = "{\"n\":18446744073709551615,\"more\":18446744073709551616,"
				   "\"neg\":-1,\"half\":0.5,\"t\":true,\"f\":false,\"z\":null,"
				   "\"s\":\"a\\u00e9\\u0000\\ud800b\\/\",\"list\":[1,2,3]}";
	const struct json_value *value = NULL;
	struct json_tree tree = { 0 };
	uint64_t number, sum = 0;
	char *copy;

	(void)state;
	assert_int_equal(read_text(&tree, text, sizeof(text) - 1, &copy), 0);
	assert_true(json_tree_u64(&tree, tree.values, "n", &number));
	assert_true(number == UINT64_MAX);
	assert_false(json_tree_u64(&tree, tree.values, "more", &number));
	assert_false(json_tree_u64(&tree, tree.values, "neg", &number));
	assert_false(json_tree_u64(&tree, tree.values, "half", &number));
	assert_false(json_tree_u64(&tree, tree.values, "z", &number));
	assert_false(json_tree_u64(&tree, tree.values, "absent", &number));
	assert_true(json_tree_true(&tree, tree.values, "t"));
	assert_false(json_tree_true(&tree, tree.values, "f"));
	assert_string_equal(json_tree_text(&tree, tree.values, "s"), "a\xc3\xa9?\xef\xbf\xbd"
								     "b/");
	assert_null(json_tree_text(&tree, tree.values, "n"));
	while ((value = json_tree_next(&tree, json_tree_member(&tree, tree.values, "list"), value)))
		sum += value->number;
	assert_int_equal(sum, 6);
	json_tree_fini(&tree);
	free(copy);
}

static void test_depth(void **state)
{
	char text[2 * JSON_DEPTH + 3] = "";
	size_t i;

	(void)state;
	for (i = 0; i < JSON_DEPTH; i++) {
		text[i] = '[';
		text[2 * JSON_DEPTH - 1 - i] = ']';
	}
	assert_read(text, 0);
	memmove(text + 1, text, strlen(text));
	text[0] = '[';
	text[strlen(text)] = ']';
	assert_read(text, -EINVAL);
}

static void test_damaged(void **state)
{
	static const char text[] = "{\"a\":[1,2.5,-3e4,\"\\u00e9\\ud83d\\ude00x\"],\"b\":{\"c\":"
				   "[true,false,null,{}]},\"d\":\"\\\"\\\\\"}";
	struct json_tree tree = { 0 };
	uint64_t random = 1;
	char damaged[sizeof(text)], *copy;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(text) - 1; i++) {
		assert_int_equal(read_text(&tree, text, i, &copy), -EINVAL);
		free(copy);
	}
	for (i = 0; i < 20000; i++) {
		random = unit_random(random);
		memcpy(damaged, text, sizeof(text));
		damaged[random % (sizeof(text) - 1)] = (char)(random >> 16);
		damaged[(random >> 32) % (sizeof(text) - 1)] = "{}[]\",:\\u0"[(random >> 50) % 10];
		read_text(&tree, damaged, sizeof(text) - 1, &copy);
		free(copy);
	}
	json_tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_json),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_damaged),
	};

	return unit_run("json_tree", tests);
}
