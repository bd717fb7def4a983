// SPDX-License-Identifier: BSD-2-Clause
/*
 * The decoder of NVIDIA's ioctls, as it runs in the kernel, on arguments that are written down byte
 * by byte: the layouts of three generations of drivers, and what must not be decoded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ioctl_decoder.h"

#define ARGUMENT 0x7f0000001000ull
#define PARAMS 0x7f0000002000ull
#define INNER 0x7f0000003000ull
#define BYTES 0xc0

#define CLIENT 0xc1d00001u
#define DEVICE 0x5c000001u
#define MEMORY 0x5c000010u

#define MIB (1ull << 20)

static unsigned char argument[BYTES], params[BYTES], inner[BYTES];

static int read_memory(void *to, uint32_t size, uint64_t address)
{
	const struct {
		uint64_t at;
		const unsigned char *bytes;
	} places[] = { { ARGUMENT, argument }, { PARAMS, params }, { INNER, inner } };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (address >= places[i].at && address + size <= places[i].at + BYTES) {
			memcpy(to, places[i].bytes + (address - places[i].at), size);
			return 0;
		}
	return -EFAULT;
}

static void begin(uint32_t version)
{
	memset(&decoder, 0, sizeof(decoder));
	memset(argument, 0, sizeof(argument));
	memset(params, 0, sizeof(params));
	memset(inner, 0, sizeof(inner));
	decoder.read = read_memory;
	decoder.inodes[0] = (struct inode){ .i_rdev = 0x0c3000ff, .i_mode = 0020666 };
	decoder.inodes[1] = (struct inode){ .i_rdev = 0x0c300000, .i_mode = 0020666 };
	settings = (struct ms_settings){ .driver_version = version };
}

static void put(unsigned char *bytes, size_t at, uint32_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

static void put_long(unsigned char *bytes, size_t at, uint64_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

/* RM_ALLOC of memory of the device. */
static void put_alloc(unsigned char *bytes, uint64_t size)
{
	put(bytes, 0, CLIENT);
	put(bytes, 4, DEVICE);
	put(bytes, 8, MEMORY);
	put(bytes, 12, MS_NV_MEMORY_LOCAL);
	put_long(bytes, 16, PARAMS);
	put_long(params, 0x40, size);
}

static void assert_memory(uint64_t size, uint32_t status)
{
	assert_int_equal(decoder.record.action, MS_OBJECT_ALLOC);
	assert_int_equal(decoder.record.client, CLIENT);
	assert_int_equal(decoder.record.parent, DEVICE);
	assert_int_equal(decoder.record.object, MEMORY);
	assert_int_equal(decoder.record.class_number, MS_NV_MEMORY_LOCAL);
	assert_int_equal(decoder.record.size, size);
	assert_int_equal(decoder.record.status, status);
	assert_int_equal(decoder.record.row, MS_NO_ROW);
}

/* ---- layouts --------------------------------------------------------------------------------- */

static void test_alloc_of_each_generation(void **state)
{
	static const struct {
		uint32_t version, request;
		size_t status_at;
	} layouts[] = {
		{ MS_DRIVER(515, 43, 4), 0xc028462b, 0x20 },
		{ MS_DRIVER(520, 61, 5), 0xc028462b, 0x20 },
		{ MS_DRIVER(525, 60, 13), 0xc028462b, 0x24 },
		{ MS_DRIVER(530, 41, 3), 0xc028462b, 0x24 },
		{ MS_DRIVER(535, 54, 3), 0xc030462b, 0x28 },
		{ MS_DRIVER(570, 86, 16), 0xc030462b, 0x28 },
		{ MS_DRIVER(580, 65, 6), 0xc030462b, 0x28 },
		{ MS_DRIVER(595, 45, 4), 0xc030462b, 0x28 },
		{ 0, 0xc030462b, 0x28 },
		{ MS_DRIVER(520, 61, 5), 0xc020462b, 0x18 },
		{ MS_DRIVER(535, 54, 3), 0xc020462b, 0x1c },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		begin(layouts[i].version);
		put_alloc(argument, 4 * MIB);
		assert_true(decode(0, layouts[i].request, ARGUMENT, 0));
		assert_memory(4 * MIB, 0);
		put(argument, layouts[i].status_at, 0x51);
		assert_true(decode(0, layouts[i].request, ARGUMENT, 0));
		assert_memory(4 * MIB, 0x51);
	}
}

