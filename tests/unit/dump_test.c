// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is written to a dump comes back from it: records as they were, and the same state from its
 * beginning and from every segment on.
 */
#include "records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/string.h"
#include "model/anchor.h"
#include "store/dump_reader.h"
#include "store/dump_writer.h"
#include "store/pack.h"
#include "store/replay.h"

#define STEPS 30000
#define PER_SEGMENT 1500
#define PER_BLOCK 130
#define SEGMENTS (STEPS / PER_SEGMENT)

static uint64_t random_state = 88172645463325252;

static uint64_t below(uint64_t bound)
{
	random_state = unit_random(random_state);
	return (random_state >> 20) % bound;
}

/* ---- any records ----------------------------------------------------------------------------- */

static uint64_t some_addr(void)
{
	return 0x700000000000 + (below(48) << 21);
}

static union record some_memory_record(void)
{
	static const char *const allocs[] = { "cuMemAlloc_v2",     "cudaMalloc",
					      "cuMemAllocAsync",   "cuMemAllocManaged",
					      "cuMemAllocHost_v2", "cuMemCreate",
					      "cuArrayCreate_v2",  "cuMemAddressReserve" };
	uint64_t addr = some_addr(), size = (1 + below(64)) << 16;

	switch (below(12)) {
	default:
		return record_in(0xc000 + below(3), record_alloc(allocs[below(8)], addr, size));
	case 6:
		return record_free_begin(addr);
	case 7:
		return record_failed(below(8) ? 0 : 1, record_free("cuMemFree_v2", addr));
	case 8:
		return record_begin_of("cuMemRelease", addr, 0);
	case 9:
		return record_free("cuMemRelease", addr);
	case 10:
		return record_map(addr, size, some_addr());
	case 11:
		return below(2) ? record_begin_of("cuMemUnmap", addr, size) :
				  record_unmap(addr, size);
	}
}

static union record some_graph_record(void)
{
	uint64_t graph = 0xa0 + below(4);

	switch (below(5)) {
	case 0:
		return record_node(graph, some_addr(), below(2) << 16);
	case 1:
		return record_memory("cuGraphInstantiateWithFlags", 0xe0 + below(4), graph);
	case 2:
		return record_stream(7 + below(2), record_call("cuStreamBeginCapture_v2"));
	case 3:
		return record_stream(7 + below(2),
				     record_to(graph, record_call("cuStreamEndCapture")));
	default:
		return record_to(0xe0 + below(4), record_call("cuGraphLaunch"));
	}
}

static union record some_other_record(void)
{
	static const char *const names[] = { "gemm", "softmax<float, 4>", "k" };
	uint64_t handle = 0xf00 + below(6);

	switch (below(9)) {
	case 0:
		return record_name(handle, names[below(3)]);
	case 1:
		return record_alias(handle, 0xf00 + below(6));
	case 2:
		return record_launches("cuLaunchKernel", handle, 1 + below(1000));
	case 3:
		return record_launch("cuLaunchKernel", handle);
	case 4:
		return record_from(some_addr(),
				   record_to(some_addr(),
					     record_copy("cuMemcpyAsync", below(1 << 20),
							 MS_DIRECTION_DEFAULT)));
	case 5:
		return record_context("cuCtxCreate_v2", 0xc000 + below(3), (int32_t)below(2));
	case 6:
		return below(8) ? record_call("cuCtxSynchronize") :
				  record_context("cuCtxDestroy_v2", 0xc000 + below(3), 0);
	case 7:
		return record_failed(
			2, record_without(MS_KNOWN_ADDR,
					  record_alloc("cuMemAlloc_v2", 0, below(1ull << 40))));
	default:
		return below(40) ? record_attach_running() : record_exit((uint32_t)below(3) << 8);
	}
}

static union record some_record(uint64_t step)
{
	uint64_t kind = below(10), process = below(5);
	union record record = kind < 6 ? some_memory_record() :
			      kind < 7 ? some_graph_record() :
					 some_other_record();

	/* Processes come and go. */
	process += 3 * (step / 4000);
	record = record_of(100 + (uint32_t)process, (process + 1) * MS_START_NS, record);
	return record_at(1000000000 + step * 1000 + below(500), record);
}

/* ---- dumps in memory ------------------------------------------------------------------------- */

struct dump {
	struct string bytes;
	size_t segments[SEGMENTS + 1]; /* where they begin */
	size_t segments_count;
};

static int write_block(void *context, const struct block_header *header, const void *stored)
{
	struct dump *dump = context;

	if (header->type == BLOCK_SEGMENT) {
		assert_true(dump->segments_count <= SEGMENTS);
		dump->segments[dump->segments_count++] = dump->bytes.length;
	}
	string_append(&dump->bytes, (const char *)header, sizeof(*header));
	string_append(&dump->bytes, stored, header->stored_bytes);
	assert_false(dump->bytes.failed);
	return 0;
}

static void describe(void *context, struct texts *texts)
{
	(void)context;
	texts_put(texts, "host", "example");
}

/* The live pipeline's state is that after all records. */
static void write_dump(struct dump *dump, struct pipeline *live)
{
	const struct dump_writer_options options = {
		.recording = 1, .write = write_block, .describe = describe, .context = dump
	};
	struct dump_writer *writer = dump_writer_new(&options);
	struct texts end = { 0 };
	uint64_t step;

	assert_non_null(writer);
	for (step = 0; step < STEPS; step++) {
		union record record = some_record(step);
		uint64_t now_ns = 1000000000 + step * 1000;

		if (step % PER_SEGMENT == 0)
			assert_int_equal(dump_writer_segment(writer, &live->state, now_ns), 0);
		else if (step % PER_BLOCK == 0)
			assert_int_equal(dump_writer_flush(writer, now_ns), 0);
		assert_int_equal(dump_writer_add(writer, &record), 0);
		assert_int_equal(pipeline_feed(live, &record, record.event.size), 0);
	}
	assert_int_equal(live->refused, 0);
	texts_put(&end, "reason", "done");
	assert_int_equal(dump_writer_end(writer, &end, 2000000000), 0);
	texts_fini(&end);
	dump_writer_free(writer);
}

