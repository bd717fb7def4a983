// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lanes and address maps of dumps, as JSON: what is in it, that names cannot break out of a
 * <script> element, and what happens without memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "failing.h"
#include "json_check.h"
#include "report/lanes.h"
#include "render/lanes_json.h"
#include "report_dump.h"

#define SECOND 1000000000ull
#define MIB (1024ull * 1024)

struct read {
	struct report_reader reader;
	struct lanes lanes;
	struct string json; /* of all recordings, a line each */
};

static void read_dump(struct report_dump *dump, struct read *read)
{
	struct json json = { .out = &read->json, .escapes_html = true };
	size_t i;

	*read = (struct read){ .reader = report_dump_reader() };
	lanes_init(&read->lanes);
	read->reader.sink = &read->lanes.sink;
	report_dump_read(dump, &read->reader);
	assert_int_equal(read->lanes.count, 1);
	for (i = 0; i < read->lanes.count; i++)
		lanes_json(&json, &read->lanes.recordings[i]);
	string_append_char(&read->json, '\0');
	assert_false(read->json.failed);
	assert_true(json_check(read->json.bytes, read->json.length - 1));
}

static void end_read(struct read *read)
{
	string_fini(&read->json);
	lanes_fini(&read->lanes);
	report_reader_fini(&read->reader);
}

static void begin_dump(struct report_dump *dump)
{
	report_dump_init(dump, 7, "host");
	report_dump_segment(dump, SECOND);
}

static void add_at(struct report_dump *dump, uint64_t ns, union record record)
{
	report_dump_add(dump, record_at(SECOND + ns, record));
}

#define assert_contains(read, text) \
	do { \
		if (!strstr((read)->json.bytes, text)) \
			fail_msg("%s is not in %s", text, (read)->json.bytes); \
	} while (0)

/* ---- what is in it --------------------------------------------------------------------------- */

static void test_an_object(void **state)
{
	static struct report_dump dump;
	struct read read;

	(void)state;
	begin_dump(&dump);
	add_at(&dump, 10,
	       record_on(0, record_taking(5, record_alloc("cudaMalloc", 0x7f00000000, MIB))));
	add_at(&dump, 20, record_name(0xf00, "gemm"));
	add_at(&dump, 30,
	       record_stream(0x77, record_taking(2, record_launch("cuLaunchKernel", 0xf00))));
	add_at(&dump, 40, record_launches("cuLaunchKernel", 0xf00, 9));
	add_at(&dump, 50, record_failed(2, record_alloc("cudaMalloc", 0, 1ull << 40)));
	add_at(&dump, 60, record_on(0, record_alloc("cudaMalloc", 0x7e00000000, 2 * MIB)));
	report_dump_end(&dump, SECOND + 100);
	read_dump(&dump, &read);

	assert_contains(&read, "{\"begin_ns\":1000000000,\"names\":[\"cudaMalloc\",\"gemm\","
			       "\"cudaMalloc (failed)\"],\"lanes\":[");
	assert_contains(&read, "{\"kind\":\"thread\",\"pid\":100,\"comm\":\"\",\"tid\":100,"
			       "\"stream\":null,\"device\":null,\"counted\":null,"
			       "\"resolution_ns\":0,\"spans\":[10,5,0,1,1048576,30,2,1,1,0,"
			       "50,0,2,1,0,60,0,0,1,2097152],\"waits\":[]}");
	assert_contains(&read, "{\"kind\":\"stream\",\"pid\":100,\"comm\":\"\",\"tid\":null,"
			       "\"stream\":\"0x77\",\"device\":null,\"counted\":null,"
			       "\"resolution_ns\":0,\"spans\":[30,2,1,1,0]}");
	assert_contains(&read, "\"tid\":null,\"stream\":null,\"device\":null,"
			       "\"counted\":\"launch\",\"resolution_ns\":1000000000,"
			       "\"spans\":[0,40,1,9,0]}],\"dropped_lanes\":0,\"dropped_calls\":0");
	assert_contains(&read, "\"maps\":[{\"device\":0,\"pid\":100,\"comm\":\"\","
			       "\"exited\":false,\"at\":100,\"blocks\":["
			       "\"0x7e00000000\",2097152,0,1,60,\"0x7f00000000\",1048576,0,1,15],"
			       "\"more_blocks\":0,\"more_bytes\":0}]");
	assert_contains(&read, "\"oom_maps\":[{\"device\":0,\"pid\":100,\"comm\":\"\","
			       "\"exited\":false,\"at\":50,\"blocks\":["
			       "\"0x7f00000000\",1048576,0,1,15],"
			       "\"more_blocks\":0,\"more_bytes\":0}],\"oom_at\":50");
	assert_contains(&read, "\"spaces\":[\"\",\"device\",\"pool\"");
	end_read(&read);
	report_dump_fini(&dump);
}

