// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is written to a dump comes back from it: records as they were, and the same state from its
 * beginning and from every segment on.
 */
#include "any_records.h"
#include "dumps.h"

#include "store/delta.h"

#define STEPS 30000
#define PER_SEGMENT 1500
#define PER_BLOCK 130
#define SEGMENTS (STEPS / PER_SEGMENT)

/* ---- dumps ----------------------------------------------------------------------------------- */

/* The live pipeline's state is that after all records. */
static void write_dump(struct dump *dump, struct pipeline *live)
{
	struct dump_writer *writer = dump_writer_to(dump);
	struct properties end = { 0 };
	uint64_t step;

	for (step = 0; step < STEPS; step++) {
		union record record = any_record(step);
		uint64_t now_ns = 1000000000 + step * 1000;

		if (step % PER_SEGMENT == 0)
			assert_int_equal(dump_writer_segment(writer, &live->state, now_ns), 0);
		else if (step % PER_BLOCK == 0)
			assert_int_equal(dump_writer_flush(writer, now_ns), 0);
		assert_int_equal(dump_writer_add(writer, &record), 0);
		assert_int_equal(pipeline_feed(live, &record, record.event.size), 0);
	}
	assert_int_equal(live->refused, 0);
	properties_put(&end, "reason", "done");
	assert_int_equal(dump_writer_end(writer, &end, 2000000000), 0);
	properties_fini(&end);
	dump_writer_free(writer);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_packed_records_come_back(void **state)
{
	static struct delta_writer writer;
	static struct delta_reader reader;
	static uint8_t payload[BLOCK_MAX_BYTES];
	uint64_t step = 0, seed = any_state, raw = 0, count, i;
	size_t parts[DELTA_STREAMS];

	(void)state;
	delta_begin(&writer);
	while (writer.bytes + DELTA_MAX(sizeof(union record)) <= BLOCK_MAX_BYTES) {
		union record record = any_record(step++);

		delta_add(&writer, &record);
		raw += record.event.size;
	}
	delta_end(&writer, payload, parts);
	assert_int_equal(parts[0] + parts[1] + parts[2], writer.bytes);
	assert_true(writer.bytes * 4 < raw);
	any_state = seed;
	count = step;
	assert_true(delta_open(&reader, payload, writer.bytes));
	for (i = 0; i < count; i++) {
		union record record = any_record(i), read;

		assert_false(delta_done(&reader));
		assert_int_equal(delta_read(&reader, &read, sizeof(read)), record.event.size);
		assert_memory_equal(&read, &record, record.event.size);
	}
	assert_true(delta_done(&reader));
	assert_int_equal(delta_read(&reader, payload, sizeof(payload)), 0);
}

static void test_every_segment_leads_to_the_same_state(void **state)
{
	struct dump dump = { 0 };
	struct pipeline live = { 0 };
	size_t i;

	(void)state;
	write_dump(&dump, &live);
	assert_int_equal(dump.segments_count, SEGMENTS);
	for (i = 0; i < dump.segments_count; i += unit_stride(3)) {
		struct pipeline pipeline = { 0 };
		struct replay *replay = dump_read(&pipeline, dump.bytes.bytes + dump.segments[i],
						  dump.bytes.length - dump.segments[i]);
		const struct recording_account *account = replay_account(replay);

		assert_int_equal(account->segments, SEGMENTS - i);
		assert_int_equal(account->events, STEPS - i * PER_SEGMENT);
		assert_int_equal(account->refused + pipeline.refused + account->missing_blocks, 0);
		assert_int_equal(account->damaged_bytes, 0);
		assert_true(account->has_end);
		assert_string_equal(replay_text(replay, "host"), "example");
		assert_string_equal(replay_end_text(replay, "reason"), "done");
		dump_assert_same_state(&live.state, &pipeline.state);
		replay_free(replay);
		state_fini(&pipeline.state);
	}
	string_fini(&dump.bytes);
	state_fini(&live.state);
}

static void test_a_segment_without_its_beginning_is_left_out(void **state)
{
	struct dump dump = { 0 };
	struct pipeline live = { 0 }, pipeline = { 0 };
	struct replay *replay;

	(void)state;
	write_dump(&dump, &live);
	replay = dump_read(&pipeline, dump.bytes.bytes + 1, dump.bytes.length - 1);
	assert_int_equal(replay_account(replay)->segments, SEGMENTS - 1);
	assert_int_equal(replay_account(replay)->events, STEPS - PER_SEGMENT);
	assert_int_equal(replay_account(replay)->damaged_places, 1);
	dump_assert_same_state(&live.state, &pipeline.state);
	replay_free(replay);
	state_fini(&pipeline.state);
	string_fini(&dump.bytes);
	state_fini(&live.state);
}

static void test_after_a_gap_the_next_anchor_counts(void **state)
{
	struct dump dump = { 0 };
	struct pipeline live = { 0 }, pipeline = { 0 };
	struct replay *replay;

	(void)state;
	write_dump(&dump, &live);
	/* In the middle of a block of the third segment. */
	dump.bytes.bytes[(dump.segments[2] + dump.segments[3]) / 2] ^= 1;
	replay = dump_read(&pipeline, dump.bytes.bytes, dump.bytes.length);
	assert_int_equal(replay_account(replay)->segments, SEGMENTS);
	assert_int_equal(replay_account(replay)->missing_blocks, 1);
	assert_int_equal(replay_account(replay)->anchors_used, 2);
	dump_assert_same_state(&live.state, &pipeline.state);
	replay_free(replay);
	state_fini(&pipeline.state);
	string_fini(&dump.bytes);
	state_fini(&live.state);
}

/* What a program that was attached to late calls first decides what is known of it: state.c. */
static void test_an_anchor_before_the_first_call_of_a_program(void **state)
{
	union record records[] = {
		record_at(0, record_process(MS_TYPE_ATTACH, "sh", MS_ATTACH_RUNNING)),
		record_at(1, record_process(MS_TYPE_EXEC, "train", 0)),
		record_at(2, record_process(MS_TYPE_ATTACH, "train",
					    MS_ATTACH_RUNNING | MS_ATTACH_BEGUN)),
		record_at(3, record_context("cuDevicePrimaryCtxRetain", 0xc000, 0)),
	};
	struct pipeline live = { 0 }, pipeline = { 0 };
	struct dump dump = { 0 };
	struct dump_writer *writer = dump_writer_to(&dump);
	struct properties end = { 0 };
	struct replay *replay;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(records) / sizeof(*records); i++) {
		assert_int_equal(dump_writer_segment(writer, &live.state, i), 0);
		assert_int_equal(dump_writer_add(writer, &records[i]), 0);
		assert_int_equal(pipeline_feed(&live, &records[i], records[i].event.size), 0);
	}
	assert_int_equal(dump_writer_end(writer, &end, 4), 0);
	dump_writer_free(writer);
	replay = dump_read(&pipeline, dump.bytes.bytes + dump.segments[3],
			   dump.bytes.length - dump.segments[3]);
	assert_int_equal(pipeline.state.processes_count, 1);
	assert_false(live.state.processes[0]->was_running);
	assert_true(pipeline.state.processes[0]->was_running_earlier);
	dump_assert_same_state(&live.state, &pipeline.state);
	replay_free(replay);
	state_fini(&pipeline.state);
	string_fini(&dump.bytes);
	state_fini(&live.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packed_records_come_back),
		cmocka_unit_test(test_every_segment_leads_to_the_same_state),
		cmocka_unit_test(test_a_segment_without_its_beginning_is_left_out),
		cmocka_unit_test(test_after_a_gap_the_next_anchor_counts),
		cmocka_unit_test(test_an_anchor_before_the_first_call_of_a_program),
	};

	return unit_run("dump", tests);
}
