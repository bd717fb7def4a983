// SPDX-License-Identifier: BSD-2-Clause
/*
 * Dumps, read and replayed. Of random bytes no checksum is ever right, so the input is a script
 * that writes a dump: segments, anchors and events of a run, as record would write them; anchors
 * and payloads that nobody would; damage. The first byte says whether only the honest parts are
 * done: then what is read must be what was written.
 */
#include "fuzz.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "checkpoints.h"
#include "invariants.h"
#include "steps.h"
#include "store/dump_index.h"
#include "store/dump_reader.h"
#include "store/delta.h"
#include "store/replay.h"
#include "store/properties.h"

#define DUMP_MAX (1u << 18)
#define PAYLOAD_MAX (1u << 15)

enum options {
	OPTION_HONEST = 1 << 0,
	OPTION_COMPRESS = 7 << 2, /* all of them: it takes most of the time */
};

/* The order of these is what the committed inputs are made of. */
enum action {
	ACTION_SEGMENT,
	ACTION_EVENTS,
	ACTION_EVENTS_TOO, /* more often than the others */
	ACTION_END,
	ACTION_HONEST_COUNT,
	ACTION_ANCHOR = ACTION_HONEST_COUNT,
	ACTION_ANCHOR_TOO,
	ACTION_PAYLOAD,
	ACTION_INDEX,
	ACTION_BYTES,
	ACTION_FLIP,
	ACTION_CUT,
	ACTION_NUMBER, /* of the next block */
	ACTION_RECORDING,
	ACTION_AGAIN,
	ACTION_VERSION,
	ACTIONS_COUNT,
};

struct script {
	struct fuzz_steps steps; /* the input */
	struct pipeline live;
	uint8_t options;

	uint8_t *dump;
	size_t length;
	size_t last_segment; /* where it begins */
	uint64_t events_before;
	struct dump_index index;
	struct block_header next; /* of the next block: its number, recording, version */
	uint64_t closings;        /* ends and indices since the last other block */
	uint64_t events;          /* in blocks; as the live pipeline was fed */

	struct delta_writer pack;
	uint32_t records;
};

static struct block_coder *coder;

static uint8_t take_byte(struct script *script)
{
	if (!script->steps.size)
		return 0;
	script->steps.size--;
	return *script->steps.bytes++;
}

/* The rest of the input or less. */
static const uint8_t *take_bytes(struct script *script, size_t *length)
{
	const uint8_t *bytes = script->steps.bytes;

	if (*length > script->steps.size)
		*length = script->steps.size;
	script->steps.bytes += *length;
	script->steps.size -= *length;
	return bytes;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void append(struct script *script, const void *bytes, size_t length)
{
	if (length > DUMP_MAX - script->length)
		length = DUMP_MAX - script->length;
	memcpy(script->dump + script->length, bytes, length);
	script->length += length;
}

/* As it is, with the right checksum. */
static const void *encode_plain(struct block_header *header, const void *raw, size_t length)
{
	XXH3_state_t state;

	memcpy(header->magic, "MSCP", 4);
	header->codec = BLOCK_PLAIN;
	header->raw_bytes = header->stored_bytes = length;
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, header, offsetof(struct block_header, checksum));
	XXH3_64bits_update(&state, raw, length);
	header->checksum = XXH3_64bits_digest(&state);
	return raw;
}

static void put_block(struct script *script, uint8_t type, const void *raw, size_t length,
		      uint32_t records)
{
	struct block_header header = script->next;
	const void *stored;

	header.type = type;
	/* What comes after them has their number: docs/dump-format.md. */
	if (block_is_closing(&header))
		header.sequence += script->closings++;
	else
		script->closings = 0;
	header.records = records;
	header.first_ts_ns = header.last_ts_ns;
	header.last_ts_ns = script->steps.now_ns;
	if ((script->options & OPTION_COMPRESS) == OPTION_COMPRESS)
		stored = block_encode(coder, &header, raw, &length, 1);
	else
		stored = encode_plain(&header, raw, length);
	if (type == BLOCK_SEGMENT)
		dump_index_add(&script->index, script->length, &header);
	append(script, &header, sizeof(header));
	append(script, stored, header.stored_bytes);
	script->next.last_ts_ns = header.last_ts_ns;
	script->next.sequence += !block_is_closing(&header);
}