static struct replay *read_dump(struct pipeline *pipeline, const char *bytes, size_t length)
{
	struct dump_reader *reader = dump_reader_of(bytes, length);
	struct replay *replay = replay_new(pipeline);
	struct dump_item item;

	assert_non_null(reader);
	assert_non_null(replay);
	do {
		assert_int_equal(dump_reader_next(reader, &item), 0);
		assert_int_equal(replay_item(replay, &item), 0);
	} while (item.kind != DUMP_END);
	dump_reader_close(reader);
	return replay;
}

/* ---- states as texts ------------------------------------------------------------------------- */

struct lines {
	char **lines;
	size_t count;
};

static int put_line(void *context, const void *record, size_t length)
{
	struct lines *lines = context;
	char *line = malloc(2 * length + 1);
	size_t i;

	for (i = 0; i < length; i++)
		snprintf(line + 2 * i, 3, "%02x", ((const uint8_t *)record)[i]);
	lines->lines = realloc(lines->lines, (lines->count + 1) * sizeof(*lines->lines));
	lines->lines[lines->count++] = line;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In what order things lie in memory does not matter. */
static struct lines lines_of(const struct state *state)
{
	struct lines lines = { 0 };

	assert_int_equal(anchor_save(state, 0, put_line, &lines), 0);
	qsort(lines.lines, lines.count, sizeof(*lines.lines), by_text);
	return lines;
}

static void lines_free(struct lines *lines)
{
	while (lines->count)
		free(lines->lines[--lines->count]);
	free(lines->lines);
}

static void assert_same_state(const struct state *a, const struct state *b)
{
	struct lines x = lines_of(a), y = lines_of(b);
	size_t i;

	for (i = 0; i < x.count && i < y.count; i++)
		assert_string_equal(x.lines[i], y.lines[i]);
	assert_int_equal(x.count, y.count);
	assert_true(x.count > 100);
	lines_free(&x);
	lines_free(&y);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_packed_records_come_back(void **state)
{
	static struct pack_writer writer;
	static struct pack_reader reader;
	static uint8_t payload[BLOCK_MAX_BYTES];
	uint64_t step = 0, seed = random_state, raw = 0, count, i;
	size_t parts[PACK_STREAMS];

	(void)state;
	pack_begin(&writer);
	while (writer.bytes + PACK_MAX(sizeof(union record)) <= BLOCK_MAX_BYTES) {
		union record record = some_record(step++);

		pack_add(&writer, &record);
		raw += record.event.size;
	}
	pack_end(&writer, payload, parts);
	assert_int_equal(parts[0] + parts[1] + parts[2], writer.bytes);
	assert_true(writer.bytes * 4 < raw);
	random_state = seed;
	count = step;
	assert_true(pack_open(&reader, payload, writer.bytes));
	for (i = 0; i < count; i++) {
		union record record = some_record(i), read;

		assert_false(pack_done(&reader));
		assert_int_equal(pack_read(&reader, &read, sizeof(read)), record.event.size);
		assert_memory_equal(&read, &record, record.event.size);
	}
	assert_true(pack_done(&reader));
	assert_int_equal(pack_read(&reader, payload, sizeof(payload)), 0);
}

static void test_every_segment_leads_to_the_same_state(void **state)
{
	struct dump dump = { 0 };
	struct pipeline live = { 0 };
	size_t i;

	(void)state;
	write_dump(&dump, &live);
	assert_int_equal(dump.segments_count, SEGMENTS);
	for (i = 0; i < dump.segments_count; i++) {
		struct pipeline pipeline = { 0 };
		struct replay *replay = read_dump(&pipeline, dump.bytes.bytes + dump.segments[i],
						  dump.bytes.length - dump.segments[i]);
		const struct replay_account *account = replay_account(replay);

		assert_int_equal(account->segments, SEGMENTS - i);
		assert_int_equal(account->events, STEPS - i * PER_SEGMENT);
		assert_int_equal(account->refused + pipeline.refused + account->missing_blocks, 0);
		assert_int_equal(account->damaged_bytes, 0);
		assert_true(account->has_end);
		assert_string_equal(replay_text(replay, "host"), "example");
		assert_string_equal(replay_end_text(replay, "reason"), "done");
		assert_same_state(&live.state, &pipeline.state);
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
	replay = read_dump(&pipeline, dump.bytes.bytes + 1, dump.bytes.length - 1);
	assert_int_equal(replay_account(replay)->segments, SEGMENTS - 1);
	assert_int_equal(replay_account(replay)->events, STEPS - PER_SEGMENT);
	assert_int_equal(replay_account(replay)->damaged_places, 1);
	assert_same_state(&live.state, &pipeline.state);
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
	replay = read_dump(&pipeline, dump.bytes.bytes, dump.bytes.length);
	assert_int_equal(replay_account(replay)->segments, SEGMENTS);
	assert_int_equal(replay_account(replay)->missing_blocks, 1);
	assert_int_equal(replay_account(replay)->anchors_used, 2);
	assert_same_state(&live.state, &pipeline.state);
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
	};

	return unit_run("dump", tests);
}
