// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which devices of several processes are the same, and what lies on each.
 */
#include "scenario.h"

#include "ledger/devices_of_now.h"

#define FIRST 100u
#define SECOND 200u
#define THIRD 300u

#define UUID_A "the first device"
#define UUID_B "another device.."

static union record of(uint32_t pid, union record record)
{
	record.event.pid = record.event.tid = pid;
	return record;
}

static struct scenario begun(void)
{
	struct scenario scenario = { 0 };

	assert_int_equal(state_follow_usage(&scenario.state), 0);
	return scenario;
}

static void allocate(struct scenario *scenario, uint32_t pid, int32_t device, uint64_t size)
{
	const uint64_t addr = (scenario->now_ns + 1) << 12;

	apply(scenario, of(pid, record_on(device, record_alloc("cuMemAlloc_v2", addr, size))));
}

static const struct usage_device *device_of(const struct scenario *scenario, uint32_t pid,
					    int32_t ordinal)
{
	const struct state *state = &scenario->state;
	const struct process *process = state_find(state, pid, RECORD_START_NS);
	size_t place;

	assert_non_null(process);
	place = usage_device_place(state->usage, &process->devices, ordinal);
	assert_true(place < state->usage->count);
	return &state->usage->devices[place];
}

static void assert_label(const struct scenario *scenario, uint32_t pid, int32_t ordinal,
			 const char *expected)
{
	const struct usage_totals *totals = scenario->state.usage;
	struct string label = { 0 };

	usage_device_append_label(&label, totals,
				  (size_t)(device_of(scenario, pid, ordinal) - totals->devices));
	string_append_char(&label, '\0');
	assert_string_equal(label.bytes, expected);
	string_fini(&label);
}

static void test_who_sees_the_same_means_the_same(void **state)
{
	struct scenario scenario = begun();

	(void)state;
	apply(&scenario, of(FIRST, record_visible(1, 0)));
	apply(&scenario, of(SECOND, record_visible(1, 0)));
	apply(&scenario, of(THIRD, record_visible(2, MS_VISIBLE_RENUMBERED)));
	allocate(&scenario, FIRST, 0, 1000);
	allocate(&scenario, SECOND, 0, 200);
	allocate(&scenario, SECOND, 1, 30);
	allocate(&scenario, THIRD, 0, 4);
	assert_int_equal(device_of(&scenario, FIRST, 0)->live_bytes, 1200);
	assert_ptr_equal(device_of(&scenario, FIRST, 0), device_of(&scenario, SECOND, 0));
	assert_int_equal(device_of(&scenario, SECOND, 1)->live_bytes, 30);
	assert_int_equal(device_of(&scenario, THIRD, 0)->live_bytes, 4);
	assert_label(&scenario, SECOND, 1, "1");
	assert_label(&scenario, FIRST, 0, "0 (of PID 100)");
	assert_label(&scenario, THIRD, 0, "0 (of PID 300)");
	state_fini(&scenario.state);
}

/* Attached to late: what its context is on has not been seen. */
static void test_a_process_with_one_device_uses_that(void **state)
{
	struct scenario scenario = begun();

	(void)state;
	apply(&scenario, of(FIRST, record_visible(1, MS_VISIBLE_SINGLE)));
	apply(&scenario, of(SECOND, record_visible(2, MS_VISIBLE_RENUMBERED)));
	apply(&scenario, of(FIRST, record_alloc("cuMemAlloc_v2", 0x1000, 1000)));
	apply(&scenario, of(SECOND, record_alloc("cuMemAlloc_v2", 0x1000, 200)));
	assert_int_equal(device_of(&scenario, FIRST, 0)->live_bytes, 1000);
	assert_int_equal(device_of(&scenario, SECOND, -1)->live_bytes, 200);
	state_fini(&scenario.state);
}

static void test_recordings_that_do_not_say_share_one_view(void **state)
{
	struct scenario scenario = begun();

	(void)state;
	allocate(&scenario, FIRST, 0, 1000);
	allocate(&scenario, SECOND, 0, 200);
	assert_int_equal(device_of(&scenario, SECOND, 0)->live_bytes, 1200);
	assert_label(&scenario, SECOND, 0, "0");
	state_fini(&scenario.state);
}