/* A size that the driver's version does not have is another layout. */
static void test_unknown_layouts_are_not_decoded(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	put_alloc(argument, 4 * MIB);
	assert_false(decode(0, 0xc028462b, ARGUMENT, 0));
	assert_false(decode(0, 0xc031462b, ARGUMENT, 0));
	assert_false(decode(0, 0xc020462a, ARGUMENT, 0));
	begin(MS_DRIVER(520, 61, 5));
	put_alloc(argument, 4 * MIB);
	assert_false(decode(0, 0xc030462b, ARGUMENT, 0));
}

static void test_client_device_and_frees(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	/* A client: the driver has written its handle and class. */
	put(argument, 8, CLIENT);
	put(argument, 12, MS_NV_ROOT_CLIENT);
	assert_true(decode(0, 0xc030462b, ARGUMENT, 0));
	assert_int_equal(decoder.record.object, CLIENT);
	assert_int_equal(decoder.record.class_number, MS_NV_ROOT_CLIENT);
	/* A device: its instance is in the parameters. */
	put(argument, 0, CLIENT);
	put(argument, 4, CLIENT);
	put(argument, 8, DEVICE);
	put(argument, 12, MS_NV_DEVICE);
	put_long(argument, 16, PARAMS);
	put(params, 0, 3);
	put(params, 4, 0xffffffff);
	assert_true(decode(0, 0xc030462b, ARGUMENT, 0));
	assert_int_equal(decoder.record.size, 3);
	/* RM_FREE */
	memset(argument, 0, sizeof(argument));
	put(argument, 0, CLIENT);
	put(argument, 4, DEVICE);
	put(argument, 8, MEMORY);
	assert_true(decode(0, 0xc0104629, ARGUMENT, 0));
	assert_int_equal(decoder.record.action, MS_OBJECT_FREE);
	assert_int_equal(decoder.record.object, MEMORY);
	assert_int_equal(decoder.record.parent, DEVICE);
	put(argument, 12, 0x57);
	assert_true(decode(0, 0xc0104629, ARGUMENT, 0));
	assert_int_equal(decoder.record.status, 0x57);
	/* RM_DUP_OBJECT */
	put(argument, 0, 0xc1d00002);
	put(argument, 4, DEVICE);
	put(argument, 8, 0x5c000040);
	put(argument, 12, CLIENT);
	put(argument, 16, MEMORY);
	assert_true(decode(0, 0xc01c4634, ARGUMENT, 0));
	assert_int_equal(decoder.record.action, MS_OBJECT_DUP);
	assert_int_equal(decoder.record.object, 0x5c000040);
	assert_int_equal(decoder.record.source_client, CLIENT);
	assert_int_equal(decoder.record.source_object, MEMORY);
}

static void test_memory_of_the_host(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	/* RM_ALLOC_MEMORY: what is page-locked, less one byte. */
	put(argument, 0, CLIENT);
	put(argument, 4, DEVICE);
	put(argument, 8, MEMORY);
	put(argument, 12, MS_NV_MEMORY_OS);
	put_long(argument, 0x20, MIB - 1);
	assert_true(decode(1, 0xc0384627, ARGUMENT, 0));
	assert_int_equal(decoder.record.size, MIB);
	assert_int_equal(decoder.record.class_number, MS_NV_MEMORY_OS);
	/* The same by RM_ALLOC. */
	memset(argument, 0, sizeof(argument));
	put_alloc(argument, 0);
	put(argument, 12, MS_NV_MEMORY_OS);
	put_long(params, 0x18, 2 * MIB - 1);
	assert_true(decode(0, 0xc030462b, ARGUMENT, 0));
	assert_int_equal(decoder.record.size, 2 * MIB);
	put_alloc(argument, 3 * MIB);
	put(argument, 12, MS_NV_MEMORY_SYSTEM);
	assert_true(decode(0, 0xc030462b, ARGUMENT, 0));
	assert_int_equal(decoder.record.size, 3 * MIB);
}

/* RM_VID_HEAP_CONTROL: where its function has what it allocates, and how large that is. */
static void put_heap(uint32_t function, size_t object, size_t size, uint64_t bytes)
{
	memset(argument, 0, sizeof(argument));
	put(argument, 0, CLIENT);
	put(argument, 4, DEVICE);
	put(argument, 8, function);
	put(argument, object, MEMORY);
	put_long(argument, size, bytes);
}

