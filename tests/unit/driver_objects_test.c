// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the driver holds for a process: the ioctls that a real program made on an H200, with what
 * NVML said of it after each step (tests/golden/ioctls.txt, made by tests/gpu/objects.py); and what
 * that program did not do.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ledger/driver_devices.h"
#include "ledger/limits.h"
#include "scenario.h"

#define ARGUMENT_BYTES 128
#define CLIENT 0xc1d00001u
#define DEVICE 0x5c000001u

static const struct driver_objects *driver_of(const struct scenario *s)
{
	return &first_process(s)->driver;
}

static void assert_held(const struct scenario *s, uint64_t count, uint64_t bytes)
{
	assert_int_equal(driver_of(s)->device.live_count, count);
	assert_int_equal(driver_of(s)->device.live_bytes, bytes);
}

/* ---- what a real driver did ------------------------------------------------------------------ */

static void read_hex(const char *text, unsigned char *bytes)
{
	size_t i;
	unsigned int byte;

	memset(bytes, 0, ARGUMENT_BYTES);
	for (i = 0; i < ARGUMENT_BYTES && sscanf(text + 2 * i, "%2x", &byte) == 1; i++)
		bytes[i] = (unsigned char)byte;
}

static uint32_t word_at(const unsigned char *bytes, size_t offset)
{
	uint32_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static uint64_t long_at(const unsigned char *bytes, size_t offset)
{
	uint64_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* As bpf/ioctl.bpf.h reads them, by the layouts of a driver 580. */
static union record ioctl_record(uint32_t request, const char *argument, const char *params)
{
	unsigned char bytes[ARGUMENT_BYTES], inner[ARGUMENT_BYTES];
	union record record = record_object(0, 0);

	read_hex(argument, bytes);
	read_hex(params, inner);
	record.object.client = word_at(bytes, 0);
	record.object.parent = word_at(bytes, 4);
	record.object.object = word_at(bytes, 8);
	record.object.class_number = word_at(bytes, 12);
	switch (request & 0xff) {
	case 0x2b:
		record.object.status = word_at(bytes, 0x28);
		record.object.size = long_at(inner, 0x40);
		break;
	case 0x27:
		record.object.status = word_at(bytes, 0x28);
		record.object.size = long_at(bytes, 0x20) + 1;
		break;
	case 0x29:
		record.object.action = MS_OBJECT_FREE;
		record.object.status = word_at(bytes, 12);
		record.object.class_number = 0;
		break;
	default:
		fail_msg("request 0x%x", request);
	}
	return record;
}

static void test_nvml_of_a_real_driver_agrees(void **state)
{
	FILE *file = fopen("tests/golden/ioctls.txt", "re");
	struct scenario s = { 0 };
	char line[1024], argument[512], params[512];
	unsigned int steps = 0, request;
	uint64_t bytes, highest = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		params[0] = '\0';
		if (sscanf(line, "ioctl %x %511s %511s", &request, argument, params) >= 2) {
			apply(&s, ioctl_record(request, argument, params));
			continue;
		}
		assert_int_equal(sscanf(line, "expect %" SCNu64, &bytes), 1);
		if (driver_of(&s)->device.live_bytes != bytes)
			fail_msg("%" PRIu64 " bytes, %s", driver_of(&s)->device.live_bytes, line);
		highest = bytes > highest ? bytes : highest;
		steps++;
	}
	fclose(file);
	assert_int_equal(steps, 76);
	assert_true(driver_of(&s)->device.peak_bytes >= highest);
	/* Two calls failed; for each, CUDA tried twice. */
	assert_int_equal(driver_of(&s)->failures, 4);
	state_fini(&s.state);
}

/* ---- objects --------------------------------------------------------------------------------- */

static union record freed(uint32_t object)
{
	union record record = record_object(object, 0);

	record.object.action = MS_OBJECT_FREE;
	record.object.class_number = 0;
	return record;
}

static union record in_call(const char *symbol, union record record)
{
	record.object.row = record_row(symbol);
	return record;
}

static union record of_class(uint32_t class_number, union record record)
{
	record.object.class_number = class_number;
	return record;
}

static void test_frees(void **state)
{
	union record device = of_class(MS_NV_DEVICE, record_object(DEVICE, 0));
	struct scenario s = { 0 };

	(void)state;
	device.object.parent = CLIENT;
	apply(&s, device);
	apply(&s, record_object(1, 100));
	apply(&s, record_object(2, 200));
	apply(&s, record_object(3, 400));
	assert_held(&s, 3, 700);
	apply(&s, freed(2));
	assert_held(&s, 2, 500);
	apply(&s, freed(2)); /* again, and what never was */
	apply(&s, freed(77));
	assert_held(&s, 2, 500);
	apply(&s, record_object(1, 1000)); /* given anew: its free was not seen */
	assert_held(&s, 2, 1400);
	apply(&s, freed(DEVICE));
	assert_held(&s, 0, 0);
	apply(&s, record_object(4, 7));
	apply(&s, freed(CLIENT));
	assert_held(&s, 0, 0);
	assert_int_equal(driver_of(&s)->device.peak_bytes, 1400);
	state_fini(&s.state);
}

static void test_another_client_keeps_its_objects(void **state)
{
	union record other = record_object(1, 50);
	struct scenario s = { 0 };

	(void)state;
	other.object.client = CLIENT + 1;
	apply(&s, other);
	apply(&s, record_object(1, 100));
	apply(&s, freed(CLIENT));
	assert_held(&s, 1, 50);
	state_fini(&s.state);
}

/* A device's part goes with its memory, whether or not the part itself was recorded. */
static void test_a_part_of_a_device(void **state)
{
	union record memory = record_object(1, 100);
	struct scenario s = { 0 };

	(void)state;
	memory.object.parent = DEVICE + 7;
	apply(&s, memory);
	apply(&s, record_object(2, 50));
	apply(&s, freed(DEVICE + 7));
	assert_held(&s, 1, 50);
	state_fini(&s.state);
}

/* ---- against a model ------------------------------------------------------------------------- */

#define CLIENTS 3u
#define HANDLES 12u

struct model {
	bool live[CLIENTS][HANDLES];
	uint32_t parent[CLIENTS][HANDLES];
};

static void model_free(struct model *model, uint32_t client, uint32_t object)
{
	uint32_t i;

	for (i = 0; i < HANDLES; i++)
		if (object == CLIENT + client || i == object || model->parent[client][i] == object)
			model->live[client][i] = false;
}

static uint64_t model_count(const struct model *model)
{
	uint64_t count = 0;
	uint32_t i;

	for (i = 0; i < CLIENTS * HANDLES; i++)
		count += model->live[i / HANDLES][i % HANDLES];
	return count;
}

static void test_random_objects(void **state)
{
	struct model model = { 0 };
	struct scenario s = { 0 };
	uint32_t step, random = 1;

	(void)state;
	for (step = 0; step < 20000; step++) {
		const uint32_t client = (random >> 8) % CLIENTS, object = (random >> 12) % HANDLES;
		/* Those that are parents are no memory of this model: numbers beyond. */
		const uint32_t parent = HANDLES + (random >> 20) % 3;
		union record record = record_object(object, 1);

		if (random >> 30) {
			record.object.parent = parent;
			model.live[client][object] = true;
			model.parent[client][object] = parent;
		} else {
			record = freed(random >> 29 & 1 ? object : parent);
			if (!(step % 50))
				record.object.object = CLIENT + client;
			model_free(&model, client, record.object.object);
		}
		record.object.client = CLIENT + client;
		apply(&s, record);
		assert_held(&s, model_count(&model), model_count(&model));
		random = random * 1664525 + 1013904223;
	}
	state_fini(&s.state);
}

/* As many frees of clients and devices as there are objects: linear, or this takes minutes. */
static void test_frees_that_find_nothing_cost_nothing(void **state)
{
	const uint32_t count = 200000;
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 1; i <= count; i++)
		apply(&s, record_object(i, 1));
	for (i = 1; i <= count; i++) {
		union record record = freed(CLIENT + i);

		record.object.client = CLIENT + i;
		apply(&s, record);
		apply(&s, freed(DEVICE + i));
	}
	assert_held(&s, count, count);
	apply(&s, freed(DEVICE));
	assert_held(&s, 0, 0);
	state_fini(&s.state);
}

