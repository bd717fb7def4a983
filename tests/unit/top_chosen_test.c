// SPDX-License-Identifier: BSD-2-Clause
/*
 * On which devices chosen processes are.
 */
#include "top/top_chosen.h"

#include "render/document_text.h"
#include "top/top_text.h"
#include "topped.h"

#define UUID_A "GPU-61616161-6161-6161-6161-616161616161"
#define UUID_B "GPU-62626262-6262-6262-6262-626262626262"
#define UUID_C "GPU-63636363-6363-6363-6363-636363636363"
#define MIB (1ull << 20)

static const struct process_selection chosen = { .comm = "chosen" };

static void process(struct topped *topped, uint32_t pid, const char *comm)
{
	topped_feed(topped, topped_of(pid, record_process(MS_TYPE_ATTACH, comm, 0)));
	topped_feed(topped,
		    topped_of(pid, record_device("cuDeviceGetUuid_v2", 0, "aaaaaaaaaaaaaaaa")));
	topped_feed(topped,
		    topped_of(pid, record_device("cuDeviceGetUuid_v2", 1, "bbbbbbbbbbbbbbbb")));
}

static void alloc(struct topped *topped, uint32_t pid, int32_t device, uint64_t addr,
		  uint64_t bytes)
{
	topped_feed(topped,
		    topped_of(pid, record_on(device, record_alloc("cuMemAlloc_v2", addr, bytes))));
}

/* Process 1 is chosen: it holds 3 MiB on A. Process 2 is not: it is on A and B. C is of others. */
static void begin(struct topped *topped)
{
	topped_open(topped);
	topped->top.selection = &chosen;
	topped_feed(topped, record_device_memory(UUID_A, 100 * MIB));
	topped_feed(topped, record_device_memory(UUID_B, 100 * MIB));
	topped_feed(topped, record_device_memory(UUID_C, 100 * MIB));
	process(topped, 1, "chosen");
	process(topped, 2, "other");
	alloc(topped, 1, 0, 0x1000, 3 * MIB);
	alloc(topped, 2, 0, 0x1000, 5 * MIB);
	alloc(topped, 2, 1, 0x900000, 7 * MIB);
}

static size_t list(struct topped *topped, struct top_device devices[4], size_t *others)
{
	size_t left_out;
	size_t count = top_devices_list(&topped->pipeline.state, devices, 4, &left_out);

	assert_int_equal(left_out, 0);
	return top_chosen_devices(&topped->top, devices, count, others);
}

static void test_those_with_something_of_them(void **state)
{
	struct top_device devices[4];
	struct topped topped;
	size_t others;

	(void)state;
	begin(&topped);
	assert_int_equal(list(&topped, devices, &others), 1);
	assert_int_equal(others, 2);
	assert_string_equal(devices[0].uuid, UUID_A);
	assert_int_equal(devices[0].live_bytes, 8 * MIB);
	assert_int_equal(devices[0].chosen_bytes, 3 * MIB);
	/* A row that comes and goes with each block would say less. */
	topped_free(&topped, 1, 0x1000);
	assert_int_equal(list(&topped, devices, &others), 1);
	assert_int_equal(devices[0].chosen_bytes, 0);
	topped_close(&topped);
}

/* A context takes memory, whose calls may not have been seen. */
static void test_one_that_nvml_lists_them_on(void **state)
{
	struct top_device devices[4];
	struct topped topped;
	size_t others;

	(void)state;
	begin(&topped);
	topped_feed(&topped, topped_of(1, record_held(UUID_C, 50 * MIB)));
	topped_feed(&topped, topped_of(2, record_held(UUID_B, 50 * MIB)));
	assert_int_equal(list(&topped, devices, &others), 2);
	assert_int_equal(others, 1);
	assert_string_equal(devices[1].uuid, UUID_C);
	assert_int_equal(devices[1].chosen_bytes, 0);
	topped_close(&topped);
}

/* Of contexts that were not seen, too, where there is one device. */
static void test_the_only_device(void **state)
{
	struct top_device devices[4];
	struct topped topped;
	size_t others;

	(void)state;
	topped_open(&topped);
	topped.top.selection = &chosen;
	topped_feed(&topped, record_device_memory(UUID_A, 100 * MIB));
	process(&topped, 2, "other");
	alloc(&topped, 2, 0, 0x1000, 5 * MIB);
	topped_feed(&topped, topped_of(1, record_process(MS_TYPE_ATTACH, "chosen", 0)));
	assert_int_equal(list(&topped, devices, &others), 0);
	alloc(&topped, 1, -1, 0x1000, 2 * MIB);
	assert_int_equal(list(&topped, devices, &others), 1);
	assert_int_equal(devices[0].live_bytes, 7 * MIB);
	assert_int_equal(devices[0].chosen_bytes, 2 * MIB);
	topped_close(&topped);
}

static void test_all_where_none_is_chosen_or_it_is_not_known(void **state)
{
	static const struct process_selection all = { 0 };
	static const struct map told;
	struct top_device devices[4];
	struct topped topped;
	size_t others;

	(void)state;
	begin(&topped);
	topped.top.selection = NULL;
	assert_int_equal(list(&topped, devices, &others), 3);
	assert_int_equal(others, 0);
	topped.top.selection = &all;
	assert_int_equal(list(&topped, devices, &others), 3);
	topped.top.selection = &chosen;
	topped.top.told_peaks = &told;
	assert_false(top_chosen_is_known(&topped.top));
	assert_int_equal(list(&topped, devices, &others), 3);
	topped_close(&topped);
}

static void test_words(void **state)
{
	const struct document_text_options options = { .width = 200 };
	const struct top_status status = { .launches = true };
	struct string out = { 0 };
	struct document_text text;
	struct topped topped;

	(void)state;
	begin(&topped);
	topped_wait(&topped, 1);
	topped_look(&topped);
	document_text_init(&text, &out, SIZE_MAX, &options);
	top_text_append(&text.document, &topped.top, &status);
	document_text_fini(&text);
	string_append_char(&out, '\0');
	assert_false(out.failed);
	assert_non_null(strstr(out.bytes, "IN USE   LIVE  OF THESE  MORE OF"));
	assert_non_null(strstr(out.bytes, "100 MiB  8 MiB     3 MiB "));
	assert_null(strstr(out.bytes, UUID_B));
	assert_non_null(strstr(
		out.bytes, "\n2 devices have nothing of these processes, as far as was seen.\n"));
	string_fini(&out);
	topped_close(&topped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_those_with_something_of_them),
		cmocka_unit_test(test_one_that_nvml_lists_them_on),
		cmocka_unit_test(test_the_only_device),
		cmocka_unit_test(test_all_where_none_is_chosen_or_it_is_not_known),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests_name("top_chosen", tests, NULL, NULL);
}
