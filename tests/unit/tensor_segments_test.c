// SPDX-License-Identifier: BSD-2-Clause
/*
 * How blocks lie in the segments of a framework's allocator, at the moments that matter; against a
 * model of it, and with what no allocator says.
 */
#include <stdlib.h>

#include "scenario.h"

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define A 0x7f0000000000ul
#define SEGMENT (20 * MIB)
#define SMALL 512ul

/* An allocator that says what it does. */
struct allocator {
	struct scenario s;
	uint64_t allocated, reserved;
};

static void say(struct allocator *a, uint64_t addr, int64_t bytes)
{
	union record record = record_tensor(addr, bytes, a->allocated);

	record.tensor.reserved = a->reserved;
	apply(&a->s, record);
}

static void take(struct allocator *a, uint64_t addr, uint64_t bytes)
{
	apply(&a->s, record_on(0, record_alloc("cuMemAlloc_v2", addr, bytes)));
	a->reserved += bytes;
}

static void give_back(struct allocator *a, uint64_t addr, uint64_t bytes)
{
	apply_free_of(&a->s, "cuMemFree_v2", addr);
	a->reserved -= bytes;
}

static void give(struct allocator *a, uint64_t addr, uint64_t bytes)
{
	a->allocated += bytes;
	say(a, addr, (int64_t)bytes);
}

static void get_back(struct allocator *a, uint64_t addr, uint64_t bytes)
{
	a->allocated -= bytes;
	say(a, addr, -(int64_t)bytes);
}

static void refuse(struct allocator *a, uint64_t bytes)
{
	apply(&a->s,
	      record_failed(2,
			    record_on(0, record_without(MS_KNOWN_ADDR,
							record_alloc("cuMemAlloc_v2", 0, bytes)))));
}

static void run_out(struct allocator *a, uint64_t bytes)
{
	union record record = record_tensor(0, (int64_t)bytes, a->allocated);

	record.tensor.reserved = a->reserved;
	record.tensor.action = MS_TENSOR_OUT_OF_MEMORY;
	apply(&a->s, record);
}

static const struct tensor_device *device_of(const struct allocator *a)
{
	assert_true(first_process(&a->s)->tensors.devices_count > 0);
	return first_process(&a->s)->tensors.devices;
}

static const struct tensor_segments *at(const struct allocator *a, enum tensor_moment moment)
{
	return device_of(a)->moments[moment];
}

static struct tensor_segments now(const struct allocator *a)
{
	struct tensor_segments segments;

	assert_int_equal(tensor_segments_take(first_process(&a->s), device_of(a), &segments), 0);
	return segments;
}

/* Each segment is left with a small block between two large ones that have come back. */
static void pin(struct allocator *a, uint64_t count)
{
	uint64_t i, addr;

	for (i = 0; i < count; i++) {
		addr = A + i * 2 * SEGMENT;
		take(a, addr, SEGMENT);
		give(a, addr, 8 * MIB);
		give(a, addr + 8 * MIB, SMALL);
		give(a, addr + 8 * MIB + SMALL, SEGMENT - 8 * MIB - SMALL);
		get_back(a, addr, 8 * MIB);
		get_back(a, addr + 8 * MIB + SMALL, SEGMENT - 8 * MIB - SMALL);
	}
}

static void test_pinned(void **state)
{
	const struct tensor_segments *found;
	struct allocator a = { 0 };

	(void)state;
	pin(&a, 14);
	refuse(&a, 40 * MIB);
	run_out(&a, 40 * MIB);
	found = at(&a, TENSOR_AT_OUT_OF_MEMORY);
	assert_non_null(found);
	assert_int_equal(found->ts_ns, a.s.now_ns);
	assert_int_equal(found->wanted_bytes, 40 * MIB);
	assert_int_equal(found->reserved, 14 * SEGMENT);
	assert_int_equal(found->allocated, 14 * SMALL);
	assert_int_equal(found->count, 14);
	assert_int_equal(found->sparse, 14);
	assert_int_equal(found->sparse_bytes, 280 * MIB);
	assert_int_equal(found->free_bytes, 14 * (SEGMENT - SMALL));
	assert_int_equal(found->pins_blocks, 14);
	assert_int_equal(found->pins_bytes, 14 * SMALL);
	assert_int_equal(found->pins_count, 1);
	assert_int_equal(found->pins[0].block_bytes, SMALL);
	assert_int_equal(found->pins[0].segments, 14);
	assert_int_equal(found->pieces.count, 28);
	assert_int_equal(found->classes[23].count, 28); /* of 8 to 16 MiB */
	assert_int_equal(found->largest_piece, SEGMENT - 8 * MIB - SMALL);
	assert_int_equal(found->empty, 0);
	assert_true(tensor_segments_are_complete(found));
	assert_true(tensor_segments_are_broken(found));
	assert_false(tensor_segments_are_cached(found));
	/* The failure was the allocator's own. */
	assert_null(at(&a, TENSOR_AT_FAILED_CALL));
	assert_int_equal(device_of(&a)->retries, 0);
	/* Before it had the last segment: the others. */
	assert_int_equal(at(&a, TENSOR_AT_PEAK)->count, 13);
	assert_int_equal(at(&a, TENSOR_AT_PEAK)->reserved, 13 * SEGMENT);
	assert_int_equal(at(&a, TENSOR_AT_PEAK)->wanted_bytes, 8 * MIB);
	state_fini(&a.s.state);
}

