// SPDX-License-Identifier: BSD-2-Clause
/*
 * The failure that a report begins with is the one that `--at oom` shows.
 */
#include "reported.h"

#include "render/report_words.h"

static void run_out(uint32_t pid, uint64_t bytes)
{
	union record refused =
		record_failed(MS_CUDA_OUT_OF_MEMORY,
			      record_without(MS_KNOWN_ADDR, alloc("cuMemAlloc_v2", 0, bytes)));
	union record ended = record_exit(1 << 8);

	refused.event.pid = refused.event.tid = ended.event.pid = ended.event.tid = pid;
	add(refused);
	add(ended);
}

/* All were fatal: what was asked for decides, wherever that is among them. */
static void the_same_for_the_verdict_and_the_moment(void **state)
{
	size_t most, i;

	(void)state;
	for (most = 0; most < 3; most++) {
		struct report_reader reader;
		struct verdict verdict;

		begin();
		for (i = 0; i < 3; i++)
			run_out(200 + (uint32_t)i, i == most ? 300 * MIB : 100 * MIB);
		reader = end();
		report_verdict(&verdict, &reader.report);
		assert_true(has(&verdict.sentences[0], "Out of memory: cuMemAlloc_v2(300 MiB)"));
		assert_int_equal(report_gravest_oom(reader.report.recordings[0]), most);
		verdict_fini(&verdict);
		done(&reader);
	}
}

/* `--at oom:N` and the time of a failure: what is asked for, however grave the others are. */
static void a_report_that_ends_at_a_failure_is_about_that(void **state)
{
	static const char *const failed[] = { "in process (200) failed", "in process (201) failed",
					      "in process (202) failed" };
	struct report_recording *recording;
	struct report_reader reader;
	struct verdict verdict;
	size_t i;

	(void)state;
	begin();
	run_out(200, 300 * MIB);
	run_out(201, 100 * MIB);
	run_out(202, 200 * MIB);
	reader = end();
	recording = reader.report.recordings[0];
	free(recording->coverage.reason);
	recording->coverage.reason = strdup("oom");
	for (i = 0; i < 3; i++) {
		/* As it is written in milliseconds. */
		recording->coverage.until_ns = recording->ooms[i]->last_ts_ns + 999;
		report_verdict(&verdict, &reader.report);
		assert_true(has(&verdict.sentences[0], failed[i]));
		assert_int_equal(report_gravest_oom(recording), i);
		verdict_fini(&verdict);
	}
	/* One that ends long after all of them is not. */
	recording->coverage.until_ns += 1000000000;
	assert_int_equal(report_gravest_oom(recording), 2);
	done(&reader);
}

/*
 * It says which process and moment: the first one failed of it, and those after it, of whom it also
 * has something, did less badly.
 */
static void a_bundle_begins_with_what_it_says(void **state)
{
	struct triggers triggers = { .asked = 1u << TRIGGER_OOM };
	struct report_recording *recording;
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	run_out(200, 100 * MIB);
	triggers_pull_oom(&triggers, 200, now_ns - MILLISECOND, OOM_FATAL, now_ns);
	run_out(201, 300 * MIB);
	triggers_pull_oom(&triggers, 201, now_ns - MILLISECOND, OOM_HANDLED, now_ns);
	run_out(202, 200 * MIB);
	dump.triggers = &triggers;
	reader = end();
	recording = reader.report.recordings[0];
	report_verdict(&verdict, &reader.report);
	assert_true(has(&verdict.sentences[0], "in process (200) failed"));
	assert_int_equal(report_gravest_oom(recording), 0);
	verdict_fini(&verdict);
	/* One that is not described: the newest is what it may be. */
	recording->coverage.failed_pid = 199;
	assert_int_equal(report_gravest_oom(recording), 2);
	done(&reader);
	triggers_fini(&triggers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_for_the_verdict_and_the_moment),
		cmocka_unit_test(a_report_that_ends_at_a_failure_is_about_that),
		cmocka_unit_test(a_bundle_begins_with_what_it_says),
	};

	return unit_run("report_gravest", tests);
}
