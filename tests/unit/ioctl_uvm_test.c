// SPDX-License-Identifier: BSD-2-Clause
/*
 * The decoder of the ioctls of /dev/nvidia-uvm, and of objects that go from process to process, on
 * arguments that are written down byte by byte, by the layouts of several drivers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ioctl_decoder.h"

#define ARGUMENT 0x7f0000001000ull
#define PARAMS 0x7f0000008000ull
#define BYTES 0x2430
#define CONTROL_FD 0
#define UVM_FD 1

#define CLIENT 0xc1d00001u
#define MEMORY 0x5c000010u
#define BASE 0x7ea03a000000ull
#define MIB (1ull << 20)

#define UVM_MAJOR 238
#define INITIALIZE 0x30000001
#define CREATE 73
#define MAP 33
#define FREE 34
#define UNMAP 66
#define VALIDATE 72
#define REGISTER_GPU 37

static unsigned char argument[BYTES], params[BYTES];

static int read_memory(void *to, uint32_t size, uint64_t address)
{
	const struct {
		uint64_t at;
		const unsigned char *bytes;
	} places[] = { { ARGUMENT, argument }, { PARAMS, params } };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (address >= places[i].at && address + size <= places[i].at + BYTES) {
			memcpy(to, places[i].bytes + (address - places[i].at), size);
			return 0;
		}
	return -EFAULT;
}

static void clear(void)
{
	memset(argument, 0, sizeof(argument));
	memset(params, 0, sizeof(params));
}

static void begin(uint32_t version)
{
	memset(&decoder, 0, sizeof(decoder));
	clear();
	decoder.read = read_memory;
	decoder.inodes[CONTROL_FD] = (struct inode){ .i_rdev = 0x0c3000ff, .i_mode = 0020666 };
	decoder.inodes[UVM_FD] = (struct inode){ .i_rdev = UVM_MAJOR << 20, .i_mode = 0020666 };
	settings = (struct ms_settings){ .driver_version = version };
	uvm_major = UVM_MAJOR;
}

static void put(unsigned char *bytes, size_t at, uint32_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

static void put_long(unsigned char *bytes, size_t at, uint64_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

static void put_range(uint64_t bytes)
{
	clear();
	put_long(argument, 0, BASE);
	put_long(argument, 8, bytes);
}

static void assert_range(enum ms_range_action action, uint64_t bytes, uint32_t status)
{
	assert_int_equal(decoder.event.type, MS_TYPE_RANGE);
	assert_int_equal(decoder.range.action, action);
	assert_int_equal(decoder.range.base, BASE);
	assert_int_equal(decoder.range.bytes, bytes);
	assert_int_equal(decoder.range.status, status);
	assert_true(decoder.range.file);
	assert_int_equal(decoder.range.row, MS_NO_ROW);
}

static void test_a_range_from_its_beginning_to_its_end(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	put_range(16 * MIB);
	assert_true(decode(UVM_FD, CREATE, ARGUMENT, 0));
	assert_range(MS_RANGE_CREATE, 16 * MIB, 0);
	put(argument, 0x10, 0x68);
	assert_true(decode(UVM_FD, CREATE, ARGUMENT, 0));
	assert_range(MS_RANGE_CREATE, 16 * MIB, 0x68);
	put_range(16 * MIB);
	memset(argument + 0x10, 0xab, 16);
	assert_true(decode(UVM_FD, UNMAP, ARGUMENT, 0));
	assert_range(MS_RANGE_UNMAP, 16 * MIB, 0);
	assert_int_equal(decoder.range.uuid[15], 0xab);
	put_range(16 * MIB);
	assert_true(decode(UVM_FD, VALIDATE, ARGUMENT, 0));
	assert_range(MS_RANGE_MANAGED, 16 * MIB, 0);
}

/* By how many devices there may be. */
static void test_maps_of_two_generations(void **state)
{
	static const struct {
		uint32_t version;
		size_t client;
	} layouts[] = { { MS_DRIVER(535, 113, 1), 0x4a4 },
			{ MS_DRIVER(550, 40, 7), 0x4a4 },
			{ MS_DRIVER(550, 54, 14), 0x2424 },
			{ MS_DRIVER(595, 45, 4), 0x2424 },
			{ 0, 0x2424 } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		begin(layouts[i].version);
		put_range(16 * MIB);
		put_long(argument, 0x10, 2 * MIB);
		memset(argument + 0x18, 0x11 + (int)i, 16);
		put(argument, layouts[i].client, CLIENT);
		put(argument, layouts[i].client + 4, MEMORY);
		put(argument, layouts[i].client + 8, 0);
		assert_true(decode(UVM_FD, MAP, ARGUMENT, 0));
		assert_range(MS_RANGE_MAP, 16 * MIB, 0);
		assert_int_equal(decoder.range.offset, 2 * MIB);
		assert_int_equal(decoder.range.client, CLIENT);
		assert_int_equal(decoder.range.object, MEMORY);
		assert_int_equal(decoder.range.uuid[0], 0x11 + i);
		put(argument, layouts[i].client + 8, 0x1f);
		assert_true(decode(UVM_FD, MAP, ARGUMENT, 0));
		assert_range(MS_RANGE_MAP, 16 * MIB, 0x1f);
	}
}