/* With a block that takes all of it. */
static void take_from(struct allocator *a, uint32_t stack, uint64_t addr, uint64_t bytes)
{
	const union record record = record_on(0, record_alloc("cuMemAlloc_v2", addr, bytes));

	apply(&a->s, record_called_from(stack, record));
	a->reserved += bytes;
	give(a, addr, bytes);
}

/* Those that have no block come from another place than the largest. */
static void test_where_empty_ones_come_from(void **state)
{
	struct allocator a = { 0 };
	struct tensor_segments found;
	uint64_t i;

	(void)state;
	take_from(&a, 7, A, 10 * SEGMENT);
	take_from(&a, 8, A + 20 * SEGMENT, SEGMENT);
	take_from(&a, 9, A + 22 * SEGMENT, SEGMENT);
	take_from(&a, 9, A + 24 * SEGMENT, SEGMENT);
	for (i = 20; i <= 24; i += 2)
		get_back(&a, A + i * SEGMENT, SEGMENT);
	found = now(&a);
	assert_int_equal(found.empties_count, 2);
	assert_int_equal(found.empties[0].stack, 9);
	assert_int_equal(found.empties[0].segments, 2);
	assert_int_equal(found.empties[0].bytes, 2 * SEGMENT);
	assert_int_equal(found.empties[1].stack, 8);
	assert_false(found.is_capturing);
	apply(&a.s, record_stream(7, record_call("cuStreamBeginCapture_v2")));
	assert_true(now(&a).is_capturing);
	state_fini(&a.s.state);
}

static void test_full(void **state)
{
	struct allocator a = { 0 };

	(void)state;
	take(&a, A, SEGMENT);
	give(&a, A, SEGMENT);
	take(&a, A + SEGMENT, SEGMENT);
	give(&a, A + SEGMENT, SEGMENT - MIB);
	run_out(&a, 4 * MIB);
	assert_int_equal(at(&a, TENSOR_AT_OUT_OF_MEMORY)->full, 1);
	assert_int_equal(at(&a, TENSOR_AT_OUT_OF_MEMORY)->sparse, 0);
	assert_int_equal(at(&a, TENSOR_AT_OUT_OF_MEMORY)->largest_piece, MIB);
	assert_false(tensor_segments_are_broken(at(&a, TENSOR_AT_OUT_OF_MEMORY)));
	/* A piece would have been large enough: it is kept for something else. */
	run_out(&a, MIB);
	assert_false(tensor_segments_are_broken(at(&a, TENSOR_AT_OUT_OF_MEMORY)));
	state_fini(&a.s.state);
}