/* Their times are relative to the beginning of the recording; so many ns later than it. */
static void add_activity(struct report_dump *dump, enum ms_activity_kind kind, uint64_t begin,
			 uint64_t duration)
{
	static uint32_t correlation;
	union record record = record_activity(kind, ++correlation, SECOND + begin, duration);

	record.activity.is.context = 3;
	if (kind == MS_ACTIVITY_COPY)
		record.activity.is.from = MS_GPU_MEMORY_PAGEABLE;
	add_at(dump, begin + duration, record);
}

static void test_what_gpus_did_and_programs_marked(void **state)
{
	static struct report_dump dump;
	union record outside = record_marker(MS_MARKER_INSTANT, "deployed");
	struct read read;

	(void)state;
	begin_dump(&dump);
	add_at(&dump, 10, record_marker(MS_MARKER_PUSH, "step"));
	add_at(&dump, 20, record_marker(MS_MARKER_PUSH, "load"));
	add_at(&dump, 30, record_gpu_name(7, "_Z4gemmPfi"));
	add_at(&dump, 40, record_marker(MS_MARKER_POP, NULL));
	add_at(&dump, 50, record_split(record_call("cuCtxSynchronize"), 40, 5, 30));
	outside.marker.source = MS_MARKER_BY_COMMAND;
	outside.event.tid = 0;
	add_at(&dump, 55, outside);
	add_activity(&dump, MS_ACTIVITY_KERNEL, 60, 30);
	add_activity(&dump, MS_ACTIVITY_COPY, 91, 2);
	add_activity(&dump, MS_ACTIVITY_MEMSET, 94, 1);
	add_at(&dump, 100, record_marker(MS_MARKER_POP, NULL));
	report_dump_end(&dump, SECOND + 100);
	read_dump(&dump, &read);

	assert_contains(
		&read, "\"names\":[\"load\",\"cuCtxSynchronize\",\"deployed\","
		       "\"gemm(float*, int)\",\"copy HtoD, pageable memory\",\"memset\",\"step\"]");
	assert_contains(&read, "{\"kind\":\"phase\",\"pid\":100,\"comm\":\"\",\"tid\":null,"
			       "\"stream\":null,\"device\":null,\"counted\":null,"
			       "\"resolution_ns\":0,\"spans\":[55,0,2,1,0]}");
	assert_contains(&read, "{\"kind\":\"phase\",\"pid\":100,\"comm\":\"\",\"tid\":100,"
			       "\"stream\":null,\"device\":null,\"counted\":null,"
			       "\"resolution_ns\":0,\"spans\":[10,90,6,1,0,20,20,0,1,0]}");
	assert_contains(&read, "\"spans\":[50,40,1,1,0],\"waits\":[0,5,30]}");
	assert_contains(&read, "{\"kind\":\"gpu\",\"pid\":100,\"comm\":\"\",\"tid\":null,"
			       "\"stream\":\"0x7\",\"context\":3,\"copies\":null,\"device\":0,"
			       "\"counted\":null,\"resolution_ns\":0,"
			       "\"spans\":[60,30,3,1,0,94,1,5,1,0]}");
	assert_contains(&read, "\"stream\":null,\"context\":null,\"copies\":\"HtoD\","
			       "\"device\":0,\"counted\":null,\"resolution_ns\":0,"
			       "\"spans\":[91,2,4,1,0]}");
	end_read(&read);
	report_dump_fini(&dump);
}

static void test_nothing(void **state)
{
	static struct report_dump dump;
	struct read read;

	(void)state;
	begin_dump(&dump);
	report_dump_end(&dump, SECOND + 100);
	read_dump(&dump, &read);
	assert_contains(&read, "\"names\":[],\"lanes\":[],\"dropped_lanes\":0,\"dropped_calls\":0,"
			       "\"maps\":[],\"oom_maps\":[],\"oom_at\":null");
	end_read(&read);
	report_dump_fini(&dump);
}

/* ---- names that would rather be something else ----------------------------------------------- */

static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"</script><script>alert(1)</script>",
		"<!--<script>",
		"a & b",
		"\xe2\x80\xa8\xe2\x80\xa9",
		"\xff\xc0\x80 not UTF-8",
		"\"},{\\u003c",
		"\x01\x1b[31m\x7f",
		"\xe2\x80\xae right to left",
		"</SCRIPT\n>]]>",
	};
	static struct report_dump dump;
	struct read read;
	size_t i;

	(void)state;
	begin_dump(&dump);
	add_at(&dump, 1, record_process(MS_TYPE_EXEC, "</script>&\xff", 0));
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		add_at(&dump, 10 * i + 2, record_name(0xf00 + i, names[i]));
		add_at(&dump, 10 * i + 3, record_launch("cuLaunchKernel", 0xf00 + i));
	}
	add_at(&dump, 1000, record_on(0, record_alloc("cudaMalloc", 0x7f00000000, MIB)));
	report_dump_end(&dump, SECOND + 2000);
	read_dump(&dump, &read);

	assert_null(strpbrk(read.json.bytes, "<>&\n"));
	assert_null(strstr(read.json.bytes, "\xe2\x80\xa8"));
	assert_null(strstr(read.json.bytes, "\xe2\x80\xa9"));
	assert_contains(&read, "\"\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"
			       "\\u003c/script\\u003e\",\"\\u003c!--\\u003cscript\\u003e\","
			       "\"a \\u0026 b\",\"\\u2028\\u2029\","
			       "\"\\ufffd\\ufffd\\ufffd not UTF-8\",\"\\\"},{\\\\u003c\","
			       "\"\\u0001\\u001b[31m\\u007f\"");
	assert_contains(&read, "\"comm\":\"\\u003c/script\\u003e\\u0026\\ufffd\"");
	end_read(&read);
	report_dump_fini(&dump);
}

