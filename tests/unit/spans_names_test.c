// SPDX-License-Identifier: BSD-2-Clause
/*
 * The names of spans: of what takes most of the time, and never more than there is room for.
 */
#include <stdio.h>
#include <stdlib.h>

#include "spans_fed.h"

static uint64_t random_state = 88172645463325252;

static uint64_t below(uint64_t bound)
{
	random_state = unit_random(random_state);
	return (random_state >> 20) % bound;
}

/* Many calls put together have the name of what takes most of the time, however short each is. */
static void test_the_name_of_what_takes_most(void **state)
{
	static char names[200][16];
	struct fed fed;
	size_t count, i;

	(void)state;
	begin(&fed);
	for (i = 0; i < 200; i++)
		snprintf(names[i], sizeof(names[i]), "kernel %zu", i);
	for (i = 0; i < 3 * SPANS_MAX; i++) {
		union record record = record_launch("cuLaunchKernel", 0xf00);

		/* 40 % of the time */
		fed.change.kernel = i % 4 ? names[below(200)] : "most";
		feed(&fed, BEGIN + i * US, record_taking(i % 4 ? 300 : 600, record));
	}
	assert_int_equal(spans_finish(fed.spans, 500), 0);
	count = lane_at(&fed, 0)->count;
	for (i = 0; i < count; i++)
		assert_string_equal(spans_name(fed.spans,
					       spans_of(fed.spans, lane_at(&fed, 0))[i].name),
				    "most");
	spans_free(fed.spans);
}

static void test_many_kernels(void **state)
{
	static char names[6000][16];
	const struct span *spans;
	struct fed fed;
	size_t i;

	(void)state;
	begin(&fed);
	for (i = 0; i < 6000; i++) {
		snprintf(names[i], sizeof(names[i]), "kernel %zu", i);
		fed.change.kernel = names[i];
		feed(&fed, BEGIN + i * MS, record_launch("cuLaunchKernel", 0xf00));
	}
	/* The same names elsewhere; what was there is something else. */
	spans_gap(fed.spans);
	fed.change.kernel = names[1];
	strcpy(names[1], "kernel 2");
	feed(&fed, BEGIN + i * MS, record_launch("cuLaunchKernel", 0xf00));
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX), 0);
	spans = spans_of(fed.spans, lane_at(&fed, 0));
	assert_string_equal(spans_name(fed.spans, spans[1].name), "kernel 1");
	assert_string_equal(spans_name(fed.spans, spans[4999].name), "kernel 4999");
	assert_string_equal(spans_name(fed.spans, spans[5000].name), "other kernels");
	assert_string_equal(spans_name(fed.spans, spans[5999].name), "other kernels");
	assert_int_equal(spans[6000].name, spans[2].name);
	assert_int_equal(spans_names_count(fed.spans), 5001);
	spans_free(fed.spans);
}

/* Names of any length are shortened. */
static void test_long_names(void **state)
{
	static char name[8192];
	struct fed fed;
	size_t i;

	(void)state;
	begin(&fed);
	memset(name, 'x', sizeof(name) - 1);
	for (i = 0; i < 2000; i++) {
		snprintf(name, 8, "%zu", i);
		name[strlen(name)] = 'x';
		spans_gap(fed.spans);
		fed.change.kernel = name;
		feed(&fed, BEGIN + i * MS, record_launch("cuLaunchKernel", 0xf00));
	}
	assert_int_equal(spans_names_count(fed.spans), 2000);
	assert_true(spans_bytes(fed.spans) < 6 << 20);
	spans_free(fed.spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_name_of_what_takes_most),
		cmocka_unit_test(test_many_kernels),
		cmocka_unit_test(test_long_names),
	};

	return unit_run("span names", tests);
}
