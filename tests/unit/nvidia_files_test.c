// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/nvidia_files.h"

static void test_majors(void **state)
{
	struct nvidia_majors majors = nvidia_majors_of(
		"Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n238 nvidia-uvm\n"
		"239 nvidia-nvswitch\n241 nvidia-caps\n242 nvidia-caps-imex-channels\n\n"
		"Block devices:\n  7 nvidia-uvm\n");

	(void)state;
	assert_int_equal(majors.uvm, 238);
	assert_int_equal(majors.caps, 241);
	majors = nvidia_majors_of("Character devices:\n  1 mem");
	assert_int_equal(majors.uvm, 0);
	assert_int_equal(nvidia_majors_of("").uvm, 0);
	assert_int_equal(nvidia_majors_of("\n\n99999999999999 nvidia-uvm\nnvidia-uvm").caps, 0);
}

static void assert_file(unsigned int major, unsigned int minor, enum nvidia_file expected)
{
	const struct nvidia_majors majors = { .uvm = 238, .caps = 241 };
	uint32_t number;

	assert_int_equal(nvidia_file_of(&majors, makedev(major, minor), &number), expected);
	if (expected == NVIDIA_DEVICE)
		assert_int_equal(number, minor);
}

static void test_device_numbers(void **state)
{
	const struct nvidia_majors none = { 0 };
	uint32_t number;

	(void)state;
	assert_file(195, 0, NVIDIA_DEVICE);
	assert_file(195, 247, NVIDIA_DEVICE);
	assert_file(195, 248, NVIDIA_NONE);
	assert_file(195, 254, NVIDIA_NONE); /* modeset */
	assert_file(195, 255, NVIDIA_CONTROL);
	assert_file(195, 256, NVIDIA_NONE);
	assert_file(238, 0, NVIDIA_UVM);
	assert_file(238, 1, NVIDIA_TOOLS);
	assert_file(241, 2, NVIDIA_CAPS);
	assert_file(1, 3, NVIDIA_NONE);
	/* Without the module, no number is its. */
	assert_int_equal(nvidia_file_of(&none, makedev(0, 0), &number), NVIDIA_NONE);
}

/* As driver 580.159.04 has it. */
static void test_information(void **state)
{
	struct nvidia_gpu gpu = { 0 };

	(void)state;
	nvidia_gpu_parse("Model: \t\t NVIDIA H200\nIRQ:   \t\t 41\nGPU UUID: \t "
			 "GPU-42138af8-a726-72eb-c941-0f336e3fafce\nVideo BIOS: \t 96.00.a5.00.1a\n"
			 "Bus Type: \t PCIe\nBus Location: \t 0000:00:06.0\nDevice Minor: \t 0\n"
			 "GPU Firmware: \t 580.159.04\nGPU Excluded:\t No\n",
			 &gpu);
	assert_string_equal(gpu.name, "NVIDIA H200");
	assert_string_equal(gpu.uuid, "GPU-42138af8-a726-72eb-c941-0f336e3fafce");
	assert_string_equal(gpu.pci, "0000:00:06.0");
	assert_true(gpu.has_minor);
	assert_int_equal(gpu.minor, 0);
}

static void test_strange_information(void **state)
{
	struct nvidia_gpu gpu = { 0 };
	char text[4096];

	(void)state;
	nvidia_gpu_parse("", &gpu);
	nvidia_gpu_parse("Device Minor: \t 248\nModel", &gpu);
	assert_false(gpu.has_minor);
	nvidia_gpu_parse("Device Minor:\nModels: x\n", &gpu);
	assert_false(gpu.has_minor);
	assert_string_equal(gpu.name, "");
	memset(text, 'x', sizeof(text));
	memcpy(text, "Model: ", 7);
	text[sizeof(text) - 1] = '\0';
	nvidia_gpu_parse(text, &gpu);
	assert_int_equal(strlen(gpu.name), sizeof(gpu.name) - 1);
}

static void assert_version(const char *text, const char *expected, bool expected_open)
{
	char version[32];
	bool open;

	nvidia_version_parse(text, version, sizeof(version), &open);
	assert_string_equal(version, expected);
	assert_int_equal(open, expected_open);
}

static void test_versions(void **state)
{
	(void)state;
	assert_version(
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release "
		"Build  (nixbld@)  \nGCC version:  gcc version 15.3.0 (GCC) \n",
		"580.159.04", true);
	assert_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 "
		       "22:20:39 UTC 2023\nGCC version:  gcc 12.2.0\n",
		       "535.54.03", false);
	assert_version("", "", false);
	assert_version("\n1.2.3", "", false);
	assert_version("   ", "", false);
	assert_version("11111111111111111111111111111111111111111111.2",
		       "1111111111111111111111111111111", false);
}

static void test_own_descriptors(void **state)
{
	struct nvidia_majors majors = nvidia_majors_read();
	struct nvidia_files files;

	(void)state;
	assert_int_equal(nvidia_files_scan(getpid(), &majors, &files), 0);
	assert_false(nvidia_files_any(&files));
	assert_int_equal(nvidia_files_scan(1 << 30, &majors, &files), -ESRCH);
}

static void test_whether_files_may_be_the_same(void **state)
{
	const struct nvidia_files none = { 0 }, control = { .control = 1 };
	const struct nvidia_files first = { .control = 1, .devices = 1, .minors = { 1 } };
	const struct nvidia_files both = { .control = 1, .devices = 2, .minors = { 3 } };
	const struct nvidia_files far = { .control = 1, .devices = 1, .minors = { 0, 1 } };

	(void)state;
	assert_false(nvidia_files_may_share(&first, &none));
	assert_false(nvidia_files_may_share(&none, &none));
	assert_true(nvidia_files_may_share(&first, &both));
	assert_true(nvidia_files_may_share(&both, &first));
	assert_false(nvidia_files_may_share(&both, &far));
	/* It is not known which devices it had. */
	assert_true(nvidia_files_may_share(&none, &far));
	assert_true(nvidia_files_may_share(&first, &control));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_majors),
		cmocka_unit_test(test_device_numbers),
		cmocka_unit_test(test_information),
		cmocka_unit_test(test_strange_information),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_own_descriptors),
		cmocka_unit_test(test_whether_files_may_be_the_same),
	};

	return unit_run("nvidia_files", tests);
}
