// SPDX-License-Identifier: BSD-2-Clause
#include "store/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/anchor.h"
#include "store/pack.h"
#include "store/texts.h"

#define ROWS_MAX 4096

struct replay {
	struct pipeline *pipeline;
	struct replay_account account;
	struct string description, end;
	uint16_t rows[ROWS_MAX]; /* of the dump -> of this program, or MS_NO_ROW */
	size_t rows_count;
	struct pack_reader pack;

	uint64_t next_sequence;
	bool begun;   /* the state is that of the dump */
	bool gap;     /* blocks are missing since */
	bool loading; /* an anchor, from its first block on */
	struct anchor anchor;
	struct state loaded;

	/* A record, aligned. */
	uint64_t record[(ANCHOR_MAX + sizeof(struct ms_name) + 7) / 8];
};

struct replay *replay_new(struct pipeline *pipeline)
{
	struct replay *replay = calloc(1, sizeof(*replay));

	if (replay)
		replay->pipeline = pipeline;
	return replay;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	state_fini(&replay->loaded);
	string_fini(&replay->description);
	string_fini(&replay->end);
	free(replay);
}

const struct replay_account *replay_account(const struct replay *replay)
{
	return &replay->account;
}

const char *replay_text(const struct replay *replay, const char *name)
{
	return texts_find(replay->description.bytes, replay->description.length, name);
}

