// SPDX-License-Identifier: BSD-2-Clause
/*
 * The account of what a framework's allocator says of itself: what it says, what it leaves out,
 * what cannot be true, and a model of it.
 */
#include <stdlib.h>

#include "ledger/limits.h"
#include "scenario.h"

#define MIB (1l << 20)
#define A 0x7f0000000000ul
#define B 0x7f0000200000ul

static const struct tensors *tensors_of(const struct scenario *s)
{
	return &first_process(s)->tensors;
}

static const struct tensor_device *device_of(const struct scenario *s)
{
	assert_true(tensors_of(s)->devices_count > 0);
	return tensors_of(s)->devices;
}

static union record told(uint64_t addr, int64_t bytes, uint64_t allocated, uint64_t reserved)
{
	union record record = record_tensor(addr, bytes, allocated);

	record.tensor.reserved = reserved;
	return record;
}

static void test_totals_blocks_and_peaks(void **state)
{
	struct scenario s = { 0 };
	uint64_t peak_ns;

	(void)state;
	apply(&s, told(A, MIB, MIB, 20 * MIB));
	apply(&s, told(B, 4 * MIB, 5 * MIB, 40 * MIB));
	peak_ns = s.now_ns;
	apply(&s, told(A, -MIB, 4 * MIB, 20 * MIB));
	assert_int_equal(device_of(&s)->allocated, 4 * MIB);
	assert_int_equal(device_of(&s)->reserved, 20 * MIB);
	assert_int_equal(device_of(&s)->peak_allocated.bytes, 5 * MIB);
	assert_int_equal(device_of(&s)->peak_allocated.ts_ns, peak_ns);
	assert_int_equal(device_of(&s)->peak_reserved.bytes, 40 * MIB);
	assert_int_equal(device_of(&s)->live_count, 1);
	assert_int_equal(device_of(&s)->live_bytes, 4 * MIB);
	assert_int_equal(tensor_device_before(device_of(&s)), 0);
	assert_null(tensors_find(tensors_of(&s), A));
	assert_int_equal(tensors_find(tensors_of(&s), B)->bytes, 4 * MIB);
	assert_int_equal(tensors_find(tensors_of(&s), B)->made_ns, peak_ns);
	assert_true(tensors_are_exact(tensors_of(&s)));
	state_restart(&s.state, s.now_ns);
	assert_int_equal(device_of(&s)->peak_allocated.bytes, 4 * MIB);
	assert_int_equal(device_of(&s)->allocs, 0);
	state_fini(&s.state);
}

static void test_attached_late(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, told(A, MIB, 11 * MIB, 20 * MIB));
	assert_int_equal(tensor_device_before(device_of(&s)), 10 * MIB);
	apply(&s, told(B, -2 * MIB, 9 * MIB, 20 * MIB));
	assert_int_equal(tensor_device_before(device_of(&s)), 8 * MIB);
	assert_int_equal(device_of(&s)->unknown_frees, 1);
	assert_true(tensors_are_exact(tensors_of(&s)));
	state_fini(&s.state);
}

/* Records were lost: the next total does not follow, and is what counts from there on. */
static void test_what_does_not_follow(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, told(A, MIB, MIB, 2 * MIB));
	apply(&s, told(B, MIB, 4 * MIB, 6 * MIB));
	assert_int_equal(device_of(&s)->differences, 1);
	assert_false(tensors_are_exact(tensors_of(&s)));
	assert_int_equal(device_of(&s)->allocated, 4 * MIB);
	assert_int_equal(tensor_device_before(device_of(&s)), 2 * MIB);
	apply(&s, told(A, 2 * MIB, 6 * MIB, 6 * MIB)); /* given again */
	assert_int_equal(device_of(&s)->differences, 2);
	assert_int_equal(device_of(&s)->live_count, 2);
	assert_int_equal(device_of(&s)->live_bytes, 3 * MIB);
	apply(&s, told(A, -MIB, 5 * MIB, 6 * MIB)); /* with another size */
	assert_int_equal(device_of(&s)->differences, 3);
	assert_int_equal(device_of(&s)->live_bytes, MIB);
	state_fini(&s.state);
}