static void test_failures_and_names_hold_nothing(void **state)
{
	union record failed = record_object(1, 100), other = record_object(2, 100);
	struct scenario s = { 0 };

	(void)state;
	failed.object.status = 0x51;
	apply(&s, failed);
	failed.object.status = 0x1f;
	apply(&s, failed);
	other.object.action = MS_OBJECT_DUP;
	apply(&s, other);
	assert_held(&s, 0, 0);
	assert_int_equal(driver_of(&s)->failures, 1);
	state_fini(&s.state);
}

static void test_the_host_is_apart(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, of_class(MS_NV_MEMORY_SYSTEM, record_object(1, 100)));
	apply(&s, of_class(MS_NV_MEMORY_OS, record_object(2, 20)));
	assert_held(&s, 0, 0);
	assert_int_equal(driver_of(&s)->host.live_bytes, 120);
	apply(&s, freed(1));
	assert_int_equal(driver_of(&s)->host.live_bytes, 20);
	state_fini(&s.state);
}

/* ---- what it is for -------------------------------------------------------------------------- */

static void test_causes(void **state)
{
	static const struct {
		const char *call; /* NULL: none */
		enum driver_cause cause;
	} cases[] = {
		{ "cuMemAlloc_v2", DRIVER_CAUSE_ALLOCATIONS },
		{ "cuMemAllocManaged", DRIVER_CAUSE_ALLOCATIONS },
		{ "cuArrayCreate_v2", DRIVER_CAUSE_ALLOCATIONS },
		{ "cuMemCreate", DRIVER_CAUSE_PHYSICAL },
		{ "cuMemAllocFromPoolAsync", DRIVER_CAUSE_POOLS },
		{ "cuGraphLaunch", DRIVER_CAUSE_POOLS },
		{ "cuDevicePrimaryCtxRetain", DRIVER_CAUSE_CONTEXTS },
		{ "cuCtxCreate_v2", DRIVER_CAUSE_CONTEXTS },
		{ "cuModuleLoadData", DRIVER_CAUSE_CODE },
		{ "cuLibraryLoadData", DRIVER_CAUSE_CODE },
		{ "cuLaunchKernel", DRIVER_CAUSE_LAUNCHES },
		{ "cuStreamCreate", DRIVER_CAUSE_OTHER_CALLS },
		{ "cuMemcpyHtoD_v2", DRIVER_CAUSE_OTHER_CALLS },
		{ NULL, DRIVER_CAUSE_NO_CALL },
	};
	uint64_t expected[DRIVER_CAUSES_COUNT] = { 0 };
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		union record record = record_object(i + 1, 1ull << i);

		apply(&s, cases[i].call ? in_call(cases[i].call, record) : record);
		expected[cases[i].cause] += 1ull << i;
	}
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		assert_int_equal(driver_of(&s)->causes[i].live_bytes, expected[i]);
	apply(&s, in_call("cuMemFree_v2", freed(1)));
	assert_int_equal(driver_of(&s)->causes[DRIVER_CAUSE_ALLOCATIONS].live_bytes,
			 expected[DRIVER_CAUSE_ALLOCATIONS] - 1);
	state_fini(&s.state);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void test_the_end_of_a_process(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_object(1, 100));
	apply(&s, record_process(MS_TYPE_EXIT, "worker", 0));
	assert_held(&s, 0, 0);
	assert_int_equal(driver_of(&s)->device.exit_bytes, 100);
	state_fini(&s.state);
}

