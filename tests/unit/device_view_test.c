// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "host/device_view.h"

static const uint64_t none[4];

#define VIEW(environment) device_view_of(environment, sizeof(environment) - 1, none)

static void assert_same(struct device_view a, struct device_view b)
{
	assert_true(a.key == b.key && a.renumbered == b.renumbered);
}

static void assert_other(struct device_view a, struct device_view b)
{
	assert_true(a.key != b.key);
}

static void test_what_is_not_about_devices_does_not_matter(void **state)
{
	const struct device_view view = VIEW("HOME=/root\0CUDA_VISIBLE_DEVICES=1\0A=b\0");

	(void)state;
	assert_true(view.renumbered);
	assert_same(view, VIEW("CUDA_VISIBLE_DEVICES=1"));
	assert_same(view, VIEW("XCUDA_VISIBLE_DEVICES=2\0CUDA_VISIBLE_DEVICES=1\0"));
	assert_same(VIEW(""), VIEW("CUDA_VISIBLE_DEVICES\0CUDA_VISIBLE=1\0"));
	assert_false(VIEW("").renumbered);
}

static void test_each_variable_makes_another_view(void **state)
{
	const struct device_view views[] = {
		VIEW(""),
		VIEW("CUDA_VISIBLE_DEVICES="), /* no device, which is not all of them */
		VIEW("CUDA_VISIBLE_DEVICES=0"),
		VIEW("CUDA_VISIBLE_DEVICES=0,1"),
		VIEW("CUDA_VISIBLE_DEVICES=1,0"),
		VIEW("CUDA_DEVICE_ORDER=0"),
		VIEW("NVIDIA_VISIBLE_DEVICES=0"),
		VIEW("CUDA_VISIBLE_DEVICES=0\0CUDA_DEVICE_ORDER=PCI_BUS_ID\0"),
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(views) / sizeof(*views); i++)
		for (j = 0; j < i; j++)
			assert_other(views[i], views[j]);
}

static void test_one_device_file_is_one_device(void **state)
{
	const uint64_t one[4] = { 0, 1 << 3 }, two[4] = { 1, 1 }, both[4] = { 3 };

	(void)state;
	assert_true(device_view_of("", 0, one).single);
	assert_false(device_view_of("", 0, two).single);
	assert_false(device_view_of("", 0, both).single);
	/* A program may set another value before it initialises CUDA. */
	assert_false(VIEW("CUDA_VISIBLE_DEVICES=1").single);
}

static void test_order_and_repetition(void **state)
{
	(void)state;
	assert_same(VIEW("CUDA_VISIBLE_DEVICES=0\0CUDA_DEVICE_ORDER=PCI_BUS_ID\0"),
		    VIEW("CUDA_DEVICE_ORDER=PCI_BUS_ID\0CUDA_VISIBLE_DEVICES=0\0"));
	assert_same(VIEW("CUDA_VISIBLE_DEVICES=0\0CUDA_VISIBLE_DEVICES=1\0"),
		    VIEW("CUDA_VISIBLE_DEVICES=0\0"));
}

static void test_devices_that_are_there(void **state)
{
	const uint64_t first[4] = { 1 }, second[4] = { 2 }, last[4] = { 0, 0, 0, 1ull << 63 };

	(void)state;
	assert_other(device_view_of("", 0, first), device_view_of("", 0, second));
	assert_other(device_view_of("", 0, first), device_view_of("", 0, last));
	assert_other(device_view_of("", 0, first), VIEW(""));
}

static void test_a_process(void **state)
{
	struct device_view own, again;

	(void)state;
	assert_int_equal(device_view_read(getpid(), &own), 0);
	assert_int_equal(device_view_read(getpid(), &again), 0);
	assert_same(own, again);
	assert_true(device_view_read(1 << 22, &own) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_not_about_devices_does_not_matter),
		cmocka_unit_test(test_each_variable_makes_another_view),
		cmocka_unit_test(test_one_device_file_is_one_device),
		cmocka_unit_test(test_order_and_repetition),
		cmocka_unit_test(test_devices_that_are_there),
		cmocka_unit_test(test_a_process),
	};

	return unit_run("device_view", tests);
}
