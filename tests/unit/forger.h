/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dumps that are made block by block, as no writer of ours would, and what reading them comes to.
 */
#ifndef MEMSCOPE_TESTS_FORGER_H
#define MEMSCOPE_TESTS_FORGER_H

#include "dumps.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/delta.h"

struct forger {
	struct string bytes;
	struct block_header next; /* number and version of the next block */
	struct delta_writer pack;
	uint32_t records;
};

static inline struct forger *forger_new(void)
{
	struct forger *forger = calloc(1, sizeof(*forger));

	assert_non_null(forger);
	forger->next.major = BLOCK_MAJOR;
	forger->next.recording = 1;
	delta_begin(&forger->pack);
	return forger;
}

static inline void forger_free(struct forger *forger)
{
	string_fini(&forger->bytes);
	free(forger);
}

static inline void put_stored(struct forger *forger, uint8_t type, uint8_t codec,
			      const void *stored, size_t stored_bytes, size_t raw_bytes)
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

static inline void put_plain(struct forger *forger, uint8_t type, const void *raw, size_t bytes)
{
	put_stored(forger, type, BLOCK_PLAIN, raw, bytes, bytes);
}

/* The block of the records packed since the last one. */
static inline void put_records(struct forger *forger, uint8_t type)
{
	static uint8_t payload[BLOCK_MAX_BYTES];
	size_t parts[DELTA_STREAMS];

	delta_end(&forger->pack, payload, parts);
	put_plain(forger, type, payload, forger->pack.bytes);
	delta_begin(&forger->pack);
	forger->records = 0;
}

static inline void pack(struct forger *forger, const void *record)
{
	delta_add(&forger->pack, record);
	forger->records++;
}

static inline void put_rows(struct forger *forger)
{
	struct properties rows = { 0 };
	uint32_t row;

	for (row = 0; row < probe_count(); row++)
		properties_put(&rows, probe_layer_name(probe_at(row)->layer),
			       probe_at(row)->symbol);
	put_plain(forger, BLOCK_ROWS, rows.bytes.bytes, rows.bytes.length);
	properties_fini(&rows);
}

static inline int delta_record_of(void *context, const void *record, size_t length)
{
	(void)length;
	pack(context, record);
	return 0;
}

/* A segment that begins with what is known after those records. */
static inline void put_segment(struct forger *forger, const struct state *state)
{
	put_plain(forger, BLOCK_SEGMENT, "", 0);
	put_rows(forger);
	assert_int_equal(checkpoint_save(state, 1, delta_record_of, forger), 0);
	put_records(forger, BLOCK_ANCHOR);
}

struct result {
	struct pipeline pipeline;
	struct recording_account account;
	int err;
};

static inline struct result read_forged(struct forger *forger)
{
	struct result result = { .pipeline = { .filter = { .ops = ~0u } } };
	struct dump_reader *reader = dump_reader_of(forger->bytes.bytes, forger->bytes.length);
	struct replay *replay = replay_new(&result.pipeline, NULL);
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

static inline void put_alloc(struct forger *forger, uint64_t addr)
{
	union record record = record_at(1000, record_alloc("cuMemAlloc_v2", addr, 100));

	pack(forger, &record);
}

static inline struct forger *begun_forger(void)
{
	struct forger *forger = forger_new();
	const struct state nothing = { 0 };

	put_segment(forger, &nothing);
	return forger;
}

static inline void assert_live(struct result *result, uint64_t count)
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

#endif /* MEMSCOPE_TESTS_FORGER_H */
