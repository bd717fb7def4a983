// SPDX-License-Identifier: BSD-2-Clause
#include "pipeline.h"
#include "records.h"

#include <errno.h>
#include <string.h>

#include "event/filter.h"

#define EVERY_OP ((1u << MS_OPS_COUNT) - 1)

static bool accepts_change(const struct filter *filter, union record record,
			   const struct change *change)
{
	const struct filter_effect effect = pipeline_effect(change);
	struct event event;

	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	return filter_accepts(filter, &event, &effect);
}

static bool accepts(const struct filter *filter, union record record)
{
	const struct change change = { 0 };

	return accepts_change(filter, record, &change);
}

static struct change freed(uint64_t size_bytes, bool size_known)
{
	return (struct change){
		.has_allocation = true,
		.allocation = { .size_bytes = size_bytes, .size_known = size_known },
	};
}

/* ---- operations ------------------------------------------------------------------------------ */

static void test_each_operation_is_chosen_by_its_bit(void **state)
{
	static const char *const symbols[MS_OPS_COUNT] = {
		[MS_OP_ALLOC] = "cudaMalloc",        [MS_OP_FREE] = "cudaFree",
		[MS_OP_COPY] = "cudaMemcpy",         [MS_OP_MEMSET] = "cudaMemset",
		[MS_OP_LAUNCH] = "cudaLaunchKernel", [MS_OP_SYNC] = "cudaDeviceSynchronize",
		[MS_OP_CONTEXT] = "cudaSetDevice",
	};
	uint32_t op, chosen;

	(void)state;
	for (chosen = 0; chosen < MS_OPS_COUNT; chosen++) {
		const struct filter filter = { .ops = 1u << chosen };

		for (op = 0; op < MS_OPS_COUNT; op++)
			if (symbols[op])
				assert_int_equal(accepts(&filter, record_call(symbols[op])),
						 op == chosen);
	}
}

static void test_no_operation_accepts_nothing(void **state)
{
	const struct filter filter = { 0 };

	(void)state;
	assert_false(accepts(&filter, record_call("cudaMalloc")));
}

static void test_failures_of_other_operations_can_be_let_through(void **state)
{
	const struct filter filter = { .ops = 1u << MS_OP_ALLOC, .failures = ~0u };

	(void)state;
	assert_false(accepts(&filter, record_call("cudaSetDevice")));
	assert_true(accepts(&filter, record_failed(101, record_call("cudaSetDevice"))));
}

static void test_failures_of_some_operations_can_be_let_through(void **state)
{
	const struct filter filter = { .ops = 1u << MS_OP_ALLOC, .failures = 1u << MS_OP_CONTEXT };

	(void)state;
	assert_true(accepts(&filter, record_failed(101, record_call("cudaSetDevice"))));
	assert_false(accepts(&filter, record_failed(1, record_free("cuMemFree_v2", 0x1000))));
	assert_true(accepts(&filter, record_failed(2, record_alloc("cuMemAlloc_v2", 0, 1))));
}

/* The end of a context that held memory is a free of it. */
static void test_the_end_of_a_context_is_a_free_if_it_held_memory(void **state)
{
	const struct filter frees = { .ops = 1u << MS_OP_FREE },
			    allocs = { .ops = 1u << MS_OP_ALLOC };
	struct change held = { 0 }, empty = { 0 };
	union record destroy = record_context("cuCtxDestroy_v2", 0xc000, 0);

	(void)state;
	held.has_amounts = true;
	held.implicit[MS_SPACE_PINNED].count = 1;
	assert_true(accepts_change(&frees, destroy, &held));
	assert_false(accepts_change(&frees, destroy, &empty));
	assert_false(accepts_change(&allocs, destroy, &held));
}

