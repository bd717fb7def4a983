// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was lost: sums of counters, and the accounts that a recording has of them.
 */
#include "model/losses.h"

#include "output/losses_words.h"
#include "records.h"

static void add(struct ms_counters *counters, uint16_t op, uint64_t seen, uint64_t lost)
{
	const union record record = record_account(op, seen, lost);

	losses_add_account(counters, &record.account);
}

static void test_sums(void **state)
{
	struct ms_counters counters = { 0 };
	struct losses losses;

	(void)state;
	add(&counters, MS_OP_ALLOC, 100, 1);
	add(&counters, MS_OP_ALLOC, 100, 1);
	add(&counters, MS_OP_LAUNCH, 1000, 10);
	add(&counters, MS_OP_NAME, 50, 5); /* neither a name nor what follows is a call */
	add(&counters, MS_ACCOUNT_FREE_BEGIN, 70, 7);
	add(&counters, MS_ACCOUNT_PROCESS, 90, 9);
	add(&counters, MS_ACCOUNT_ABANDONED, 3, 0);
	losses = losses_of(&counters);
	assert_int_equal(losses.seen, 1200);
	assert_int_equal(losses.calls, 12);
	assert_int_equal(losses.bulk, 10);
	assert_int_equal(losses.others, 21);
	assert_int_equal(losses.untracked, 0);
	assert_int_equal(losses_count(&losses), 33);
	assert_int_equal(counters.abandoned, 3);
}

/* It is said of calls that are among the lost ones already. */
static void test_untracked(void **state)
{
	struct ms_counters counters = { 0 };
	struct losses losses;

	(void)state;
	losses = losses_of(&counters);
	assert_false(losses_overran(&losses));
	add(&counters, MS_OP_COPY, 4, 4);
	losses = losses_of(&counters);
	assert_true(losses_overran(&losses));
	add(&counters, MS_ACCOUNT_UNTRACKED, 0, 3);
	losses = losses_of(&counters);
	assert_int_equal(losses_count(&losses), 4);
	assert_true(losses_overran(&losses));
	add(&counters, MS_ACCOUNT_UNTRACKED, 0, 1);
	losses = losses_of(&counters);
	assert_false(losses_overran(&losses));
}

#define assert_amount(in_calls, in_others, expected) \
	do { \
		const struct losses amount = { .calls = in_calls, .others = in_others }; \
		struct string out = { 0 }; \
\
		losses_append_amount(&out, &amount); \
		assert_int_equal(out.length, strlen(expected)); \
		assert_memory_equal(out.bytes, expected, out.length); \
		string_fini(&out); \
	} while (0)

static void test_amounts(void **state)
{
	(void)state;
	assert_amount(0, 0, "0 events");
	assert_amount(1, 0, "1 event");
	assert_amount(12345, 1, "12,345 events and 1 other record");
	assert_amount(0, 2, "0 events and 2 other records");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_untracked),
		cmocka_unit_test(test_amounts),
	};

	return unit_run("losses", tests);
}
