// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/nvml_survey.h"

static struct nvml_snapshot snapshot;

static int reset(void **state)
{
	(void)state;
	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.state = NVML_READY;
	snapshot.devices_count = 2;
	snapshot.devices[0] = (struct nvml_device){ .parent = -1,
						    .has_memory = true,
						    .has_reserved = true,
						    .total_bytes = 1000,
						    .used_bytes = 600,
						    .free_bytes = 300,
						    .reserved_bytes = 100 };
	snapshot.devices[1] = snapshot.devices[0];
	return 0;
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* What a list says is found by what was written, whatever the version promised. */
static size_t stride_of(size_t entry_bytes, uint32_t count)
{
	unsigned char bytes[512];

	memset(bytes, NVML_SURVEY_FILL, sizeof(bytes));
	memset(bytes, 0, entry_bytes * count);
	return nvml_survey_stride(bytes, sizeof(bytes), count);
}

static void test_strides(void **state)
{
	(void)state;
	for (uint32_t count = 1; count < 10; count++) {
		assert_int_equal(stride_of(16, count), 16);
		assert_int_equal(stride_of(24, count), 24);
		assert_int_equal(stride_of(32, count), 32);
		assert_int_equal(stride_of(40, count), 0);
	}
	assert_int_equal(stride_of(24, 0), 0);
	/* Three entries of 16 bytes are two of 24: the number tells. */
	assert_int_equal(stride_of(16, 3), 16);
	assert_int_equal(stride_of(24, 2), 24);
}

static void test_layouts(void **state)
{
	(void)state;
	assert_int_equal(NVML_MEMORY_V2, 0x02000028);
	assert_int_equal(sizeof(struct nvml_memory), 24);
	assert_int_equal(sizeof(struct nvml_pci), 68);
	assert_int_equal(offsetof(struct nvml_pci, domain), 16);
	assert_int_equal(sizeof(struct nvml_entry_v1), 16);
	assert_int_equal(sizeof(struct nvml_entry_v2), 24);
	assert_int_equal(sizeof(struct nvml_entry_v3), 32);
	assert_int_equal(sizeof(struct nvml_memory_limits), 32);
	assert_int_equal(offsetof(struct nvml_memory_limits, used_bytes), 24);
}

/* ---- what is believed ------------------------------------------------------------------------ */

static void test_what_can_be_stays(void **state)
{
	struct nvml_snapshot before;

	(void)state;
	snapshot.devices[1].parent = 0;
	snapshot.devices[0].has_utilisation = true;
	snapshot.devices[0].gpu_percent = 100;
	snapshot.processes_count = 1;
	snapshot.processes[0] =
		(struct nvml_process){ .device = 1, .has_used = true, .used_bytes = 1000 };
	before = snapshot;
	nvml_snapshot_check(&snapshot);
	assert_memory_equal(&before, &snapshot, sizeof(before));
}

static void test_memory_that_cannot_be(void **state)
{
	(void)state;
	snapshot.devices[0].used_bytes = 1001;
	snapshot.devices[1].reserved_bytes = UINT64_MAX;
	nvml_snapshot_check(&snapshot);
	assert_false(snapshot.devices[0].has_memory || snapshot.devices[0].has_reserved);
	assert_int_equal(snapshot.devices[0].absurd, 1);
	assert_true(snapshot.devices[1].has_memory && !snapshot.devices[1].has_reserved);
	reset(NULL);
	snapshot.devices[0].total_bytes = 0;
	snapshot.devices[1].free_bytes = UINT64_MAX;
	nvml_snapshot_check(&snapshot);
	assert_false(snapshot.devices[0].has_memory || snapshot.devices[1].has_memory);
}

static void test_processes_that_cannot_be(void **state)
{
	(void)state;
	snapshot.devices[1].has_memory = false;
	snapshot.processes_count = 4;
	snapshot.processes[0] =
		(struct nvml_process){ .pid = 1, .has_used = true, .used_bytes = 1001 };
	snapshot.processes[1] = (struct nvml_process){ .pid = 2, .device = 2 };
	snapshot.processes[2] = (struct nvml_process){
		.pid = 3, .device = 1, .has_used = true, .used_bytes = 1ull << 50
	};
	snapshot.processes[3] = (struct nvml_process){
		.pid = 4, .device = 1, .has_used = true, .used_bytes = (1ull << 50) + 1
	};
	nvml_snapshot_check(&snapshot);
	assert_int_equal(snapshot.processes_count, 3);
	assert_false(snapshot.processes[0].has_used);
	assert_int_equal(snapshot.processes[1].pid, 3);
	assert_true(snapshot.processes[1].has_used);
	assert_false(snapshot.processes[2].has_used);
}

static void test_limits_that_cannot_be(void **state)
{
	const struct nvml_limit good = { .known = true,
					 .path = "/a",
					 .hard_bytes = UINT64_MAX,
					 .soft_bytes = 1000,
					 .used_bytes = 1000 };
	uint32_t i;

	(void)state;
	snapshot.limits_count = 5;
	for (i = 0; i < snapshot.limits_count; i++)
		snapshot.limits[i] = good;
	snapshot.limits[1].device = snapshot.devices_count;
	snapshot.limits[2].path[0] = '\0';
	snapshot.limits[3].used_bytes = (1ull << 50) + 1;
	snapshot.limits[4].soft_bytes = (1ull << 50) + 1;
	nvml_snapshot_check(&snapshot);
	assert_true(snapshot.limits[0].known);
	for (i = 1; i < snapshot.limits_count; i++)
		assert_false(snapshot.limits[i].known);
}

/* A child that does harm can write anything. */
static void test_any_bytes(void **state)
{
	unsigned char *bytes = (unsigned char *)&snapshot;
	uint64_t random = 1;
	size_t round, i;

	(void)state;
	for (round = 0; round < 20; round++) {
		for (i = 0; i < sizeof(snapshot); i++)
			bytes[i] = (unsigned char)(random = unit_random(random));
		nvml_snapshot_check(&snapshot);
		assert_true(snapshot.state <= NVML_READY);
		assert_true(strlen(snapshot.problem) < sizeof(snapshot.problem));
		assert_true(snapshot.devices_count <= NVML_DEVICES_MAX);
		for (i = 0; i < snapshot.devices_count; i++) {
			assert_true(strlen(snapshot.devices[i].uuid) < NVML_NAME_BYTES);
			assert_true(snapshot.devices[i].parent < (int32_t)i);
		}
		assert_true(snapshot.processes_count <= NVML_PROCESSES_MAX);
		for (i = 0; i < snapshot.processes_count; i++)
			assert_true(snapshot.processes[i].device < snapshot.devices_count);
		assert_true(snapshot.limits_count <= NVML_LIMITS_MAX);
		for (i = 0; i < snapshot.limits_count; i++) {
			assert_true(strlen(snapshot.limits[i].path) < NVML_PATH_BYTES);
			assert_true(!snapshot.limits[i].known ||
				    snapshot.limits[i].device < snapshot.devices_count);
		}
	}
}

/* ---- the child ------------------------------------------------------------------------------- */

static void test_no_library(void **state)
{
	struct nvml *nvml;

	(void)state;
	assert_int_equal(nvml_open(&nvml), 0);
	assert_int_equal(nvml_ask(nvml), 0);
	assert_int_equal(nvml_take(nvml, 60000, &snapshot), 0);
	/* Where there is a driver, so there is a library. */
	assert_true(snapshot.state == NVML_ABSENT || snapshot.driver[0]);
	/* What was not asked for does not come. */
	assert_int_equal(nvml_take(nvml, 60000, &snapshot), -EPIPE);
	nvml_close(nvml);
	nvml_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strides),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test_setup(test_what_can_be_stays, reset),
		cmocka_unit_test_setup(test_memory_that_cannot_be, reset),
		cmocka_unit_test_setup(test_limits_that_cannot_be, reset),
		cmocka_unit_test_setup(test_processes_that_cannot_be, reset),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test_setup(test_no_library, reset),
	};

	return unit_run("nvml", tests);
}