/* It allocates what its nodes say, and frees. */
static void test_the_launch_of_a_graph_is_what_it_does(void **state)
{
	const struct filter allocs = { .ops = 1u << MS_OP_ALLOC },
			    frees = { .ops = 1u << MS_OP_FREE },
			    large = { .ops = 1u << MS_OP_ALLOC, .min_bytes = 301 },
			    launches = { .ops = 1u << MS_OP_LAUNCH, .min_bytes = 301 };
	struct change made = { .has_amounts = true }, freed = made, nothing = { 0 };
	union record launch = record_launch("cuGraphLaunch", 0x88);

	(void)state;
	made.made[MS_SPACE_GRAPH] = (struct amount){ .count = 3, .bytes = 300 };
	freed.implicit[MS_SPACE_GRAPH] = (struct amount){ .count = 1, .bytes = 100 };
	assert_true(accepts_change(&allocs, launch, &made));
	assert_false(accepts_change(&allocs, launch, &freed));
	assert_false(accepts_change(&allocs, launch, &nothing));
	assert_true(accepts_change(&frees, launch, &freed));
	assert_false(accepts_change(&frees, launch, &made));
	assert_false(accepts_change(&large, launch, &made));
	made.made[MS_SPACE_GRAPH].bytes = 301;
	assert_true(accepts_change(&large, launch, &made));
	made.made[MS_SPACE_GRAPH].bytes = 0; /* unknown */
	assert_true(accepts_change(&large, launch, &made));
	assert_true(accepts_change(&launches, launch, &nothing));
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void test_smaller_ones_are_left_out(void **state)
{
	static const char *const symbols[] = { "cudaMalloc", "cudaMemcpy", "cudaMemset" };
	const struct filter filter = { .ops = EVERY_OP, .min_bytes = 100 };
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_false(accepts(&filter, record_alloc(symbols[i], 0x1000, 0)));
		assert_false(accepts(&filter, record_alloc(symbols[i], 0x1000, 99)));
		assert_true(accepts(&filter, record_alloc(symbols[i], 0x1000, 100)));
		assert_true(accepts(&filter, record_alloc(symbols[i], 0x1000, 1ull << 40)));
	}
}

static void test_an_unknown_size_is_not_small(void **state)
{
	const struct filter filter = { .ops = EVERY_OP, .min_bytes = 100 };

	(void)state;
	assert_true(accepts(&filter,
			    record_without(MS_KNOWN_SIZE, record_alloc("cudaMalloc", 0x1000, 0))));
}

static void test_what_has_no_size_is_not_small(void **state)
{
	const struct filter filter = { .ops = EVERY_OP, .min_bytes = 100 };

	(void)state;
	assert_true(accepts(&filter, record_call("cudaLaunchKernel")));
	assert_true(accepts(&filter, record_call("cudaDeviceSynchronize")));
	assert_true(accepts(&filter, record_call("cuCtxSetCurrent")));
}

static void test_a_free_is_as_large_as_its_block(void **state)
{
	const struct filter filter = { .ops = EVERY_OP, .min_bytes = 100 };
	const struct change none = { 0 }, small = freed(99, true), large = freed(100, true),
			    unknown = freed(0, false);
	union record record = record_free("cudaFree", 0x1000);

	(void)state;
	assert_false(accepts_change(&filter, record, &small));
	assert_true(accepts_change(&filter, record, &large));
	assert_true(accepts_change(&filter, record, &unknown));
	assert_true(accepts_change(&filter, record, &none));
}

/* ---- functions ------------------------------------------------------------------------------- */

static void test_functions_by_regular_expression(void **state)
{
	static const struct {
		const char *regex;
		bool malloc, managed, free;
	} cases[] = {
		{ "cudaMalloc", true, true, false }, /* anywhere in the name */
		{ "^cudaMalloc$", true, false, false },
		{ "Malloc(Managed)?$", true, true, false },
		{ "Free|Managed", false, true, true },
		{ "cuda[MF]", true, true, true },
		{ "", true, true, true },
	};
	struct filter filter = { .ops = EVERY_OP };
	char reason[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(filter_set_api(&filter, cases[i].regex, reason, sizeof(reason)),
				 0);
		assert_int_equal(accepts(&filter, record_call("cudaMalloc")), cases[i].malloc);
		assert_int_equal(accepts(&filter, record_call("cudaMallocManaged")),
				 cases[i].managed);
		assert_int_equal(accepts(&filter, record_call("cudaFree")), cases[i].free);
	}
	assert_int_equal(filter_set_api(&filter, "nothing", reason, sizeof(reason)), -ENOENT);
	assert_false(accepts(&filter, record_call("cudaMalloc")));
	filter_fini(&filter);
}

