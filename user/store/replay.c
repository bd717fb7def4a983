// SPDX-License-Identifier: BSD-2-Clause
#include "store/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/checkpoint.h"
#include "store/delta.h"
#include "store/properties.h"
#include "store/replay_names.h"

#define ROWS_MAX 4096
/*
 * So much may come before the memory that the state takes is looked at: in records of usual length.
 * To look costs more with more processes.
 */
#define CHECK_EVERY 1024
#define CHECK_PER_PROCESS 4
#define CHECK_NEW_PROCESS 64
#define CHECK_BYTES 64 /* of a record */

struct replay {
	struct pipeline *pipeline;
	struct replay_limits *limits; /* NULL: there are no others */
	struct replay_limits always;  /* of it, for this recording */
	uint64_t bytes, work;         /* so far */
	struct effort_limit effort_limit;
	struct recording_account account;
	struct string description, end;
	uint16_t rows[ROWS_MAX]; /* of the dump -> of this program, or MS_NO_ROW */
	size_t rows_count;
	struct delta_reader pack;

	uint64_t first_sequence;
	uint64_t next_sequence; /* of what the recording is made of */
	uint64_t next_closing;  /* of what only closes a file, if that is more */
	bool begun;             /* the state is that of the dump */
	bool gap;               /* blocks are missing since */
	bool loading;           /* an anchor, from its first block on */
	struct checkpoint anchor;
	struct state loaded;

	uint64_t unchecked; /* since the memory was looked at */
	uint64_t processes; /* that had been new by then */
	uint64_t effort;

	struct replay_names names;

	/* A record, aligned; those of newer versions may be as long as their size can say. */
	uint64_t record[(UINT16_MAX + 7) / 8];
};

/* So many recordings can have all of it. */
#define LIMITS_OF_MOST 4

struct replay_limits replay_limits_of(size_t files)
{
	const uint64_t times = files < LIMITS_OF_MOST ? files : LIMITS_OF_MOST;

	return (struct replay_limits){ .bytes = times * REPLAY_BYTES,
				       .work = times * REPLAY_WORK,
				       .effort = times * REPLAY_EFFORT };
}

struct replay *replay_new(struct pipeline *pipeline, struct replay_limits *limits)
{
	struct replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return NULL;
	replay->pipeline = pipeline;
	pipeline->state.stacks.joins = true;
	replay->limits = limits;
	replay->always = limits ? *limits : replay_limits_of(1);
	if (replay->always.bytes > REPLAY_BYTES)
		replay->always.bytes = REPLAY_BYTES;
	if (replay->always.work > REPLAY_WORK)
		replay->always.work = REPLAY_WORK;
	if (replay->always.effort > REPLAY_EFFORT)
		replay->always.effort = REPLAY_EFFORT;
	pipeline->state.effort = &replay->effort_limit;
	return replay;
}

/* Takes from `*left` what was not covered by the recording's length. */
static void use_up(uint64_t *left, uint64_t used, uint64_t covered)
{
	const uint64_t more = used > covered ? used - covered : 0;

	*left -= more < *left ? more : *left;
}

void replay_close(struct replay *replay, uint64_t kept)
{
	struct replay_limits *limits = replay->limits;

	if (!limits)
		return;
	use_up(&limits->bytes, kept, REPLAY_BYTES_PER_BYTE * replay->bytes);
	use_up(&limits->work, replay->work, REPLAY_WORK_PER_BYTE * replay->bytes);
	use_up(&limits->effort, replay->effort_limit.spent, REPLAY_EFFORT_PER_BYTE * replay->bytes);
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	state_fini(&replay->loaded);
	string_fini(&replay->description);
	string_fini(&replay->end);
	replay_names_fini(&replay->names);
	free(replay);
}

const struct recording_account *replay_account(const struct replay *replay)
{
	return &replay->account;
}

const char *replay_unusable(const struct replay *replay)
{
	return replay->account.anchors_used ?
		       NULL :
		       "no segment in it has a whole beginning: nothing can be said";
}

const char *replay_text(const struct replay *replay, const char *name)
{
	return properties_find(replay->description.bytes, replay->description.length, name);
}

const char *replay_end_text(const struct replay *replay, const char *name)
{
	return properties_find(replay->end.bytes, replay->end.length, name);
}

uint64_t replay_number(const struct replay *replay, const char *name, uint64_t otherwise)
{
	return properties_find_u64(replay->description.bytes, replay->description.length, name,
				   otherwise);
}