static void test_retry(void **state)
{
	struct allocator a = { 0 };

	(void)state;
	take(&a, A, SEGMENT);
	give(&a, A, SEGMENT);
	get_back(&a, A, SEGMENT);
	refuse(&a, 40 * MIB);
	assert_int_equal(at(&a, TENSOR_AT_FAILED_CALL)->empty_bytes, SEGMENT);
	give_back(&a, A, SEGMENT);
	take(&a, A, 40 * MIB);
	give(&a, A, 40 * MIB);
	assert_int_equal(device_of(&a)->retries, 1);
	assert_null(at(&a, TENSOR_AT_FAILED_CALL));
	/* In vain: with its cache given back, it fails again. */
	get_back(&a, A, 40 * MIB);
	refuse(&a, 80 * MIB);
	assert_int_equal(at(&a, TENSOR_AT_FAILED_CALL)->empty_bytes, 40 * MIB);
	give_back(&a, A, 40 * MIB);
	refuse(&a, 80 * MIB);
	run_out(&a, 80 * MIB);
	assert_null(at(&a, TENSOR_AT_FAILED_CALL));
	take(&a, A, 40 * MIB);
	give(&a, A, 40 * MIB);
	assert_int_equal(device_of(&a)->retries, 1);
	/* One that is not the allocator's. */
	refuse(&a, MIB);
	give(&a, A, SMALL);
	assert_int_equal(device_of(&a)->retries, 1);
	assert_non_null(at(&a, TENSOR_AT_FAILED_CALL));
	state_fini(&a.s.state);
}

static void test_cached(void **state)
{
	struct allocator a = { 0 };
	const struct tensor_segments *found;

	(void)state;
	take(&a, A, 2 * SEGMENT);
	give(&a, A, 2 * SEGMENT);
	get_back(&a, A, 2 * SEGMENT);
	take(&a, A + 4 * SEGMENT, SEGMENT);
	give(&a, A + 4 * SEGMENT, SEGMENT - MIB);
	refuse(&a, 30 * MIB);
	give(&a, A + 5 * SEGMENT - MIB, MIB);
	refuse(&a, 1ul << 40); /* of which nothing could be said */
	found = at(&a, TENSOR_AT_FAILED_CALL);
	assert_int_equal(found->wanted_bytes, 30 * MIB);
	assert_int_equal(found->empty, 1);
	assert_int_equal(found->empty_bytes, 2 * SEGMENT);
	assert_int_equal(found->largest_empty, 2 * SEGMENT);
	assert_int_equal(found->pieces.count, 1);
	assert_true(tensor_segments_are_cached(found));
	state_fini(&a.s.state);
}

/* Mapped side by side: a block may lie in two of them, and so may a free piece. */
static void test_mapped(void **state)
{
	struct allocator a = { 0 };
	struct tensor_segments found;
	uint64_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		apply(&a.s, record_on(0, record_map(A + i * SEGMENT, SEGMENT, 0x42 + i)));
		a.reserved += SEGMENT;
	}
	give(&a, A, 30 * MIB);
	give(&a, A + 30 * MIB, 50 * MIB);
	get_back(&a, A + 30 * MIB, 50 * MIB);
	found = now(&a);
	assert_int_equal(found.mapped, 4);
	assert_int_equal(found.empty, 2);
	assert_true(tensor_segments_are_complete(&found));
	assert_int_equal(found.full, 1);
	assert_int_equal(found.outside_bytes, 0);
	assert_int_equal(found.sparse, 1);
	assert_int_equal(found.pins[0].block_bytes, 30 * MIB);
	give(&a, A + 30 * MIB, 10 * MIB);
	give(&a, A + 40 * MIB, SMALL);
	found = now(&a);
	assert_int_equal(found.pieces.count, 1);
	assert_int_equal(found.largest_piece, 40 * MIB - SMALL);
	state_fini(&a.s.state);
}

static void test_attached_late(void **state)
{
	struct allocator a = { .allocated = 5 * MIB, .reserved = 3 * SEGMENT };
	struct tensor_segments found;

	(void)state;
	give(&a, A, MIB);
	found = now(&a);
	assert_int_equal(found.before_bytes, 5 * MIB);
	assert_int_equal(found.outside_bytes, MIB);
	assert_int_equal(found.count, 0);
	assert_false(tensor_segments_are_complete(&found));
	assert_false(tensor_segments_are_broken(&found));
	state_fini(&a.s.state);
}

static void test_ends(void **state)
{
	struct tensor_segments scratch;
	struct allocator a = { 0 };

	(void)state;
	pin(&a, 2);
	assert_ptr_equal(tensors_moment(first_process(&a.s), device_of(&a), TENSOR_AT_END,
					&scratch),
			 &scratch);
	assert_int_equal(scratch.sparse, 2);
	apply(&a.s, record_exit(0));
	assert_int_equal(
		tensors_moment(first_process(&a.s), device_of(&a), TENSOR_AT_END, NULL)->sparse, 2);
	state_restart(&a.s.state, a.s.now_ns);
	state_fini(&a.s.state);
}