static void test_what_cannot_be_true(void **state)
{
	const union record records[] = {
		told(A, INT64_MIN, 0, 0),
		told(A, INT64_MAX, 1, 2),
		told(A, MIB, UINT64_MAX, UINT64_MAX),
		told(A, MIB, MIB, UINT64_MAX),
		told(A, MIB, 2 * MIB, MIB), /* more given than there is */
		told(A, 2 * MIB, MIB, MIB), /* a block larger than all of them */
		told(A, 0, MIB, MIB),
		told(0, MIB, MIB, MIB),
	};
	struct scenario s = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(records) / sizeof(*records); i++)
		apply(&s, records[i]);
	assert_int_equal(tensors_of(&s)->absurd, i);
	assert_int_equal(tensors_of(&s)->devices_count, 0);
	assert_int_equal(tensors_of(&s)->count, 0);
	assert_false(tensors_are_exact(tensors_of(&s)));
	state_fini(&s.state);
}

/* A record of an allocator at 0x77 that tells no totals. */
static union record untold(uint64_t addr, int64_t bytes)
{
	union record record = record_tensor(addr, bytes, 0);

	record.tensor.framework = MS_FRAMEWORK_BFC;
	record.tensor.flags = MS_TENSOR_UNTOLD;
	record.tensor.reserved = 0x77;
	record.tensor.device = -1;
	if (!bytes)
		record.tensor.action = MS_TENSOR_BACK;
	return record;
}

static void test_totals_that_are_not_told(void **state)
{
	union record none_left = untold(0, 5 * MIB);
	struct scenario s = { 0 };
	const struct tensor_device *device;

	(void)state;
	none_left.tensor.action = MS_TENSOR_OUT_OF_MEMORY;
	apply(&s, none_left); /* of which device is not known */
	assert_int_equal(tensors_of(&s)->devices_count, 0);
	apply(&s, record_alloc("cuMemAlloc_v2", 0x100000000, 64 * MIB));
	apply(&s, record_alloc("cuMemHostAlloc", 0x900000000, 64 * MIB));
	apply(&s, untold(0x100000000, 3 * MIB));
	apply(&s, untold(0x900000000, 3 * MIB)); /* of the host */
	apply(&s, untold(0x100400000, MIB));
	assert_int_equal(tensors_of(&s)->devices_count, 1);
	device = device_of(&s);
	assert_int_equal(device->framework, MS_FRAMEWORK_BFC);
	assert_int_equal(device->allocated, 4 * MIB);
	assert_int_equal(device->reserved, 64 * MIB);
	assert_int_equal(device->live_count, 2);
	apply(&s, none_left);
	assert_int_equal(device->out_of_memory, 1);
	assert_int_equal(device->wanted_bytes, 5 * MIB);
	apply(&s, untold(0x100000000, 0));
	assert_true(tensors_are_exact(tensors_of(&s)));
	apply(&s, untold(0x100000000, 0)); /* given meanwhile, which was missed */
	assert_int_equal(device->allocated, MIB);
	assert_int_equal(device->peak_allocated.bytes, 4 * MIB);
	assert_int_equal(device->unknown_frees, 1);
	assert_false(tensors_are_exact(tensors_of(&s)));
	apply(&s, untold(0x200000000, MIB)); /* in nothing that is known */
	assert_int_equal(device->live_count, 1);
	assert_false(tensors_are_exact(tensors_of(&s)));
	state_fini(&s.state);
}

static union record by(uint64_t allocator, union record record)
{
	record.tensor.reserved = allocator;
	return record;
}

#define DEVICE_MEMORY 0x100000000ul
#define HEAP 0x5500000000ul /* nothing says what that is */

