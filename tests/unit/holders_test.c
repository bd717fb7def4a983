// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "host/holders.h"

/* Frees what it is asked to, as holders_read() would have made it. */
static struct holders made;

static int begin(void **state)
{
	(void)state;
	made.nvml = calloc(1, sizeof(*made.nvml));
	made.gpus = calloc(4, sizeof(*made.gpus));
	made.nvml->state = NVML_READY;
	made.all_pids = true;
	return 0;
}

static int end(void **state)
{
	(void)state;
	holders_fini(&made);
	return 0;
}

static struct nvml_device *nvml_device(uint32_t minor, uint64_t used)
{
	struct nvml_device *device = &made.nvml->devices[made.nvml->devices_count++];

	*device = (struct nvml_device){ .parent = -1,
					.index = made.nvml->devices_count - 1,
					.has_minor = true,
					.minor = minor,
					.gpu_instance = NVML_NO_INSTANCE,
					.compute_instance = NVML_NO_INSTANCE,
					.has_memory = true,
					.total_bytes = 1000,
					.used_bytes = used,
					.whole = true };
	return device;
}

static void nvml_process(uint32_t pid, uint32_t device, uint64_t used)
{
	made.nvml->processes[made.nvml->processes_count++] = (struct nvml_process){
		.pid = pid, .device = device, .has_used = true, .used_bytes = used
	};
}

/* A process with descriptors of the devices of those minors (a bit each, below 64). */
static void process(uint32_t pid, uint64_t minors)
{
	made.holders = realloc(made.holders, (made.holders_count + 1) * sizeof(*made.holders));
	made.holders_capacity = made.holders_count + 1;
	made.holders[made.holders_count++] =
		(struct holder){ .pid = pid, .present = true, .files = { .minors = { minors } } };
}

static const struct holding *find(uint32_t device, uint32_t pid)
{
	const struct holders_device *on = &made.devices[device];
	uint32_t i;

	for (i = on->first; i < on->first + on->count; i++)
		if (made.holders[made.holdings[i].holder].pid == pid)
			return &made.holdings[i];
	return NULL;
}

static void test_lists_and_descriptors_are_joined(void **state)
{
	(void)state;
	nvml_device(0, 700);
	nvml_device(5, 100);
	process(10, 1);          /* on the first device */
	process(11, 1 | 1 << 5); /* memory on the second, both open */
	process(12, 1 << 5);     /* only open */
	process(13, 0);          /* listed, without descriptors */
	nvml_process(10, 0, 400);
	nvml_process(11, 1, 60);
	nvml_process(13, 0, 200);
	assert_int_equal(holders_join(&made), 0);
	assert_int_equal(made.devices_count, 2);
	assert_true(find(0, 10)->listed && find(0, 10)->open);
	assert_true(!find(0, 11)->listed && find(0, 11)->elsewhere);
	assert_true(find(1, 11)->listed && !find(1, 11)->elsewhere);
	assert_true(!find(1, 12)->listed && !find(1, 12)->elsewhere && find(1, 12)->open);
	assert_true(find(0, 13)->listed && !find(0, 13)->open);
	assert_null(find(0, 12));
	assert_int_equal(made.devices[0].listed, 2);
	assert_true(made.devices[0].has_rest);
	assert_int_equal(made.devices[0].in_processes_bytes, 600);
	assert_int_equal(made.devices[0].rest_bytes, 100);
	assert_int_equal(made.devices[1].rest_bytes, 40);
	/* Who holds most comes first. */
	assert_int_equal(made.holders[made.holdings[made.devices[0].first].holder].pid, 10);
}

static void test_what_is_not_known_makes_no_sum(void **state)
{
	(void)state;
	nvml_device(0, 700);
	nvml_device(1, 700)->processes_result = 4;
	nvml_device(2, 700)->has_memory = false;
	nvml_device(3, 100);
	process(10, 0);
	nvml_process(10, 0, 0);
	made.nvml->processes[0].has_used = false;
	nvml_process(10, 2, 300);
	nvml_process(10, 3, 300); /* read later than what is used */
	assert_int_equal(holders_join(&made), 0);
	assert_false(made.devices[0].has_in_processes || made.devices[0].has_rest);
	assert_false(made.devices[1].has_in_processes || made.devices[1].has_rest);
	assert_true(made.devices[2].has_in_processes && !made.devices[2].has_rest);
	assert_true(made.devices[3].has_rest);
	assert_int_equal(made.devices[3].rest_bytes, 0);
}

static void test_devices_of_all_sources(void **state)
{
	struct nvml_device *nvml = nvml_device(0, 0);

	(void)state;
	nvml->has_minor = false;
	strcpy(nvml->pci, "0000:af:00.0");
	made.gpus_count = 2;
	made.gpus[0] = (struct nvidia_gpu){
		.pci = "0000:AF:00.0", .uuid = "GPU-a", .has_minor = true, .minor = 3
	};
	made.gpus[1] = (struct nvidia_gpu){ .pci = "0000:b0:00.0", .has_minor = true, .minor = 4 };
	process(10, 1 << 3 | 1 << 4 | 1 << 5);
	assert_int_equal(holders_join(&made), 0);
	assert_int_equal(made.devices_count, 3);
	assert_int_equal(made.devices[0].minor, 3);
	assert_string_equal(made.devices[0].uuid, "GPU-a");
	assert_string_equal(made.devices[1].pci, "0000:b0:00.0");
	assert_int_equal(made.devices[2].minor, 5);
	assert_int_equal(made.devices[2].nvml, -1);
	assert_true(find(0, 10) && find(1, 10) && find(2, 10));
}

static void test_instances(void **state)
{
	struct nvml_device *instance;

	(void)state;
	nvml_device(0, 900);
	instance = nvml_device(0, 500);
	instance->parent = 0;
	process(10, 1);
	process(11, 1);
	nvml_process(10, 1, 450);
	assert_int_equal(holders_join(&made), 0);
	/* A descriptor is of the device, but who is listed with the instance stands there. */
	assert_true(find(1, 10)->listed && find(1, 10)->open);
	assert_null(find(0, 10));
	assert_true(find(0, 11)->open);
	assert_int_equal(made.devices[0].rest_bytes, 450);
	assert_int_equal(made.devices[1].rest_bytes, 50);
}

static void test_without_anything(void **state)
{
	(void)state;
	assert_int_equal(holders_join(&made), 0);
	assert_int_equal(made.devices_count, 0);
	assert_int_equal(made.holdings_count, 0);
}

static void test_this_machine(void **state)
{
	struct holders holders = { 0 };

	(void)state;
	assert_int_equal(holders_read(&holders, NULL, 0), 0);
	assert_int_equal(holders.nvml->state, NVML_UNASKED);
	assert_true(holders.looked > 0);
	assert_int_equal(holders_read(&holders, NULL, 0), 0);
	holders_fini(&holders);
	holders_fini(&holders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lists_and_descriptors_are_joined, begin, end),
		cmocka_unit_test_setup_teardown(test_what_is_not_known_makes_no_sum, begin, end),
		cmocka_unit_test_setup_teardown(test_devices_of_all_sources, begin, end),
		cmocka_unit_test_setup_teardown(test_instances, begin, end),
		cmocka_unit_test_setup_teardown(test_without_anything, begin, end),
		cmocka_unit_test(test_this_machine),
	};

	return unit_run("holders", tests);
}
