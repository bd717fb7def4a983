// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is told to a format of timelines of what GPUs did and of what programs mark.
 */
#include "noted_traces.h"

/* ---- what GPUs did --------------------------------------------------------------------------- */

static union record activity_at(enum ms_activity_kind kind, uint32_t correlation, uint64_t begin,
				uint64_t ns)
{
	union record record = record_activity(kind, correlation, BASE + begin, ns);

	record.activity.is.thread = TID;
	return record_at(BASE + 900, record_by(TID, record_of(PID, 5 * MS_START_NS, record)));
}

static union record untimed(union record record)
{
	record.activity.is.flags |= MS_ACTIVITY_UNTIMED;
	return record;
}

/* A process of which it is known that something of the GPU is known. */
static void begin_with_gpu(struct report_dump *dump)
{
	begin(dump);
	report_dump_add(dump, activity_at(MS_ACTIVITY_OVERHEAD, 0, 10, 1));
}

/* CUPTI's record of the call comes last, and those of one stream in any order. */
static void test_what_gpus_did(void **state)
{
	struct report_dump dump;

	(void)state;
	begin_with_gpu(&dump);
	report_dump_add(&dump, at(100, 110, record_launch("cuLaunchKernel", 0x6000)));
	report_dump_add(&dump, activity_at(MS_ACTIVITY_KERNEL, 2, 300, 50));
	report_dump_add(&dump, activity_at(MS_ACTIVITY_COPY, 3, 320, 100));
	report_dump_add(&dump, activity_at(MS_ACTIVITY_MEMSET, 1, 200, 100));
	report_dump_add(&dump, untimed(activity_at(MS_ACTIVITY_KERNEL, 1, 210, 100)));
	report_dump_add(&dump, activity_at(MS_ACTIVITY_CALL, 1, 102, 5));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cuLaunchKernel 100-110 to GPU\n"
			   "GPU 0, context 0, stream 7 lane 0\n"
			   "GPU 0, context 0, stream 7 0> memset 200-300 from the call"
			   " correlation=1 call_begin_ns=1000000100\n"
			   "GPU 0, context 0, stream 7 0> kernel 300-350 correlation=2\n"
			   "GPU 0, context 0, stream 7 lane 1\n"
			   "GPU 0, context 0, stream 7 1> copy HtoD 320-420 correlation=3\n");
}

/* More than are kept: all are told, and what comes late finds another lane. */
static void test_many_activities(void **state)
{
	const uint64_t count = 100000;
	struct report_dump dump;
	struct noted noted;
	uint64_t i;

	(void)state;
	begin_with_gpu(&dump);
	for (i = 0; i < count; i++)
		report_dump_add(&dump, activity_at(MS_ACTIVITY_KERNEL, 1, 1000 + 10 * i, 10));
	report_dump_add(&dump, activity_at(MS_ACTIVITY_KERNEL, 1, 1000, 10));
	read_dump(&dump, &noted);
	assert_int_equal(noted.activities, count + 1);
	assert_int_equal(noted.lanes, 1);
	noted_fini(&noted);
}

/* ---- what programs mark ---------------------------------------------------------------------- */

static union record marker_at(uint64_t ts, enum ms_marker_action action, const char *name)
{
	return record_at(BASE + ts, record_by(TID, record_of(PID, 5 * MS_START_NS,
							     record_marker(action, name))));
}

static union record of_range(uint64_t id, union record record)
{
	record.marker.id = id;
	return record;
}

static union record of_call_at(uint64_t sp, union record record)
{
	record.marker.source = MS_MARKER_BY_FUNCTION;
	record.marker.sp = sp;
	return record;
}

