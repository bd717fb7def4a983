// SPDX-License-Identifier: BSD-2-Clause
/*
 * What `top` makes of a state: rows, order, devices, and the plain tables.
 */
#include "render/document_text.h"
#include "top/top_devices.h"
#include "top/top_text.h"
#include "topped.h"

static const struct top_row *row_of(const struct topped *topped, uint32_t pid)
{
	size_t i;

	for (i = 0; i < topped->top.rows_count; i++)
		if (topped->top.rows[i].pid == pid)
			return &topped->top.rows[i];
	return NULL;
}

static void test_growth_is_from_look_to_look(void **state)
{
	struct topped topped;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_alloc(1, 0x1000, 4096));
	topped_wait(&topped, 2);
	topped_look(&topped);
	assert_int_equal(row_of(&topped, 1)->growth_bytes, 4096);
	assert_int_equal(row_of(&topped, 1)->allocs, 1);
	/* What comes and goes between two looks is in the peak alone. */
	topped_feed(&topped, topped_alloc(1, 0x10000, 1 << 20));
	topped_free(&topped, 1, 0x10000);
	topped_feed(&topped, topped_of(1, record_launch("cuLaunchKernel", 0x77)));
	topped_wait(&topped, 2);
	topped_look(&topped);
	assert_int_equal(row_of(&topped, 1)->live_bytes, 4096);
	assert_int_equal(row_of(&topped, 1)->peak_bytes, (1 << 20) + 4096);
	assert_int_equal(row_of(&topped, 1)->growth_bytes, 0);
	assert_int_equal(row_of(&topped, 1)->allocs, 1);
	assert_int_equal(row_of(&topped, 1)->launches, 1);
	topped_free(&topped, 1, 0x1000);
	topped_wait(&topped, 2);
	topped_look(&topped);
	assert_int_equal(row_of(&topped, 1)->growth_bytes, -4096);
	assert_int_equal(row_of(&topped, 1)->allocs, 0);
	assert_int_equal(topped.top.interval_ns, 2 * TOPPED_SECOND);
	topped_close(&topped);
}

/* Spaces that are no memory of a device, or memory of another entry, do not count. */
static void test_only_memory_on_devices_counts(void **state)
{
	struct topped topped;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_alloc(1, 0x1000, 100));
	topped_feed(&topped, topped_of(1, record_alloc("cuMemHostAlloc", 0x100000, 1000)));
	topped_feed(&topped, topped_of(1, record_alloc("cuMemAllocManaged", 0x200000, 1000)));
	topped_feed(&topped, topped_of(1, record_alloc("cuMemAllocAsync", 0x300000, 20)));
	topped_look(&topped);
	assert_int_equal(row_of(&topped, 1)->live_bytes, 120);
	topped_close(&topped);
}

static void test_the_last_minute(void **state)
{
	struct topped topped;
	uint64_t samples[TOP_SAMPLES];
	unsigned int i;

	(void)state;
	topped_open(&topped);
	for (i = 1; i <= 70; i++) {
		topped_feed(&topped, topped_alloc(1, 0x1000 * i, 10));
		topped_wait(&topped, 1);
	}
	topped_look(&topped);
	assert_int_equal(top_samples(&topped.top, row_of(&topped, 1), samples), TOP_SAMPLES);
	assert_int_equal(samples[0], 110);
	assert_int_equal(samples[TOP_SAMPLES - 1], 700);
	/* The oldest sample is of 59 seconds ago. */
	assert_int_equal(row_of(&topped, 1)->minute_bytes, 590);
	/* Who is seen for less than that began with nothing. */
	topped_feed(&topped, topped_alloc(2, 0x1000, 77));
	topped_wait(&topped, 3);
	topped_look(&topped);
	assert_int_equal(row_of(&topped, 2)->minute_bytes, 77);
	assert_int_equal(top_samples(&topped.top, row_of(&topped, 2), samples), 3);
	topped_close(&topped);
}