/* One ioctl maps on several devices: there is a record for each. */
static void test_a_map_on_several_devices(void **state)
{
	static const struct {
		uint32_t version;
		size_t count, status;
	} layouts[] = { { MS_DRIVER(535, 113, 1), 0x498, 0x4ac },
			{ MS_DRIVER(580, 65, 6), 0x2418, 0x242c } };
	size_t i, gpus, j;

	(void)state;
	for (i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		for (gpus = 1; gpus <= MS_RANGE_GPUS; gpus++) {
			begin(layouts[i].version);
			put_range(16 * MIB);
			put(argument, layouts[i].count, gpus);
			for (j = 0; j < MS_RANGE_GPUS; j++)
				argument[0x18 + j * 0x24] = 1 + j;
			assert_true(decode(UVM_FD, MAP, ARGUMENT, 0));
			assert_int_equal(decoder.emitted, gpus);
			for (j = 0; j < gpus; j++)
				assert_int_equal(decoder.gpus[j], 1 + j);
			assert_range(MS_RANGE_MAP, 16 * MIB, 0);
			/* What is refused is once. */
			put(argument, layouts[i].status, 0x1f);
			assert_true(decode(UVM_FD, MAP, ARGUMENT, 0));
			assert_int_equal(decoder.emitted, gpus + 1);
		}
}

static void assert_unread(uint32_t request, uint64_t address)
{
	assert_true(decode(UVM_FD, request, address, 0));
	assert_int_equal(decoder.event.type, MS_TYPE_OBJECT);
	assert_int_equal(decoder.record.action, MS_OBJECT_UNREAD);
	assert_true(decoder.record.file);
}

/* Or of more devices than are read. */
static void test_what_cannot_be_read(void **state)
{
	static const uint32_t requests[] = { CREATE, MAP, FREE, UNMAP, VALIDATE, REGISTER_GPU };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		begin(MS_DRIVER(580, 65, 6));
		assert_unread(requests[i], ARGUMENT + BYTES - 12);
		assert_false(decode(UVM_FD, requests[i], ARGUMENT + BYTES - 12, -14));
	}
	begin(MS_DRIVER(580, 65, 6));
	put(argument, 0x2418, MS_RANGE_GPUS + 1);
	assert_unread(MAP, ARGUMENT);
	assert_true(decode(UVM_FD, FREE, ARGUMENT, 0));
	assert_int_equal(decoder.event.type, MS_TYPE_RANGE);
}

/* A newer driver is not told how long it is. */
static void test_frees_of_two_generations(void **state)
{
	static const uint32_t old[] = { MS_DRIVER(520, 61, 5), MS_DRIVER(580, 105, 8), 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(old) / sizeof(*old); i++) {
		begin(old[i]);
		put_range(16 * MIB);
		put(argument, 0x10, 0x1e);
		assert_true(decode(UVM_FD, FREE, ARGUMENT, 0));
		assert_range(MS_RANGE_FREE, 16 * MIB, 0x1e);
	}
	begin(MS_DRIVER(590, 44, 1));
	put_range(0);
	put(argument, 8, 0x1e);
	assert_true(decode(UVM_FD, FREE, ARGUMENT, 0));
	assert_range(MS_RANGE_FREE, 0, 0x1e);
}

static void test_a_device(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	memset(argument, 0x5a, 16);
	put(argument, 0x1c, CLIENT);
	assert_true(decode(UVM_FD, REGISTER_GPU, ARGUMENT, 0));
	assert_int_equal(decoder.range.action, MS_RANGE_GPU);
	assert_int_equal(decoder.range.client, CLIENT);
	assert_int_equal(decoder.range.uuid[7], 0x5a);
	assert_int_equal(decoder.range.base, 0);
}

