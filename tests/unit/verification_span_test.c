// SPDX-License-Identifier: BSD-2-Clause
/*
 * The time that several recordings cover, each with a clock of its own.
 */
#include "report_dump.h"

#include "store/verification.h"

#define SECOND 1000000000ull
#define DAY (86400 * SECOND)

static void make(struct report_dump *dump, uint64_t recording, uint64_t wall_offset_ns,
		 uint64_t begin_ns, uint64_t end_ns)
{
	report_dump_init(dump, recording, "host-a");
	dump->wall_offset_ns = wall_offset_ns;
	report_dump_segment(dump, begin_ns);
	report_dump_add(dump, record_at(end_ns, record_alloc("cuMemAlloc_v2", 0x1000, 1)));
	report_dump_end(dump, end_ns);
}

static void add(struct verification *verification, const struct report_dump *dump)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dump->fds[0]);
	assert_int_equal(verification_add(verification, path), 0);
}

static void verify(struct verification *verification, const struct report_dump *a,
		   const struct report_dump *b)
{
	assert_int_equal(verification_init(verification), 0);
	add(verification, a);
	add(verification, b);
	assert_int_equal(verification_read(verification), 0);
}

static void assert_span(const struct verification_span *span, bool is_wall, uint64_t first_ns,
			uint64_t last_ns)
{
	assert_int_equal(span->is_wall, is_wall);
	assert_int_equal(span->first_ns, first_ns);
	assert_int_equal(span->last_ns, last_ns);
}

/* The one that is read last is the one that began first, on a host that has run for longer. */
static void test_the_earliest_begin_and_the_latest_end(void **state)
{
	const uint64_t earlier_ns = DAY + 5000 * SECOND, later_ns = 2 * DAY + 10 * SECOND;
	struct verification verification;
	struct report_dump a, b;

	(void)state;
	make(&a, 1, 2 * DAY, 10 * SECOND, 20 * SECOND);
	make(&b, 2, DAY, 5000 * SECOND, 5010 * SECOND);
	verify(&verification, &a, &b);
	assert_span(&verification.span, true, earlier_ns, later_ns + 10 * SECOND);
	assert_span(&verification.files[0].span, true, later_ns, later_ns + 10 * SECOND);
	assert_span(&verification.files[1].span, true, earlier_ns, earlier_ns + 10 * SECOND);
	verification_fini(&verification);
	report_dump_fini(&a);
	report_dump_fini(&b);
}

/* Seconds after another boot cannot be compared. */
static void test_one_without_a_wall_clock(void **state)
{
	struct verification verification;
	struct report_dump a, b;
	size_t turn;

	(void)state;
	make(&a, 1, 0, 10 * SECOND, 20 * SECOND);
	make(&b, 2, DAY, 30 * SECOND, 40 * SECOND);
	for (turn = 0; turn < 2; turn++) {
		verify(&verification, turn ? &b : &a, turn ? &a : &b);
		assert_span(&verification.span, true, DAY + 30 * SECOND, DAY + 40 * SECOND);
		assert_span(&verification.files[turn].span, false, 10 * SECOND, 20 * SECOND);
		verification_fini(&verification);
	}
	report_dump_fini(&a);
	report_dump_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_earliest_begin_and_the_latest_end),
		cmocka_unit_test(test_one_without_a_wall_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
