// SPDX-License-Identifier: BSD-2-Clause
/*
 * Devices in a report on many processes whose devices cannot be told to be the same.
 */
#include "reported.h"

#include "render/report_json.h"
#include "render/report_md.h"

#define PROCESSES 20u
#define FIRST_PID 100u

static union record of(uint32_t pid, union record record)
{
	record.event.pid = record.event.tid = pid;
	return record;
}

/* Each sees other devices than all before; the later ones hold more: 1 MiB, 2 MiB, ... */
static void record_processes(uint32_t count)
{
	uint32_t i;

	begin();
	for (i = 0; i < count; i++) {
		add(of(FIRST_PID + i, record_visible(i + 1, MS_VISIBLE_RENUMBERED)));
		add(of(FIRST_PID + i, alloc("cuMemAlloc_v2", (i + 1) << 24, (i + 1) * MIB)));
	}
}

static struct string text_of(const struct report *report)
{
	struct string out = { 0 };

	report_md(&out, report, true, false);
	string_append_char(&out, '\0');
	return out;
}

static size_t count_of(const struct string *text, const char *what)
{
	const char *at = text->bytes;
	size_t count = 0;

	for (; (at = strstr(at, what)); at += strlen(what))
		count++;
	return count;
}

static struct report_reader ended(size_t top, uint32_t pid)
{
	struct report_reader reader = report_dump_reader();

	reader.report.options.top = top;
	reader.report.options.pids[0] = pid;
	reader.report.options.pids_count = pid ? 1 : 0;
	report_dump_end(&dump, now_ns + MILLISECOND);
	report_dump_read(&dump, &reader);
	return reader;
}

static void test_many_share_a_table(void **context)
{
	struct report_reader reader;
	struct string text;

	(void)context;
	record_processes(PROCESSES);
	reader = ended(3, 0);
	text = text_of(&reader.report);
	assert_non_null(strstr(text.bytes, "20 devices, some of which may be the same"));
	assert_non_null(strstr(text.bytes, "(119) | 20 MiB | 20 MiB |"));
	assert_non_null(strstr(text.bytes, "(117) | 18 MiB | 18 MiB |"));
	/* 1 + 2 + ... + 17 */
	assert_non_null(strstr(text.bytes, "| 17 more, which hold less (--top shows more) |"
					   " 153 MiB | 17 MiB at most |"));
	assert_int_equal(count_of(&text, "peak of that"), 0);
	string_fini(&text);
	done(&reader);
}

static void test_two_have_their_own(void **context)
{
	struct report_reader reader;
	struct string text;

	(void)context;
	record_processes(2);
	reader = ended(10, 0);
	text = text_of(&reader.report);
	assert_null(strstr(text.bytes, "may be the same"));
	assert_int_equal(count_of(&text, "peak of that"), 2);
	string_fini(&text);
	done(&reader);
}

static void test_one_process_has_its_devices_alone(void **context)
{
	struct report_reader reader;
	struct string text;

	(void)context;
	record_processes(PROCESSES);
	reader = ended(10, FIRST_PID + 4);
	text = text_of(&reader.report);
	assert_int_equal(reader.report.recordings[0]->devices_count, 1);
	assert_int_equal(count_of(&text, "peak of that"), 1);
	assert_non_null(strstr(text.bytes, "5 MiB"));
	string_fini(&text);
	done(&reader);
}

/* What all mean by a number is one device: no table of many. */
static void test_one_number_is_one_device(void **context)
{
	struct report_reader reader;
	struct string text;
	uint32_t i;

	(void)context;
	begin();
	for (i = 0; i < PROCESSES; i++)
		add(of(FIRST_PID + i, alloc("cuMemAlloc_v2", (i + 1) << 24, MIB)));
	reader = ended(10, 0);
	text = text_of(&reader.report);
	assert_int_equal(count_of(&text, "peak of that"), 1);
	string_fini(&text);
	done(&reader);
}

/* Nothing of it was ever in use, as far as NVML said: there is no moment at which most was. */
static void test_a_peak_of_nothing_has_no_time(void **context)
{
	union record idle = record_device_memory("GPU-0", 0);
	struct report_reader reader;
	struct string text, json = { 0 };

	(void)context;
	idle.device.total_bytes = idle.device.free_bytes = 64 * MIB;
	begin();
	add(idle);
	reader = end();
	text = text_of(&reader.report);
	report_json(&json, &reader.report);
	string_append_char(&json, '\0');
	assert_non_null(strstr(text.bytes, "| GPU-0 | 64 MiB | 0 B | 0 B | 0 B | 0 B | 0 B |"
					   " 0 B | |"));
	assert_int_equal(count_of(&json, "\"peak_used_bytes\":0,\"peak_ts_ns\":null"), 1);
	string_fini(&json);
	string_fini(&text);
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_share_a_table),
		cmocka_unit_test(test_two_have_their_own),
		cmocka_unit_test(test_one_process_has_its_devices_alone),
		cmocka_unit_test(test_one_number_is_one_device),
		cmocka_unit_test(test_a_peak_of_nothing_has_no_time),
	};

	return unit_run("report devices", tests);
}
