// SPDX-License-Identifier: BSD-2-Clause
/* Findings that are known, by a frame of the call stack that they are about. */
#include "records.h"

#include <errno.h>

#include "ledger/state.h"
#include "report/suppressions.h"

#define STACK 1

struct fixture {
	struct state state;
	struct suppressions suppressions;
};

static void feed(struct fixture *f, union record record)
{
	struct event event;

	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	assert_int_equal(state_apply(&f->state, &event), 0);
}

/*
 * Whether a leak of "train" with the stack, from which so many of 100 bytes come, is suppressed by
 * a file of that line.
 */
static bool takes_part(const char *line, uint32_t stack, uint64_t part)
{
	struct suppression_source source = { .part = part, .whole = 100 };
	const struct finding finding = {
		.rule = FINDING_LEAK_AT_EXIT, .row = MS_NO_ROW, .comm = "train", .name = "train"
	};
	struct fixture f = { 0 };
	struct string why = { 0 };
	bool taken;

	feed(&f, record_frame(1, "warm_up", "/opt/libcache.so"));
	feed(&f, record_frame(2, "main", "/opt/program"));
	feed(&f, record_stack(STACK, 1, 2));
	assert_int_equal(suppressions_parse(&f.suppressions, line, strlen(line), &why), 0);
	source.stack = stacks_find(&f.state.stacks, stack);
	taken = suppressions_take(&f.suppressions, &finding, &f.state.stacks, &source, true);
	assert_int_equal(f.suppressions.list[0].used, taken);
	if (f.suppressions.list[0].partly)
		assert_int_equal(f.suppressions.list[0].partly_source.part, part);
	assert_int_equal(f.suppressions.list[0].partly, part < 90 && !taken);
	suppressions_fini(&f.suppressions);
	string_fini(&why);
	state_fini(&f.state);
	return taken;
}

static bool takes(const char *line, uint32_t stack)
{
	return takes_part(line, stack, 100);
}

static void test_by_frame(void **state)
{
	(void)state;
	assert_true(takes("leak * * warm_up", STACK));
	assert_true(takes("leak train * warm*", STACK));
	assert_true(takes("leak * * main", STACK));
	assert_true(takes("leak * * libcache.so", STACK));
	assert_false(takes("leak * * warm", STACK));
	assert_false(takes("leak other * warm_up", STACK));
	assert_false(takes("oom * * warm_up", STACK));
	assert_true(takes("leak", STACK));
}

/* What else leaks is not hidden by the name of one place. */
static void test_of_a_part(void **state)
{
	(void)state;
	assert_false(takes_part("leak * * warm_up", STACK, 33));
	assert_false(takes_part("leak * * warm_up", STACK, 89));
	assert_true(takes_part("leak * * warm_up", STACK, 90));
	assert_true(takes_part("leak * * warm_up", STACK, 110));
	assert_true(takes_part("leak", STACK, 33));
}

static void test_without_a_stack(void **state)
{
	(void)state;
	assert_false(takes("leak * * warm_up", 0));
	assert_false(takes("leak * * *", 0));
	assert_true(takes("leak * *", 0));
}

static void test_what_is_no_line(void **state)
{
	struct suppressions suppressions = { 0 };
	struct string why = { 0 };

	(void)state;
	assert_int_equal(suppressions_parse(&suppressions, "leak a b c d", 12, &why), -EINVAL);
	string_append_char(&why, '\0');
	assert_string_equal(why.bytes, "line 1: it takes a rule, a process, a function and a frame,"
				       " not also \"d\"");
	suppressions_fini(&suppressions);
	string_fini(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_frame),
		cmocka_unit_test(test_of_a_part),
		cmocka_unit_test(test_without_a_stack),
		cmocka_unit_test(test_what_is_no_line),
	};

	return unit_run("suppressions", tests);
}