static void test_every_row_is_matched(void **state)
{
	struct filter filter = { .ops = EVERY_OP };
	char reason[64];
	uint32_t row;

	(void)state;
	assert_int_equal(filter_set_api(&filter, "^cuMem", reason, sizeof(reason)), 0);
	for (row = 0; row < probe_count(); row++)
		assert_int_equal(filter.rows[row], !strncmp(probe_at(row)->symbol, "cuMem", 5));
	filter_fini(&filter);
}

static void test_either_function_of_a_merged_call_counts(void **state)
{
	struct filter filter = { .ops = EVERY_OP };
	union record merged = record_merged("cuMemAlloc_v2", record_call("cudaMalloc"));
	char reason[64];

	(void)state;
	assert_int_equal(filter_set_api(&filter, "^cuMemAlloc", reason, sizeof(reason)), 0);
	assert_true(accepts(&filter, merged));
	assert_false(accepts(&filter, record_call("cudaMalloc")));
	assert_int_equal(filter_set_api(&filter, "^cudaMalloc", reason, sizeof(reason)), 0);
	assert_true(accepts(&filter, merged));
	assert_false(accepts(&filter, record_call("cuMemAlloc_v2")));
	assert_int_equal(filter_set_api(&filter, "^cuLaunch", reason, sizeof(reason)), 0);
	assert_false(accepts(&filter, merged));
	filter_fini(&filter);
}

static void test_a_bad_expression_is_explained_and_changes_nothing(void **state)
{
	static const char *const bad[] = { "(", "[a", "a{2,1}", "[[:nope:]]" };
	struct filter filter = { .ops = EVERY_OP };
	char reason[64];
	size_t i;

	(void)state;
	assert_int_equal(filter_set_api(&filter, "^cudaMalloc$", reason, sizeof(reason)), 0);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		reason[0] = '\0';
		assert_int_equal(filter_set_api(&filter, bad[i], reason, sizeof(reason)), -EINVAL);
		assert_true(strlen(reason) > 0);
		assert_true(accepts(&filter, record_call("cudaMalloc")));
		assert_false(accepts(&filter, record_call("cudaFree")));
	}
	filter_fini(&filter);
	filter_fini(&filter);
	assert_true(accepts(&filter, record_call("cudaFree"))); /* all of them again */
}

static void test_everything_must_agree(void **state)
{
	struct filter filter = { .ops = 1u << MS_OP_ALLOC, .min_bytes = 100 };
	char reason[64];

	(void)state;
	assert_int_equal(filter_set_api(&filter, "^cuda", reason, sizeof(reason)), 0);
	assert_true(accepts(&filter, record_alloc("cudaMalloc", 0x1000, 100)));
	assert_false(accepts(&filter, record_alloc("cudaMalloc", 0x1000, 99)));
	assert_false(accepts(&filter, record_alloc("cuMemAlloc_v2", 0x1000, 100)));
	assert_false(accepts(&filter, record_alloc("cudaMemset", 0x1000, 100)));
	filter_fini(&filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_operation_is_chosen_by_its_bit),
		cmocka_unit_test(test_no_operation_accepts_nothing),
		cmocka_unit_test(test_failures_of_other_operations_can_be_let_through),
		cmocka_unit_test(test_failures_of_some_operations_can_be_let_through),
		cmocka_unit_test(test_the_end_of_a_context_is_a_free_if_it_held_memory),
		cmocka_unit_test(test_the_launch_of_a_graph_is_what_it_does),
		cmocka_unit_test(test_smaller_ones_are_left_out),
		cmocka_unit_test(test_an_unknown_size_is_not_small),
		cmocka_unit_test(test_what_has_no_size_is_not_small),
		cmocka_unit_test(test_a_free_is_as_large_as_its_block),
		cmocka_unit_test(test_functions_by_regular_expression),
		cmocka_unit_test(test_every_row_is_matched),
		cmocka_unit_test(test_either_function_of_a_merged_call_counts),
		cmocka_unit_test(test_a_bad_expression_is_explained_and_changes_nothing),
		cmocka_unit_test(test_everything_must_agree),
	};

	return unit_run("filter", tests);
}