/* Of one size, but from two places; a number without the flag is none of a stack. */
static void test_places(void **state)
{
	static const struct {
		uint32_t stack;
		uint8_t flags;
	} made[] = {
		{ 7, MS_TENSOR_STACK }, { 7, MS_TENSOR_STACK }, { 8, MS_TENSOR_STACK }, { 9, 0 }
	};
	struct allocator a = { 0 };
	struct tensor_segments found;
	uint64_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		union record record;

		take(&a, A + i * 2 * SEGMENT, SEGMENT);
		a.allocated += SMALL;
		record = record_tensor(A + i * 2 * SEGMENT, SMALL, a.allocated);
		record.tensor.reserved = a.reserved;
		record.tensor.flags = made[i].flags;
		record.tensor.event.stack = made[i].stack;
		apply(&a.s, record);
	}
	found = now(&a);
	assert_int_equal(found.pins_count, 3);
	assert_int_equal(found.pins[0].stack, 7);
	assert_int_equal(found.pins[0].segments, 2);
	assert_int_equal(found.pins[1].stack, 0);
	assert_int_equal(found.pins[2].stack, 8);
	assert_true(tensor_segments_are_alike(&found));
	assert_int_equal(found.makers_count, 2);
	assert_int_equal(found.strips[1].makers[0], 0);
	assert_int_equal(found.strips[2].makers[0], 1);
	assert_int_equal(found.strips[3].makers[0], TENSOR_MAKERS);
	state_fini(&a.s.state);
}

/* Two stacks with the same line of Python are one place; and each of many sizes is counted. */
static void test_lines_and_many_kinds(void **state)
{
	union record python = record_frame(2, "step", "/train.py");
	struct allocator a = { 0 };
	struct tensor_segments found;
	uint64_t i;

	(void)state;
	python.frame.kind = MS_FRAME_PYTHON;
	apply(&a.s, record_frame(1, "allocate", "/libc10.so"));
	apply(&a.s, python);
	apply(&a.s, record_stack(7, 1, 2));
	apply(&a.s, record_stack(8, 2, 1));
	for (i = 0; i < 400; i++) {
		const uint64_t bytes = SMALL * (i < 300 ? i + 1 : 1000);
		union record record;

		take(&a, A + i * 2 * SEGMENT, SEGMENT);
		a.allocated += bytes;
		record = record_tensor(A + i * 2 * SEGMENT, (int64_t)bytes, a.allocated);
		record.tensor.reserved = a.reserved;
		record.tensor.flags = MS_TENSOR_STACK;
		record.tensor.event.stack = 7 + i % 2;
		apply(&a.s, record);
	}
	found = now(&a);
	assert_int_equal(found.pins[0].blocks, 100);
	assert_int_equal(found.pins[0].segments, 100);
	assert_int_equal(found.pins[0].block_bytes, 1000 * SMALL);
	assert_int_equal(found.pins[0].stack, 7);
	assert_int_equal(found.pins_more, 301 - TENSOR_PINS);
	state_fini(&a.s.state);
}

static void test_strips(void **state)
{
	const struct tensor_strip *strip;
	struct allocator a = { 0 };
	struct tensor_segments found;
	uint32_t i;

	(void)state;
	for (i = 0; i < TENSOR_STRIPS + 2; i++) {
		take(&a, A + i * 2 * SEGMENT, 128 * KIB);
		give(&a, A + i * 2 * SEGMENT, i < 2 ? 128 * KIB : 2 * KIB);
	}
	give(&a, A + 4 * SEGMENT + 10 * KIB, SMALL);
	give(&a, A + 4 * SEGMENT + 100 * KIB + SMALL, 27 * KIB);
	found = now(&a);
	/* Those that are full are left out. */
	assert_int_equal(found.strips_count, TENSOR_STRIPS);
	assert_int_equal(found.strips[1].addr, A + 6 * SEGMENT);
	strip = &found.strips[0];
	assert_int_equal(strip->addr, A + 4 * SEGMENT);
	assert_int_equal(strip->blocks, 3);
	assert_int_equal(strip->used, 29 * KIB + SMALL);
	for (i = 0; i < TENSOR_CELLS; i++) {
		const uint8_t expected = i < 2 || (i > 100 && i < 127)   ? 255 :
					 i == 10 || i == 100 || i == 127 ? 128 :
									   0;

		assert_int_equal(strip->cells[i], expected);
	}
	state_fini(&a.s.state);
}

