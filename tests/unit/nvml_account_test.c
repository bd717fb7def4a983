// SPDX-License-Identifier: BSD-2-Clause
/*
 * What NVML says of processes and devices, taken apart into what was seen of them.
 */
#include <stdio.h>

#include "scenario.h"

#define MIB (1ull << 20)

static struct nvml_parts parts_of(const struct scenario *s)
{
	const struct process *process = first_process(s);
	struct nvml_parts parts;
	int64_t sum;
	size_t i;

	assert_true(nvml_account_parts(process, &parts));
	sum = (int64_t)(parts.allocated_bytes + parts.before_bytes) + parts.slack_bytes +
	      parts.unexplained_bytes;
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		sum += (int64_t)parts.causes[i];
	assert_int_equal(sum, parts.used_bytes);
	return parts;
}

static void held(struct scenario *s, uint64_t ts_ns, uint64_t bytes)
{
	apply(s, record_at(ts_ns, record_held("GPU-a", bytes)));
}

static union record piece(const char *symbol, uint32_t object, uint64_t bytes)
{
	union record record = record_object(object, bytes);

	record.object.row = record_row(symbol);
	return record;
}

static void test_everything_is_named(void **state)
{
	struct scenario s = { 0 };
	struct nvml_parts parts;

	(void)state;
	apply(&s, piece("cuDevicePrimaryCtxRetain", 1, 500 * MIB));
	apply(&s, record_alloc("cuMemAlloc_v2", 0x1000, 3 * MIB));
	apply(&s, piece("cuMemAlloc_v2", 2, 4 * MIB));
	apply(&s, piece("cuLaunchKernel", 3, 8 * MIB));
	held(&s, 1000, 512 * MIB);
	parts = parts_of(&s);
	assert_int_equal(parts.used_bytes, 512 * MIB);
	assert_int_equal(parts.allocated_bytes, 3 * MIB);
	assert_int_equal(parts.slack_bytes, MIB);
	assert_int_equal(parts.causes[DRIVER_CAUSE_CONTEXTS], 500 * MIB);
	assert_int_equal(parts.causes[DRIVER_CAUSE_LAUNCHES], 8 * MIB);
	assert_int_equal(parts.causes[DRIVER_CAUSE_ALLOCATIONS], 0);
	assert_int_equal(parts.before_bytes, 0);
	assert_int_equal(parts.unexplained_bytes, 0);
	/* What no ioctl has shown. */
	held(&s, 2000, 576 * MIB);
	assert_int_equal(parts_of(&s).unexplained_bytes, 64 * MIB);
	held(&s, 3000, 500 * MIB);
	assert_int_equal(parts_of(&s).unexplained_bytes, -12ll * (int64_t)MIB);
	assert_int_equal(first_process(&s)->nvml.peak_bytes, 576 * MIB);
	assert_int_equal(first_process(&s)->nvml.peak_ts_ns, 2000);
	state_fini(&s.state);
}

/* The account is that of the sample, not of what came after it. */
static void test_a_sample_is_of_its_moment(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", 0x1000, 10 * MIB));
	held(&s, 1000, 30 * MIB);
	apply(&s, record_alloc("cuMemAlloc_v2", 0x2000, 20 * MIB));
	assert_int_equal(parts_of(&s).allocated_bytes, 10 * MIB);
	assert_int_equal(parts_of(&s).unexplained_bytes, 20 * MIB);
	apply(&s, record_process(MS_TYPE_EXIT, "worker", 0));
	held(&s, 2000, 0);
	assert_int_equal(parts_of(&s).used_bytes, 30 * MIB);
	state_fini(&s.state);
}

static void test_several_devices_are_one_sample(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	held(&s, 1000, 30 * MIB);
	apply(&s, record_at(1000, record_held("GPU-b", 12 * MIB)));
	assert_int_equal(parts_of(&s).used_bytes, 42 * MIB);
	assert_int_equal(first_process(&s)->nvml.count, 1);
	held(&s, 2000, 5 * MIB);
	assert_int_equal(parts_of(&s).used_bytes, 5 * MIB);
	assert_int_equal(first_process(&s)->nvml.count, 2);
	assert_int_equal(first_process(&s)->nvml.peak_bytes, 42 * MIB);
	state_fini(&s.state);
}

#define UUID_A "GPU-61616161-6161-6161-6161-616161616161"
#define UUID_B "GPU-62626262-6262-6262-6262-626262626262"

static struct nvml_on_device on(const struct scenario *s, size_t which)
{
	struct nvml_on_device device;

	assert_true(which < nvml_account_devices(first_process(s)));
	nvml_account_device(first_process(s), which, &device);
	return device;
}

static void held_on(struct scenario *s, uint64_t ts_ns, const char *uuid, uint64_t bytes)
{
	apply(s, record_at(ts_ns, record_held(uuid, bytes)));
}