/* An end without a beginning is nothing, and what has no end ends with the recording. */
static void test_what_threads_mark(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, marker_at(50, MS_MARKER_POP, NULL));
	report_dump_add(&dump, marker_at(100, MS_MARKER_PUSH, "step"));
	report_dump_add(&dump, marker_at(110, MS_MARKER_PUSH, "for\nward"));
	report_dump_add(&dump, marker_at(120, MS_MARKER_INSTANT, "he\nre"));
	report_dump_add(&dump, marker_at(130, MS_MARKER_POP, NULL));
	report_dump_add(&dump, marker_at(140, MS_MARKER_PUSH, NULL));
	assert_told(&dump, "markers of thread 78 lane 0\n"
			   "markers of thread 78 0> step 100\n"
			   "markers of thread 78 0> for\nward 110\n"
			   "! he\\x0are 120\n"
			   "markers of thread 78 0< 130\n"
			   "markers of thread 78 0> marker 140\n"
			   "markers of thread 78 0< 140\n"
			   "markers of thread 78 0< 140\n");
}

/* Stacks grow downwards: the second call is in the first, which an exception leaves. */
static void test_marked_functions_that_do_not_return(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, of_call_at(0x900, marker_at(100, MS_MARKER_PUSH, "outer")));
	report_dump_add(&dump, of_call_at(0x800, marker_at(110, MS_MARKER_PUSH, "left")));
	report_dump_add(&dump, of_call_at(0x850, marker_at(120, MS_MARKER_PUSH, "next")));
	report_dump_add(&dump, of_call_at(0x700, marker_at(130, MS_MARKER_PUSH, "left, too")));
	report_dump_add(&dump, of_call_at(0x900, marker_at(140, MS_MARKER_POP, NULL)));
	report_dump_add(&dump, of_call_at(0x700, marker_at(150, MS_MARKER_POP, NULL)));
	assert_told(&dump, "markers of thread 78 lane 0\n"
			   "markers of thread 78 0> outer 100\n"
			   "markers of thread 78 0> left 110\n"
			   "markers of thread 78 0< 120\n"
			   "markers of thread 78 0> next 120\n"
			   "markers of thread 78 0> left, too 130\n"
			   "markers of thread 78 0< 140\n"
			   "markers of thread 78 0< 140\n"
			   "markers of thread 78 0< 140\n");
}

/* They overlap, and the number of the first one is known later. */
static void test_ranges(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, marker_at(100, MS_MARKER_START, "first"));
	report_dump_add(&dump, of_range(7, marker_at(101, MS_MARKER_STARTED, NULL)));
	report_dump_add(&dump, of_range(9, marker_at(110, MS_MARKER_START, "second")));
	report_dump_add(&dump, of_range(8, marker_at(115, MS_MARKER_END, NULL)));
	report_dump_add(&dump, of_range(7, marker_at(120, MS_MARKER_END, NULL)));
	report_dump_add(&dump, of_range(9, marker_at(130, MS_MARKER_END, NULL)));
	assert_told(&dump, "ranges lane 0\n"
			   "ranges 0> first 100\n"
			   "ranges, overlapping lane 0\n"
			   "ranges, overlapping 0> second 110\n"
			   "ranges 0< 120\n"
			   "ranges, overlapping 0< 130\n");
}

/* More than are drawn: what ends is what has begun. */
static void test_deep_markers(void **state)
{
	struct report_dump dump;
	struct noted noted;
	uint64_t i;

	(void)state;
	begin(&dump);
	for (i = 0; i < 100; i++)
		report_dump_add(&dump, marker_at(1000 + i, MS_MARKER_PUSH, "in"));
	for (i = 0; i < 100; i++)
		report_dump_add(&dump, marker_at(2000 + i, MS_MARKER_POP, NULL));
	report_dump_add(&dump, marker_at(3000, MS_MARKER_PUSH, "again"));
	report_dump_add(&dump, marker_at(3001, MS_MARKER_POP, NULL));
	read_dump(&dump, &noted);
	assert_int_equal(noted.marks, 65);
	noted_fini(&noted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_gpus_did),
		cmocka_unit_test(test_many_activities),
		cmocka_unit_test(test_what_threads_mark),
		cmocka_unit_test(test_marked_functions_that_do_not_return),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_deep_markers),
	};

	return unit_run("export_lanes", tests);
}
