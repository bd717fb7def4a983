// SPDX-License-Identifier: BSD-2-Clause
/*
 * Dumps that record would not write: by newer versions, which must be readable as far as they are
 * known, and by somebody who means harm.
 */
#include "dumps.h"

#include <errno.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "store/pack.h"

/* ---- blocks that are made up ------------------------------------------------------------------ */

struct forger {
	struct string bytes;
	struct block_header next; /* number and version of the next block */
	struct pack_writer pack;
	uint32_t records;
};

static struct forger *forger_new(void)
{
	struct forger *forger = calloc(1, sizeof(*forger));

	assert_non_null(forger);
	forger->next.major = BLOCK_MAJOR;
	forger->next.recording = 1;
	pack_begin(&forger->pack);
	return forger;
}

static void forger_free(struct forger *forger)
{
	string_fini(&forger->bytes);
	free(forger);
}

static void put_stored(struct forger *forger, uint8_t type, uint8_t codec, const void *stored,
		       size_t stored_bytes, size_t raw_bytes)
{
	struct block_header header = forger->next;
	XXH3_state_t state;

	memcpy(header.magic, "MSCP", 4);
	header.type = type;
	header.codec = codec;
	header.records = forger->records;
	header.raw_bytes = raw_bytes;
	header.stored_bytes = stored_bytes;
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, &header, offsetof(struct block_header, checksum));
	XXH3_64bits_update(&state, stored, stored_bytes);
	header.checksum = XXH3_64bits_digest(&state);
	string_append(&forger->bytes, (const char *)&header, sizeof(header));
	string_append(&forger->bytes, stored, stored_bytes);
	assert_false(forger->bytes.failed);
	forger->next.sequence++;
}

static void put_plain(struct forger *forger, uint8_t type, const void *raw, size_t bytes)
{
	put_stored(forger, type, BLOCK_PLAIN, raw, bytes, bytes);
}

/* The block of the records packed since the last one. */
static void put_records(struct forger *forger, uint8_t type)
{
	static uint8_t payload[BLOCK_MAX_BYTES];
	size_t parts[PACK_STREAMS];

	pack_end(&forger->pack, payload, parts);
	put_plain(forger, type, payload, forger->pack.bytes);
	pack_begin(&forger->pack);
	forger->records = 0;
}

static void pack(struct forger *forger, const void *record)
{
	pack_add(&forger->pack, record);
	forger->records++;
}

static void put_rows(struct forger *forger)
{
	struct texts rows = { 0 };
	uint32_t row;

	for (row = 0; row < probe_count(); row++)
		texts_put(&rows, probe_layer_name(probe_at(row)->layer), probe_at(row)->symbol);
	put_plain(forger, BLOCK_ROWS, rows.bytes.bytes, rows.bytes.length);
	texts_fini(&rows);
}

static int pack_record_of(void *context, const void *record, size_t length)
{
	(void)length;
	pack(context, record);
	return 0;
}

/* A segment that begins with what is known after those records. */
static void put_segment(struct forger *forger, const struct state *state)
{
	put_plain(forger, BLOCK_SEGMENT, "", 0);
	put_rows(forger);
	assert_int_equal(anchor_save(state, 1, pack_record_of, forger), 0);
	put_records(forger, BLOCK_ANCHOR);
}

struct result {
	struct pipeline pipeline;
	struct recording_account account;
	int err;
};

static struct result read_forged(struct forger *forger)
{
	struct result result = { .pipeline = { .filter = { .ops = ~0u } } };
	struct dump_reader *reader = dump_reader_of(forger->bytes.bytes, forger->bytes.length);
	struct replay *replay = replay_new(&result.pipeline);
	struct dump_item item;

	assert_non_null(reader);
	assert_non_null(replay);
	do {
		assert_int_equal(dump_reader_next(reader, &item), 0);
		result.err = replay_item(replay, &item);
	} while (!result.err && item.kind != DUMP_END);
	result.account = *replay_account(replay);
	dump_reader_close(reader);
	replay_free(replay);
	forger_free(forger);
	return result;
}

static void put_alloc(struct forger *forger, uint64_t addr)
{
	union record record = record_at(1000, record_alloc("cuMemAlloc_v2", addr, 100));

	pack(forger, &record);
}

static struct forger *begun_forger(void)
{
	struct forger *forger = forger_new();
	const struct state nothing = { 0 };

	put_segment(forger, &nothing);
	return forger;
}

