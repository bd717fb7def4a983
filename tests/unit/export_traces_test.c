// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is told to a format of timelines, and in which order: a format that notes it down.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "export/traces.h"
#include "render/record_field.h"
#include "report_dump.h"

#define BASE 1000000000ull
#define PID 77
#define TID 78
#define MANY_DEVICES (2 * USAGE_CHANGED + 4)

/* ---- the format ------------------------------------------------------------------------------ */

struct noted {
	struct traces traces;
	struct writer writer;
	struct string log;
	size_t depth;
	uint64_t begun, ended, lanes, activities, gpu_flow;
	char kernel[64];
	struct map devices;  /* a counter's id -> what was said of it last */
	uint64_t of_devices; /* how often something was */
};

static unsigned long long after(uint64_t ts_ns)
{
	return ts_ns - BASE;
}

static void note_begin(struct traces *traces)
{
	(void)traces;
}

static void note_process(struct traces *traces, const struct traces_process *process)
{
	struct noted *noted = (struct noted *)traces;

	string_append_format(&noted->log, "process %u %s%s\n", process->pid, process->name,
			     process->viewer_pid == process->pid ? "" : " again");
}

static void note_thread(struct traces *traces, const struct traces_thread *thread)
{
	struct noted *noted = (struct noted *)traces;

	if (noted->lanes < thread->lane)
		noted->lanes = thread->lane;
	if (*thread->name)
		string_append_format(&noted->log, "%s lane %u\n", thread->name, thread->lane);
	else
		string_append_format(&noted->log, "thread %u lane %u\n", thread->tid, thread->lane);
}

static void note_counter(struct traces *traces, const struct traces_counter *counter,
			 uint64_t ts_ns, uint64_t value)
{
	struct noted *noted = (struct noted *)traces;

	if (counter->process)
		string_append_format(&noted->log, "%s %llu: %llu\n", counter->name, after(ts_ns),
				     (unsigned long long)value);
	else
		assert_int_equal(map_set(&noted->devices, counter->id, value), 0);
	noted->of_devices += !counter->process;
}

static void note_slice(struct traces *traces, const struct traces_thread *thread,
		       const struct traces_slice *slice)
{
	struct noted *noted = (struct noted *)traces;
	const char *kernel = slice->source.change->kernel;

	string_append_format(&noted->log, "%.*s%u> %s %llu-%llu%s%s\n", (int)(noted->depth * 2),
			     "                                                  ", thread->lane,
			     slice->source.event->probe->symbol, after(slice->begin_ns),
			     after(slice->end_ns),
			     !slice->flow     ? "" :
			     slice->ends_flow ? " ends" :
						" begins",
			     slice->gpu_flow ? " to GPU" : "");
	if (slice->gpu_flow)
		noted->gpu_flow = slice->gpu_flow;
	if (kernel)
		snprintf(noted->kernel, sizeof(noted->kernel), "%s", kernel);
	noted->depth++;
	noted->begun++;
}

static void note_slice_end(struct traces *traces, const struct traces_thread *thread,
			   uint64_t end_ns)
{
	struct noted *noted = (struct noted *)traces;

	(void)thread;
	(void)end_ns;
	assert_true(noted->depth > 0);
	noted->depth--;
	noted->ended++;
}

static void note_activity_field(void *context, size_t field, struct field_value value)
{
	struct noted *noted = context;

	string_append_format(&noted->log, " %s", record_fields[field].name);
	if (record_fields[field].kind != FIELD_TEXT)
		string_append_format(&noted->log, "=%llu", (unsigned long long)value.number);
}

static void note_activity(struct traces *traces, const struct traces_thread *lane,
			  const struct traces_activity *activity)
{
	struct noted *noted = (struct noted *)traces;

	noted->activities++;
	if (lane->lane > noted->lanes)
		noted->lanes = lane->lane;
	string_append_format(&noted->log, "%s %u> %s %llu-%llu%s", lane->name, lane->lane,
			     activity->name, after(activity->begin_ns), after(activity->end_ns),
			     !activity->flow                   ? "" :
			     activity->flow == noted->gpu_flow ? " from the call" :
								 " from another");
	traces_activity_fields(activity, note_activity_field, noted);
	string_append_char(&noted->log, '\n');
}

static void note_instant(struct traces *traces, const struct traces_instant *instant)
{
	struct noted *noted = (struct noted *)traces;

	string_append_format(&noted->log, "! %s %llu\n", instant->name, after(instant->ts_ns));
}

static void note_lost(struct traces *traces)
{
	string_append_text(&((struct noted *)traces)->log, "lost\n");
}

static const struct traces_format format = {
	.begin = note_begin,
	.process = note_process,
	.thread = note_thread,
	.counter = note_counter,
	.slice_begin = note_slice,
	.slice_end = note_slice_end,
	.activity = note_activity,
	.instant = note_instant,
	.lost = note_lost,
};

/* ---- recordings ------------------------------------------------------------------------------ */

