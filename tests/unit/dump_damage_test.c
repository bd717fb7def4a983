// SPDX-License-Identifier: BSD-2-Clause
/*
 * Damaged dumps: cut short anywhere, any bit turned over. Whatever is read of one is what was
 * written; what is not read is told; and after the next anchor all is as if nothing had happened.
 */
#include "any_records.h"
#include "dumps.h"

#define DAMAGE_BYTES (64u << 10) /* of the dump */
#define DAMAGE_SEGMENTS 8
#define STEPS_MAX 20000
#define PER_BLOCK 40
#define PER_SEGMENT 800

/* What a sink saw: a number for each event. */
struct seen {
	struct sink sink;
	uint64_t *events;
	size_t count;
};

static int see(struct sink *sink, const struct event *event, const struct change *change)
{
	struct seen *seen = (struct seen *)sink;
	const uint8_t *bytes = (const uint8_t *)event->header;
	uint64_t hash = 14695981039346656037u;
	size_t i;

	(void)change;
	for (i = 0; i < event->header->size; i++)
		hash = (hash ^ bytes[i]) * 1099511628211u;
	assert_true(seen->count < STEPS_MAX);
	seen->events[seen->count++] = hash;
	return 0;
}

static void seen_init(struct seen *seen)
{
	*seen = (struct seen){ .sink = { .call = see, .process = see },
			       .events = malloc(STEPS_MAX * sizeof(*seen->events)) };
	assert_non_null(seen->events);
}

/* The dump that is damaged, and what is in it. */
static struct dump whole;
static struct pipeline live = { .filter = { .ops = ~0u }, .shows_sums = true };
static struct seen all;

static int write_whole(void **state)
{
	struct dump_writer *writer = dump_writer_to(&whole);
	struct properties end = { 0 };
	uint64_t step;

	(void)state;
	seen_init(&all);
	pipeline_add_sink(&live, &all.sink);
	for (step = 0; whole.bytes.length < DAMAGE_BYTES; step++) {
		union record record = any_record(step);
		uint64_t now_ns = 1000000000 + step * 1000;

		if (step % PER_SEGMENT == 0)
			assert_int_equal(dump_writer_segment(writer, &live.state, now_ns), 0);
		else if (step % PER_BLOCK == 0)
			assert_int_equal(dump_writer_flush(writer, now_ns), 0);
		assert_int_equal(dump_writer_add(writer, &record), 0);
		assert_int_equal(pipeline_feed(&live, &record, record.event.size), 0);
	}
	assert_int_equal(dump_writer_end(writer, &end, 2000000000), 0);
	dump_writer_free(writer);
	live.sinks_count = 0;
	assert_true(whole.segments_count >= 3 && whole.blocks_count > 50);
	return 0;
}

static int free_whole(void **state)
{
	(void)state;
	string_fini(&whole.bytes);
	state_fini(&live.state);
	free(all.events);
	return 0;
}

static size_t block_end(size_t block)
{
	return block + 1 < whole.blocks_count ? whole.blocks[block + 1] : whole.bytes.length;
}

static bool is_told(const struct recording_account *account)
{
	return account->damaged_places || account->cut_short || account->missing_blocks ||
	       !account->has_end;
}

/*
 * Replays bytes that are damaged in one place. The events are those that were written, less some in
 * a row; if any are missing, that is told.
 */
static void check_replay(const char *bytes, size_t length)
{
	struct seen seen;
	struct sink *sink = &seen.sink;
	struct pipeline pipeline = {
		.filter = { .ops = ~0u }, .shows_sums = true, .sinks = { sink }, .sinks_count = 1
	};
	struct replay *replay;
	size_t before = 0, after = 0;

	seen_init(&seen);
	replay = dump_read(&pipeline, bytes, length);
	assert_true(is_told(replay_account(replay)));
	assert_int_equal(replay_account(replay)->refused + pipeline.refused, 0);
	assert_true(seen.count <= all.count);
	while (before < seen.count && seen.events[before] == all.events[before])
		before++;
	while (after < seen.count &&
	       seen.events[seen.count - 1 - after] == all.events[all.count - 1 - after])
		after++;
	assert_true(before + after >= seen.count);
	free(seen.events);
	replay_free(replay);
	state_fini(&pipeline.state);
}

/* Reads from one block on: so many whole blocks, then what is left of the next. */
static void check_cut(size_t first, size_t length)
{
	struct dump_reader *reader = dump_reader_of(whole.bytes.bytes + whole.blocks[first],
						    length - whole.blocks[first]);
	struct dump_item item;
	size_t block = first;

	assert_non_null(reader);
	for (; block < whole.blocks_count && block_end(block) <= length; block++) {
		assert_int_equal(dump_reader_next(reader, &item), 0);
		assert_int_equal(item.kind, DUMP_BLOCK);
		assert_int_equal(item.bytes, block_end(block) - whole.blocks[block]);
	}
	assert_int_equal(dump_reader_next(reader, &item), 0);
	if (block < whole.blocks_count && whole.blocks[block] < length) {
		assert_int_equal(item.kind, DUMP_CUT_SHORT);
		assert_int_equal(item.bytes, length - whole.blocks[block]);
		assert_int_equal(dump_reader_next(reader, &item), 0);
	}
	assert_int_equal(item.kind, DUMP_END);
	dump_reader_close(reader);
}

