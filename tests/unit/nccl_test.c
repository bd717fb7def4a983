// SPDX-License-Identifier: BSD-2-Clause
/*
 * The account of NCCL: communicators, what their calls moved, and which allocations are theirs.
 */
#include "ledger/limits.h"
#include "scenario.h"

#define WORLD 0x5000ul
#define A 0x7f0000000000ul
#define HELPER (RECORD_PID + 1)

static const struct nccl *nccl_of(const struct scenario *s)
{
	return &first_process(s)->nccl;
}

/* A call that began `since_ns` before it is applied. */
static void call(struct scenario *s, enum ms_nccl_function function, uint64_t comm, uint64_t count,
		 uint64_t since_ns)
{
	union record record = record_nccl(function, comm, count);

	record.nccl.duration_ns = since_ns;
	apply(s, record);
}

static void test_calls_are_summed_by_communicator(void **state)
{
	struct scenario s = { 0 };
	union record failed = record_nccl(MS_NCCL_ncclAllReduce, WORLD, 1000);

	(void)state;
	failed.nccl.result = 4;
	call(&s, MS_NCCL_ncclCommInitRank, WORLD, 8, 10);
	call(&s, MS_NCCL_ncclAllReduce, WORLD, 100, 10);
	call(&s, MS_NCCL_ncclSend, WORLD, 1, 10);
	call(&s, MS_NCCL_ncclAllReduce, WORLD + 1, 3, 10);
	apply(&s, failed);
	assert_int_equal(nccl_of(&s)->count, 2);
	assert_int_equal(nccl_of(&s)->list[0].ranks, 8);
	assert_int_equal(nccl_of(&s)->list[0].rank, 7);
	assert_int_equal(nccl_moves(&nccl_of(&s)->list[0]).bytes, 404);
	assert_int_equal(nccl_moves(&nccl_of(&s)->list[0]).count, 3);
	assert_int_equal(nccl_all_calls(&nccl_of(&s)->list[0]).failed, 1);
	assert_int_equal(nccl_moves(&nccl_of(&s)->list[1]).bytes, 12);
	assert_int_equal(nccl_of(&s)->list[1].made_ns, 0);
	state_restart(&s.state, s.now_ns);
	assert_int_equal(nccl_all_calls(&nccl_of(&s)->list[0]).count, 0);
	assert_int_equal(nccl_of(&s)->list[0].ranks, 8);
	state_fini(&s.state);
}

static void test_a_handle_can_be_another_ones(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	call(&s, MS_NCCL_ncclCommInitRank, WORLD, 8, 1);
	call(&s, MS_NCCL_ncclCommDestroy, WORLD, 0, 1);
	call(&s, MS_NCCL_ncclCommInitRank, WORLD, 4, 1);
	call(&s, MS_NCCL_ncclCommInitRank, WORLD, 2, 1); /* the end of the one before was missed */
	assert_int_equal(nccl_of(&s)->count, 3);
	assert_true(nccl_of(&s)->list[0].ended_ns && nccl_of(&s)->list[1].ended_ns);
	assert_int_equal(nccl_of(&s)->list[2].ranks, 2);
	assert_int_equal(nccl_of(&s)->list[2].ended_ns, 0);
	state_fini(&s.state);
}

/* What is destroyed is NULL, and a rank that a split leaves out gets none. */
static void test_no_communicator_has_no_life(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	call(&s, MS_NCCL_ncclCommDestroy, 0, 0, 1);
	call(&s, MS_NCCL_ncclCommDestroy, 0, 0, 1);
	call(&s, MS_NCCL_ncclCommSplit, 0, 3, 1);
	assert_int_equal(nccl_of(&s)->count, 1);
	assert_int_equal(nccl_of(&s)->list[0].made_ns, 0);
	assert_int_equal(nccl_of(&s)->list[0].ended_ns, 0);
	assert_int_equal(nccl_all_calls(&nccl_of(&s)->list[0]).count, 3);
	state_fini(&s.state);
}