static void test_who_has_ended_is_shown_once_more(void **state)
{
	struct topped topped;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_alloc(1, 0x1000, 4096));
	topped_feed(&topped, topped_alloc(2, 0x1000, 100));
	topped_look(&topped);
	assert_int_equal(topped.top.running, 2);
	topped_feed(&topped, topped_of(1, record_exit(0)));
	topped_look(&topped);
	assert_int_equal(topped.top.running, 1);
	assert_int_equal(topped.top.ended, 1);
	assert_true(row_of(&topped, 1)->ended);
	assert_int_equal(row_of(&topped, 1)->live_bytes, 0);
	assert_int_equal(row_of(&topped, 1)->exit_bytes, 4096);
	assert_int_equal(row_of(&topped, 1)->growth_bytes, -4096);
	topped_look(&topped);
	assert_null(row_of(&topped, 1));
	assert_int_equal(topped.top.ended, 1);
	assert_non_null(row_of(&topped, 2));
	topped_close(&topped);
}

/* What is remembered of processes goes when the state has forgotten them. */
static void test_memory_is_bounded_by_the_state(void **state)
{
	struct topped topped;
	uint32_t pid;

	(void)state;
	topped_open(&topped);
	for (pid = 1; pid <= 2000; pid++) {
		topped_feed(&topped, topped_alloc(pid, 0x1000, pid));
		if (pid % 50 == 0)
			topped_wait(&topped, 1);
		topped_feed(&topped, topped_of(pid, record_exit(0)));
		if (pid % 100 == 0)
			topped_look(&topped);
	}
	topped_look(&topped);
	assert_true(topped.top.histories_count <= topped.pipeline.state.processes_count);
	assert_int_equal(topped.top.places.count, topped.top.histories_count);
	assert_true(topped.top.histories_count < 100);
	topped_close(&topped);
}

/* One that is followed and does not use CUDA. */
static void test_launchers_are_not_shown(void **state)
{
	struct topped topped;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_of(1, record_process(MS_TYPE_ATTACH, "sh", 0)));
	topped_feed(&topped, topped_of(2, record_attach_running()));
	topped_look(&topped);
	assert_null(row_of(&topped, 1));
	assert_true(row_of(&topped, 2)->held_before);
	assert_int_equal(topped.top.running, 1);
	topped_close(&topped);
}

static void assert_order(struct topped *topped, enum top_sort sort, bool reversed, uint32_t first,
			 uint32_t second, uint32_t third)
{
	top_sort_rows(&topped->top, sort, reversed);
	assert_int_equal(topped->top.rows[0].pid, first);
	assert_int_equal(topped->top.rows[1].pid, second);
	assert_int_equal(topped->top.rows[2].pid, third);
}

static void test_order(void **state)
{
	struct topped topped;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_alloc(1, 0x1000, 300));
	topped_feed(&topped, topped_alloc(2, 0x1000, 500));
	topped_free(&topped, 2, 0x1000);
	topped_feed(&topped, topped_alloc(3, 0x1000, 200));
	topped_look(&topped);
	topped_feed(&topped, topped_alloc(2, 0x1000, 40));
	topped_feed(&topped, topped_alloc(3, 0x2000, 10));
	topped_feed(&topped, topped_alloc(3, 0x3000, 10));
	topped_look(&topped);
	assert_order(&topped, TOP_LIVE, false, 1, 3, 2);
	assert_order(&topped, TOP_LIVE, true, 2, 3, 1);
	assert_order(&topped, TOP_GROWTH, false, 2, 3, 1);
	assert_order(&topped, TOP_RATE, false, 3, 2, 1);
	assert_order(&topped, TOP_PEAK, false, 2, 1, 3);
	assert_order(&topped, TOP_PID, false, 1, 2, 3);
	topped_close(&topped);
}

static void test_inexact_rows_say_so(void **state)
{
	struct topped topped;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_alloc(1, 0x1000, 4096));
	topped_free(&topped, 1, 0x9000);
	topped_look(&topped);
	assert_true(row_of(&topped, 1)->inexact);
	assert_false(row_of(&topped, 1)->held_before);
	topped_close(&topped);
}