static void assert_heap(uint32_t class_number, uint64_t size, uint32_t status)
{
	assert_true(decode(0, 0xc0b8464a, ARGUMENT, 0));
	assert_int_equal(decoder.record.class_number, class_number);
	decoder.record.class_number = MS_NV_MEMORY_LOCAL;
	assert_memory(size, status);
}

static void test_memory_from_the_heap(void **state)
{
	static const struct {
		uint32_t function;
		size_t attributes, size;
	} functions[] = { { 2, 0x38, 0x58 }, { 6, 0x40, 0x58 }, { 14, 0x38, 0x50 } };
	size_t i;

	(void)state;
	begin(MS_DRIVER(515, 43, 4));
	for (i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		put_heap(functions[i].function, 0x2c, functions[i].size, 2 * MIB);
		put(argument, 0x34, 0x4000);
		put(argument, functions[i].attributes, 0x10000000);
		assert_heap(MS_NV_MEMORY_LOCAL, 2 * MIB, 0);
		put(argument, functions[i].attributes, 0x2a800000);
		assert_heap(MS_NV_MEMORY_SYSTEM, 2 * MIB, 0);
		put(argument, functions[i].attributes, 0x11800000);
		put(argument, 0x14, 0x51);
		assert_heap(MS_NV_MEMORY_LOCAL, 2 * MIB, 0x51);
		/* Addresses are no memory. */
		put(argument, 0x34, 0x84000);
		assert_false(decode(0, 0xc0b8464a, ARGUMENT, 0));
	}
	put_heap(27, 0x28, 0x48, MIB - 1);
	assert_heap(MS_NV_MEMORY_OS, MIB, 0);
	put_heap(3, 0x2c, 0x40, 0);
	assert_true(decode(0, 0xc0b8464a, ARGUMENT, 0));
	assert_int_equal(decoder.record.action, MS_OBJECT_FREE);
	assert_int_equal(decoder.record.client, CLIENT);
	assert_int_equal(decoder.record.object, MEMORY);
}

/* What is asked for is told, its size is not changed, and there are no such functions. */
static void test_other_functions_of_the_heap(void **state)
{
	static const uint32_t functions[] = { 0,  1,  4,  5,  7,   13,    15,        16,        18,
					      19, 20, 26, 28, 255, 0x102, 0x1000002, 0xffffffff };
	size_t i;

	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	for (i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		put_heap(functions[i], 0x2c, 0x58, 2 * MIB);
		assert_false(decode(0, 0xc0b8464a, ARGUMENT, 0));
	}
	put_heap(2, 0x2c, 0x58, 2 * MIB);
	assert_false(decode(0, 0xc0b0464a, ARGUMENT, 0));
	/* In a structure, like any other. */
	memcpy(inner, argument, sizeof(inner));
	put(argument, 0, 0x4a);
	put(argument, 4, 0xb8);
	put_long(argument, 8, INNER);
	assert_true(decode(0, 0xc01046d3, ARGUMENT, 0));
	assert_memory(2 * MIB, 0);
	/* A function is no part of the number. */
	put(argument, 0, 0x24a);
	assert_false(decode(0, 0xc01046d3, ARGUMENT, 0));
}

/* NV_ESC_IOCTL_XFER_CMD */
static void test_ioctls_in_a_structure(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	put_alloc(inner, 8 * MIB);
	put(argument, 0, 0x2b);
	put(argument, 4, 0x30);
	put_long(argument, 8, INNER);
	assert_true(decode(0, 0xc01046d3, ARGUMENT, 0));
	assert_memory(8 * MIB, 0);
	put(argument, 0, 0xd3);
	put(argument, 4, 0x10);
	assert_false(decode(0, 0xc01046d3, ARGUMENT, 0));
}

/* ---- what is not decoded --------------------------------------------------------------------- */

static void test_what_is_no_memory(void **state)
{
	static const uint32_t classes[] = { 0x50a0, 0x70, 0x90f1, 0x2080, 0xc56f, 0xf8 };
	size_t i;

	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	put_alloc(argument, 1ull << 40);
	for (i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		put(argument, 12, classes[i]);
		assert_false(decode(0, 0xc030462b, ARGUMENT, 0));
	}
}