static void test_memory_is_that_of_the_call(void **state)
{
	struct scenario s = { 0 };
	const struct nccl_communicator *world;
	uint64_t before_ns;

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 1 << 20)); /* before */
	before_ns = s.now_ns;
	apply(&s, record_alloc("cuMemAlloc_v2", A + (1 << 20), 4096));
	apply(&s, record_alloc("cuMemHostAlloc", A + (2 << 20), 512));
	apply(&s, record_by(HELPER, record_alloc("cuMemAlloc_v2", A + (3 << 20), 1 << 20)));
	call(&s, MS_NCCL_ncclCommInitRank, WORLD, 8, s.now_ns - before_ns);
	world = &nccl_of(&s)->list[0];
	assert_int_equal(world->device.bytes, 4096);
	assert_int_equal(world->host.bytes, 512);
	/* Once it is one's, it is nobody else's. */
	call(&s, MS_NCCL_ncclAllReduce, WORLD + 1, 1, s.now_ns - before_ns);
	assert_int_equal(nccl_of(&s)->list[1].device.bytes, 0);
	apply(&s, record_free("cuMemFree_v2", A + (1 << 20)));
	world = &nccl_of(&s)->list[0];
	assert_int_equal(world->device.bytes, 0);
	assert_int_equal(world->device.blocks, 0);
	assert_int_equal(world->device.peak_bytes, 4096);
	assert_int_equal(world->host.bytes, 512);
	state_fini(&s.state);
}

static void test_a_group_is_of_the_only_communicator(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	call(&s, MS_NCCL_ncclCommInitRank, WORLD, 8, 1);
	apply(&s, record_alloc("cuMemAlloc_v2", A, 4096));
	call(&s, MS_NCCL_ncclGroupEnd, 0, 0, 1000000);
	assert_int_equal(nccl_of(&s)->list[0].device.bytes, 4096);
	call(&s, MS_NCCL_ncclCommInitRank, WORLD + 1, 8, 1);
	apply(&s, record_alloc("cuMemAlloc_v2", A + 4096, 4096));
	call(&s, MS_NCCL_ncclGroupEnd, 0, 0, s.now_ns);
	assert_int_equal(nccl_of(&s)->list[0].device.bytes, 4096);
	assert_int_equal(nccl_of(&s)->list[2].device.bytes, 0);
	assert_int_equal(nccl_of(&s)->list[1].handle, 0);
	assert_int_equal(nccl_of(&s)->list[1].device.bytes, 4096);
	state_fini(&s.state);
}

static void test_bounds_and_absurd_numbers(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	call(&s, MS_NCCL_ncclAllReduce, WORLD, UINT64_MAX, UINT64_MAX);
	call(&s, MS_NCCL_ncclAllReduce, WORLD, UINT64_MAX / 4, 0);
	call(&s, MS_NCCL_ncclAllReduce, WORLD, UINT64_MAX / 4, 0);
	assert_true(nccl_moves(&nccl_of(&s)->list[0]).bytes == UINT64_MAX);
	for (i = 1; i <= LIMIT_COMMUNICATORS; i++)
		call(&s, MS_NCCL_ncclCommInitRank, WORLD + i, 8, 1);
	assert_int_equal(nccl_of(&s)->count, LIMIT_COMMUNICATORS);
	assert_int_equal(nccl_of(&s)->others, 1);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_are_summed_by_communicator),
		cmocka_unit_test(test_a_handle_can_be_another_ones),
		cmocka_unit_test(test_no_communicator_has_no_life),
		cmocka_unit_test(test_memory_is_that_of_the_call),
		cmocka_unit_test(test_a_group_is_of_the_only_communicator),
		cmocka_unit_test(test_bounds_and_absurd_numbers),
	};

	return cmocka_run_group_tests_name("nccl", tests, NULL, NULL);
}
