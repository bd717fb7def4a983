// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include "export/viz_process.h"

#define ADDR (1ull << 40)
#define BYTES (1u << 21)

static struct viz_output output;
static enum snapshot_action actions[16];
static size_t count;

/* Instead of the one that writes. */
void snapshot_entry(struct snapshot *snapshot, enum snapshot_action action,
		    const struct snapshot_block *block, uint64_t time_us, uint64_t free_bytes,
		    struct snapshot_frames *frames)
{
	(void)snapshot;
	(void)block;
	(void)time_us;
	(void)free_bytes;
	frames->number = 1;
	assert_true(count < sizeof(actions) / sizeof(*actions));
	actions[count++] = action;
}

static void assert_actions(const enum snapshot_action *expected, size_t expected_count)
{
	size_t i;

	assert_int_equal(output.err, 0);
	assert_int_equal(count, expected_count);
	for (i = 0; i < count; i++)
		assert_int_equal(actions[i], expected[i]);
	count = 0;
}

#define ASSERT_ACTIONS(...) \
	assert_actions((const enum snapshot_action[]){ __VA_ARGS__ }, \
		       sizeof((const enum snapshot_action[]){ __VA_ARGS__ }) / \
			       sizeof(enum snapshot_action))

static struct viz_process *begin(void)
{
	const struct process process = { .pid = 1, .comm = "train" };
	struct viz_process *viz;

	output = (struct viz_output){ .next_addr = VIZ_ALIGNMENT };
	count = 0;
	viz = viz_process_new(&output, &process);
	assert_non_null(viz);
	return viz;
}

static void give(struct viz_process *viz)
{
	const struct tensor_change change = { .given = { .addr = ADDR + 512, .bytes = 1024 } };

	viz_process_tensor(&output, viz, &change, 1000);
}

/* The viewer would have blocks outside of segments if the first piece just went away. */
static void test_mapped_where_the_end_was_not_seen(void **state)
{
	const struct allocation mapping = {
		.addr = ADDR, .size_bytes = BYTES, .space = MS_SPACE_MAPPED, .row = MS_NO_ROW
	};
	struct viz_process *viz = begin();

	(void)state;
	viz_process_map(&output, viz, &mapping);
	give(viz);
	ASSERT_ACTIONS(SNAPSHOT_SEGMENT_MAP, SNAPSHOT_ALLOC);
	viz_process_map(&output, viz, &mapping);
	ASSERT_ACTIONS(SNAPSHOT_FREE_REQUESTED, SNAPSHOT_FREE_COMPLETED, SNAPSHOT_SEGMENT_UNMAP);
	assert_int_equal(viz->blocks.count, 0);
	assert_int_equal(viz->ranges.count, 1);
	give(viz);
	ASSERT_ACTIONS(SNAPSHOT_SEGMENT_MAP, SNAPSHOT_ALLOC);
	viz_process_free(viz);
}

static void test_allocated_where_the_end_was_not_seen(void **state)
{
	struct allocation memory = { .addr = ADDR,
				     .size_bytes = BYTES,
				     .space = MS_SPACE_DEVICE,
				     .row = MS_NO_ROW,
				     .id = 1 };
	struct viz_process *viz = begin();

	(void)state;
	viz_process_add(&output, viz, &memory, 0, 1000);
	give(viz);
	ASSERT_ACTIONS(SNAPSHOT_SEGMENT_ALLOC, SNAPSHOT_ALLOC);
	memory.id = 2;
	viz_process_add(&output, viz, &memory, 0, 2000);
	ASSERT_ACTIONS(SNAPSHOT_FREE_REQUESTED, SNAPSHOT_FREE_COMPLETED, SNAPSHOT_SEGMENT_FREE);
	assert_int_equal(viz->blocks.count, 0);
	assert_int_equal(viz->live.count, 1);
	viz_process_free(viz);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped_where_the_end_was_not_seen),
		cmocka_unit_test(test_allocated_where_the_end_was_not_seen),
	};

	return cmocka_run_group_tests_name("processes for the viewer", tests, NULL, NULL);
}