/* TensorFlow has such allocators for the CPU, too. */
static void test_an_allocator_of_the_host(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", DEVICE_MEMORY, 64 * MIB));
	apply(&s, by(0x88, untold(HEAP, MIB)));
	apply(&s, untold(DEVICE_MEMORY, 2 * MIB));
	apply(&s, by(0x88, untold(HEAP + MIB, MIB)));
	apply(&s, by(0x88, untold(HEAP, 0)));
	assert_true(tensors_are_exact(tensors_of(&s)));
	assert_int_equal(tensors_of(&s)->devices_count, 1);
	assert_int_equal(tensors_of(&s)->count, 1);
	assert_int_equal(device_of(&s)->allocated, 2 * MIB);
	assert_int_equal(device_of(&s)->unknown_frees, 0);
	/* It was a device's, whose allocations were missed. */
	apply(&s, by(0x88, untold(DEVICE_MEMORY + 4 * MIB, MIB)));
	assert_int_equal(tensors_of(&s)->others, 2);
	assert_false(tensors_are_exact(tensors_of(&s)));
	state_fini(&s.state);
}

/* One that is not told apart may be a device's. */
static void test_very_many_allocators(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	for (i = 1; i <= LIMIT_TENSOR_ALLOCATORS; i++)
		apply(&s, by(i, untold(HEAP, MIB)));
	assert_true(tensors_are_exact(tensors_of(&s)));
	apply(&s, by(i, untold(HEAP, MIB)));
	apply(&s, by(0, untold(HEAP, MIB)));
	assert_int_equal(tensors_of(&s)->others, 2);
	apply(&s, record_process(MS_TYPE_EXEC, "next", 0));
	apply(&s, by(i, untold(HEAP, MIB)));
	assert_int_equal(tensors_of(&s)->others, 2);
	state_fini(&s.state);
}

static void test_allocators_of_a_running_program(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_process(MS_TYPE_ATTACH, "before", MS_ATTACH_RUNNING));
	apply(&s, record_alloc("cuMemHostAlloc", 0x900000000, 64 * MIB));
	apply(&s, by(0x99, untold(0x900000000, MIB)));
	apply(&s, by(0x99, untold(HEAP, MIB))); /* of the host, too */
	assert_int_equal(tensors_of(&s)->devices_count, 0);
	apply(&s, by(0x88, untold(HEAP + 2 * MIB, MIB))); /* of what is not known */
	assert_int_equal(tensors_of(&s)->devices_count, 1);
	assert_int_equal(device_of(&s)->device, -1);
	apply(&s, record_on(0, record_alloc("cuMemAlloc_v2", DEVICE_MEMORY, 64 * MIB)));
	apply(&s, untold(DEVICE_MEMORY, MIB));
	apply(&s, by(0x88, untold(HEAP + 4 * MIB, MIB)));
	apply(&s, untold(HEAP + 8 * MIB, MIB)); /* in an older region */
	assert_int_equal(tensors_of(&s)->count, 3);
	assert_int_equal(device_of(&s)->allocated, MIB);
	assert_int_equal(tensors_device(tensors_of(&s), MS_FRAMEWORK_BFC, 0)->allocated, 2 * MIB);
	apply(&s, by(0x88, untold(HEAP + 2 * MIB, 0)));
	assert_int_equal(device_of(&s)->allocated, 0);
	assert_int_equal(tensors_of(&s)->others, 0);
	state_fini(&s.state);
}

