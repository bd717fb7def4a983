// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocators of frameworks that cannot use what they have, and those that can, or need more.
 */
#include "analysed.h"

#define SEGMENT (20 * MIB)
#define SMALL 512ull

static uint64_t allocated, reserved;

static void say(struct run *run, uint64_t addr, int64_t bytes)
{
	union record record = record_tensor(addr, bytes, allocated);

	record.tensor.reserved = reserved;
	feed(run, record);
	wait_for(run, US);
}

static uint64_t take(struct run *run, uint64_t bytes)
{
	reserved += bytes;
	return alloc_new(run, bytes);
}

static void give(struct run *run, uint64_t addr, uint64_t bytes)
{
	allocated += bytes;
	say(run, addr, (int64_t)bytes);
}

static void get_back(struct run *run, uint64_t addr, uint64_t bytes)
{
	allocated -= bytes;
	say(run, addr, -(int64_t)bytes);
}

static void run_out(struct run *run, uint64_t bytes)
{
	union record record = record_tensor(0, (int64_t)bytes, allocated);

	record.tensor.reserved = reserved;
	record.tensor.action = MS_TENSOR_OUT_OF_MEMORY;
	feed(run, record);
}

/* What it caches has been given back by then. */
static void fail_and_run_out(struct run *run, uint64_t bytes)
{
	fail_alloc(run, bytes);
	wait_for(run, US);
	run_out(run, bytes);
}

static void begin(struct run *run)
{
	allocated = reserved = 0;
	set_up(run);
	launch(run);
}

/* A small block stays in each segment; the rest of it has come back. */
static void leave_small(struct run *run, uint64_t count, uint64_t small)
{
	while (count--) {
		const uint64_t addr = take(run, SEGMENT);

		give(run, addr, 8 * MIB);
		give(run, addr + 8 * MIB, small);
		give(run, addr + 8 * MIB + small, SEGMENT - 8 * MIB - small);
		get_back(run, addr, 8 * MIB);
		get_back(run, addr + 8 * MIB + small, SEGMENT - 8 * MIB - small);
	}
}

static void run_pinned(struct run *run)
{
	begin(run);
	leave_small(run, 14, SMALL);
	fail_and_run_out(run, 40 * MIB);
}

static void run_one_pinned(struct run *run)
{
	begin(run);
	leave_small(run, 1, SMALL);
	fail_and_run_out(run, 16 * MIB);
}

/* The device has some of it free: more would have come from segments that could be given back. */
static void run_pinned_with_room(struct run *run)
{
	begin(run);
	leave_small(run, 14, SMALL);
	fail_alloc(run, 300 * MIB);
	wait_for(run, US);
	told(run, 64 * MIB, 536 * MIB);
	run_out(run, 300 * MIB);
}

static void run_pinned_late(struct run *run)
{
	begin(run);
	allocated = 30 * MIB;
	reserved = 30 * MIB;
	leave_small(run, 14, SMALL);
	fail_and_run_out(run, 40 * MIB);
}

/* There is room in segments from before, in whatever pieces. */
static void run_mostly_unknown(struct run *run)
{
	begin(run);
	reserved = 400 * MIB;
	leave_small(run, 14, SMALL);
	fail_and_run_out(run, 40 * MIB);
}

static void run_pinned_lossy(struct run *run)
{
	begin(run);
	leave_small(run, 13, SMALL);
	allocated += MIB;
	leave_small(run, 1, SMALL);
	fail_and_run_out(run, 40 * MIB);
}

/* All of it is in use. */
static void run_full(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 20; i++)
		give(run, take(run, SEGMENT), SEGMENT);
	fail_and_run_out(run, 40 * MIB);
}

/* Nearly all: what is free in pieces is a small part of what was asked for. */
static void run_nearly_full(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 20; i++)
		give(run, take(run, SEGMENT), SEGMENT - MIB);
	fail_alloc(run, 60 * MIB);
	wait_for(run, US);
	told(run, 50 * MIB, 642 * MIB);
	run_out(run, 60 * MIB);
}

/* A piece would have been large enough: it is of another pool, or waits for a stream. */
static void run_other_pool(struct run *run)
{
	begin(run);
	leave_small(run, 14, SMALL);
	fail_and_run_out(run, 4 * MIB);
}

/* Nothing pins what it caches, and it gives that back itself. */
static void run_retry(struct run *run)
{
	uint64_t addr;

	begin(run);
	addr = take(run, 10 * SEGMENT);
	give(run, addr, 10 * SEGMENT);
	get_back(run, addr, 10 * SEGMENT);
	fail_alloc(run, 100 * MIB);
	wait_for(run, US);
	free_at(run, addr);
	reserved -= 10 * SEGMENT;
	give(run, take(run, 100 * MIB), 100 * MIB);
}

