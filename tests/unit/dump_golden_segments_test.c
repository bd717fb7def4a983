// SPDX-License-Identifier: BSD-2-Clause
/*
 * The recordings of older versions can be read from each of their segments on.
 */
#include "golden_dumps.h"

#include "ledger/call_times.h"
#include "ledger/objects.h"

/* Replays what comes next, up to the end. */
static void replay_rest(struct dump_reader *reader, struct pipeline *pipeline)
{
	struct replay *replay = replay_new(pipeline, NULL);
	struct dump_item item;

	assert_non_null(replay);
	do {
		assert_int_equal(dump_reader_next(reader, &item), 0);
		assert_int_equal(replay_item(replay, &item), 0);
	} while (item.kind != DUMP_END);
	replay_free(replay);
}

/* Anchors tell of earlier programs since 1.3, and what calls took since 1.4. */
static void forget_what_anchors_lack(struct state *state, size_t version)
{
	size_t i;

	for (i = 0; i < state->processes_count; i++) {
		if (version < 3)
			state->processes[i]->was_running_earlier = false;
		if (version < 4) {
			call_times_forget(state->processes[i]);
			objects_free(state->processes[i]);
		}
	}
}

/* Reads the next segment and all that comes after it; returns whether there was one. */
static bool compare_from_segment(struct dump_reader *reader, const struct state *whole,
				 size_t version)
{
	struct pipeline pipeline = { 0 };
	struct dump_item item;

	do {
		assert_int_equal(dump_reader_next(reader, &item), 0);
		if (item.kind == DUMP_END)
			return false;
	} while (item.header.type != BLOCK_SEGMENT);
	dump_reader_go_to(reader, item.offset);
	replay_rest(reader, &pipeline);
	forget_what_anchors_lack(&pipeline.state, version);
	dump_assert_same_state(whole, &pipeline.state);
	state_fini(&pipeline.state);
	dump_reader_go_to(reader, item.offset + item.bytes);
	return true;
}

static void check_segments(size_t version)
{
	struct dump_reader *reader = golden_dump_open(golden_dumps[version]);
	struct pipeline whole = { 0 };
	size_t segments = 0;

	replay_rest(reader, &whole);
	forget_what_anchors_lack(&whole.state, version);
	dump_reader_go_to(reader, 0);
	while (compare_from_segment(reader, &whole.state, version))
		segments++;
	assert_true(segments > 1);
	dump_reader_close(reader);
	state_fini(&whole.state);
}

/* From any segment on, what is known at the end is the same. */
static void test_it_can_be_read_from_any_segment_on(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < GOLDEN_DUMPS; i++)
		check_segments(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_can_be_read_from_any_segment_on),
	};

	return unit_run("segments of golden dumps", tests);
}