/* The device's number is dynamic: a file that is ready says which it is. */
static void test_the_device_is_known_by_its_first_ioctl(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	uvm_major = 0;
	put_range(16 * MIB);
	assert_false(decode(UVM_FD, CREATE, ARGUMENT, 0));
	clear();
	/* Neither one that fails, nor one of another kind of file. */
	assert_false(decode(UVM_FD, INITIALIZE, ARGUMENT, -25));
	put(argument, 8, 0x56);
	assert_false(decode(UVM_FD, INITIALIZE, ARGUMENT, 0));
	assert_int_equal(uvm_major, 0);
	clear();
	assert_false(decode(UVM_FD, INITIALIZE, ARGUMENT, 0));
	assert_int_equal(uvm_major, UVM_MAJOR);
	put_range(16 * MIB);
	assert_true(decode(UVM_FD, CREATE, ARGUMENT, 0));
	/* A file of another device that answers the same changes nothing. */
	clear();
	decoder.inodes[UVM_FD].i_rdev = (UVM_MAJOR + 1) << 20;
	assert_false(decode(UVM_FD, INITIALIZE, ARGUMENT, 0));
	assert_int_equal(uvm_major, UVM_MAJOR);
}

/* What is made by it is not seen then. If the device is known anyway, all is well. */
static void test_a_first_ioctl_that_cannot_be_read(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	assert_false(decode(UVM_FD, INITIALIZE, ARGUMENT + BYTES - 8, 0));
	uvm_major = 0;
	assert_true(decode(UVM_FD, INITIALIZE, ARGUMENT + BYTES - 8, 0));
	assert_int_equal(decoder.record.action, MS_OBJECT_UNREAD);
	assert_int_equal(decoder.record.file, 0);
	assert_int_equal(uvm_major, 0);
}

static void test_what_is_none_of_its_ioctls(void **state)
{
	static const uint32_t others[] = { 0xc0104649, 0x10049, 0x149, 1, 75, 51, 0xc0182221 };
	size_t i;

	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	put_range(16 * MIB);
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(decode(UVM_FD, others[i], ARGUMENT, 0));
	assert_false(decode(CONTROL_FD, CREATE, ARGUMENT, 0));
	assert_false(decode(UVM_FD, 0xc0104629, ARGUMENT, 0));
	assert_false(decode(UVM_FD, CREATE, ARGUMENT, -14));
	/* nvidia-uvm-tools */
	decoder.inodes[UVM_FD].i_rdev = UVM_MAJOR << 20 | 1;
	assert_false(decode(UVM_FD, CREATE, ARGUMENT, 0));
	/* It cannot be wrapped. */
	begin(MS_DRIVER(580, 65, 6));
	put(argument, 0, CREATE);
	put_long(argument, 8, PARAMS);
	assert_false(decode(UVM_FD, 0xc01046d3, ARGUMENT, 0));
}

/* ---- from process to process ----------------------------------------------------------------- */

static void put_control(uint32_t command)
{
	clear();
	put(argument, 0, CLIENT);
	put(argument, 4, CLIENT);
	put(argument, 8, command);
	put_long(argument, 0x10, PARAMS);
}

static void assert_passed(enum ms_object_action action)
{
	assert_int_equal(decoder.event.type, MS_TYPE_OBJECT);
	assert_int_equal(decoder.record.action, action);
	assert_int_equal(decoder.record.client, CLIENT);
	assert_int_equal(decoder.record.object, MEMORY);
	assert_true(decoder.record.source_client);
	assert_true(decoder.record.file);
	assert_int_equal(decoder.record.source_client == decoder.record.file, false);
}

static void test_exports_and_imports(void **state)
{
	static const struct {
		uint32_t command;
		size_t fd, handle, parent;
		enum ms_object_action action;
	} all[] = { { 0x3d05, 0x10, 0x0c, 0, MS_OBJECT_EXPORT },
		    { 0x3d06, 0x00, 0x10, 0x0c, MS_OBJECT_IMPORT },
		    { 0x3d0b, 0x00, 0x4c, 0, MS_OBJECT_EXPORT },
		    { 0x3d0c, 0x00, 0x08, 0x04, MS_OBJECT_IMPORT } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		begin(MS_DRIVER(580, 65, 6));
		/* By a file of /dev/nvidia0, for which the other descriptor stands. */
		decoder.inodes[1].i_rdev = 0x0c300000;
		put_control(all[i].command);
		put(params, all[i].handle, MEMORY);
		put(params, all[i].fd, 1);
		if (all[i].parent)
			put(params, all[i].parent, 0x5c000001);
		assert_true(decode(CONTROL_FD, 0xc020462a, ARGUMENT, 0));
		assert_passed(all[i].action);
		assert_int_equal(decoder.record.parent, all[i].parent ? 0x5c000001 : 0);
		put(argument, 0x1c, 0x57);
		assert_true(decode(CONTROL_FD, 0xc020462a, ARGUMENT, 0));
		assert_int_equal(decoder.record.status, 0x57);
		/* A descriptor that is none of the driver's. */
		decoder.inodes[1].i_rdev = 0x00100000;
		assert_true(decode(CONTROL_FD, 0xc020462a, ARGUMENT, 0));
		assert_int_equal(decoder.record.source_client, 0);
	}
}

