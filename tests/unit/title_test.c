// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which command lines are titles, and what a process is called that has several.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/title.h"

/* In memory that ends where the arguments do. */
static void find(const char *arguments, size_t bytes, const char *expected)
{
	char *copy = malloc(bytes ? bytes : 1), title[TITLE_BYTES] = "before";

	assert_non_null(copy);
	memcpy(copy, arguments, bytes);
	assert_int_equal(title_find(copy, bytes, title), *expected != 0);
	assert_string_equal(title, expected);
	free(copy);
}

#define EXPECT(arguments, expected) find(arguments, sizeof(arguments) - 1, expected)

static void test_titles(void **state)
{
	(void)state;
	EXPECT("ray::IDLE", "ray::IDLE");
	EXPECT("ray::Trainer\0\0\0\0\0", "ray::Trainer");
	EXPECT("ray::Trainer.step\0", "ray::Trainer");
	EXPECT("ray::Outer.Inner.step\0", "ray::Outer");
	EXPECT("ray::f()\0", "ray::f");
	EXPECT("ray::Trainer.step()\0", "ray::Trainer");
	EXPECT("ray::ServeReplica:app:Model.handle_request\0", "ray::ServeReplica:app:Model");
	EXPECT("VLLM::EngineCore\0", "VLLM::EngineCore");
	EXPECT("VLLM::Worker_TP0\0\0", "VLLM::Worker_TP0");
	EXPECT("VLLM::Worker.1\0", "VLLM::Worker.1");
	EXPECT("sglang::scheduler_TP0\0", "sglang::scheduler_TP0");
	EXPECT("ray::a\nb\033\377\"\0", "ray::a\nb\033\377\"");
}

static void test_what_is_none(void **state)
{
	(void)state;
	EXPECT("", "");
	EXPECT("\0\0", "");
	EXPECT("python3\0train.py\0", "");
	EXPECT("ray::IDLE\0--password\0", "");
	EXPECT("ray::", "");
	EXPECT("::IDLE", "");
	EXPECT("ray:IDLE", "");
	EXPECT("ray:", "");
	EXPECT("ra y::IDLE", "");
	EXPECT("/usr/bin/ray::x", "");
	EXPECT("1ray::x", "");
	EXPECT("postgres: writer", "");
}

static void test_long_ones_are_cut(void **state)
{
	char arguments[4096] = "ray::", expected[TITLE_BYTES];

	(void)state;
	memset(arguments + 5, 'x', sizeof(arguments) - 5);
	memcpy(expected, arguments, sizeof(expected) - 1);
	expected[sizeof(expected) - 1] = '\0';
	find(arguments, sizeof(arguments), expected);
}

static void expect_after(struct title *title, const char *now, const char *expected)
{
	title_follow(title, now);
	assert_string_equal(title->text, expected);
}

static void test_who_waits_keeps_its_name(void **state)
{
	struct title title = { 0 };

	(void)state;
	expect_after(&title, "", "");
	expect_after(&title, "ray::IDLE", "ray::IDLE");
	expect_after(&title, "ray::train", "ray::train");
	expect_after(&title, "ray::IDLE", "ray::train");
	expect_after(&title, "", "ray::train");
	expect_after(&title, "ray::train", "ray::train");
	assert_int_equal(title.changes, 0);
	expect_after(&title, "ray::eval", "ray::eval");
	assert_int_equal(title.changes, 1);
}

static void test_titles_without_end_are_one(void **state)
{
	struct title title = { 0 };
	char now[TITLE_BYTES];
	int i;

	(void)state;
	for (i = 0; i <= TITLE_CHANGES; i++) {
		snprintf(now, sizeof(now), "ray::step-%d", i);
		expect_after(&title, now, now);
		title_follow(&title, "ray::IDLE");
	}
	for (i = 100; i < 200; i++) {
		snprintf(now, sizeof(now), "ray::step-%d", i);
		expect_after(&title, now, "ray::(various)");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_titles),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_long_ones_are_cut),
		cmocka_unit_test(test_who_waits_keeps_its_name),
		cmocka_unit_test(test_titles_without_end_are_one),
	};

	return unit_run("titles", tests);
}