uint64_t replay_end_number(const struct replay *replay, const char *name, uint64_t otherwise)
{
	return properties_find_u64(replay->end.bytes, replay->end.length, name, otherwise);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Most dumps have this program's own table. */
static int row_of(const char *symbol, size_t place)
{
	if (place < probe_count() && !strcmp(symbol, probe_at(place)->symbol))
		return (int)place;
	return probe_find(symbol);
}

static void take_rows(struct replay *replay, const struct dump_item *item)
{
	const char *at = (const char *)item->raw, *const end = at + item->header.raw_bytes;
	bool is_symbol = false;

	replay->rows_count = 0;
	for (; at < end && memchr(at, '\0', end - at); at += strlen(at) + 1) {
		int row;

		is_symbol = !is_symbol;
		if (is_symbol)
			continue; /* the layer comes first */
		if (replay->rows_count == ROWS_MAX)
			break;
		row = row_of(at, replay->rows_count);
		replay->rows[replay->rows_count++] = row < 0 ? MS_NO_ROW : row;
	}
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

/* Whether the record is as long as what it is said to be: what is known of it can be looked at. */
static bool is_whole(const void *record, size_t length)
{
	const struct ms_event *event = record;

	switch (event->type) {
	case MS_CHECKPOINT_FAILURE:
		return length >= sizeof(struct ms_checkpoint_failure);
	case MS_CHECKPOINT_TIMES:
		return length >= sizeof(struct ms_checkpoint_times);
	case MS_CHECKPOINT_OBJECT:
		return length >= sizeof(struct ms_checkpoint_object);
	case MS_CHECKPOINT_ALLOCATION:
		return length >= sizeof(struct ms_checkpoint_allocation);
	}
	return length >= event_size(event->type);
}

/* Returns whether the functions that the record is about are known. */
static bool translate_record(struct replay *replay, void *record)
{
	struct ms_event *event = record;

	if (event_is_call(event->type))
		return translate_call(replay, record);
	switch (event->type) {
	case MS_TYPE_FREE_BEGIN:
		return translate(replay, &((struct ms_free *)record)->row);
	case MS_TYPE_OBJECT:
		translate(replay, &((struct ms_object *)record)->row); /* MS_NO_ROW is one, too */
		return true;
	case MS_TYPE_RANGE:
		translate(replay, &((struct ms_range *)record)->row);
		return true;
	case MS_TYPE_LAUNCH_SAMPLE:
		return translate(replay, &((struct ms_launch_sample *)record)->row);
	case MS_CHECKPOINT_FAILURE:
		return translate(replay, &((struct ms_checkpoint_failure *)record)->row);
	case MS_CHECKPOINT_TIMES:
		return translate(replay, &((struct ms_checkpoint_times *)record)->row);
	case MS_CHECKPOINT_OBJECT:
		return translate(replay, &((struct ms_checkpoint_object *)record)->row);
	case MS_CHECKPOINT_ALLOCATION: {
		struct ms_checkpoint_allocation *allocation = record;

		if (allocation->driver_row != MS_NO_ROW)
			translate(replay, &allocation->driver_row);
		return translate(replay, &allocation->row);
	}
	}
	return true;
}

/* ---- records --------------------------------------------------------------------------------- */

static void checkpoint_end(struct replay *replay)
{
	state_fini(&replay->loaded);
	replay->processes = replay->pipeline->state.numbers;
	replay->loading = false;
}

/* The state is that of the dump from here on. */
static void checkpoint_use(struct replay *replay)
{
	if (replay->loaded.usage)
		usage_totals_begin(replay->loaded.usage,
				   replay->begun ? replay->pipeline->state.usage : NULL,
				   replay->account.last_ts_ns);
	state_fini(&replay->pipeline->state);
	replay->pipeline->state = replay->loaded;
	replay->loaded = (struct state){ 0 };
	replay->processes = replay->pipeline->state.numbers;
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
	err = checkpoint_load(&replay->anchor, replay->record, length);
	if (err == -ENOMEM)
		return err;
	replay->account.unknown_records += err > 0;
	if (err < 0) {
		replay->account.refused++;
		checkpoint_end(replay);
	} else if (replay->anchor.complete) {
		checkpoint_use(replay);
	}
	return 0;
}

static uint64_t calls_of(const struct ms_event *event)
{
	if (event->type == MS_TYPE_CALLS)
		return ((const struct ms_calls *)event)->count;
	return event_is_call(event->type);
}

/* Whether a newer version has it, or at least something of it. */
static bool is_newer(const struct ms_event *event)
{
	const struct ms_account *account = (const struct ms_account *)event;

	return !event_size(event->type) ||
	       (event->type == MS_TYPE_ACCOUNT && !event_account_is_known(account->op));
}

static int feed(struct replay *replay)
{
	struct ms_event *event = (struct ms_event *)replay->record;
	const size_t least = event_size(event->type), most = event_longest(event->type);
	const size_t known = event->size < most ? least : most;

	if (is_newer(event)) {
		replay->account.unknown_records++;
		return 0;
	}
	if (!replay->begun) {
		replay->account.unanchored++;
		return 0;
	}
	/* What a newer version says more, it says at the end. */
	if (event->size > known && !event_has_text(event->type))
		event->size = known;
	replay->account.events++;
	replay->account.calls += calls_of(event);
	replay->account.uncertain += replay->gap;
	if (event->size >= least && event_has_stack(event))
		event->stack = stacks_use(&replay->pipeline->state.stacks, event->stack);
	return pipeline_feed(replay->pipeline, replay->record, event->size);
}

void replay_name(struct replay *replay, const struct replay_namer *namer)
{
	replay->names.namer = namer;
}

static int take_named(void *context)
{
	struct replay *replay = context;
	const struct ms_event *event = (struct ms_event *)replay->record;

	/* It is not of the recording, so it does not count as one of its records. */
	if (event->type == MS_CHECKPOINT_FRAME)
		return load(replay, event->size);
	return replay->begun ? pipeline_feed(replay->pipeline, replay->record, event->size) : 0;
}

static int take_record(struct replay *replay, bool anchor, size_t length)
{
	const struct ms_event *event = (const struct ms_event *)replay->record;
	int err;

	/* The block that says which functions are meant is missing. */
	if (!replay->rows_count) {
		replay->account.unanchored += !anchor;
		return 0;
	}
	if (!is_whole(replay->record, length)) {
		replay->account.refused++;
		return 0;
	}
	if (!translate_record(replay, replay->record)) {
		replay->account.unknown_calls++;
		return 0;
	}
	err = replay_names_put(&replay->names, replay->record, sizeof(replay->record), take_named,
			       replay);
	if (err)
		return err;
	return anchor ? load(replay, event->size) : feed(replay);
}

static int check_memory(struct replay *replay)
{
	const uint64_t listed =
		replay->pipeline->state.processes_count + replay->loaded.processes_count;
	uint64_t bytes;

	if (replay->unchecked < CHECK_EVERY + CHECK_PER_PROCESS * listed)
		return 0;
	replay->unchecked = 0;
	bytes = pipeline_bytes(replay->pipeline) + state_bytes(&replay->loaded) +
		map_bytes(&replay->names.inlined);
	return bytes <= replay->always.bytes + REPLAY_BYTES_PER_BYTE * replay->bytes ? 0 : -E2BIG;
}

static uint64_t work_of(const struct replay *replay, bool anchor)
{
	const struct ms_call *call = (const struct ms_call *)replay->record;

	if (anchor)
		return 1;
	if (call->event.type != MS_TYPE_CALL || call->row >= probe_count())
		return REPLAY_WORK_EVENT;
	return probe_at(call->row)->spec.op == MS_OP_COPY ? REPLAY_WORK_COPY : REPLAY_WORK_EVENT;
}

/* After each record: whether it was one too many. */
static int check(struct replay *replay, bool anchor, size_t length)
{
	const uint64_t processes =
		replay->pipeline->state.numbers + replay->loaded.numbers - replay->processes;
	const uint64_t spent = replay->effort_limit.spent;

	replay->work += work_of(replay, anchor) + processes * REPLAY_WORK_PROCESS;
	replay->unchecked +=
		1 + length / CHECK_BYTES + processes * CHECK_NEW_PROCESS + spent - replay->effort;
	replay->processes += processes;
	replay->effort = spent;
	if (replay->work > replay->always.work + REPLAY_WORK_PER_BYTE * replay->bytes)
		return -E2BIG;
	return check_memory(replay);
}

static int take_records(struct replay *replay, const struct dump_item *item)
{
	const bool anchor = item->header.type == BLOCK_ANCHOR;
	bool whole = delta_open(&replay->pack, item->raw, item->header.raw_bytes);
	uint32_t count = 0;
	size_t length;
	int err = 0;

	while (!err && whole &&
	       (length = delta_read(&replay->pack, replay->record, sizeof(replay->record)))) {
		err = take_record(replay, anchor, length);
		count++;
		if (!err)
			err = check(replay, anchor, length);
	}
	/* More than the header says, or less. */
	if (!err && (!whole || !delta_done(&replay->pack) || count != item->header.records))
		replay->account.refused++;
	return err;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int keep(struct string *properties, const struct dump_item *item)
{
	string_clear(properties);
	string_append(properties, (const char *)item->raw, item->header.raw_bytes);
	return properties->failed ? -ENOMEM : 0;
}

static int begin_segment(struct replay *replay, const struct dump_item *item)
{
	int err = keep(&replay->description, item);

	if (err)
		return err;
	replay->account.segments++;
	checkpoint_end(replay);
	/* Without a gap, the anchor only says what is known already. */
	if (replay->begun && !replay->gap)
		return 0;
	replay->loading = true;
	replay_names_forget(&replay->names);
	replay->loaded.effort = &replay->effort_limit;
	replay->loaded.stacks.joins = true;
	checkpoint_init(&replay->anchor, &replay->loaded);
	return replay->pipeline->state.usage ? state_follow_usage(&replay->loaded) : 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t result;

	return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

static void note_gap(struct replay *replay, const struct block_header *header, uint64_t expected)
{
	struct recording_account *account = &replay->account;

	replay->gap = true;
	checkpoint_end(replay);
	account->missing_blocks = sum(account->missing_blocks, header->sequence - expected);
	if (header->first_ts_ns <= account->last_ts_ns)
		return;
	if (!account->first_missing_ts_ns)
		account->first_missing_ts_ns = account->last_ts_ns;
	account->missing_ns = sum(account->missing_ns, header->first_ts_ns - account->last_ts_ns);
}

/* What is known is of another run, perhaps on another machine. */
static void begin_recording(struct replay *replay, const struct block_header *header)
{
	struct recording_account *account = &replay->account;

	account->endless += account->recordings && !account->has_end;
	account->recordings++;
	account->recording = header->recording;
	account->first_ts_ns = header->first_ts_ns;
	account->last_ts_ns = 0;
	account->has_end = false;
	replay->first_sequence = header->sequence;
	replay->next_sequence = replay->next_closing = header->sequence;
	replay->begun = replay->gap = false;
	replay->rows_count = 0;
	checkpoint_end(replay);
	string_clear(&replay->end);
}

/* What was taken for the recording's end was only that of a bundle. */
static void go_on(struct replay *replay)
{
	replay->account.has_end = false;
	string_clear(&replay->end);
}

/* Returns whether the block is one that comes next. */
static bool take_number(struct replay *replay, const struct block_header *header)
{
	const bool closing = block_is_closing(header);
	uint64_t expected = replay->next_sequence;

	if (closing && replay->next_closing > expected)
		expected = replay->next_closing;
	if (header->sequence < expected)
		return false;
	if (header->sequence > expected) {
		note_gap(replay, header, expected);
		/* What is missing has been counted, if a block with that number follows. */
		replay->next_sequence = header->sequence;
	}
	if (closing) {
		replay->next_closing = sum(header->sequence, 1);
	} else {
		replay->next_sequence = replay->next_closing = sum(header->sequence, 1);
		go_on(replay);
	}
	return true;
}

/* Returns whether the block is to be looked at. */
static bool take_header(struct replay *replay, const struct block_header *header)
{
	struct recording_account *account = &replay->account;

	replay->bytes += sizeof(*header) + header->stored_bytes;
	replay->effort_limit.most = replay->always.effort + REPLAY_EFFORT_PER_BYTE * replay->bytes;
	account->blocks++;
	if (!account->recordings || header->recording != account->recording)
		begin_recording(replay, header);
	if (!take_number(replay, header)) {
		account->repeated_blocks++;
		account->late_blocks += header->sequence < replay->first_sequence;
		return false;
	}
	if (header->last_ts_ns > account->last_ts_ns)
		account->last_ts_ns = header->last_ts_ns;
	return true;
}

static int take_block(struct replay *replay, const struct dump_item *item)
{
	if (!take_header(replay, &item->header))
		return 0;
	switch (item->header.type) {
	case BLOCK_SEGMENT:
		return begin_segment(replay, item);
	case BLOCK_ROWS:
		take_rows(replay, item);
		return 0;
	case BLOCK_ANCHOR:
	case BLOCK_EVENTS:
		return take_records(replay, item);
	case BLOCK_END:
		replay->account.has_end = true;
		return keep(&replay->end, item);
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
		replay->account.newer_blocks++;
		break;
	case DUMP_END:
		break;
	}
	return 0;
}