static union record at(uint64_t begin, uint64_t end, union record record)
{
	return record_at(BASE + begin,
			 record_by(TID, record_of(PID, 5 * MS_START_NS,
						  record_taking(end - begin, record))));
}

static union record begin_at(uint64_t ts, uint64_t addr)
{
	return record_at(BASE + ts,
			 record_by(TID, record_of(PID, 5 * MS_START_NS,
						  record_begin_of("cuMemFree_v2", addr, 0))));
}

static union record sync_at(uint64_t begin, uint64_t end)
{
	return at(begin, end, record_call("cuCtxSynchronize"));
}

static union record inner(union record record)
{
	return record_flagged(MS_CALL_NESTED, record);
}

static void begin(struct report_dump *dump)
{
	report_dump_init(dump, 1, "host");
	report_dump_segment(dump, BASE);
	report_dump_add(dump,
			record_at(BASE + 1, record_of(PID, 5 * MS_START_NS,
						      record_process(MS_TYPE_ATTACH, "a", 0))));
}

static void read_dump(struct report_dump *dump, struct noted *noted)
{
	struct report_reader reader = report_dump_reader();

	report_dump_end(dump, BASE + 1000000);
	memset(noted, 0, sizeof(*noted));
	noted->writer.fd = -1;
	traces_init(&noted->traces, &format, &noted->writer);
	reader.sink = &noted->traces.sink;
	report_dump_read(dump, &reader);
	assert_int_equal(noted->depth, 0);
	assert_int_equal(noted->begun, noted->ended);
	traces_fini(&noted->traces);
	report_reader_fini(&reader);
	report_dump_fini(dump);
}

static void noted_fini(struct noted *noted)
{
	string_fini(&noted->log);
	map_fini(&noted->devices);
}

static uint64_t on_all_devices(const struct noted *noted)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < noted->devices.capacity; i++)
		sum += map_is_used(&noted->devices, i) ? noted->devices.slots[i].value : 0;
	return sum;
}

/* All that was told, but for how it begins. */
static void assert_told(struct report_dump *dump, const char *expected)
{
	static const char head[] = "process 77 a\n! tracing begins 1\n";
	struct noted noted;

	read_dump(dump, &noted);
	string_append_char(&noted.log, '\0');
	assert_memory_equal(noted.log.bytes, head, strlen(head));
	assert_string_equal(noted.log.bytes + strlen(head), expected);
	noted_fini(&noted);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_calls_inside_calls(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, inner(at(120, 130, record_call("cuStreamSynchronize"))));
	report_dump_add(&dump, inner(sync_at(110, 140)));
	report_dump_add(&dump, inner(sync_at(140, 150)));
	report_dump_add(&dump, at(100, 200, record_call("cudaDeviceSynchronize")));
	report_dump_add(&dump, sync_at(200, 210));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cudaDeviceSynchronize 100-200\n"
			   "  0> cuCtxSynchronize 110-140\n"
			   "    0> cuStreamSynchronize 120-130\n"
			   "  0> cuCtxSynchronize 140-150\n"
			   "0> cuCtxSynchronize 200-210\n");
}

/* The last one to return is the outermost. */
static void test_equal_times(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, inner(at(100, 200, record_call("cuStreamSynchronize"))));
	report_dump_add(&dump, inner(sync_at(100, 200)));
	report_dump_add(&dump, at(100, 200, record_call("cudaDeviceSynchronize")));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cudaDeviceSynchronize 100-200\n"
			   "  0> cuCtxSynchronize 100-200\n"
			   "    0> cuStreamSynchronize 100-200\n");
}

/* As nobody records them, but somebody may have written them into a file. */
static void test_impossible_times(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, inner(at(150, 250, record_call("cuStreamSynchronize"))));
	report_dump_add(&dump, at(100, 200, record_call("cudaDeviceSynchronize")));
	report_dump_add(&dump, sync_at(180, 300));
	report_dump_add(&dump, sync_at(190, 195));
	report_dump_add(&dump, sync_at(300, 310));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cudaDeviceSynchronize 100-200\n"
			   "  0> cuStreamSynchronize 150-200\n"
			   "thread 78 lane 1\n"
			   "1> cuCtxSynchronize 180-300\n"
			   "thread 78 lane 2\n"
			   "2> cuCtxSynchronize 190-195\n"
			   "0> cuCtxSynchronize 300-310\n");
}

static void test_no_call_is_forgotten(void **state)
{
	struct report_dump dump;
	struct noted noted;
	uint64_t i;

	(void)state;
	begin(&dump);
	for (i = 0; i < 1000; i++)
		report_dump_add(&dump, inner(sync_at(1000 + 10 * i, 1005 + 10 * i)));
	report_dump_add(&dump, at(100, 20000, record_call("cudaDeviceSynchronize")));
	/* What is around this one was lost. */
	report_dump_add(&dump, inner(sync_at(30000, 30001)));
	read_dump(&dump, &noted);
	assert_int_equal(noted.begun, 1002);
	assert_int_equal(noted.lanes, 1);
	noted_fini(&noted);
}