/* ---- devices --------------------------------------------------------------------------------- */

#define UUID "GPU-30313233-3435-3637-3839-616263646566"

static uint64_t sum(const struct top_device *device)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < TOP_PARTS; i++)
		bytes += device->parts[i];
	return bytes;
}

/* Of 1000 bytes, 100 are used, 800 free, 100 reserved; processes hold 50. */
static void test_a_device_is_taken_apart(void **state)
{
	struct top_device devices[2];
	struct topped topped;
	size_t left_out;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped,
		    topped_of(1, record_device("cuDeviceGetUuid_v2", 0, "0123456789abcdef")));
	topped_feed(&topped, topped_alloc(1, 0x1000, 20));
	topped_feed(&topped, record_device_memory(UUID, 100));
	topped_feed(&topped, topped_of(1, record_held(UUID, 30)));
	assert_int_equal(top_devices_list(&topped.pipeline.state, devices, 2, &left_out), 1);
	assert_string_equal(devices[0].uuid, UUID);
	assert_int_equal(devices[0].ordinal, 0);
	assert_int_equal(devices[0].live_bytes, 20);
	assert_int_equal(devices[0].used_bytes, 100);
	assert_int_equal(devices[0].parts[TOP_ALLOCATED], 20);
	assert_int_equal(devices[0].parts[TOP_OF_TRACED], 10);
	assert_int_equal(devices[0].parts[TOP_OF_OTHERS], 20);
	assert_int_equal(devices[0].parts[TOP_OF_NONE], 50);
	assert_int_equal(devices[0].parts[TOP_RESERVED], 100);
	assert_int_equal(devices[0].parts[TOP_FREE], 800);
	/* What has been allocated since NVML was asked is not free any more. */
	topped_feed(&topped, topped_alloc(1, 0x10000, 500));
	top_devices_list(&topped.pipeline.state, devices, 2, &left_out);
	assert_int_equal(devices[0].used_bytes, 520);
	assert_int_equal(devices[0].parts[TOP_ALLOCATED], 520);
	assert_int_equal(devices[0].parts[TOP_FREE], 380);
	/* More than there is does not fit. */
	topped_feed(&topped, topped_alloc(1, 0x20000, 5000));
	top_devices_list(&topped.pipeline.state, devices, 2, &left_out);
	assert_int_equal(devices[0].parts[TOP_ALLOCATED], 900);
	assert_int_equal(devices[0].parts[TOP_FREE], 0);
	assert_int_equal(devices[0].parts[TOP_OF_TRACED], 0);
	assert_int_equal(sum(&devices[0]), 1000);
	topped_close(&topped);
}

static void test_devices_without_nvml(void **state)
{
	struct top_device devices[2];
	struct topped topped;
	size_t left_out;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_alloc(1, 0x1000, 20));
	assert_int_equal(top_devices_list(&topped.pipeline.state, devices, 2, &left_out), 1);
	assert_int_equal(devices[0].live_bytes, 20);
	assert_false(devices[0].nvml_known);
	assert_false(devices[0].total_known);
	/* Two by the same number, of processes that see different devices. */
	topped_feed(&topped, topped_of(2, record_visible(0x1111, 0)));
	topped_feed(&topped, topped_alloc(2, 0x1000, 20));
	topped_feed(&topped, topped_of(3, record_visible(0x2222, 0)));
	topped_feed(&topped, topped_alloc(3, 0x1000, 20));
	assert_int_equal(top_devices_list(&topped.pipeline.state, devices, 2, &left_out), 2);
	assert_int_equal(left_out, 1);
	assert_int_not_equal(devices[0].pid, devices[1].pid);
	topped_close(&topped);
}

static void feed_unseen(struct topped *topped, uint32_t pid, uint64_t bytes)
{
	topped_feed(topped, topped_of(pid, record_alloc("cuMemAlloc_v2", 0x5000, bytes)));
}

static size_t list_two(struct topped *topped, struct top_device devices[2])
{
	size_t left_out, count;

	count = top_devices_list(&topped->pipeline.state, devices, 2, &left_out);
	assert_int_equal(left_out, 0);
	return count;
}