static void put_records(struct script *script, uint8_t type)
{
	static uint8_t payload[BLOCK_MAX_BYTES];
	size_t parts[DELTA_STREAMS];

	delta_end(&script->pack, payload, parts);
	put_block(script, type, payload, script->pack.bytes, script->records);
	delta_begin(&script->pack);
	script->records = 0;
}

static void pack(struct script *script, uint8_t type, const void *record)
{
	const struct ms_event *event = record;

	if (script->pack.bytes + DELTA_MAX(event->size) > PAYLOAD_MAX)
		put_records(script, type);
	delta_add(&script->pack, record);
	script->records++;
}

static int put_anchor_record(void *context, const void *record, size_t length)
{
	(void)length;
	pack(context, BLOCK_ANCHOR, record);
	return 0;
}

static void put_rows(struct script *script)
{
	static struct properties rows;
	uint32_t row = rows.bytes.length ? probe_count() : 0;

	for (; row < probe_count(); row++)
		properties_put(&rows, probe_layer_name(probe_at(row)->layer),
			       probe_at(row)->symbol);
	put_block(script, BLOCK_ROWS, rows.bytes.bytes, rows.bytes.length, 0);
}

/* ---- what record would do -------------------------------------------------------------------- */

static void do_segment(struct script *script)
{
	script->last_segment = script->length;
	script->events_before = script->events;
	put_block(script, BLOCK_SEGMENT, "host\0example", sizeof("host\0example"), 0);
	put_rows(script);
	checkpoint_save(&script->live.state, script->steps.now_ns, put_anchor_record, script);
	put_records(script, BLOCK_ANCHOR);
	script->next.segment++;
}

static void do_events(struct script *script)
{
	unsigned int count = take_byte(script) % 16 + 1;
	struct event event;
	size_t length;
	void *record;

	while (count-- && (record = steps_next(&script->steps, &length))) {
		if (!event_decode(record, length, &event)) {
			pack(script, BLOCK_EVENTS, record);
			fuzz_check(!pipeline_feed(&script->live, record, length));
			script->events++;
		}
		free(record);
	}
	if (script->records)
		put_records(script, BLOCK_EVENTS);
}

static void do_index(struct script *script)
{
	struct block_header header = { 0 };
	const void *raw = dump_index_payload(&script->index, script->length, &header);

	if (header.records)
		put_block(script, BLOCK_INDEX, raw, header.raw_bytes, header.records);
	script->index.count = 0;
}

/* ---- what nobody would ----------------------------------------------------------------------- */

static void do_anchor(struct script *script)
{
	unsigned int count = take_byte(script) % 32 + 1;
	union checkpoints_record record;

	put_block(script, BLOCK_SEGMENT, "", 0, 0);
	while (count-- && script->steps.size >= CHECKPOINTS_STEP_BYTES) {
		checkpoints_make(script->steps.bytes, &record);
		script->steps.bytes += CHECKPOINTS_STEP_BYTES;
		script->steps.size -= CHECKPOINTS_STEP_BYTES;
		pack(script, BLOCK_ANCHOR, &record);
	}
	put_records(script, BLOCK_ANCHOR);
}

static void do_payload(struct script *script)
{
	uint8_t type = take_byte(script) % 8, records = take_byte(script);
	size_t length = take_byte(script);
	const uint8_t *bytes = take_bytes(script, &length);

	put_block(script, type, bytes, length, records);
}

static void do_damage(struct script *script, enum action action)
{
	size_t first = take_byte(script), second = take_byte(script), length = first & 63;
	const uint8_t *bytes;

	switch (action) {
	case ACTION_BYTES:
		bytes = take_bytes(script, &length);
		append(script, bytes, length);
		return;
	case ACTION_FLIP:
		if (script->length)
			script->dump[script->length - 1 -
				     (first << 4 | (second >> 3 & 15)) % script->length] ^=
				1 << (second & 7);
		return;
	case ACTION_CUT:
		script->length -= first < script->length ? first : script->length;
		return;
	case ACTION_AGAIN:
		first = first << 6 < script->length ? first << 6 : 0;
		append(script, script->dump + first,
		       second << 4 < script->length - first ? second << 4 : script->length - first);
		return;
	default:
		return;
	}
}