static void test_another_program(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_object(1, 100));
	apply(&s, record_process(MS_TYPE_EXEC, "next", 0));
	assert_held(&s, 0, 0);
	apply(&s, freed(1));
	apply(&s, record_object(1, 30));
	assert_held(&s, 1, 30);
	state_fini(&s.state);
}

/* ---- devices --------------------------------------------------------------------------------- */

#define OTHER_DEVICE 0x5c000002u

static union record below(uint32_t parent, union record record)
{
	record.object.parent = parent;
	return record;
}

/* An object that a call makes, which has the device and is over after that. */
static void made_in(struct scenario *s, const char *symbol, int32_t device, uint32_t parent,
		    uint32_t object, uint64_t bytes)
{
	apply(s, record_at(1000, in_call(symbol, below(parent, record_object(object, bytes)))));
	apply(s, record_at(900, record_taking(200, record_on(device,
							     record_alloc(symbol, 0x1000 * object,
									  bytes)))));
}

static uint64_t on_device(const struct scenario *s, int32_t device)
{
	uint64_t causes[DRIVER_CAUSES_COUNT], sum = 0;
	const uint64_t bytes = driver_devices_bytes(first_process(s), device, causes);
	size_t i;

	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		sum += causes[i];
	assert_int_equal(sum, bytes);
	return bytes;
}