static void made_in(struct scenario *s, int32_t device, uint32_t object, uint64_t bytes)
{
	union record chunk = piece("cuMemAlloc_v2", object, bytes);

	chunk.object.parent = 0x5c000001u + (uint32_t)device;
	apply(s, record_at(100, chunk));
	apply(s, record_at(90, record_taking(20, record_on(device, record_alloc("cuMemAlloc_v2",
										0x100000 * object,
										bytes - MIB)))));
}

static void test_devices_are_told_apart(void **state)
{
	struct scenario s = { 0 };
	struct nvml_on_device one, two;

	(void)state;
	assert_int_equal(state_follow_usage(&s.state), 0);
	apply(&s, record_device("cuDeviceGetUuid_v2", 0, "bbbbbbbbbbbbbbbb"));
	apply(&s, record_device("cuDeviceGetUuid_v2", 1, "aaaaaaaaaaaaaaaa"));
	made_in(&s, 0, 1, 10 * MIB);
	made_in(&s, 1, 2, 200 * MIB);
	held_on(&s, 1000, UUID_A, 205 * MIB);
	held_on(&s, 1000, UUID_B, 17 * MIB);
	one = on(&s, 0);
	two = on(&s, 1);
	assert_string_equal(one.uuid, UUID_A);
	assert_int_equal(one.device, 1);
	assert_int_equal(two.device, 0);
	assert_true(one.known && two.known);
	assert_int_equal(one.parts.allocated_bytes, 199 * MIB);
	assert_int_equal(one.parts.slack_bytes, MIB);
	assert_int_equal(one.parts.unexplained_bytes, 5 * MIB);
	assert_int_equal(two.parts.allocated_bytes, 9 * MIB);
	assert_int_equal(two.parts.unexplained_bytes, 7 * MIB);
	assert_int_equal(parts_of(&s).unexplained_bytes, 12 * MIB);
	/* It holds nothing of one of them any more. */
	held_on(&s, 2000, UUID_A, 220 * MIB);
	assert_int_equal(nvml_account_devices(first_process(&s)), 1);
	assert_int_equal(on(&s, 0).used_bytes, 220 * MIB);
	state_fini(&s.state);
}

/* Without the UUID of one of two, it is the other one. Without those of both, neither is known. */
static void test_devices_that_are_not_known(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	assert_int_equal(state_follow_usage(&s.state), 0);
	made_in(&s, 0, 1, 10 * MIB);
	made_in(&s, 1, 2, 20 * MIB);
	held_on(&s, 1000, UUID_A, 21 * MIB);
	assert_true(on(&s, 0).known); /* all of it is there */
	held_on(&s, 2000, UUID_A, 21 * MIB);
	held_on(&s, 2000, UUID_B, 12 * MIB);
	assert_false(on(&s, 0).known);
	assert_false(on(&s, 1).known);
	assert_int_equal(on(&s, 1).device, -1);
	apply(&s, record_device("cuDeviceGetUuid_v2", 1, "aaaaaaaaaaaaaaaa"));
	held_on(&s, 3000, UUID_A, 21 * MIB);
	held_on(&s, 3000, UUID_B, 12 * MIB);
	assert_int_equal(on(&s, 0).device, 1);
	assert_int_equal(on(&s, 0).parts.unexplained_bytes, MIB);
	assert_true(on(&s, 1).known);
	assert_int_equal(on(&s, 1).parts.unexplained_bytes, 2 * MIB);
	/* Memory of which it is not known where it is may be on either. */
	apply(&s, record_alloc("cuMemAlloc_v2", 0x99000000, MIB));
	held_on(&s, 4000, UUID_A, 21 * MIB);
	held_on(&s, 4000, UUID_B, 13 * MIB);
	assert_false(on(&s, 0).known || on(&s, 1).known);
	state_fini(&s.state);
}

static void test_before_it_was_attached_to_on_each_device(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	assert_int_equal(state_follow_usage(&s.state), 0);
	apply(&s, record_attach_running());
	apply(&s, record_device("cuDeviceGetUuid_v2", 0, "aaaaaaaaaaaaaaaa"));
	apply(&s, record_device("cuDeviceGetUuid_v2", 1, "bbbbbbbbbbbbbbbb"));
	held_on(&s, 1000, UUID_A, 100 * MIB);
	held_on(&s, 1000, UUID_B, 50 * MIB);
	held_on(&s, 2000, UUID_A, 90 * MIB);
	held_on(&s, 2000, UUID_B, 60 * MIB);
	assert_int_equal(on(&s, 0).parts.before_bytes, 90 * MIB);
	assert_int_equal(on(&s, 0).parts.unexplained_bytes, 0);
	assert_int_equal(on(&s, 1).parts.before_bytes, 50 * MIB);
	assert_int_equal(on(&s, 1).parts.unexplained_bytes, 10 * MIB);
	state_fini(&s.state);
}