/* It is on the only device that there is; of several, it is not known on which. */
static void test_contexts_that_were_not_seen(void **state)
{
	struct top_device devices[2];
	struct topped topped;

	(void)state;
	topped_open(&topped);
	feed_unseen(&topped, 1, 20);
	assert_int_equal(list_two(&topped, devices), 1);
	assert_true(top_device_is_unknown(&devices[0]));
	topped_feed(&topped, record_device_memory(UUID, 100));
	assert_int_equal(list_two(&topped, devices), 1);
	assert_false(top_device_is_unknown(&devices[0]));
	assert_int_equal(devices[0].inferred_bytes, 20);
	/* Also beside a process that has said which one it uses. */
	topped_feed(&topped,
		    topped_of(2, record_device("cuDeviceGetUuid_v2", 0, "0123456789abcdef")));
	topped_feed(&topped, topped_alloc(2, 0x1000, 7));
	assert_int_equal(list_two(&topped, devices), 1);
	assert_int_equal(devices[0].ordinal, 0);
	assert_int_equal(devices[0].live_bytes, 27);
	assert_int_equal(devices[0].inferred_bytes, 20);
	assert_int_equal(devices[0].parts[TOP_ALLOCATED], 27);
	/* NVML has another one. */
	topped_feed(&topped, record_device_memory("GPU-b", 100));
	topped_free(&topped, 2, 0x1000);
	assert_int_equal(top_devices_list(&topped.pipeline.state, devices, 2, &(size_t){ 0 }), 2);
	assert_int_equal(devices[0].live_bytes, 0);
	assert_int_equal(devices[0].inferred_bytes, 0);
	topped_close(&topped);
}

/* One that NVML does not list: a part of a device, or not for this program to see. */
static void test_another_device_than_the_one_of_nvml(void **state)
{
	struct top_device devices[3];
	struct topped topped;
	size_t left_out;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, record_device_memory(UUID, 100));
	topped_feed(&topped,
		    topped_of(2, record_device("cuDeviceGetUuid_v2", 0, "another device..")));
	topped_feed(&topped, topped_alloc(2, 0x1000, 7));
	feed_unseen(&topped, 1, 20);
	assert_int_equal(top_devices_list(&topped.pipeline.state, devices, 3, &left_out), 3);
	assert_int_equal(devices[0].live_bytes, 0);
	assert_int_equal(devices[1].live_bytes, 7);
	assert_true(top_device_is_unknown(&devices[2]));
	assert_int_equal(devices[2].live_bytes, 20);
	topped_close(&topped);
}

static union record told(uint32_t pid, uint64_t ts_ns, uint64_t free_bytes)
{
	return record_at(
		ts_ns,
		topped_of(pid, record_on(0, record_from(free_bytes, record_alloc("cuMemGetInfo_v2",
										 0, 1000)))));
}

/* What the driver tells a program last stands for NVML's number, as long as that has none. */
static void test_what_the_driver_tells_a_program(void **state)
{
	struct top_device device;
	struct topped topped;
	union record silent = record_device_memory(UUID, 100);
	size_t left_out;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped,
		    topped_of(1, record_device("cuDeviceGetUuid_v2", 0, "0123456789abcdef")));
	topped_feed(&topped, topped_alloc(1, 0x1000, 20));
	assert_int_equal(top_devices_told_ns(&topped.pipeline.state), 0);
	topped_feed(&topped, told(1, TOPPED_BEGIN_NS + 1, 900));
	topped_feed(&topped, told(1, TOPPED_BEGIN_NS + 2, 700));
	assert_int_equal(top_devices_list(&topped.pipeline.state, &device, 1, &left_out), 1);
	assert_true(device.total_known && !device.nvml_known);
	assert_int_equal(device.total_bytes, 1000);
	assert_int_equal(device.used_bytes, 300);
	assert_int_equal(device.parts[TOP_ALLOCATED], 20);
	assert_int_equal(device.parts[TOP_OF_NONE], 280);
	assert_int_equal(device.parts[TOP_FREE], 700);
	assert_int_equal(device.told_ns, TOPPED_BEGIN_NS + 2);
	assert_int_equal(top_devices_told_ns(&topped.pipeline.state), TOPPED_BEGIN_NS + 2);
	silent.device.known = 0;
	topped_feed(&topped, silent);
	top_devices_list(&topped.pipeline.state, &device, 1, &left_out);
	assert_int_equal(device.parts[TOP_FREE], 700);
	assert_int_equal(top_devices_told_ns(&topped.pipeline.state), TOPPED_BEGIN_NS + 2);
	topped_feed(&topped, record_device_memory(UUID, 100));
	top_devices_list(&topped.pipeline.state, &device, 1, &left_out);
	assert_true(device.nvml_known && !device.told_ns);
	assert_int_equal(device.parts[TOP_FREE], 800);
	assert_int_equal(sum(&device), 1000);
	assert_int_equal(top_devices_told_ns(&topped.pipeline.state), 0);
	topped_close(&topped);
}