static void test_a_call_says_which_device_it_is(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, below(DEVICE, record_object(1, 100)));
	apply(&s, below(OTHER_DEVICE, record_object(2, 20)));
	assert_int_equal(on_device(&s, -1), 120);
	made_in(&s, "cuMemAlloc_v2", 3, DEVICE, 3, 1000);
	assert_int_equal(on_device(&s, 3), 1100);
	assert_int_equal(on_device(&s, -1), 20);
	made_in(&s, "cuMemAlloc_v2", 0, OTHER_DEVICE, 4, 5);
	assert_int_equal(on_device(&s, 0), 25);
	assert_int_equal(driver_devices_next(first_process(&s), DRIVER_DEVICES_BEGIN), 0);
	assert_int_equal(driver_devices_next(first_process(&s), 0), 3);
	assert_int_equal(driver_devices_next(first_process(&s), 3), DRIVER_DEVICES_END);
	apply(&s, freed(1));
	assert_int_equal(on_device(&s, 3), 1000);
	apply(&s, record_process(MS_TYPE_EXIT, "worker", 0));
	assert_int_equal(on_device(&s, 3), 1000);
	assert_int_equal(on_device(&s, 0), 25);
	state_fini(&s.state);
}

/* Of a call that does not know its device, or is another one, nothing is learnt. */
static void test_what_does_not_say_it(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(1000, in_call("cuMemAlloc_v2", record_object(1, 100))));
	apply(&s, record_at(900,
			    record_taking(200,
					  record_by(77, record_on(1, record_alloc("cuMemAlloc_v2",
										  0x1000, 100))))));
	apply(&s, record_at(1100, record_taking(200, record_on(1, record_alloc("cuMemAlloc_v2",
									       0x2000, 100)))));
	apply(&s, record_at(500, record_taking(200, record_on(1, record_alloc("cuMemAlloc_v2",
									      0x3000, 100)))));
	apply(&s, record_at(900, record_taking(200, record_on(1, record_alloc("cuMemAllocManaged",
									      0x4000, 100)))));
	apply(&s, record_at(900, record_taking(200, record_alloc("cuMemAlloc_v2", 0x5000, 100))));
	assert_int_equal(on_device(&s, -1), 100);
	/* It has asked once, and the answer was that the device is not known. */
	apply(&s, record_at(900, record_taking(200, record_on(1, record_alloc("cuMemAlloc_v2",
									      0x6000, 100)))));
	assert_int_equal(on_device(&s, -1), 100);
	state_fini(&s.state);
}

static void test_two_calls_that_say_two_devices(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	made_in(&s, "cuMemAlloc_v2", 1, DEVICE, 1, 100);
	made_in(&s, "cuMemAlloc_v2", 2, DEVICE, 2, 100);
	assert_int_equal(on_device(&s, -1), 200);
	made_in(&s, "cuMemAlloc_v2", 2, DEVICE, 3, 100);
	assert_int_equal(on_device(&s, -1), 300);
	state_fini(&s.state);
}

static void test_an_allocation_knows_better_than_a_context(void **state)
{
	struct scenario s = { 0 };
	const char *retain = "cuDevicePrimaryCtxRetain";

	(void)state;
	apply(&s, record_at(1000, in_call(retain, record_object(1, 100))));
	apply(&s, record_at(900, record_taking(200, record_context(retain, 0xc0, 5))));
	assert_int_equal(on_device(&s, 5), 100);
	made_in(&s, "cuMemAlloc_v2", 2, DEVICE, 2, 10);
	assert_int_equal(on_device(&s, 2), 110);
	apply(&s, record_at(1000, in_call(retain, record_object(3, 100))));
	apply(&s, record_at(900, record_taking(200, record_context(retain, 0xc0, 5))));
	assert_int_equal(on_device(&s, 2), 210);
	state_fini(&s.state);
}

