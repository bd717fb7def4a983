// SPDX-License-Identifier: BSD-2-Clause
/*
 * What `top` makes of an agent's answers.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "top/top.h"
#include "top/top_devices.h"
#include "top/top_remote.h"
#include "unit.h"

#define UUID "GPU-30313233-3435-3637-3839-616263646566"

static const char answer[] =
	"{\"schema\":\"memscope-bpf/agent-who/1\",\"version\":\"0.1.0\",\"host\":\"h\","
	"\"ts_ns\":1000,\"wall_ns\":2000,\"exact\":true,\"seen\":10,\"lost\":3,"
	"\"devices\":[{\"device\":0,\"uuid\":\"" UUID "\",\"pci_bus_id\":null,\"name\":\"H200\","
	"\"total_bytes\":1000,\"explained_bytes\":%u,\"peak_bytes\":100}],"
	"\"nvml_devices\":[{\"uuid\":\"" UUID "\",\"samples\":1,\"ts_ns\":900,"
	"\"total_bytes\":1000,\"used_bytes\":300,\"free_bytes\":700,\"reserved_bytes\":null,"
	"\"processes\":2,\"processes_bytes\":250,\"traced_processes\":1,\"traced_bytes\":150}],"
	"\"processes\":[{\"pid\":7,\"start_ns\":5,\"comm\":\"python3\",\"name\":\"python3 a.py\","
	"\"identity\":{\"uid\":1000,\"user\":\"bob\",\"pod\":null,"
	"\"environment\":{\"SLURM_JOB_ID\":\"77\",\"HOSTNAME\":null}},\"exact\":true,"
	"\"was_running\":false,\"device_bytes\":%u,\"spaces\":[{\"space\":\"device\","
	"\"live_bytes\":%u,\"live_allocations\":2,\"peak_bytes\":200,\"allocs\":%u,"
	"\"alloc_bytes\":300,\"frees\":1,\"free_bytes\":100},{\"space\":\"newer\"}],"
	"\"devices\":[],\"launches\":%u,\"graph_launches\":0},"
	"{\"pid\":8,\"start_ns\":6,\"comm\":\"old\",\"name\":\"old\",\"identity\":{},"
	"\"exact\":false,\"was_running\":true,\"device_bytes\":0,\"spaces\":[],\"devices\":[],"
	"\"launches\":0,\"graph_launches\":0}]}";

static int take(struct top_remote *remote, struct top_status *status, unsigned int live,
		unsigned int calls)
{
	char text[sizeof(answer) + 100];
	int length = snprintf(text, sizeof(text), answer, live, live, live, calls, calls);

	return top_remote_take(remote, text, (size_t)length, status);
}

static const struct top_row *row_of(const struct top *top, uint32_t pid)
{
	size_t i;

	for (i = 0; i < top->rows_count; i++)
		if (top->rows[i].pid == pid)
			return &top->rows[i];
	return NULL;
}

static void test_looks(void **state)
{
	struct top_remote remote = { 0 };
	struct top_status status = { 0 };
	struct top top;

	(void)state;
	top_init(&top, 1000);
	top.sink.state = &remote.state;
	assert_int_equal(take(&remote, &status, 100, 5), 0);
	assert_int_equal(status.losses.calls, 3);
	assert_int_equal(top_look(&top, 2000), 0);
	assert_int_equal(take(&remote, &status, 140, 8), 0);
	assert_int_equal(top_look(&top, 3000), 0);
	assert_int_equal(top.rows_count, 2);
	assert_int_equal(row_of(&top, 7)->live_bytes, 140);
	assert_int_equal(row_of(&top, 7)->growth_bytes, 40);
	assert_int_equal(row_of(&top, 7)->allocs, 3);
	assert_int_equal(row_of(&top, 7)->launches, 3);
	assert_false(row_of(&top, 7)->inexact);
	assert_true(row_of(&top, 8)->held_before);
	assert_string_equal(top_process(&top, row_of(&top, 7))->name, "python3 a.py");
	assert_string_equal(top_process(&top, row_of(&top, 7))->identity.known.items[IDENTITY_USER],
			    "bob");
	assert_string_equal(top_process(&top, row_of(&top, 7))->identity.known.items[IDENTITY_UID],
			    "1000");
	assert_string_equal(top_process(&top, row_of(&top, 7))->identity.known.items[IDENTITY_JOB],
			    "77");
	top_fini(&top);
	top_remote_fini(&remote);
}

static void test_devices(void **state)
{
	struct top_remote remote = { 0 };
	struct top_status status = { 0 };
	struct top_device device;
	size_t left_out;

	(void)state;
	assert_int_equal(take(&remote, &status, 100, 5), 0);
	assert_int_equal(top_devices_list(&remote.state, &device, 1, &left_out), 1);
	assert_int_equal(left_out, 0);
	assert_string_equal(device.uuid, UUID);
	assert_string_equal(device.name, "H200");
	assert_int_equal(device.parts[TOP_ALLOCATED], 100);
	assert_int_equal(device.parts[TOP_OF_TRACED], 50);
	assert_int_equal(device.parts[TOP_OF_OTHERS], 100);
	assert_int_equal(device.parts[TOP_OF_NONE], 50);
	assert_int_equal(device.parts[TOP_FREE], 700);
	assert_int_equal(device.used_bytes, 300);
	/* What was allocated since NVML was asked is not free. */
	assert_int_equal(take(&remote, &status, 450, 5), 0);
	assert_int_equal(top_devices_list(&remote.state, &device, 1, &left_out), 1);
	assert_int_equal(device.used_bytes, 450);
	assert_int_equal(device.parts[TOP_ALLOCATED], 450);
	assert_int_equal(device.parts[TOP_FREE], 550);
	assert_int_equal(device.parts[TOP_OF_NONE], 0);
	top_remote_fini(&remote);
}