/* What a free has taken out of the account is there again, and ends once. */
static void test_a_free_that_fails(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_on(0, record_alloc("cuMemAlloc_v2", DEVICE_MEMORY, 64 * MIB)));
	apply(&s, record_on(0, record_alloc("cuMemAlloc_v2", 2 * DEVICE_MEMORY, 32 * MIB)));
	apply(&s, untold(DEVICE_MEMORY, MIB));
	apply(&s, untold(2 * DEVICE_MEMORY, MIB));
	apply(&s, record_free_begin(2 * DEVICE_MEMORY));
	apply(&s, record_failed(1, record_free("cuMemFree_v2", 2 * DEVICE_MEMORY)));
	apply(&s, untold(DEVICE_MEMORY + 8 * MIB, MIB));
	assert_int_equal(device_of(&s)->reserved, 96 * MIB);
	apply_free_of(&s, "cuMemFree_v2", 2 * DEVICE_MEMORY);
	apply(&s, untold(DEVICE_MEMORY + 16 * MIB, MIB));
	assert_int_equal(device_of(&s)->reserved, 64 * MIB);
	assert_int_equal(tensors_of(&s)->sources.count, 1);
	assert_int_equal(tensors_of(&s)->sources.list[0].made, 2);
	assert_int_equal(tensors_of(&s)->sources.list[0].live, 1);
	state_fini(&s.state);
}

/* Absurd sizes, and what only looks like it. */
static void test_untold_that_cannot_be_true(void **state)
{
	union record back = record_tensor(A, 0, 0);
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", 0x100000000, 64 * MIB));
	apply(&s, untold(0x100000000, INT64_MAX));
	apply(&s, untold(0x100000000, 1ll << 62));
	apply(&s, untold(0x100000000, -MIB));
	back.tensor.action = MS_TENSOR_BACK;
	apply(&s, back);
	assert_int_equal(tensors_of(&s)->absurd, 3);
	assert_int_equal(tensors_of(&s)->count, 0);
	state_fini(&s.state);
}

static void test_out_of_memory(void **state)
{
	union record record = told(0, 100 * MIB, MIB, 2 * MIB);
	struct scenario s = { 0 };

	(void)state;
	apply(&s, told(A, MIB, MIB, 20 * MIB));
	record.tensor.action = MS_TENSOR_OUT_OF_MEMORY;
	apply(&s, record);
	assert_int_equal(device_of(&s)->out_of_memory, 1);
	assert_int_equal(device_of(&s)->wanted_bytes, 100 * MIB);
	assert_int_equal(device_of(&s)->wanted_ts_ns, s.now_ns);
	assert_int_equal(device_of(&s)->reserved, 2 * MIB); /* its cache was given back before */
	assert_int_equal(device_of(&s)->live_count, 1);
	assert_true(tensors_are_exact(tensors_of(&s)));
	state_fini(&s.state);
}

static void test_devices_are_apart_and_bounded(void **state)
{
	union record record = told(A, MIB, MIB, MIB);
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < LIMIT_TENSOR_DEVICES + 3; i++) {
		record.tensor.addr = A + i * MIB;
		record.tensor.device = (int32_t)i;
		apply(&s, record);
	}
	assert_int_equal(tensors_of(&s)->devices_count, LIMIT_TENSOR_DEVICES);
	assert_int_equal(tensors_of(&s)->count, LIMIT_TENSOR_DEVICES);
	assert_int_equal(tensors_of(&s)->others, 3);
	assert_false(tensors_are_exact(tensors_of(&s)));
	for (i = 0; i < LIMIT_TENSOR_DEVICES; i++)
		assert_int_equal(tensors_of(&s)->devices[i].live_bytes, MIB);
	state_fini(&s.state);
}

static void test_ends(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, told(A, MIB, MIB, 2 * MIB));
	apply(&s, record_process(MS_TYPE_EXEC, "next", 0));
	assert_int_equal(device_of(&s)->allocated, 0);
	assert_int_equal(device_of(&s)->live_count, 0);
	assert_int_equal(device_of(&s)->peak_allocated.bytes, MIB);
	/* The next program has an allocator of its own, whose first total follows from nothing. */
	apply(&s, told(A, MIB, MIB, 2 * MIB));
	assert_true(tensors_are_exact(tensors_of(&s)));
	apply(&s, record_exit(0));
	assert_int_equal(device_of(&s)->allocated, MIB);
	assert_int_equal(tensors_of(&s)->count, 0);
	state_fini(&s.state);
}