/* A handle of the driver's may mean another device once it has been freed. */
static void test_handles_are_given_again(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	made_in(&s, "cuMemAlloc_v2", 1, DEVICE, 1, 100);
	apply(&s, freed(DEVICE));
	assert_int_equal(on_device(&s, 1), 0);
	apply(&s, record_object(1, 40));
	assert_int_equal(on_device(&s, -1), 40);
	/* Another program knows nothing of it. */
	made_in(&s, "cuMemAlloc_v2", 1, DEVICE, 2, 2);
	apply(&s, record_process(MS_TYPE_EXEC, "next", 0));
	assert_int_equal(driver_devices_next(first_process(&s), DRIVER_DEVICES_BEGIN),
			 DRIVER_DEVICES_END);
	apply(&s, record_object(1, 30));
	assert_int_equal(on_device(&s, -1), 30);
	assert_int_equal(on_device(&s, 1), 0);
	/* More parents than are kept apart. */
	for (i = 2; i < 2000; i++)
		made_in(&s, "cuMemAlloc_v2", 1, DEVICE + i, i, 1);
	assert_int_equal(on_device(&s, -1) + on_device(&s, 1), 30 + 1998);
	assert_in_range(on_device(&s, 1), 200, 300);
	for (i = 1; i < 2000; i++)
		apply(&s, freed(i));
	assert_held(&s, 0, 0);
	assert_int_equal(on_device(&s, -1) + on_device(&s, 1), 0);
	state_fini(&s.state);
}

/* However often there are more than are kept apart, and fewer again. */
static void test_very_many_parents_again_and_again(void **state)
{
	struct scenario s = { 0 };
	const struct driver_objects *driver;
	uint32_t round, i, parent = DEVICE;

	(void)state;
	for (round = 0; round < 5; round++) {
		for (i = 1; i <= LIMIT_DRIVER_GROUPS + 4; i++)
			apply(&s, below(parent++, record_object(i, 1)));
		driver = driver_of(&s);
		assert_int_equal(driver->groups_count, LIMIT_DRIVER_GROUPS);
		assert_int_equal(driver->group_places.count, LIMIT_DRIVER_GROUPS);
		assert_int_equal(on_device(&s, -1), LIMIT_DRIVER_GROUPS + 4);
		/* Those that were too many go first, then there are too many again. */
		for (i = LIMIT_DRIVER_GROUPS; i <= LIMIT_DRIVER_GROUPS + 4; i++)
			apply(&s, freed(i));
		apply(&s, below(parent++, record_object(i, 1)));
		apply(&s, below(parent++, record_object(i + 1, 1)));
		assert_int_equal(driver->groups_count, LIMIT_DRIVER_GROUPS);
		assert_int_equal(driver->group_places.count, LIMIT_DRIVER_GROUPS);
		for (i = 1; i < LIMIT_DRIVER_GROUPS + 8; i++)
			apply(&s, freed(i));
		assert_held(&s, 0, 0);
	}
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nvml_of_a_real_driver_agrees),
		cmocka_unit_test(test_frees),
		cmocka_unit_test(test_another_client_keeps_its_objects),
		cmocka_unit_test(test_a_part_of_a_device),
		cmocka_unit_test(test_random_objects),
		cmocka_unit_test(test_frees_that_find_nothing_cost_nothing),
		cmocka_unit_test(test_failures_and_names_hold_nothing),
		cmocka_unit_test(test_the_host_is_apart),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_the_end_of_a_process),
		cmocka_unit_test(test_another_program),
		cmocka_unit_test(test_a_call_says_which_device_it_is),
		cmocka_unit_test(test_what_does_not_say_it),
		cmocka_unit_test(test_two_calls_that_say_two_devices),
		cmocka_unit_test(test_an_allocation_knows_better_than_a_context),
		cmocka_unit_test(test_handles_are_given_again),
		cmocka_unit_test(test_very_many_parents_again_and_again),
	};

	return cmocka_run_group_tests_name("driver objects", tests, NULL, NULL);
}