static void assert_live(struct result *result, uint64_t count)
{
	assert_int_equal(result->err, 0);
	assert_int_equal(result->account.damaged_places, 0);
	assert_int_equal(result->pipeline.refused, 0);
	assert_int_equal(result->pipeline.state.processes_count, count ? 1 : 0);
	if (count)
		assert_int_equal(
			result->pipeline.state.processes[0]->spaces[MS_SPACE_DEVICE].live_count,
			count);
	state_fini(&result->pipeline.state);
}

/* ---- newer versions --------------------------------------------------------------------------- */

static void test_blocks_that_are_not_known(void **state)
{
	struct forger *forger = begun_forger();
	struct result result;

	(void)state;
	forger->next.minor = 7;
	put_plain(forger, 77, "anything", 8);
	put_alloc(forger, 0x1000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.unknown_blocks, 1);
	assert_int_equal(result.account.refused, 0);
	assert_live(&result, 1);
}

static void test_records_that_are_not_known(void **state)
{
	static union {
		struct ms_event event;
		uint64_t words[8000];
	} longest;
	struct forger *forger = begun_forger();
	struct result result;

	(void)state;
	put_alloc(forger, 0x1000);
	longest.event.type = MS_TYPES_COUNT;
	longest.event.size = sizeof(longest);
	pack(forger, &longest);
	longest.event.type = 255;
	longest.event.size = 37;
	pack(forger, &longest);
	put_alloc(forger, 0x2000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.unknown_records, 2);
	assert_int_equal(result.account.events, 2);
	assert_int_equal(result.account.refused, 0);
	assert_live(&result, 2);
}

static void test_records_that_say_more(void **state)
{
	struct forger *forger = begun_forger();
	struct {
		struct ms_call call;
		uint64_t more[3];
	} longer = { .call = record_alloc("cuMemAlloc_v2", 0x1000, 100).call, .more = { 1, 2, 3 } };
	struct result result;

	(void)state;
	longer.call.event.size = sizeof(longer);
	pack(forger, &longer);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.events, 1);
	assert_live(&result, 1);
}

static void test_functions_that_are_not_known(void **state)
{
	static const char rows[] = "driver\0cuMemAlloc_v3000\0driver\0cuMemAlloc_v2";
	struct forger *forger = begun_forger();
	union record record = record_alloc("cuMemAlloc_v2", 0x1000, 100);
	struct result result;

	(void)state;
	put_plain(forger, BLOCK_ROWS, rows, sizeof(rows));
	record.call.row = 0;
	pack(forger, &record);
	record.call.row = 1;
	pack(forger, &record);
	record.call.row = 2;
	pack(forger, &record);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.unknown_calls, 2);
	assert_int_equal(result.account.events, 1);
	assert_live(&result, 1);
}

/* Appends to every record of an anchor, and puts unknown ones between them. */
static int pack_longer(void *context, const void *record, size_t length)
{
	union {
		struct ms_event event;
		struct ms_anchor_calls calls;
		uint8_t bytes[1024];
		uint64_t words[128];
	} longer = { 0 };

	memcpy(&longer, record, length);
	/* Those that end with a text cannot become longer. */
	if (longer.event.type != MS_ANCHOR_NAME && longer.event.type != MS_ANCHOR_KERNEL)
		longer.event.size += 16;
	pack(context, &longer);
	if (longer.event.type == MS_ANCHOR_STATE || longer.event.type == MS_ANCHOR_END)
		return 0;
	longer.event.type = MS_ANCHOR_END + 1;
	pack(context, &longer);
	longer.event.type = MS_ANCHOR_CALLS;
	longer.event.size = sizeof(longer.calls);
	longer.calls.op = 1000;
	pack(context, &longer);
	return 0;
}

static void test_anchors_that_say_more(void **state)
{
	struct forger *forger = forger_new();
	struct pipeline live = { 0 };
	struct result result;
	uint64_t addr;

	(void)state;
	for (addr = 0x1000; addr <= 0x3000; addr += 0x1000) {
		union record record = record_alloc("cuMemAlloc_v2", addr, 100);

		pipeline_feed(&live, &record, record.event.size);
	}
	put_plain(forger, BLOCK_SEGMENT, "", 0);
	put_rows(forger);
	assert_int_equal(anchor_save(&live.state, 1, pack_longer, forger), 0);
	put_records(forger, BLOCK_ANCHOR);
	result = read_forged(forger);
	assert_int_equal(result.account.anchors_used, 1);
	assert_int_equal(result.account.refused, 0);
	assert_true(result.account.unknown_records >= 8);
	dump_assert_same_state(&live.state, &result.pipeline.state);
	assert_live(&result, 3);
	state_fini(&live.state);
}