static void test_every_length_it_can_be_cut_to(void **state)
{
	size_t block, length;

	(void)state;
	for (block = 0; block < whole.blocks_count; block++)
		for (length = whole.blocks[block]; length < block_end(block);
		     length += unit_stride(13))
			check_cut(block ? block - 1 : 0, length);
	for (block = 1; block < whole.blocks_count; block++) {
		check_replay(whole.bytes.bytes, whole.blocks[block] - 1);
		/* At the end of a block, all that is missing is the end. */
		if (block + 1 < whole.blocks_count)
			check_replay(whole.bytes.bytes, whole.blocks[block]);
	}
}

/* With that bit turned over, the block is none, and nothing else is. */
static void check_flip(char *bytes, size_t block)
{
	const size_t rest = whole.bytes.length - whole.blocks[block];
	struct dump_reader *reader = dump_reader_of(bytes + whole.blocks[block], rest);
	struct dump_item item;

	assert_non_null(reader);
	assert_int_equal(dump_reader_next(reader, &item), 0);
	assert_true(item.kind == DUMP_DAMAGE || item.kind == DUMP_CUT_SHORT);
	assert_int_equal(item.bytes, block_end(block) - whole.blocks[block]);
	assert_int_equal(dump_reader_next(reader, &item), 0);
	assert_int_equal(item.kind, block + 1 < whole.blocks_count ? DUMP_BLOCK : DUMP_END);
	dump_reader_close(reader);
}

static void test_every_bit_that_can_turn_over(void **state)
{
	char *bytes = malloc(whole.bytes.length);
	struct block_header header;
	size_t block = 0, place;

	(void)state;
	assert_non_null(bytes);
	memcpy(bytes, whole.bytes.bytes, whole.bytes.length);
	for (place = 0; place < whole.bytes.length * 8; place += unit_stride(7)) {
		const size_t at = place / 8, bit = place % 8;

		block += at >= block_end(block);
		bytes[at] = (char)(bytes[at] ^ 1 << bit);
		assert_int_not_equal(block_check(bytes + whole.blocks[block],
						 whole.bytes.length - whole.blocks[block], &header),
				     BLOCK_OK);
		if (at - whole.blocks[block] < sizeof(header) ? bit == at % 8 : place % 61 == 0)
			check_flip(bytes, block);
		if (place % 2003 == 0)
			check_replay(bytes, whole.bytes.length);
		bytes[at] = (char)(bytes[at] ^ 1 << bit);
	}
	free(bytes);
}

/* Not one bit but a stretch of bytes, of any length, is something else. */
static void test_stretches_that_are_overwritten(void **state)
{
	char *bytes = malloc(whole.bytes.length);
	int i;

	(void)state;
	assert_non_null(bytes);
	for (i = 0; i < 200; i += (int)unit_stride(7)) {
		size_t at = any_below(whole.bytes.length), length = 1 + any_below(20000), j;

		memcpy(bytes, whole.bytes.bytes, whole.bytes.length);
		for (j = at; j < at + length && j < whole.bytes.length; j++)
			bytes[j] = i % 3 ? (char)any_below(256) : (char)(i % 2 ? 'M' : 0);
		check_replay(bytes, whole.bytes.length);
	}
	free(bytes);
}

/* After the last segment's anchor, nothing is left of the damage before it. */
static void test_the_state_after_the_next_anchor(void **state)
{
	const size_t last = whole.segments[whole.segments_count - 1];
	char *bytes = malloc(whole.bytes.length);
	size_t block;

	(void)state;
	assert_non_null(bytes);
	memcpy(bytes, whole.bytes.bytes, whole.bytes.length);
	for (block = 0; whole.blocks[block] < last; block += unit_stride(5)) {
		struct pipeline pipeline = { 0 };
		struct replay *replay;

		bytes[whole.blocks[block] + 70] ^= 1;
		replay = dump_read(&pipeline, bytes, whole.bytes.length);
		assert_int_equal(replay_account(replay)->damaged_places, 1);
		assert_int_equal(replay_account(replay)->missing_blocks, block ? 1 : 0);
		dump_assert_same_state(&live.state, &pipeline.state);
		bytes[whole.blocks[block] + 70] ^= 1;
		replay_free(replay);
		state_fini(&pipeline.state);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length_it_can_be_cut_to),
		cmocka_unit_test(test_every_bit_that_can_turn_over),
		cmocka_unit_test(test_stretches_that_are_overwritten),
		cmocka_unit_test(test_the_state_after_the_next_anchor),
	};

	return (cmocka_set_message_output(CM_OUTPUT_TAP),
		cmocka_run_group_tests_name("damaged dumps", tests, write_whole, free_whole));
}