static void test_a_uuid_joins_what_numbers_keep_apart(void **state)
{
	struct scenario scenario = begun();

	(void)state;
	apply(&scenario, of(FIRST, record_visible(1, 0)));
	apply(&scenario, of(SECOND, record_visible(2, MS_VISIBLE_RENUMBERED)));
	apply(&scenario, of(FIRST, record_device("cuDeviceGetUuid_v2", 1, UUID_A)));
	allocate(&scenario, FIRST, 1, 1000);
	allocate(&scenario, SECOND, 0, 200);
	assert_int_equal(device_of(&scenario, SECOND, 0)->live_bytes, 200);
	apply(&scenario, of(SECOND, record_device("cuDeviceGetUuid", 0, UUID_A)));
	assert_ptr_equal(device_of(&scenario, FIRST, 1), device_of(&scenario, SECOND, 0));
	assert_int_equal(device_of(&scenario, SECOND, 0)->live_bytes, 1200);
	assert_int_equal(device_of(&scenario, SECOND, 0)->peak_bytes, 1200);
	assert_true(device_of(&scenario, SECOND, 0)->peak_unclear);
	assert_label(&scenario, SECOND, 0, "1");
	state_fini(&scenario.state);
}

/* A program can set CUDA_VISIBLE_DEVICES itself, which is not seen. */
static void test_a_uuid_parts_what_numbers_take_as_one(void **state)
{
	struct scenario scenario = begun();

	(void)state;
	apply(&scenario, of(FIRST, record_visible(1, 0)));
	apply(&scenario, of(SECOND, record_visible(1, 0)));
	allocate(&scenario, FIRST, 0, 1000);
	allocate(&scenario, SECOND, 0, 200);
	apply(&scenario, of(FIRST, record_device("cuDeviceGetUuid_v2", 0, UUID_A)));
	assert_int_equal(device_of(&scenario, SECOND, 0)->live_bytes, 1200);
	apply(&scenario, of(SECOND, record_device("cuDeviceGetUuid_v2", 0, UUID_B)));
	assert_int_equal(device_of(&scenario, FIRST, 0)->live_bytes, 1000);
	assert_int_equal(device_of(&scenario, SECOND, 0)->live_bytes, 200);
	assert_int_equal(device_of(&scenario, SECOND, 0)->peak_bytes, 200);
	assert_label(&scenario, SECOND, 0, "0 (GPU-616e6f74-6865-7220-6465-766963652e2e)");
	apply(&scenario, of(SECOND, record_exit(0)));
	assert_int_equal(device_of(&scenario, SECOND, 0)->live_bytes, 0);
	assert_int_equal(device_of(&scenario, FIRST, 0)->live_bytes, 1000);
	state_fini(&scenario.state);
}

static void test_a_pci_bus_id_does_as_well_but_for_parts_of_a_gpu(void **state)
{
	struct scenario scenario = begun();

	(void)state;
	apply(&scenario, of(FIRST, record_visible(1, 0)));
	apply(&scenario, of(SECOND, record_visible(2, 0)));
	apply(&scenario, of(FIRST, record_device("cuDeviceGetPCIBusId", 0, "0000:81:00.0\0\0\0")));
	apply(&scenario,
	      of(SECOND, record_device("cuDeviceGetByPCIBusId", 3, "81:0\0 junk behind")));
	allocate(&scenario, FIRST, 0, 1000);
	allocate(&scenario, SECOND, 3, 200);
	assert_int_equal(device_of(&scenario, FIRST, 0)->live_bytes, 1200);
	apply(&scenario, of(THIRD, record_visible(3, 0)));
	apply(&scenario, of(THIRD, record_device("cuDeviceGetPCIBusId", 0, "not an id at all")));
	allocate(&scenario, THIRD, 0, 4);
	assert_int_equal(device_of(&scenario, THIRD, 0)->live_bytes, 4);
	apply(&scenario, of(FIRST, record_device("cuDeviceGetUuid_v2", 0, UUID_A)));
	apply(&scenario, of(THIRD, record_device("cuDeviceGetPCIBusId", 1, "0000:81:00.0\0\0\0")));
	apply(&scenario, of(THIRD, record_device("cuDeviceGetUuid_v2", 2, UUID_B)));
	apply(&scenario, of(THIRD, record_device("cuDeviceGetPCIBusId", 2, "0000:81:00.0\0\0\0")));
	assert_ptr_equal(device_of(&scenario, THIRD, 1), device_of(&scenario, FIRST, 0));
	assert_ptr_not_equal(device_of(&scenario, THIRD, 2), device_of(&scenario, FIRST, 0));
	state_fini(&scenario.state);
}

static void test_another_program_has_other_devices(void **state)
{
	struct scenario scenario = begun();

	(void)state;
	apply(&scenario, of(FIRST, record_visible(1, 0)));
	apply(&scenario, of(FIRST, record_device("cuDeviceGetUuid_v2", 0, UUID_A)));
	allocate(&scenario, FIRST, 0, 1000);
	apply(&scenario, of(FIRST, record_process(MS_TYPE_EXEC, "next", 0)));
	apply(&scenario, of(FIRST, record_visible(2, MS_VISIBLE_RENUMBERED)));
	allocate(&scenario, FIRST, 0, 200);
	assert_int_equal(device_of(&scenario, FIRST, 0)->live_bytes, 200);
	assert_int_equal(device_of(&scenario, FIRST, 0)->peak_bytes, 200);
	state_fini(&scenario.state);
}