/* A dma-buf, which is no file of the driver's. */
static void test_a_dma_buf(void **state)
{
	static const struct {
		uint32_t version, request;
		size_t handle, status;
	} layouts[] = { { MS_DRIVER(565, 57, 1), 0xca2846d9, 0x20, 0xa20 },
			{ MS_DRIVER(570, 86, 16), 0xca3046d9, 0x24, 0xa28 } };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		begin(layouts[i].version);
		decoder.inodes[CONTROL_FD].i_rdev = 0x0c300000;
		decoder.inodes[1] = (struct inode){ .i_mode = 0100600 };
		put(argument, 0, 1);
		put(argument, 4, CLIENT);
		put(argument, layouts[i].handle, MEMORY);
		assert_true(decode(CONTROL_FD, layouts[i].request, ARGUMENT, 0));
		assert_passed(MS_OBJECT_EXPORT);
		assert_int_equal(decoder.record.size, 0);
		put(argument, layouts[i].status, 0x56);
		assert_true(decode(CONTROL_FD, layouts[i].request, ARGUMENT, 0));
		assert_int_equal(decoder.record.status, 0x56);
		/* There is none as yet. */
		put(argument, 0, 0xffffffff);
		assert_true(decode(CONTROL_FD, layouts[i].request, ARGUMENT, 0));
		assert_int_equal(decoder.record.source_client, 0);
		assert_false(decode(CONTROL_FD, layouts[!i].request, ARGUMENT, 0));
	}
}

static void assert_comes(uint32_t request, uint32_t handle_at, unsigned char *bytes,
			 size_t descriptor, size_t type)
{
	uint32_t kind;

	put(argument, 0, CLIENT);
	put(argument, 4, 0x5c000001);
	put(argument, handle_at, MEMORY);
	for (kind = 0; kind < 8; kind++) {
		put(bytes, descriptor, 1);
		put(bytes, type, kind);
		assert_true(decode(CONTROL_FD, request, ARGUMENT, 0));
		assert_int_equal(decoder.record.class_number, MS_NV_MEMORY_OS);
		assert_int_equal(decoder.record.size, 16 * MIB);
		if (kind == 4) {
			assert_passed(MS_OBJECT_IMPORT);
			assert_int_equal(decoder.record.parent, 0x5c000001);
		} else {
			assert_int_equal(decoder.record.action, MS_OBJECT_ALLOC);
			assert_int_equal(decoder.record.source_client, 0);
		}
	}
}

/* What is page-locked is not the process' own then. */
static void test_memory_that_comes_by_a_dma_buf(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	decoder.inodes[1] = (struct inode){ .i_mode = 0100600 };
	put(argument, 12, MS_NV_MEMORY_OS);
	put_long(argument, 16, PARAMS);
	put_long(params, 0x18, 16 * MIB - 1);
	assert_comes(0xc030462b, 8, params, 0x10, 0x20);
	clear();
	put(argument, 8, 27);
	put_long(argument, 0x48, 16 * MIB - 1);
	assert_comes(0xc0b8464a, 0x28, argument, 0x40, 0x50);
}

static void test_other_commands(void **state)
{
	static const uint32_t others[] = { 0, 0x202, 0x2080014a, 0x3d08, 0x3d0a, 0x3d07 };
	size_t i;

	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	for (i = 0; i < sizeof(others) / sizeof(*others); i++) {
		put_control(others[i]);
		assert_false(decode(CONTROL_FD, 0xc020462a, ARGUMENT, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_range_from_its_beginning_to_its_end),
		cmocka_unit_test(test_maps_of_two_generations),
		cmocka_unit_test(test_a_map_on_several_devices),
		cmocka_unit_test(test_what_cannot_be_read),
		cmocka_unit_test(test_frees_of_two_generations),
		cmocka_unit_test(test_a_device),
		cmocka_unit_test(test_the_device_is_known_by_its_first_ioctl),
		cmocka_unit_test(test_a_first_ioctl_that_cannot_be_read),
		cmocka_unit_test(test_what_is_none_of_its_ioctls),
		cmocka_unit_test(test_exports_and_imports),
		cmocka_unit_test(test_a_dma_buf),
		cmocka_unit_test(test_memory_that_comes_by_a_dma_buf),
		cmocka_unit_test(test_other_commands),
	};

	return cmocka_run_group_tests_name("ioctls of nvidia-uvm", tests, NULL, NULL);
}