static void test_a_newer_major_version(void **state)
{
	struct forger *forger = begun_forger();
	struct result result;

	(void)state;
	forger->next.major = BLOCK_MAJOR + 1;
	put_plain(forger, BLOCK_EVENTS, "whatever", 8);
	result = read_forged(forger);
	assert_int_equal(result.account.newer_blocks, 1);
	assert_live(&result, 0);
	/* It must be meant: the byte alone is damage. */
	forger = begun_forger();
	put_plain(forger, BLOCK_EVENTS, "whatever", 8);
	forger->bytes.bytes[4] ^= 2;
	result = read_forged(forger);
	assert_int_equal(result.account.newer_blocks, 0);
	assert_int_equal(result.account.damaged_places, 1);
	state_fini(&result.pipeline.state);
}

/* ---- several recordings ------------------------------------------------------------------------ */

static void test_blocks_that_come_again(void **state)
{
	struct forger *forger = begun_forger();
	struct result result;

	(void)state;
	put_alloc(forger, 0x1000);
	put_records(forger, BLOCK_EVENTS);
	forger->next.sequence--;
	put_alloc(forger, 0x2000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.repeated_blocks, 1);
	assert_live(&result, 1);
}

static void test_one_recording_after_another(void **state)
{
	struct forger *forger = begun_forger();
	const struct state nothing = { 0 };
	struct result result;

	(void)state;
	put_alloc(forger, 0x1000);
	put_records(forger, BLOCK_EVENTS);
	forger->next.recording = 2;
	forger->next.sequence = 0;
	put_alloc(forger, 0x2000); /* before its first anchor */
	put_records(forger, BLOCK_EVENTS);
	put_segment(forger, &nothing);
	put_alloc(forger, 0x3000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.recordings, 2);
	assert_int_equal(result.account.unanchored, 1);
	assert_int_equal(result.account.missing_blocks + result.account.repeated_blocks, 0);
	assert_live(&result, 1);
}

/* ---- anchors that no state makes ---------------------------------------------------------------- */

/* Loads an anchor of which records were changed. Returns whether it was refused. */
static bool is_refused(const struct state *from,
		       int (*put)(void *context, const void *record, size_t length))
{
	struct forger *forger = forger_new();
	struct result result;

	put_plain(forger, BLOCK_SEGMENT, "", 0);
	put_rows(forger);
	assert_int_equal(anchor_save(from, 1, put, forger), 0);
	put_records(forger, BLOCK_ANCHOR);
	result = read_forged(forger);
	state_fini(&result.pipeline.state);
	assert_int_equal(result.err, 0);
	return result.account.refused && !result.account.anchors_used;
}

static int all_twice(void *context, const void *record, size_t length)
{
	(void)length;
	pack(context, record);
	pack(context, record);
	return 0;
}

static int process_twice(void *context, const void *record, size_t length)
{
	(void)length;
	pack(context, record);
	if (((const struct ms_event *)record)->type == MS_ANCHOR_PROCESS)
		pack(context, record);
	return 0;
}

static struct ms_anchor_allocation changed; /* what the next function writes of one */

static int put_changed(void *context, const void *record, size_t length)
{
	(void)length;
	if (((const struct ms_event *)record)->type != MS_ANCHOR_ALLOCATION) {
		pack(context, record);
		return 0;
	}
	changed.event = *(const struct ms_event *)record;
	pack(context, &changed);
	changed.addr += 0x100;
	pack(context, &changed);
	changed.addr -= 0x100;
	return 0;
}

static int no_state(void *context, const void *record, size_t length)
{
	(void)length;
	if (((const struct ms_event *)record)->type != MS_ANCHOR_STATE)
		pack(context, record);
	return 0;
}

static void test_anchors_that_contradict_themselves(void **state)
{
	struct pipeline live = { 0 };
	union record record = record_alloc("cuMemCreate", 0x77, 4096);

	(void)state;
	pipeline_feed(&live, &record, record.event.size);
	live.state.allocations = 5;
	assert_false(is_refused(&live.state, pack_record_of));
	assert_true(is_refused(&live.state, all_twice));
	assert_true(is_refused(&live.state, process_twice));
	assert_true(is_refused(&live.state, no_state));
	changed = (struct ms_anchor_allocation){ .addr = 0x77,
						 .id = 1,
						 .row = record_row("cuMemCreate"),
						 .driver_row = MS_NO_ROW,
						 .space = MS_SPACE_PHYSICAL,
						 .key = MS_KEY_HANDLE,
						 .owner = 1 };
	assert_true(is_refused(&live.state, put_changed)); /* two with one id */
	changed.key = MS_KEY_POINTER;
	assert_false(is_refused(&live.state, put_changed)); /* they are found by their addresses */
	changed.id = 6;
	assert_true(is_refused(&live.state, put_changed)); /* one that is still to come */
	changed.id = 1;
	changed.role = MS_ANCHOR_RELEASED;
	assert_true(is_refused(&live.state, put_changed));
	state_fini(&live.state);
}