static void test_there_are_not_too_many(void **state)
{
	struct scenario scenario = begun();
	const struct process *process;
	uint32_t pid;
	int32_t i;

	(void)state;
	for (pid = FIRST; pid < FIRST + 8; pid++) {
		apply(&scenario, of(pid, record_visible(pid, 0)));
		for (i = 0; i < 300; i++)
			allocate(&scenario, pid, i, 1);
	}
	assert_true(scenario.state.usage->count <= 1024);
	process = state_find(&scenario.state, FIRST, RECORD_START_NS);
	assert_true(process->devices.count <= LIMIT_DEVICES);
	assert_true(device_of(&scenario, FIRST, -1)->live_bytes >= 44);
	for (i = 0; i < 300; i++)
		apply(&scenario, of(FIRST, record_device("cuDeviceGetUuid_v2", 1000 + i, UUID_A)));
	assert_int_equal(process->counters[COUNTER_OTHER_DEVICES], 300);
	state_fini(&scenario.state);
}

static union record unknown_view(uint32_t pid)
{
	return record_visible(event_process_key(pid, RECORD_START_NS), 0);
}

/* The program may have ended before it was looked at, and the kernel says later what it saw. */
static void test_what_a_program_sees_is_learnt_later(void **state)
{
	struct scenario scenario = begun();

	(void)state;
	apply(&scenario, of(FIRST, unknown_view(FIRST)));
	apply(&scenario, of(SECOND, unknown_view(SECOND)));
	allocate(&scenario, FIRST, 0, 1000);
	apply(&scenario, of(FIRST, record_visible(1, 0)));
	apply(&scenario, of(SECOND, record_visible(1, 0)));
	apply(&scenario, of(THIRD, record_visible(1, 0)));
	allocate(&scenario, SECOND, 0, 200);
	allocate(&scenario, THIRD, 0, 30);
	assert_ptr_equal(device_of(&scenario, SECOND, 0), device_of(&scenario, THIRD, 0));
	assert_int_equal(device_of(&scenario, THIRD, 0)->live_bytes, 230);
	/* What lies somewhere already stays there. */
	assert_int_equal(device_of(&scenario, FIRST, 0)->live_bytes, 1000);
	state_fini(&scenario.state);
}

static bool is_listed(const struct scenario *scenario, const struct usage_device *device)
{
	const struct usage_totals *totals = scenario->state.usage;

	return usage_device_is_listed(totals, (size_t)(device - totals->devices));
}

static void test_what_only_the_past_knew_is_no_device_of_now(void **state)
{
	struct scenario scenario = begun();
	const struct usage_device *first, *second, *third;

	(void)state;
	apply(&scenario, of(FIRST, unknown_view(FIRST)));
	apply(&scenario, of(SECOND, unknown_view(SECOND)));
	apply(&scenario, of(THIRD, unknown_view(THIRD)));
	apply(&scenario, of(THIRD, record_device("cuDeviceGetUuid_v2", 0, UUID_A)));
	allocate(&scenario, FIRST, 0, 1000);
	allocate(&scenario, SECOND, 0, 200);
	allocate(&scenario, THIRD, 0, 30);
	first = device_of(&scenario, FIRST, 0);
	second = device_of(&scenario, SECOND, 0);
	third = device_of(&scenario, THIRD, 0);
	apply(&scenario, of(FIRST, record_exit(0)));
	apply(&scenario, of(THIRD, record_exit(0)));
	assert_label(&scenario, SECOND, 0, "0 (of PID 200)");
	assert_true(is_listed(&scenario, first));
	devices_of_now_settle(&scenario.state);
	assert_false(is_listed(&scenario, first));
	assert_true(is_listed(&scenario, second));
	/* It has a name. */
	assert_true(is_listed(&scenario, third));
	apply(&scenario, of(SECOND, record_exit(0)));
	devices_of_now_settle(&scenario.state);
	assert_false(is_listed(&scenario, second));
	state_fini(&scenario.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_sees_the_same_means_the_same),
		cmocka_unit_test(test_a_process_with_one_device_uses_that),
		cmocka_unit_test(test_recordings_that_do_not_say_share_one_view),
		cmocka_unit_test(test_a_uuid_joins_what_numbers_keep_apart),
		cmocka_unit_test(test_a_uuid_parts_what_numbers_take_as_one),
		cmocka_unit_test(test_a_pci_bus_id_does_as_well_but_for_parts_of_a_gpu),
		cmocka_unit_test(test_another_program_has_other_devices),
		cmocka_unit_test(test_there_are_not_too_many),
		cmocka_unit_test(test_what_a_program_sees_is_learnt_later),
		cmocka_unit_test(test_what_only_the_past_knew_is_no_device_of_now),
	};

	return unit_run("devices", tests);
}