/* ---- against a model ------------------------------------------------------------------------- */

#define GRAINS 64u /* of a segment */
#define SEGMENTS 16u

static void expect_as(const struct allocator *a, const uint8_t used[SEGMENTS][GRAINS])
{
	uint64_t pieces = 0, largest = 0, empty = 0, sparse = 0, run, live;
	struct tensor_segments found = now(a);
	uint32_t i, j;

	for (i = 0; i < SEGMENTS; i++) {
		for (j = live = 0; j < GRAINS; j++)
			live += used[i][j];
		empty += !live;
		sparse += live && live <= GRAINS / 2;
		for (j = run = 0; live && j <= GRAINS; j++) {
			if (j < GRAINS && !used[i][j]) {
				run++;
				continue;
			}
			pieces += run > 0;
			largest = run > largest ? run : largest;
			run = 0;
		}
	}
	assert_int_equal(found.pieces.count, pieces);
	assert_int_equal(found.largest_piece, largest * 64 * KIB);
	assert_int_equal(found.sparse, sparse);
	assert_int_equal(found.count - found.empty, SEGMENTS - empty);
	assert_int_equal(found.free_bytes + found.empty_bytes + found.allocated, found.bytes);
	assert_int_equal(found.outside_bytes, 0);
}

static void test_model(void **state)
{
	uint8_t used[SEGMENTS][GRAINS] = { 0 };
	struct allocator a = { 0 };
	uint32_t i, step;

	(void)state;
	srand(1);
	for (i = 0; i < SEGMENTS; i++)
		take(&a, A + i * 8 * MIB, GRAINS * 64 * KIB);
	for (step = 0; step < 4000; step++) {
		const uint32_t segment = (uint32_t)rand() % SEGMENTS;
		const uint32_t grain = (uint32_t)rand() % GRAINS;
		const uint64_t addr = A + segment * 8 * MIB + grain * 64 * KIB;

		if (used[segment][grain])
			get_back(&a, addr, 64 * KIB);
		else
			give(&a, addr, 64 * KIB);
		used[segment][grain] ^= 1;
		if (step % 64 == 0)
			expect_as(&a, used);
	}
	state_fini(&a.s.state);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* A look at all costs no more than the records that came before it, however often it is asked. */
static void test_looks_are_paid_for(void **state)
{
	const struct tensors *tensors;
	struct allocator a = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		take(&a, A + i * SEGMENT, SEGMENT);
		give(&a, A + i * SEGMENT, MIB);
		run_out(&a, 100 * SEGMENT);
	}
	tensors = &first_process(&a.s)->tensors;
	assert_non_null(at(&a, TENSOR_AT_OUT_OF_MEMORY));
	assert_true(tensors->spent <= 8 * 4000 + 65536);
	assert_true(tensors->spent > 65536);
	state_fini(&a.s.state);
}

static void test_many_blocks(void **state)
{
	const uint64_t count = 200000;
	struct allocator a = { 0 };
	struct tensor_segments found;
	uint64_t i;

	(void)state;
	take(&a, A, count * KIB);
	for (i = 0; i < count; i++)
		give(&a, A + i * KIB, SMALL);
	found = now(&a);
	assert_int_equal(found.pieces.count, count);
	assert_int_equal(found.pieces.bytes, count * SMALL);
	assert_int_equal(found.sparse, 1);
	assert_int_equal(found.pins[0].blocks, count);
	state_fini(&a.s.state);
}

/* Blocks and segments that lie over each other, up to the last address. */
static void test_hostile(void **state)
{
	struct allocator a = { .reserved = 1ul << 47 };
	struct tensor_segments found;
	uint64_t i;

	(void)state;
	for (i = 0; i < 64; i++) {
		apply(&a.s, record_alloc("cuMemAlloc_v2", A + i, UINT64_MAX));
		give(&a, A + 2 * i, (1ul << 40) - 7 * i);
	}
	give(&a, UINT64_MAX - 10, 100);
	found = now(&a);
	assert_int_equal(found.count, 64);
	assert_true(found.free_bytes <= found.bytes);
	state_fini(&a.s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_where_empty_ones_come_from),
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_cached),
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_attached_late),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_lines_and_many_kinds),
		cmocka_unit_test(test_strips),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_looks_are_paid_for),
		cmocka_unit_test(test_many_blocks),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