const char *replay_end_text(const struct replay *replay, const char *name)
{
	return texts_find(replay->end.bytes, replay->end.length, name);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int take_rows(struct replay *replay, const struct dump_item *item)
{
	const char *at = (const char *)item->raw, *const end = at + item->header.raw_bytes;
	bool is_symbol = false;

	replay->rows_count = 0;
	for (; at < end && memchr(at, '\0', end - at); at += strlen(at) + 1) {
		int row;

		is_symbol = !is_symbol;
		if (is_symbol)
			continue; /* the layer comes first */
		row = probe_find(at);
		if (replay->rows_count < ROWS_MAX)
			replay->rows[replay->rows_count++] = row < 0 ? MS_NO_ROW : row;
	}
	return 0;
}

/* Returns whether this program has it. */
static bool translate(const struct replay *replay, uint16_t *row)
{
	*row = *row < replay->rows_count ? replay->rows[*row] : MS_NO_ROW;
	return *row != MS_NO_ROW;
}

static bool translate_call(struct replay *replay, struct ms_call *call)
{
	if (call->driver_row != MS_NO_ROW)
		translate(replay, &call->driver_row);
	return translate(replay, &call->row);
}

/* Returns whether the record can be understood. */
static bool translate_record(struct replay *replay, void *record)
{
	struct ms_event *event = record;

	switch (event->type) {
	case MS_TYPE_CALL:
	case MS_TYPE_LAUNCH:
	case MS_TYPE_CALLS:
		return translate_call(replay, record);
	case MS_TYPE_FREE_BEGIN:
		return translate(replay, &((struct ms_free *)record)->row);
	case MS_ANCHOR_FAILURE:
		return translate(replay, &((struct ms_anchor_failure *)record)->row);
	case MS_ANCHOR_ALLOCATION: {
		struct ms_anchor_allocation *allocation = record;

		if (allocation->driver_row != MS_NO_ROW)
			translate(replay, &allocation->driver_row);
		return translate(replay, &allocation->row);
	}
	}
	return true;
}

/* ---- records --------------------------------------------------------------------------------- */

static void anchor_end(struct replay *replay)
{
	state_fini(&replay->loaded);
	replay->loading = false;
}

/* The state is that of the dump from here on. */
static void anchor_use(struct replay *replay)
{
	state_fini(&replay->pipeline->state);
	replay->pipeline->state = replay->loaded;
	replay->loaded = (struct state){ 0 };
	replay->loading = false;
	replay->begun = true;
	replay->gap = false;
	replay->account.anchors_used++;
}

static int load(struct replay *replay, size_t length)
{
	int err;

	if (!replay->loading)
		return 0;
	err = anchor_load(&replay->anchor, replay->record, length);
	if (err == -ENOMEM)
		return err;
	if (err) {
		replay->account.refused++;
		anchor_end(replay);
	} else if (replay->anchor.complete) {
		anchor_use(replay);
	}
	return 0;
}

static int feed(struct replay *replay, size_t length)
{
	if (!replay->begun)
		return 0;
	replay->account.events++;
	return pipeline_feed(replay->pipeline, replay->record, length);
}

static int take_records(struct replay *replay, const struct dump_item *item)
{
	const bool anchor = item->header.type == BLOCK_ANCHOR;
	bool whole = pack_open(&replay->pack, item->raw, item->header.raw_bytes);
	size_t length;
	int err = 0;

	while (!err && whole &&
	       (length = pack_read(&replay->pack, replay->record, sizeof(replay->record)))) {
		if (!translate_record(replay, replay->record))
			replay->account.unknown_calls++;
		else
			err = anchor ? load(replay, length) : feed(replay, length);
	}
	if (!err && (!whole || !pack_done(&replay->pack)))
		replay->account.refused++;
	return err;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int begin_segment(struct replay *replay, const struct dump_item *item)
{
	string_clear(&replay->description);
	string_append(&replay->description, (const char *)item->raw, item->header.raw_bytes);
	if (replay->description.failed)
		return -ENOMEM;
	replay->account.segments++;
	anchor_end(replay);
	/* Without a gap, the anchor only says what is known already. */
	if (replay->begun && !replay->gap)
		return 0;
	replay->loading = true;
	anchor_init(&replay->anchor, &replay->loaded);
	return replay->pipeline->state.usage ? state_follow_usage(&replay->loaded) : 0;
}

static void note_gap(struct replay *replay, const struct block_header *header)
{
	struct replay_account *account = &replay->account;

	replay->gap = true;
	anchor_end(replay);
	account->missing_blocks += header->sequence - replay->next_sequence;
	if (header->first_ts_ns <= account->last_ts_ns)
		return;
	if (!account->first_missing_ts_ns)
		account->first_missing_ts_ns = account->last_ts_ns;
	account->missing_ns += header->first_ts_ns - account->last_ts_ns;
}

static void take_header(struct replay *replay, const struct block_header *header)
{
	struct replay_account *account = &replay->account;

	if (account->blocks && header->sequence > replay->next_sequence)
		note_gap(replay, header);
	if (!account->blocks) {
		account->recording = header->recording;
		account->first_ts_ns = header->first_ts_ns;
	}
	replay->next_sequence = header->sequence + 1;
	account->blocks++;
	if (header->last_ts_ns > account->last_ts_ns)
		account->last_ts_ns = header->last_ts_ns;
}

static int take_block(struct replay *replay, const struct dump_item *item)
{
	take_header(replay, &item->header);
	switch (item->header.type) {
	case BLOCK_SEGMENT:
		return begin_segment(replay, item);
	case BLOCK_ROWS:
		return take_rows(replay, item);
	case BLOCK_ANCHOR:
	case BLOCK_EVENTS:
		return take_records(replay, item);
	case BLOCK_END:
		string_clear(&replay->end);
		string_append(&replay->end, (const char *)item->raw, item->header.raw_bytes);
		replay->account.has_end = true;
		return replay->end.failed ? -ENOMEM : 0;
	case BLOCK_INDEX:
		return 0;
	}
	replay->account.unknown_blocks++;
	return 0;
}

int replay_item(struct replay *replay, const struct dump_item *item)
{
	switch (item->kind) {
	case DUMP_BLOCK:
		return take_block(replay, item);
	case DUMP_CUT_SHORT:
		replay->account.cut_short = true;
		break;
	case DUMP_DAMAGE:
		replay->account.damaged_places++;
		replay->account.damaged_bytes += item->bytes;
		break;
	case DUMP_TOO_NEW:
	case DUMP_END:
		break;
	}
	return 0;
}