/* The same, but what needs the memory is not its own. */
static void run_cached(struct run *run)
{
	uint64_t addr;

	begin(run);
	addr = take(run, 10 * SEGMENT);
	give(run, addr, 10 * SEGMENT);
	get_back(run, addr, 10 * SEGMENT);
	fail_alloc(run, 100 * MIB);
	end_process(run, 1);
}

/* It has tried to give back what it caches, and it had to keep it: a graph's pool. */
static void run_private_pool(struct run *run)
{
	uint64_t addr;

	begin(run);
	addr = take(run, 10 * SEGMENT);
	give(run, addr, 10 * SEGMENT);
	get_back(run, addr, 10 * SEGMENT);
	fail_and_run_out(run, 100 * MIB);
}

static void capture(struct run *run, const char *function)
{
	feed(run, record_stream(7, record_call(function)));
	wait_for(run, US);
}

/* While a graph is captured, PyTorch gives back nothing: it may be any pool's. */
static void run_out_in_a_capture(struct run *run)
{
	uint64_t addr;

	begin(run);
	addr = take(run, 10 * SEGMENT);
	give(run, addr, 10 * SEGMENT);
	get_back(run, addr, 10 * SEGMENT);
	capture(run, "cuStreamBeginCapture_v2");
	fail_and_run_out(run, 100 * MIB);
}

static void run_out_after_a_capture(struct run *run)
{
	begin(run);
	capture(run, "cuStreamBeginCapture_v2");
	capture(run, "cuStreamEndCapture");
	run_private_pool(run);
}

/* Half of what it has is in pieces, and it has to take more; nothing fails. */
static void run_pieces(struct run *run)
{
	uint64_t addr;

	begin(run);
	leave_small(run, 20, SMALL);
	addr = take(run, 40 * MIB);
	give(run, addr, 40 * MIB);
	step(run);
}

/* Few of them are free. */
static void run_few_pieces(struct run *run)
{
	int i;

	begin(run);
	leave_small(run, 20, SMALL);
	for (i = 0; i < 40; i++)
		give(run, take(run, 40 * MIB), 40 * MIB);
	step(run);
}

#define PIECES(confidence) \
	{ \
		FINDING_FRAGMENTATION, confidence, 14 * (SEGMENT - SMALL) \
	}
#define RAN_OUT(confidence) \
	{ \
		FINDING_OOM, confidence, 0 \
	}

static const struct program programs[] = {
	/* clang-format off */
	{ "pinned by small blocks", run_pinned, { PIECES(H), RAN_OUT(H) }, 2 },
	{ "one segment", run_one_pinned, { { FINDING_FRAGMENTATION, H, SEGMENT - SMALL }, RAN_OUT(H) }, 2 },
	{ "and some room on the device", run_pinned_with_room, { PIECES(M), RAN_OUT(H) }, 2 },
	{ "most segments are from before", run_mostly_unknown, { RAN_OUT(L) }, 1 },
	{ "some blocks are from before", run_pinned_late, { PIECES(M), RAN_OUT(M) }, 2 },
	{ "records were lost", run_pinned_lossy, { { FINDING_FRAGMENTATION, L, 0 }, RAN_OUT(M) }, 2 },
	{ "full", run_full, { RAN_OUT(L) }, 1 },
	{ "nearly full", run_nearly_full, { RAN_OUT(H) }, 1 },
	{ "a piece is large enough", run_other_pool, { RAN_OUT(L) }, 1 },
	{ "a retry that works", run_retry, { RAN_OUT(H) }, 1 },
	{ "cached, and another needs it", run_cached, { { FINDING_CACHE_KEPT, H, 10 * SEGMENT }, RAN_OUT(H) }, 2 },
	{ "a private pool", run_private_pool, { { FINDING_PRIVATE_POOL, M, 10 * SEGMENT }, RAN_OUT(H) }, 2 },
	{ "in a capture", run_out_in_a_capture, { RAN_OUT(H) }, 1 },
	{ "after a capture", run_out_after_a_capture, { { FINDING_PRIVATE_POOL, M, 10 * SEGMENT }, RAN_OUT(H) }, 2 },
	{ "in pieces, and nothing failed", run_pieces, { { FINDING_FRAGMENTATION, M, 0 } }, 1 },
	{ "a small part is in pieces", run_few_pieces, {}, 0 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