/* ---- more than a file of its length can say ------------------------------------------------------ */

static void test_payloads_that_expand_too_much(void **state)
{
	static uint8_t zeros[BLOCK_MAX_BYTES], stored[BLOCK_MAX_BYTES];
	struct forger *forger = begun_forger();
	size_t bytes = ZSTD_compress(stored, sizeof(stored), zeros, sizeof(zeros), 1);
	struct block_coder *coder = block_coder_new();
	struct block_header header;
	struct result result;
	size_t length = sizeof(zeros);
	const void *encoded;

	(void)state;
	assert_false(ZSTD_isError(bytes));
	assert_true(bytes * BLOCK_MAX_EXPANSION < sizeof(zeros));
	put_stored(forger, 77, BLOCK_ZSTD, stored, bytes, sizeof(zeros));
	result = read_forged(forger);
	assert_int_equal(result.account.damaged_places, 1);
	state_fini(&result.pipeline.state);
	/* What is written is long enough, and comes back. */
	assert_non_null(coder);
	encoded = block_encode(coder, &header, zeros, &length, 1);
	assert_int_equal(header.codec, BLOCK_ZSTD);
	assert_int_equal(header.stored_bytes, sizeof(zeros) / BLOCK_MAX_EXPANSION);
	memcpy(stored, encoded, header.stored_bytes);
	assert_memory_equal(block_decode(coder, &header, stored), zeros, sizeof(zeros));
	block_coder_free(coder);
}

#define PIDS 90000

static void test_states_that_take_too_much_memory(void **state)
{
	struct forger *forger = begun_forger();
	struct result result;
	uint32_t pid;

	(void)state;
	for (pid = 1; pid < PIDS; pid++) {
		union record record = record_of(pid, 0, record_process(MS_TYPE_ATTACH, "x", 0));

		if (forger->pack.bytes + PACK_MAX(record.event.size) > BLOCK_MAX_BYTES)
			put_records(forger, BLOCK_EVENTS);
		pack(forger, &record);
	}
	put_records(forger, BLOCK_EVENTS);
	assert_true(sizeof(struct process) * PIDS >
		    REPLAY_BYTES + REPLAY_BYTES_PER_BYTE * forger->bytes.length);
	result = read_forged(forger);
	assert_int_equal(result.err, -E2BIG);
	state_fini(&result.pipeline.state);
}

/* One pid, thousands of times: it is no slower than as many pids. */
static void test_a_pid_that_comes_back(void **state)
{
	struct pipeline pipeline = { 0 };
	uint64_t start, count = 20000;

	(void)state;
	for (start = 0; start < count; start++) {
		union record record =
			record_of(7, start * MS_START_NS, record_process(MS_TYPE_ATTACH, "x", 0));

		pipeline_feed(&pipeline, &record, record.event.size);
	}
	assert_int_equal(pipeline.state.processes_count, count);
	assert_int_equal(pipeline.state.by_identity.count, count);
	state_fini(&pipeline.state);
}

/* What looks like a large block every few bytes does not hide the next that is one. */
static void test_headers_without_end(void **state)
{
	struct forger *forger = begun_forger();
	struct block_header fake = { .magic = "MSCP",
				     .major = BLOCK_MAJOR,
				     .stored_bytes = BLOCK_MAX_BYTES };
	const struct state nothing = { 0 };
	struct result result;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++)
		string_append(&forger->bytes, (const char *)&fake, 16);
	for (i = 0; i < 100; i++)
		put_segment(forger, &nothing);
	put_alloc(forger, 0x1000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.damaged_places, 1);
	assert_int_equal(result.account.events, 1);
	state_fini(&result.pipeline.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_that_are_not_known),
		cmocka_unit_test(test_records_that_are_not_known),
		cmocka_unit_test(test_records_that_say_more),
		cmocka_unit_test(test_functions_that_are_not_known),
		cmocka_unit_test(test_anchors_that_say_more),
		cmocka_unit_test(test_a_newer_major_version),
		cmocka_unit_test(test_blocks_that_come_again),
		cmocka_unit_test(test_one_recording_after_another),
		cmocka_unit_test(test_anchors_that_contradict_themselves),
		cmocka_unit_test(test_payloads_that_expand_too_much),
		cmocka_unit_test(test_states_that_take_too_much_memory),
		cmocka_unit_test(test_a_pid_that_comes_back),
		cmocka_unit_test(test_headers_without_end),
	};

	return unit_run("dumps of newer versions and of nobody's", tests);
}