static void test_an_end_tells_what_was_kept(void **state)
{
	struct report_dump dump;
	const union record other = record_process(MS_TYPE_ATTACH, "b", 0);

	(void)state;
	begin(&dump);
	report_dump_add(&dump, inner(sync_at(100, 110)));
	report_dump_add(&dump,
			record_at(BASE + 120, record_of(PID, 5 * MS_START_NS, record_exit(0))));
	report_dump_add(&dump, record_at(BASE + 130, record_of(PID, 6 * MS_START_NS, other)));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cuCtxSynchronize 100-110\n"
			   "! exit 120\n"
			   "process 77 b again\n"
			   "! tracing begins 130\n");
}

static void test_counters_and_flows(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, at(100, 110, record_alloc("cuMemAlloc_v2", 0x1000, 100)));
	report_dump_add(&dump, at(120, 130, record_alloc("cuMemAlloc_v2", 0x2000, 7)));
	report_dump_add(&dump, at(140, 150, record_failed(2, record_alloc("cuMemAlloc_v2", 0, 9))));
	report_dump_add(&dump, begin_at(160, 0x1000));
	report_dump_add(&dump, at(160, 170, record_free("cuMemFree_v2", 0x1000)));
	report_dump_add(&dump, at(180, 180, record_launches("cuLaunchKernel", 0x6000, 500)));
	report_dump_add(&dump, at(190, 190, record_launches("cuLaunchKernel", 0x6000, 3)));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cuMemAlloc_v2 100-110 begins\n"
			   "live device 110: 100\n"
			   "0> cuMemAlloc_v2 120-130 begins\n"
			   "live device 130: 107\n"
			   "0> cuMemAlloc_v2 140-150\n"
			   "! out of memory 150\n"
			   "0> cuMemFree_v2 160-170 ends\n"
			   "live device 170: 7\n"
			   "calls only counted: launch 180: 500\n"
			   "calls only counted: launch 190: 503\n");
}

/* The state, and with it the names, is another one after the gap. */
static void test_a_gap(void **state)
{
	struct report_dump dump;
	struct noted noted;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, record_at(BASE + 90, record_of(PID, 5 * MS_START_NS,
							      record_name(0x6000, "kernel"))));
	report_dump_add(&dump, at(91, 92, record_alloc("cuMemAlloc_v2", 0x1000, 100)));
	report_dump_add(&dump, inner(at(100, 110, record_launch("cuLaunchKernel", 0x6000))));
	report_dump_flush(&dump, BASE + 120);
	dump.files = 0;
	report_dump_add(&dump, at(200, 210, record_alloc("cuMemAlloc_v2", 0x2000, 7)));
	report_dump_flush(&dump, BASE + 300);
	dump.files = 1;
	report_dump_segment(&dump, BASE + 400);
	report_dump_add(&dump, begin_at(500, 0x2000));
	report_dump_add(&dump, at(500, 510, record_free("cuMemFree_v2", 0x2000)));
	read_dump(&dump, &noted);
	string_append_char(&noted.log, '\0');
	assert_string_equal(noted.kernel, "kernel");
	assert_string_equal(strstr(noted.log.bytes, "0> cuLaunchKernel"),
			    "0> cuLaunchKernel 100-110\n"
			    "lost\n"
			    "! gap in the recording 400\n"
			    "live device 400: 107\n"
			    "0> cuMemFree_v2 500-510\n"
			    "live device 510: 100\n");
	noted_fini(&noted);
}

/* The end of a process changes more of them at once than a call does. */
static void test_counters_of_many_devices(void **state)
{
	struct report_dump dump;
	struct noted noted;
	int32_t i;

	(void)state;
	begin(&dump);
	for (i = 0; i < MANY_DEVICES; i++)
		report_dump_add(&dump,
				at(100 + 10u * (uint64_t)i, 105 + 10u * (uint64_t)i,
				   record_on(i, record_alloc("cuMemAlloc_v2",
							     0x1000 * (1 + (uint64_t)i), 7))));
	report_dump_add(&dump, at(900, 900, record_exit(0)));
	read_dump(&dump, &noted);
	assert_int_equal(noted.devices.count, MANY_DEVICES);
	assert_int_equal(noted.of_devices, 2 * MANY_DEVICES);
	assert_int_equal(on_all_devices(&noted), 0);
	noted_fini(&noted);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_inside_calls),
		cmocka_unit_test(test_equal_times),
		cmocka_unit_test(test_impossible_times),
		cmocka_unit_test(test_no_call_is_forgotten),
		cmocka_unit_test(test_an_end_tells_what_was_kept),
		cmocka_unit_test(test_counters_and_flows),
		cmocka_unit_test(test_a_gap),
		cmocka_unit_test(test_what_gpus_did),
		cmocka_unit_test(test_many_activities),
		cmocka_unit_test(test_counters_of_many_devices),
	};

	return unit_run("export_traces", tests);
}