/* Two numbers that turn out to be the same device: the newer answer is of both. */
static void test_what_is_told_of_one_device_twice(void **state)
{
	struct top_device devices[2];
	struct topped topped;
	size_t left_out;
	uint32_t pid;

	(void)state;
	topped_open(&topped);
	for (pid = 1; pid <= 2; pid++) {
		topped_feed(&topped, topped_of(pid, record_visible(0x1111 * pid, 0)));
		topped_feed(&topped, told(pid, TOPPED_BEGIN_NS + pid, 100 * pid));
	}
	assert_int_equal(top_devices_list(&topped.pipeline.state, devices, 2, &left_out), 2);
	for (pid = 1; pid <= 2; pid++)
		topped_feed(&topped, topped_of(pid, record_device("cuDeviceGetUuid_v2", 0,
								  "0123456789abcdef")));
	assert_int_equal(top_devices_list(&topped.pipeline.state, devices, 2, &left_out), 1);
	assert_int_equal(devices[0].parts[TOP_FREE], 200);
	topped_close(&topped);
}

/* ---- plain text ------------------------------------------------------------------------------ */

static void write_plainly(struct topped *topped, struct string *out)
{
	const struct document_text_options options = { .width = 200 };
	const struct top_status status = { .realtime_ns = 1800000000 * TOPPED_SECOND,
					   .launches = true };
	struct document_text text;

	document_text_init(&text, out, SIZE_MAX, &options);
	top_text_append(&text.document, &topped->top, &status);
	document_text_fini(&text);
	string_append_char(out, '\0');
	assert_false(out->failed);
}

/* Why it is not known, and what is only inferred. */
static void test_words_of_contexts_that_were_not_seen(void **state)
{
	static const char unknown[] = "unknown: the contexts of these allocations were not seen";
	static const char inferred[] = "3 MiB of what is live is in contexts that were not seen";
	struct string out = { 0 };
	struct topped topped;

	(void)state;
	topped_open(&topped);
	feed_unseen(&topped, 1, 3 << 20);
	topped_look(&topped);
	write_plainly(&topped, &out);
	assert_non_null(strstr(out.bytes, unknown));
	assert_null(strstr(out.bytes, inferred));
	string_clear(&out);
	topped_feed(&topped, record_device_memory(UUID, 100 << 20));
	write_plainly(&topped, &out);
	assert_null(strstr(out.bytes, unknown));
	assert_non_null(strstr(out.bytes, inferred));
	string_fini(&out);
	topped_close(&topped);
}

