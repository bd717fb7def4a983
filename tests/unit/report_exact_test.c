// SPDX-License-Identifier: BSD-2-Clause
/*
 * Of which processes the numbers are said to be exact, if something is not known of one of them.
 */
#include "reported.h"

#include "render/report_md.h"

#define LOSER 1000
#define OTHER 1001

static struct report_recording *read_back(struct report_reader *reader)
{
	report_dump_end(&dump, now_ns);
	report_dump_read(&dump, reader);
	return reader->report.recordings[0];
}

static bool is_inexact(const struct report_recording *recording, uint32_t pid)
{
	size_t i;

	for (i = 0; i < recording->state->processes_count; i++)
		if (recording->state->processes[i]->pid == pid)
			return report_process_is_inexact(recording, recording->state->processes[i]);
	fail_msg("no process %u", pid);
	return false;
}

/* `said` of `counted`: so many are told to be of LOSER. */
static void expect(uint16_t op, uint64_t counted, uint64_t said, bool loser, bool other)
{
	const bool is_abandoned = op == MS_ACCOUNT_ABANDONED;
	struct report_reader reader = report_dump_reader();
	const struct report_recording *recording;

	begin();
	add(record_of(LOSER, 0, record_process(MS_TYPE_ATTACH, "loser", 0)));
	add(record_of(OTHER, 0, record_process(MS_TYPE_ATTACH, "other", 0)));
	add(record_of(LOSER, 0, alloc("cudaMalloc", 0x1000, 300)));
	add(record_of(OTHER, 0, alloc("cudaMalloc", 0x2000, 300)));
	if (said)
		add(record_of(LOSER, 0, record_loss(op, said)));
	add(record_account(op, counted, is_abandoned ? 0 : counted));
	recording = read_back(&reader);
	assert_int_equal(is_inexact(recording, LOSER), loser);
	assert_int_equal(is_inexact(recording, OTHER), other);
	/* What is said of all never leaves out what is wrong with one. */
	assert_int_equal(report_is_inexact(recording), loser || other);
	done(&reader);
}

static void test_those_whose_calls_they_were(void **state)
{
	static const uint16_t ops[] = { MS_ACCOUNT_ABANDONED, MS_OP_ALLOC, MS_ACCOUNT_FREE_BEGIN };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		expect(ops[i], 3, 3, true, false);
		/* Those of a process that is not told apart can be anyone's. */
		expect(ops[i], 3, 2, true, true);
		expect(ops[i], 3, 0, true, true);
	}
}

static void test_the_report_says_whose(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct string md = { 0 };

	(void)state;
	begin();
	add(record_of(LOSER, 0, record_process(MS_TYPE_ATTACH, "loser", 0)));
	add(record_of(LOSER, 0, alloc("cudaMalloc", 0x1000, 300)));
	add(record_of(OTHER, 0, record_process(MS_TYPE_ATTACH, "other", 0)));
	add(record_of(OTHER, 0, alloc("cudaMalloc", 0x2000, 300)));
	add(record_of(LOSER, 0, record_loss(MS_ACCOUNT_ABANDONED, 3)));
	add(record_account(MS_ACCOUNT_ABANDONED, 3, 0));
	read_back(&reader);
	report_md(&md, &reader.report, false, true);
	if (!has(&md, "Nothing was lost; what is live and the peaks of loser (1000) are not exact:"
		      " see what is unknown; the numbers of the other process are exact."))
		fail_msg("%.*s", (int)md.length, md.bytes);
	string_fini(&md);
	done(&reader);
}

static void test_copies_are_of_no_memory(void **state)
{
	(void)state;
	expect(MS_OP_COPY, 3, 3, false, false);
	expect(MS_OP_COPY, 3, 0, false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_those_whose_calls_they_were),
		cmocka_unit_test(test_the_report_says_whose),
		cmocka_unit_test(test_copies_are_of_no_memory),
	};

	return unit_run("report_exact", tests);
}
