// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was lost: sums of counters, and the accounts that a recording has of them.
 */
#include "event/losses.h"

#include "render/losses_words.h"
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
	add(&counters, MS_OP_COPY, 4, 4);
	add(&counters, MS_ACCOUNT_UNTRACKED, 0, 3);
	losses = losses_of(&counters);
	assert_int_equal(losses_count(&losses), 4);
	assert_int_equal(losses.untracked, 3);
	/* Looked at a moment later than what it is a part of. */
	add(&counters, MS_ACCOUNT_UNTRACKED, 0, 2);
	losses = losses_of(&counters);
	assert_int_equal(losses.untracked, 4);
	assert_int_equal(losses_kept(&losses), 0);
}

static void test_of_memory(void **state)
{
	static const uint16_t of_memory[] = { MS_OP_ALLOC,           MS_OP_FREE,
					      MS_OP_MEMORY,          MS_OP_CONTEXT,
					      MS_ACCOUNT_FREE_BEGIN, MS_ACCOUNT_PROCESS,
					      MS_ACCOUNT_OBJECT };
	struct ms_counters counters = { 0 };
	size_t i;

	(void)state;
	add(&counters, MS_OP_COPY, 1, 1);
	add(&counters, MS_OP_NAME, 1, 1);
	assert_false(losses_of_memory(&counters));
	for (i = 0; i < sizeof(of_memory) / sizeof(*of_memory); i++) {
		counters = (struct ms_counters){ 0 };
		add(&counters, of_memory[i], 1, 0);
		assert_false(losses_of_memory(&counters));
		add(&counters, of_memory[i], 1, 1);
		assert_true(losses_of_memory(&counters));
	}
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

#define FULL "a ring buffer was full; a larger --buffer"
#define UNTRACKED "more than 8 traced calls inside one another, or no kernel memory for the thread"

static void test_reasons(void **state)
{
	static const struct {
		struct losses losses;
		const char *fewer, *expected;
	} cases[] = {
		{ { 0 }, "less", "" },
		{ { .calls = 5 }, "less", FULL " would help" },
		{ { .others = 5 }, "less", FULL " would help" },
		{ { .calls = 5, .bulk = 2 }, "less", FULL ", or less, would help" },
		{ { .calls = 5, .bulk = 2 }, NULL, FULL " would help" },
		{ { .calls = 5, .untracked = 5 },
		  "less",
		  "5 of the lost events were not tracked: " UNTRACKED },
		/* Those of the bulk may be those that were not tracked. */
		{ { .calls = 5, .bulk = 1, .untracked = 1 },
		  "less",
		  FULL " would help; 1 of the lost events was not tracked: " UNTRACKED },
		{ { .calls = 5, .bulk = 2, .untracked = 1 },
		  "less",
		  FULL ", or less, would help; 1 of the lost events was not tracked: " UNTRACKED },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct string out = { 0 };

		losses_append_reasons(&out, &cases[i].losses, cases[i].fewer);
		string_append_char(&out, '\0');
		assert_string_equal(out.bytes, cases[i].expected);
		string_fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),      cmocka_unit_test(test_untracked),
		cmocka_unit_test(test_of_memory), cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_reasons),
	};

	return unit_run("losses", tests);
}