static void test_plain_text(void **state)
{
	struct string out = { 0 };
	struct topped topped;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_of(7, record_process(MS_TYPE_ATTACH, "train", 0)));
	topped_feed(&topped, topped_alloc(7, 0x1000, 3 << 20));
	topped_feed(&topped, record_device_memory(UUID, 100 << 20));
	topped_feed(&topped, topped_of(7, record_held(UUID, 5 << 20)));
	topped_wait(&topped, 2);
	topped_look(&topped);
	write_plainly(&topped, &out);
	assert_non_null(strstr(out.bytes, "1 process, 3 MiB live on devices; the last 2 s\n"));
	assert_non_null(strstr(out.bytes,
			       "PID  USER   LIVE   PEAK  GROWTH  IN 60 S  ALLOCS/S  LAUNCHES/S"
			       "  MEMORY  UNEXPLAINED  COMMAND"));
	assert_non_null(strstr(out.bytes,
			       "  7        3 MiB  3 MiB  +3 MiB   +3 MiB         1           0"
			       "   5 MiB       +2 MiB  train"));
	string_fini(&out);
	topped_close(&topped);
}

/* Names are what processes choose: none of it reaches the terminal as it is. */
static void test_hostile_names(void **state)
{
	struct string out = { 0 };
	struct topped topped;
	size_t i;

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_of(7, record_process(MS_TYPE_ATTACH, "\033[2J\n\r\x9b\\", 0)));
	topped_feed(&topped, topped_of(7, record_identity("uid\0"
							  "0\0user\0a\033]0;b\a\0"
							  "pod\0p\n\xe2\x80\xae")));
	topped_feed(&topped, topped_alloc(7, 0x1000, 4096));
	topped_feed(&topped, record_device_memory("\033[31m\n", 100));
	topped_look(&topped);
	write_plainly(&topped, &out);
	assert_non_null(strstr(out.bytes, "\\x1b[2J\\x0a"));
	assert_non_null(strstr(out.bytes, "a\\x1b]0;b\\x07"));
	assert_non_null(strstr(out.bytes, "p\\x0a\\xe2\\x80\\xae"));
	for (i = 0; i + 1 < out.length; i++)
		assert_true(out.bytes[i] == '\n' || (out.bytes[i] >= ' ' && out.bytes[i] < 0x7f));
	string_fini(&out);
	topped_close(&topped);
}

static void assert_empty(const struct top *top, uint64_t hidden, const char *wanted)
{
	const struct top_status status = { .hidden = hidden };
	struct string out = { 0 };

	top_words_empty(&out, top, &status);
	string_append_char(&out, '\0');
	assert_string_equal(out.bytes, wanted);
	string_fini(&out);
}

/* One that an agent does not show may be what was asked for. */
static void test_why_nothing_is_shown(void **state)
{
	const struct process_selection bobs = { .user = "bob" };
	struct top top = { .selection = &bobs };

	(void)state;
	assert_empty(&top, 0, "No traced process has called CUDA.");
	assert_empty(&top, 1,
		     "No process of yours is traced; 1 process of another user is hidden. Root and"
		     " members of the group memscope see all.");
	top.left_out = 1;
	assert_empty(&top, 0, "No process that has called CUDA is user bob.");
	assert_empty(&top, 1,
		     "No process of yours that has called CUDA is user bob; 1 process of another"
		     " user is hidden. Root and members of the group memscope see all.");
	assert_empty(&top, 2,
		     "No process of yours that has called CUDA is user bob; 2 processes of other"
		     " users are hidden. Root and members of the group memscope see all.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth_is_from_look_to_look),
		cmocka_unit_test(test_only_memory_on_devices_counts),
		cmocka_unit_test(test_the_last_minute),
		cmocka_unit_test(test_who_has_ended_is_shown_once_more),
		cmocka_unit_test(test_memory_is_bounded_by_the_state),
		cmocka_unit_test(test_launchers_are_not_shown),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_inexact_rows_say_so),
		cmocka_unit_test(test_a_device_is_taken_apart),
		cmocka_unit_test(test_devices_without_nvml),
		cmocka_unit_test(test_contexts_that_were_not_seen),
		cmocka_unit_test(test_another_device_than_the_one_of_nvml),
		cmocka_unit_test(test_what_the_driver_tells_a_program),
		cmocka_unit_test(test_what_is_told_of_one_device_twice),
		cmocka_unit_test(test_words_of_contexts_that_were_not_seen),
		cmocka_unit_test(test_plain_text),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_why_nothing_is_shown),
	};

	return unit_run("top", tests);
}