static void test_other_files_and_failures(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	put_alloc(argument, 4 * MIB);
	assert_false(decode(0, 0xc030462b, ARGUMENT, -22));
	assert_false(decode(2, 0xc030462b, ARGUMENT, 0));
	decoder.inodes[0].i_mode = 0100666;
	assert_false(decode(0, 0xc030462b, ARGUMENT, 0));
	decoder.inodes[0] = (struct inode){ .i_rdev = 0x0c3000fe, .i_mode = 0020666 };
	assert_false(decode(0, 0xc030462b, ARGUMENT, 0));
	decoder.inodes[0].i_rdev = 0x001000ff;
	assert_false(decode(0, 0xc030462b, ARGUMENT, 0));
	decoder.inodes[0].i_rdev = 0x0c300007;
	assert_true(decode(0, 0xc030462b, ARGUMENT, 0));
}

static void assert_unread(uint32_t request, uint64_t address)
{
	assert_true(decode(0, request, address, 0));
	assert_int_equal(decoder.event.type, MS_TYPE_OBJECT);
	assert_int_equal(decoder.record.action, MS_OBJECT_UNREAD);
	assert_int_equal(decoder.record.object, 0);
	assert_int_equal(decoder.record.size, 0);
	assert_true(decoder.record.file);
	/* It is none if it has failed, or is of another file. */
	assert_false(decode(0, request, address, -22));
	assert_false(decode(2, request, address, 0));
}

#define NO_ADDRESS 0x1234

/* What was made is not known then, but that there was something. */
static void test_what_cannot_be_read(void **state)
{
	static const struct {
		uint32_t request, bytes; /* of the argument that can be read */
	} parts[] = { { 0xc030462b, 0 },    { 0xc030462b, 8 },   { 0xc030462b, 0x28 },
		      { 0xc0104629, 0 },    { 0xc0104629, 0xc }, { 0xc01c4634, 0x14 },
		      { 0xc0384627, 0x20 }, { 0xc020462a, 8 },   { 0xc01046d3, 0 },
		      { 0xc01046d3, 4 },    { 0xc01046d3, 8 },   { 0xc0b8464a, 8 } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		begin(MS_DRIVER(580, 65, 6));
		put_alloc(argument + BYTES - parts[i].bytes - 0x40, 4 * MIB);
		memmove(argument + BYTES - parts[i].bytes, argument + BYTES - parts[i].bytes - 0x40,
			parts[i].bytes);
		assert_unread(parts[i].request, ARGUMENT + BYTES - parts[i].bytes);
	}
	begin(MS_DRIVER(580, 65, 6));
	put_alloc(argument, 4 * MIB);
	put_long(argument, 16, NO_ADDRESS);
	assert_unread(0xc030462b, ARGUMENT);
	/* What is refused needs no size, and neither do clients, and the first device. */
	put(argument, 0x28, 0x51);
	assert_true(decode(0, 0xc030462b, ARGUMENT, 0));
	assert_memory(0, 0x51);
	put(argument, 0x28, 0);
	put(argument, 12, MS_NV_ROOT_CLIENT);
	assert_true(decode(0, 0xc030462b, ARGUMENT, 0));
	assert_int_equal(decoder.record.action, MS_OBJECT_ALLOC);
	put(argument, 12, MS_NV_DEVICE);
	put_long(argument, 16, 0);
	assert_true(decode(0, 0xc030462b, ARGUMENT, 0));
	assert_int_equal(decoder.record.action, MS_OBJECT_ALLOC);
	put_long(argument, 16, NO_ADDRESS);
	assert_unread(0xc030462b, ARGUMENT);
}

/* The traced call that the thread is in. */
static void test_the_call_around_it(void **state)
{
	(void)state;
	begin(MS_DRIVER(580, 65, 6));
	put_alloc(argument, 4 * MIB);
	decoder.thread.depth = 2;
	decoder.thread.frames[0].record.call.row = 17;
	assert_true(decode(0, 0xc030462b, ARGUMENT, 0));
	assert_int_equal(decoder.record.row, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_of_each_generation),
		cmocka_unit_test(test_unknown_layouts_are_not_decoded),
		cmocka_unit_test(test_client_device_and_frees),
		cmocka_unit_test(test_memory_of_the_host),
		cmocka_unit_test(test_memory_from_the_heap),
		cmocka_unit_test(test_other_functions_of_the_heap),
		cmocka_unit_test(test_ioctls_in_a_structure),
		cmocka_unit_test(test_what_is_no_memory),
		cmocka_unit_test(test_other_files_and_failures),
		cmocka_unit_test(test_what_cannot_be_read),
		cmocka_unit_test(test_the_call_around_it),
	};

	return cmocka_run_group_tests_name("ioctls, decoded", tests, NULL, NULL);
}