/* ---- several recordings ---------------------------------------------------------------------- */

#define RECORDINGS 5
#define CALLS 60000

/* All of them share what there is room for. */
static void test_several_recordings(void **state)
{
	static struct report_dump dumps[RECORDINGS];
	struct report_reader reader = report_dump_reader();
	struct lanes lanes = { 0 };
	struct dump_set set = { 0 };
	size_t spans = 0, i, j, count;

	(void)state;
	for (i = 0; i < RECORDINGS; i++) {
		report_dump_init(&dumps[i], 7 + i, "host");
		report_dump_segment(&dumps[i], SECOND);
		for (j = 0; j < CALLS; j++)
			add_at(&dumps[i], j * 1000, record_call("cuCtxSynchronize"));
		report_dump_end(&dumps[i], 2 * SECOND);
		report_dump_use(&dumps[i], 0, &set);
	}
	lanes_init(&lanes);
	reader.sink = &lanes.sink;
	assert_int_equal(report_reader_read(&reader, &set), 0);
	assert_int_equal(lanes.count, RECORDINGS);
	for (i = 0; i < RECORDINGS; i++) {
		const struct spans_lane *lane = spans_lanes(lanes.recordings[i].spans, &count);

		assert_ptr_equal(lanes.recordings[i].recording, reader.report.recordings[i]);
		assert_int_equal(count, 1);
		assert_int_equal(lane->calls, CALLS);
		spans += lane->count;
	}
	assert_true(spans <= SPANS_MAX);
	assert_true(spans > SPANS_MAX / 8);
	dump_set_fini(&set);
	lanes_fini(&lanes);
	report_reader_fini(&reader);
	for (i = 0; i < RECORDINGS; i++)
		report_dump_fini(&dumps[i]);
}

/* ---- without memory -------------------------------------------------------------------------- */

static struct report_dump scarce;
static struct string whole;

/* Returns whether it came to the end; then everything is there. */
static bool attempt(long nth)
{
	struct report_reader reader = report_dump_reader();
	struct lanes lanes = { 0 };
	struct dump_set set = { 0 };
	struct string out = { 0 };
	struct json json = { .out = &out };
	bool complete;
	int err;

	lanes_init(&lanes);
	reader.sink = &lanes.sink;
	failing_paused = true;
	report_dump_use(&scarce, 0, &set);
	failing_paused = false;
	until_failure = nth;
	err = report_reader_read(&reader, &set);
	assert_true(!err || err == -ENOMEM);
	complete = !err && lanes.count == 1 && !reader.report.refused &&
		   !reader.report.recordings[0]->incomplete;
	if (complete) {
		lanes_json(&json, &lanes.recordings[0]);
		complete = !out.failed;
	}
	failing_paused = true;
	if (complete && nth < 0)
		string_append(&whole, out.bytes, out.length);
	if (complete)
		assert_true(out.length == whole.length &&
			    !memcmp(out.bytes, whole.bytes, whole.length));
	string_fini(&out);
	lanes_fini(&lanes);
	dump_set_fini(&set);
	report_reader_fini(&reader);
	failing_paused = false;
	return complete;
}

static void test_every_allocation(void **state)
{
	long nth = 0, failed = 0;
	uint64_t i;

	(void)state;
	log_set_level(LOG_ERROR);
	begin_dump(&scarce);
	for (i = 0; i < 40; i++) {
		add_at(&scarce, 10 * i, record_by(1 + i % 20, record_call("cuCtxSynchronize")));
		add_at(&scarce, 10 * i + 1,
		       record_on((int32_t)i % 2,
				 record_alloc("cudaMalloc", 0x7f00000000 + i * MIB, MIB)));
		add_at(&scarce, 10 * i + 2, record_name(0xf00 + i, i % 2 ? "odd" : "even"));
		add_at(&scarce, 10 * i + 3, record_launch("cuLaunchKernel", 0xf00 + i));
	}
	add_at(&scarce, 1000, record_failed(2, record_alloc("cudaMalloc", 0, 1ull << 40)));
	report_dump_end(&scarce, SECOND + 2000);
	assert_true(attempt(-1));
	do {
		failed += !attempt(nth++);
	} while (stop_failing() && nth < FAILING_ATTEMPTS);
	assert_true(failed > 100);
	assert_true(nth < FAILING_ATTEMPTS);
	string_fini(&whole);
	report_dump_fini(&scarce);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_object),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_what_gpus_did_and_programs_marked),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_several_recordings),
		cmocka_unit_test(test_every_allocation),
	};

	return unit_run("lanes_json", tests);
}
