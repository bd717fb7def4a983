// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says first of calls that failed because memory had run out: who held what, as far
 * as that is known.
 */
#include "reported.h"

#include "render/report_md.h"
#include "render/report_words.h"
#include "store/report_places.h"

static union record refused(uint64_t size)
{
	return record_failed(MS_CUDA_OUT_OF_MEMORY,
			     record_without(MS_KNOWN_ADDR, alloc("cuMemAlloc_v2", 0, size)));
}

static void assert_says(const struct verdict *verdict, size_t sentence, const char *text)
{
	if (sentence < verdict->count && has(&verdict->sentences[sentence], text))
		return;
	fail_msg("sentence %zu does not say: %s", sentence, text);
}

/* After a restart of the recorder, what it recorded before is in another recording. */
static void what_was_held_before_attaching_is_not_known(void **state)
{
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(record_process(MS_TYPE_ATTACH, "leak", MS_ATTACH_RUNNING));
	add(alloc("cuMemAlloc_v2", 0x100000000, MIB));
	add(record_from(76 * MIB, alloc("cuMemGetInfo_v2", 0, 1024 * MIB)));
	add(refused(200 * MIB));
	add(record_exit(1 << 8));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0,
		    ", when leak (100) held at least 1 MiB, all of what is known from"
		    " cuMemAlloc_v2; leak (100) ran before it was attached to, and what it held by"
		    " then is not known. It was fatal");
	assert_says(&verdict, 0,
		    "Cause: unknown (what the process held when it was attached to is not known;"
		    " the device has 1 GiB)");
	assert_says(&verdict, 1, "is not in this recording: look into the one before");
	verdict_fini(&verdict);
	done(&reader);
}

/* So many threads, one after the other, each refused twice. */
static void refuse(unsigned int threads)
{
	union record record = refused(200 * MIB);
	unsigned int i;

	begin();
	add(alloc("cuMemAlloc_v2", 0x100000000, MIB));
	for (i = 0; i < threads; i++) {
		record.event.tid = record.event.pid + 1 + i;
		add(record);
		add(record);
	}
}

/* More than are described: the first line has all, and the section when they began and ended. */
static void all_failures_are_counted(void **state)
{
	struct report_time time = { .kind = REPORT_TIME_OOM, .number = 17 };
	struct report_recording *recording;
	struct string text = { 0 }, why = { 0 };
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	refuse(20);
	reader = end();
	recording = reader.report.recordings[0];
	assert_int_equal(recording->ooms_count, 16);
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0,
		    "failed at 1970-01-01T12:34:56.003Z (40 times from 1970-01-01T12:34:56.002Z to"
		    " 1970-01-01T12:34:56.041Z), when process (100) held 1 MiB");
	report_md(&text, &reader.report, false, true);
	assert_true(has(&text, "Memory ran out 40 times, from 1970-01-01T12:34:56.002Z to"
			       " 1970-01-01T12:34:56.041Z; calls that belong together are one"
			       " failure, and the last of them was at 1970-01-01T12:34:56.003Z"
			       " (Failure 1), 1970-01-01T12:34:56.005Z (Failure 2), "));
	assert_true(has(&text, " and 13 more times, and 4 failures are not described: who held"
			       " most then is below, in Failure 1 and so on. All of the first of"
			       " these (Failure 1): "));
	assert_int_not_equal(report_places_set(&time, recording, "a.mscope", &why), 0);
	assert_true(has(&why, "memory ran out 20 times, of which 16 are described: oom:1 to"
			      " oom:16 name these"));
	string_fini(&why);
	string_fini(&text);
	verdict_fini(&verdict);
	done(&reader);
}

static union record of_other(union record record)
{
	record.event.pid = record.event.tid = 200;
	return record;
}

/* Both come through it; what the report begins with is that one of them leaks. */
static void a_failure_that_is_over_is_not_passed_over(void **state)
{
	struct report_reader reader;
	struct verdict verdict;
	uint64_t i;

	(void)state;
	begin();
	for (i = 0; i < 200; i++) {
		add(alloc("cuMemAlloc_v2", 0x100000000 + i * 2 * MIB, MIB));
		add(record_on(0, record_call("cuLaunchKernel")));
		now_ns += 10 * MILLISECOND;
		if (i != 100)
			continue;
		add(refused(8 * MIB));
		add(of_other(refused(8 * MIB)));
		add(refused(8 * MIB));
		add(alloc("cuMemAlloc_v2", 0x900000000, 8 * MIB));
		add(of_other(alloc("cuMemAlloc_v2", 0xa00000000, 8 * MIB)));
	}
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, "process (100) leaves ");
	assert_says(&verdict, 2,
		    "Memory ran out 2 times for process (100), from 1970-01-01T12:34:57.213Z to"
		    " 1970-01-01T12:34:57.215Z. How that ended: recovered: 8 MiB was granted 1 ms"
		    " after the last failure. It ran out 1 time for process (200), too.");
	verdict_fini(&verdict);
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_held_before_attaching_is_not_known),
		cmocka_unit_test(all_failures_are_counted),
		cmocka_unit_test(a_failure_that_is_over_is_not_passed_over),
	};

	return unit_run("report: words of failed allocations", tests);
}