static void test_what_else_there_is(void **state)
{
	struct scenario s = { 0 };
	uint64_t rest;

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 5 * MIB));
	apply(&s, told(A, MIB, MIB, 2 * MIB));
	assert_true(tensors_rest(first_process(&s), &rest));
	assert_int_equal(rest, 3 * MIB);
	apply(&s, told(B, MIB, 2 * MIB, 6 * MIB)); /* more than was seen */
	assert_false(tensors_rest(first_process(&s), &rest));
	state_fini(&s.state);
}

/* ---- against a model ------------------------------------------------------------------------- */

#define SLOTS 64u
#define STEPS 20000u

static void test_model(void **state)
{
	uint64_t bytes[SLOTS] = { 0 }, allocated = 0, peak = 0, live = 0;
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	srand(1);
	for (i = 0; i < STEPS; i++) {
		const uint32_t slot = (uint32_t)rand() % SLOTS;
		const uint64_t addr = A + slot * MIB;

		if (bytes[slot]) {
			allocated -= bytes[slot];
			apply(&s, told(addr, -(int64_t)bytes[slot], allocated, SLOTS * MIB));
			bytes[slot] = 0;
			live--;
		} else {
			bytes[slot] = 512ul * (1 + (uint32_t)rand() % 2048);
			allocated += bytes[slot];
			apply(&s, told(addr, (int64_t)bytes[slot], allocated, SLOTS * MIB));
			live++;
		}
		peak = allocated > peak ? allocated : peak;
		assert_int_equal(device_of(&s)->allocated, allocated);
		assert_int_equal(device_of(&s)->live_bytes, allocated);
		assert_int_equal(device_of(&s)->live_count, live);
		assert_int_equal(device_of(&s)->peak_allocated.bytes, peak);
	}
	for (i = 0; i < SLOTS; i++) {
		const struct tensor_block *block = tensors_find(tensors_of(&s), A + i * MIB);

		assert_int_equal(block ? block->bytes : 0, bytes[i]);
	}
	assert_true(tensors_are_exact(tensors_of(&s)));
	state_fini(&s.state);
}

#define MANY 1000000ul
#define BLOCK_BYTES 96 /* that the ledger may take for each */

/* A program may have a million: each is known, and found. */
static void test_a_million_blocks(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	for (i = 0; i < MANY; i++)
		apply(&s, told(A + i * 512, 512, (i + 1) * 512, MANY * 512));
	assert_int_equal(device_of(&s)->live_count, MANY);
	assert_true(tensors_are_all_known(tensors_of(&s)));
	assert_true(tensors_bytes(tensors_of(&s)) <= MANY * BLOCK_BYTES);
	assert_non_null(tensors_find(tensors_of(&s), A + 777777 * 512));
	for (i = 0; i < MANY; i++)
		apply(&s, told(A + i * 512, -512, (MANY - i - 1) * 512, MANY * 512));
	assert_int_equal(tensors_of(&s)->count, 0);
	assert_true(tensors_are_exact(tensors_of(&s)));
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals_blocks_and_peaks),
		cmocka_unit_test(test_attached_late),
		cmocka_unit_test(test_what_does_not_follow),
		cmocka_unit_test(test_what_cannot_be_true),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_totals_that_are_not_told),
		cmocka_unit_test(test_untold_that_cannot_be_true),
		cmocka_unit_test(test_an_allocator_of_the_host),
		cmocka_unit_test(test_very_many_allocators),
		cmocka_unit_test(test_allocators_of_a_running_program),
		cmocka_unit_test(test_a_free_that_fails),
		cmocka_unit_test(test_devices_are_apart_and_bounded),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_what_else_there_is),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_a_million_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