static void test_before_it_was_attached_to(void **state)
{
	struct scenario s = { 0 };
	uint64_t block;

	(void)state;
	apply(&s, record_attach_running());
	held(&s, 1000, 1536 * MIB);
	assert_int_equal(parts_of(&s).before_bytes, 1536 * MIB);
	apply(&s, record_alloc("cuMemAlloc_v2", 0x1000, 100 * MIB));
	held(&s, 2000, 1636 * MIB);
	assert_int_equal(parts_of(&s).before_bytes, 1536 * MIB);
	assert_int_equal(parts_of(&s).unexplained_bytes, 0);
	/* Eight blocks that were there are freed, one by one. */
	for (block = 1; block <= 8; block++) {
		apply(&s, record_free("cuMemFree_v2", 0x70000000 + block * 0x1000));
		held(&s, 2000 + block, (1636 - 128 * block) * MIB);
		assert_int_equal(parts_of(&s).before_bytes, (1536 - 128 * block) * MIB);
		assert_int_equal(parts_of(&s).unexplained_bytes, 0);
	}
	/* What comes on top of it now was not there before. */
	held(&s, 3000, 836 * MIB);
	assert_int_equal(parts_of(&s).before_bytes, 512 * MIB);
	assert_int_equal(parts_of(&s).unexplained_bytes, 224 * MIB);
	/* Never below zero. */
	held(&s, 4000, 0);
	assert_int_equal(parts_of(&s).before_bytes, 0);
	assert_int_equal(parts_of(&s).unexplained_bytes, -100ll * (int64_t)MIB);
	state_fini(&s.state);
}

static void test_another_program_begins_anew(void **state)
{
	struct nvml_parts parts;
	struct scenario s = { 0 };

	(void)state;
	held(&s, 1000, 30 * MIB);
	apply(&s, record_process(MS_TYPE_EXEC, "next", 0));
	assert_false(nvml_account_parts(first_process(&s), &parts));
	state_fini(&s.state);
}

static void test_devices(void **state)
{
	const struct nvml_devices *devices;
	struct scenario s = { 0 };

	(void)state;
	devices = &s.state.nvml_devices;
	apply(&s, record_at(1000, record_device_memory("GPU-a", 2000)));
	apply(&s, record_at(1000, record_device_memory("GPU-b", 100)));
	held(&s, 1000, 700);
	apply(&s, record_of(8, MS_START_NS, record_at(1000, record_held("GPU-a", 50))));
	held(&s, 999, 1); /* of another moment */
	assert_int_equal(devices->count, 2);
	assert_int_equal(devices->devices[0].traced_bytes, 750);
	assert_int_equal(devices->devices[0].traced_count, 2);
	assert_int_equal(devices->devices[1].traced_bytes, 0);
	apply(&s, record_at(2000, record_device_memory("GPU-a", 1500)));
	assert_int_equal(devices->devices[0].traced_bytes, 0);
	assert_int_equal(devices->devices[0].last.used_bytes, 1500);
	assert_int_equal(devices->devices[0].peak_bytes, 2000);
	state_restart(&s.state, 2500);
	assert_int_equal(devices->devices[0].peak_bytes, 1500);
	state_fini(&s.state);
}

/* When it last said what is in use stays, also when it says that no more. */
static void test_the_age_of_what_is_in_use(void **state)
{
	const struct nvml_devices *devices;
	struct scenario s = { 0 };
	union record record = record_device_memory("GPU-a", 2000);

	(void)state;
	devices = &s.state.nvml_devices;
	record.device.known = MS_DEVICE_PROCESSES;
	apply(&s, record_at(500, record));
	assert_int_equal(devices->devices[0].memory_ts_ns, 0);
	record.device.known |= MS_DEVICE_MEMORY;
	apply(&s, record_at(1000, record));
	record.device.known = MS_DEVICE_PROCESSES;
	apply(&s, record_at(2000, record));
	assert_int_equal(devices->devices[0].last.event.ts_ns, 2000);
	assert_int_equal(devices->devices[0].memory_ts_ns, 1000);
	state_fini(&s.state);
}

static void test_devices_are_bounded(void **state)
{
	struct scenario s = { 0 };
	char uuid[16];
	int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		snprintf(uuid, sizeof(uuid), "GPU-%d", i);
		apply(&s, record_device_memory(uuid, 1));
	}
	assert_true(s.state.nvml_devices.count < 1000);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_is_named),
		cmocka_unit_test(test_a_sample_is_of_its_moment),
		cmocka_unit_test(test_several_devices_are_one_sample),
		cmocka_unit_test(test_before_it_was_attached_to),
		cmocka_unit_test(test_devices_are_told_apart),
		cmocka_unit_test(test_devices_that_are_not_known),
		cmocka_unit_test(test_before_it_was_attached_to_on_each_device),
		cmocka_unit_test(test_another_program_begins_anew),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_the_age_of_what_is_in_use),
		cmocka_unit_test(test_devices_are_bounded),
	};

	return cmocka_run_group_tests_name("what NVML says", tests, NULL, NULL);
}