static void do_action(struct script *script, enum action action)
{
	switch (action) {
	case ACTION_SEGMENT:
		do_segment(script);
		return;
	case ACTION_EVENTS:
	case ACTION_EVENTS_TOO:
		do_events(script);
		return;
	case ACTION_END:
		put_block(script, BLOCK_END, "reason\0done", sizeof("reason\0done"), 0);
		return;
	case ACTION_ANCHOR:
	case ACTION_ANCHOR_TOO:
		do_anchor(script);
		return;
	case ACTION_PAYLOAD:
		do_payload(script);
		return;
	case ACTION_INDEX:
		do_index(script);
		return;
	case ACTION_NUMBER:
		script->next.sequence += (int8_t)take_byte(script);
		return;
	case ACTION_RECORDING:
		script->next.recording = take_byte(script);
		return;
	case ACTION_VERSION:
		script->next.major = BLOCK_MAJOR + take_byte(script) % 3 - 1;
		script->next.minor = take_byte(script);
		return;
	default:
		do_damage(script, action);
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

/* All of the file is something, once. */
static void replay_all(struct replay *replay, struct dump_reader *reader)
{
	struct dump_item item;
	uint64_t at = 0;

	for (;;) {
		fuzz_check(!dump_reader_next(reader, &item));
		fuzz_check(item.offset == at);
		if (item.kind == DUMP_END)
			break;
		fuzz_check(item.bytes > 0);
		at += item.bytes;
		fuzz_check(!replay_item(replay, &item));
	}
	fuzz_check(at == dump_reader_size(reader));
}

/* What is read, from the beginning or the last anchor on, is what was written. */
static void check_honest(const struct script *script, const struct recording_account *account,
			 const struct pipeline *pipeline, uint64_t events)
{
	fuzz_check(!account->damaged_places && !account->missing_blocks && !account->refused);
	fuzz_check(!account->unknown_records && !account->unknown_calls && !account->unanchored);
	fuzz_check(!account->repeated_blocks && !account->cut_short && !pipeline->refused);
	fuzz_check(account->events == events);
	fuzz_check(checkpoints_hash(&pipeline->state) == checkpoints_hash(&script->live.state));
}

static void check(const struct script *script, size_t first, uint64_t events)
{
	struct pipeline pipeline = { .filter = { .ops = ~0u } };
	const size_t length = script->length - first;
	uint8_t *exact = malloc(length ? length : 1);
	struct dump_reader *reader;
	struct replay *replay = replay_new(&pipeline, NULL);

	fuzz_check(exact && replay);
	memcpy(exact, script->dump + first, length);
	reader = dump_reader_of(exact, length);
	fuzz_check(reader);
	replay_all(replay, reader);
	invariants_check(&pipeline.state);
	checkpoints_check(&pipeline.state);
	if (script->options & OPTION_HONEST)
		check_honest(script, replay_account(replay), &pipeline, events);
	replay_free(replay);
	dump_reader_close(reader);
	state_fini(&pipeline.state);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct script script;
	static uint8_t *dump;

	if (!size)
		return 0;
	if (!dump) {
		dump = malloc(DUMP_MAX);
		coder = block_coder_new();
		fuzz_check(dump && coder);
	}
	script.steps = (struct fuzz_steps){ bytes + 1, size - 1, 1000 };
	script.live = (struct pipeline){ .filter = { .ops = ~0u } };
	script.options = bytes[0];
	script.dump = dump;
	script.length = script.records = script.events = 0;
	delta_begin(&script.pack);
	script.next = (struct block_header){ .major = BLOCK_MAJOR, .recording = 1 };
	do_segment(&script);
	while (script.steps.size && script.length < DUMP_MAX / 2)
		do_action(&script, take_byte(&script) % (script.options & OPTION_HONEST ?
								 ACTION_HONEST_COUNT :
								 ACTIONS_COUNT));
	if (script.options & OPTION_HONEST)
		do_index(&script);
	check(&script, 0, script.events);
	if (script.options & OPTION_HONEST)
		check(&script, script.last_segment, script.events - script.events_before);
	dump_index_fini(&script.index);
	state_fini(&script.live.state);
	return 0;
}