/* As `top` shows it that traces itself: what a program was told stands for NVML's numbers. */
static void test_what_the_driver_told(void **state)
{
	static const char told[] =
		"{\"schema\":\"memscope-bpf/agent-who/1\",\"ts_ns\":1000,\"devices\":["
		"{\"device\":0,\"explained_bytes\":10,\"told_ts_ns\":700,"
		"\"told_total_bytes\":1000,\"told_used_bytes\":400},"
		"{\"device\":1,\"explained_bytes\":10,\"told_ts_ns\":600,"
		"\"told_total_bytes\":1000,\"told_used_bytes\":1001},"
		"{\"device\":2,\"explained_bytes\":10,\"told_ts_ns\":null,"
		"\"told_total_bytes\":null,\"told_used_bytes\":null}]}";
	struct top_remote remote = { 0 };
	struct top_status status = { 0 };
	struct top_device devices[3];
	char text[sizeof(told)];
	size_t left_out;

	(void)state;
	memcpy(text, told, sizeof(told));
	assert_int_equal(top_remote_take(&remote, text, sizeof(told) - 1, &status), 0);
	assert_int_equal(top_devices_list(&remote.state, devices, 3, &left_out), 3);
	assert_true(devices[0].total_known && !devices[0].nvml_known);
	assert_int_equal(devices[0].total_bytes, 1000);
	assert_int_equal(devices[0].used_bytes, 400);
	assert_int_equal(devices[0].parts[TOP_FREE], 600);
	assert_false(top_device_is_divided(&devices[1]) || top_device_is_divided(&devices[2]));
	assert_false(devices[1].total_known || devices[2].total_known);
	assert_int_equal(top_devices_told_ns(&remote.state), 700);
	top_remote_fini(&remote);
}

static void assert_refused(const char *text)
{
	struct top_remote remote = { 0 };
	struct top_status status = { 0 };
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", text);
	assert_int_equal(top_remote_take(&remote, copy, strlen(copy), &status), -EINVAL);
	assert_int_equal(remote.state.processes_count, 0);
	top_remote_fini(&remote);
}

#define HEAD "{\"schema\":\"memscope-bpf/agent-who/1\",\"ts_ns\":1,"

static void test_other_answers(void **state)
{
	(void)state;
	assert_refused("");
	assert_refused("[]");
	assert_refused("{\"schema\":\"memscope-bpf/agent-who/2\",\"ts_ns\":1}");
	assert_refused("{\"schema\":\"memscope-bpf/agent-who/1\"}");
	assert_refused(HEAD "\"processes\":[{\"pid\":4294967296,\"start_ns\":1}]}");
	assert_refused(HEAD "\"processes\":[{\"pid\":1}]}");
	assert_refused(HEAD
		       "\"processes\":[{\"pid\":1,\"start_ns\":1},{\"pid\":1,\"start_ns\":1}]}");
	assert_refused(HEAD "\"nvml_devices\":[{}]}");
}

/* Whatever its bytes are. */
static void test_damaged(void **state)
{
	struct top_remote remote = { 0 };
	struct top_status status = { 0 };
	uint64_t random = 1;
	struct top top;
	size_t i;

	(void)state;
	top_init(&top, 1000);
	top.sink.state = &remote.state;
	for (i = 0; i < 5000; i++) {
		char text[sizeof(answer) + 100];
		size_t length = (size_t)snprintf(text, sizeof(text), answer, 1, 2, 3, 4, 5);

		random = unit_random(random);
		text[random % length] = "0\"{}[]:,9n"[(random >> 20) % 10];
		text[(random >> 30) % length] = (char)(random >> 8);
		top_remote_take(&remote, text, length, &status);
		assert_int_equal(top_look(&top, 2000 + i), 0);
	}
	top_fini(&top);
	top_remote_fini(&remote);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_what_the_driver_told),
		cmocka_unit_test(test_other_answers),
		cmocka_unit_test(test_damaged),
	};

	return unit_run("top_remote", tests);
}
