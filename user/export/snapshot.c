// SPDX-License-Identifier: BSD-2-Clause
#include "export/snapshot.h"

#include <string.h>

#include "export/pickle.h"
#include "render/field.h"
#include "render/stack_words.h"

/* That are appended at once: the viewer passes them as arguments of a function. */
#define BATCH 500

/* Texts that come again and again, remembered under their numbers here. */
enum constant {
	/* actions first, in their order */
	KEY_ACTION = SNAPSHOT_ACTIONS,
	KEY_ADDR,
	KEY_CUDA_ADDR,
	KEY_SIZE,
	KEY_STREAM,
	KEY_TIME_US,
	KEY_FRAMES,
	KEY_DEVICE_FREE,
	KEY_NAME,
	KEY_FILENAME,
	KEY_LINE,
	KEY_DEVICE_TRACES,
	KEY_DEVICE,
	KEY_ADDRESS,
	KEY_TOTAL_SIZE,
	KEY_ALLOCATED_SIZE,
	KEY_ACTIVE_SIZE,
	KEY_REQUESTED_SIZE,
	KEY_SEGMENT_TYPE,
	KEY_LARGE,
	KEY_SMALL,
	KEY_SEGMENT_POOL_ID,
	KEY_IS_EXPANDABLE,
	KEY_BLOCKS,
	KEY_STATE,
	KEY_ACTIVE_ALLOCATED,
	KEY_INACTIVE,
	CONSTANTS,
};

_Static_assert(CONSTANTS <= 64, "they are bits of a number");

static const char *const constants[CONSTANTS] = {
	[SNAPSHOT_ALLOC] = "alloc",
	[SNAPSHOT_FREE_REQUESTED] = "free_requested",
	[SNAPSHOT_FREE_COMPLETED] = "free_completed",
	[SNAPSHOT_SEGMENT_ALLOC] = "segment_alloc",
	[SNAPSHOT_SEGMENT_FREE] = "segment_free",
	[SNAPSHOT_SEGMENT_MAP] = "segment_map",
	[SNAPSHOT_SEGMENT_UNMAP] = "segment_unmap",
	[SNAPSHOT_OOM] = "oom",
	[KEY_ACTION] = "action",
	[KEY_ADDR] = "addr",
	[KEY_CUDA_ADDR] = "cuda_addr",
	[KEY_SIZE] = "size",
	[KEY_STREAM] = "stream",
	[KEY_TIME_US] = "time_us",
	[KEY_FRAMES] = "frames",
	[KEY_DEVICE_FREE] = "device_free",
	[KEY_NAME] = "name",
	[KEY_FILENAME] = "filename",
	[KEY_LINE] = "line",
	[KEY_DEVICE_TRACES] = "device_traces",
	[KEY_DEVICE] = "device",
	[KEY_ADDRESS] = "address",
	[KEY_TOTAL_SIZE] = "total_size",
	[KEY_ALLOCATED_SIZE] = "allocated_size",
	[KEY_ACTIVE_SIZE] = "active_size",
	[KEY_REQUESTED_SIZE] = "requested_size",
	[KEY_SEGMENT_TYPE] = "segment_type",
	[KEY_LARGE] = "large",
	[KEY_SMALL] = "small",
	[KEY_SEGMENT_POOL_ID] = "segment_pool_id",
	[KEY_IS_EXPANDABLE] = "is_expandable",
	[KEY_BLOCKS] = "blocks",
	[KEY_STATE] = "state",
	[KEY_ACTIVE_ALLOCATED] = "active_allocated",
	[KEY_INACTIVE] = "inactive",
};

static struct string *out_of(struct snapshot *snapshot)
{
	return &snapshot->writer->text;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_constant(struct snapshot *snapshot, uint32_t constant)
{
	const char *text = constants[constant];

	if (snapshot->constants >> constant & 1) {
		pickle_recall(out_of(snapshot), constant);
		return;
	}
	pickle_text(out_of(snapshot), text, strlen(text));
	pickle_remember(out_of(snapshot), constant);
	snapshot->constants |= 1ull << constant;
}

static void put_u64(struct snapshot *snapshot, uint32_t key, uint64_t value)
{
	put_constant(snapshot, key);
	pickle_u64(out_of(snapshot), value);
}

static void put_word(struct snapshot *snapshot, uint32_t key, uint32_t word)
{
	put_constant(snapshot, key);
	put_constant(snapshot, word);
}

static void put_frame(struct snapshot *snapshot, const char *filename, const char *name,
		      uint32_t line)
{
	struct string *out = out_of(snapshot);

	pickle_dict(out);
	pickle_mark(out);
	put_constant(snapshot, KEY_NAME);
	pickle_text(out, name, strlen(name));
	put_constant(snapshot, KEY_FILENAME);
	pickle_text(out, filename, strlen(filename));
	put_u64(snapshot, KEY_LINE, line);
	pickle_set_all(out);
}

/* As a text of its own that nothing can be wrong with; "?" if there is none. */
static const char *safe(struct string *text, const char *unsafe)
{
	if (unsafe && *unsafe)
		field_append_safe(text, unsafe, strlen(unsafe));
	else if (!text->length)
		string_append_char(text, '?');
	string_append_char(text, '\0');
	return text->failed ? "?" : text->bytes;
}

static void put_stack_frame(struct snapshot *snapshot, const struct frame *frame)
{
	const char *file = frame->source && *frame->source ? frame->source : frame->module;
	struct string name = { 0 }, filename = { 0 }, made = { 0 };

	if (!frame->function || !*frame->function) {
		stack_words_append_function(&made, frame);
		string_append_char(&made, '\0');
	}
	put_frame(snapshot, safe(&filename, file),
		  safe(&name, made.length && !made.failed ? made.bytes : frame->function),
		  frame->line);
	string_fini(&made);
	string_fini(&name);
	string_fini(&filename);
}

static void put_stack(struct snapshot *snapshot, const struct snapshot_frames *frames)
{
	size_t i;

	for (i = 0; i < frames->stack->count; i++) {
		const struct frame *frame = stacks_frame(frames->stacks, frames->stack, i);

		if (frame)
			put_stack_frame(snapshot, frame);
	}
}

static void put_frames(struct snapshot *snapshot, struct snapshot_frames *frames)
{
	struct string *out = out_of(snapshot);

	put_constant(snapshot, KEY_FRAMES);
	if (frames->number) {
		pickle_recall(out, frames->number);
		return;
	}
	frames->number = snapshot->next_number++;
	pickle_list(out);
	pickle_remember(out, frames->number);
	pickle_mark(out);
	if (frames->stack)
		put_stack(snapshot, frames);
	else
		put_frame(snapshot, frames->space, frames->api, 0);
	put_frame(snapshot, "process", frames->process, 0);
	pickle_append_all(out);
}

/* ---- traces ---------------------------------------------------------------------------------- */

static void put_list(struct snapshot *snapshot, uint32_t device)
{
	struct string *out = out_of(snapshot);

	if (snapshot->lists[device]) {
		pickle_recall(out, snapshot->lists[device]);
		return;
	}
	snapshot->lists[device] = snapshot->next_number++;
	pickle_list(out);
	pickle_remember(out, snapshot->lists[device]);
}

static void close_list(struct snapshot *snapshot)
{
	if (!snapshot->open)
		return;
	pickle_append_all(out_of(snapshot));
	pickle_set(out_of(snapshot));
	snapshot->open = snapshot->entries = 0;
}

static void open_list(struct snapshot *snapshot, uint32_t device)
{
	if (snapshot->open == device + 1 && snapshot->entries < BATCH)
		return;
	close_list(snapshot);
	put_constant(snapshot, KEY_DEVICE_TRACES);
	put_list(snapshot, device);
	pickle_mark(out_of(snapshot));
	snapshot->open = device + 1;
}

static void use_device(struct snapshot *snapshot, uint32_t device)
{
	if (device != SNAPSHOT_UNKNOWN && snapshot->used <= device)
		snapshot->used = device + 1;
}

void snapshot_entry(struct snapshot *snapshot, enum snapshot_action action,
		    const struct snapshot_block *block, uint64_t time_us, uint64_t free_bytes,
		    struct snapshot_frames *frames)
{
	struct string *out = out_of(snapshot);

	use_device(snapshot, block->device);
	open_list(snapshot, block->device);
	snapshot->entries++;
	pickle_dict(out);
	pickle_mark(out);
	put_word(snapshot, KEY_ACTION, action);
	if (action == SNAPSHOT_OOM)
		put_u64(snapshot, KEY_DEVICE_FREE, free_bytes);
	else
		put_u64(snapshot, KEY_ADDR, block->addr);
	if (action == SNAPSHOT_ALLOC)
		put_u64(snapshot, KEY_CUDA_ADDR, block->cuda_addr);
	put_u64(snapshot, KEY_SIZE, block->size_bytes);
	put_u64(snapshot, KEY_STREAM, block->stream);
	put_u64(snapshot, KEY_TIME_US, time_us);
	put_frames(snapshot, frames);
	pickle_set_all(out);
}

/* ---- segments -------------------------------------------------------------------------------- */

static void begin_segments(struct snapshot *snapshot)
{
	struct string *out = out_of(snapshot);

	close_list(snapshot);
	pickle_text(out, "segments", strlen("segments"));
	pickle_list(out);
	pickle_mark(out);
	snapshot->has_segments = true;
	snapshot->entries = 0;
}

void snapshot_segment_begin(struct snapshot *snapshot, const struct snapshot_segment *segment,
			    struct snapshot_frames *frames)
{
	const struct snapshot_block *block = &segment->block;
	struct string *out = out_of(snapshot);

	use_device(snapshot, block->device);
	if (!snapshot->has_segments)
		begin_segments(snapshot);
	if (snapshot->entries++ == BATCH) {
		pickle_append_all(out);
		pickle_mark(out);
		snapshot->entries = 1;
	}
	pickle_dict(out);
	pickle_mark(out);
	/* The unknown one comes after those that have entries: all have been seen by now. */
	put_u64(snapshot, KEY_DEVICE,
		block->device == SNAPSHOT_UNKNOWN ? snapshot->used : block->device);
	put_u64(snapshot, KEY_ADDRESS, block->addr);
	put_u64(snapshot, KEY_TOTAL_SIZE, block->size_bytes);
	put_u64(snapshot, KEY_ALLOCATED_SIZE, segment->used_bytes);
	put_u64(snapshot, KEY_ACTIVE_SIZE, segment->used_bytes);
	put_u64(snapshot, KEY_REQUESTED_SIZE, segment->used_bytes);
	put_u64(snapshot, KEY_STREAM, block->stream);
	put_word(snapshot, KEY_SEGMENT_TYPE, segment->small ? KEY_SMALL : KEY_LARGE);
	put_constant(snapshot, KEY_SEGMENT_POOL_ID);
	pickle_list(out);
	pickle_mark(out);
	pickle_u64(out, 0);
	pickle_u64(out, 0);
	pickle_append_all(out);
	put_constant(snapshot, KEY_IS_EXPANDABLE);
	pickle_bool(out, segment->expandable);
	put_frames(snapshot, frames);
	put_constant(snapshot, KEY_BLOCKS);
	pickle_list(out);
	pickle_mark(out);
	snapshot->blocks = 0;
}

void snapshot_segment_block(struct snapshot *snapshot, const struct snapshot_block *block,
			    struct snapshot_frames *frames)
{
	struct string *out = out_of(snapshot);

	if (snapshot->blocks++ == BATCH) {
		pickle_append_all(out);
		pickle_mark(out);
		snapshot->blocks = 1;
	}
	pickle_dict(out);
	pickle_mark(out);
	put_u64(snapshot, KEY_ADDRESS, block->addr);
	put_u64(snapshot, KEY_CUDA_ADDR, block->cuda_addr);
	put_u64(snapshot, KEY_SIZE, block->size_bytes);
	put_u64(snapshot, KEY_REQUESTED_SIZE, frames ? block->size_bytes : 0);
	put_word(snapshot, KEY_STATE, frames ? KEY_ACTIVE_ALLOCATED : KEY_INACTIVE);
	if (frames) {
		put_frames(snapshot, frames);
	} else {
		put_constant(snapshot, KEY_FRAMES);
		pickle_list(out);
	}
	pickle_set_all(out);
}

void snapshot_segment_end(struct snapshot *snapshot)
{
	pickle_append_all(out_of(snapshot)); /* the blocks */
	pickle_set_all(out_of(snapshot));
}

/* ---- the whole ------------------------------------------------------------------------------- */

void snapshot_begin(struct snapshot *snapshot, struct writer *writer)
{
	*snapshot = (struct snapshot){ .writer = writer, .next_number = CONSTANTS };
	pickle_begin(out_of(snapshot));
	pickle_dict(out_of(snapshot));
}

static void end_segments(struct snapshot *snapshot)
{
	if (!snapshot->has_segments)
		begin_segments(snapshot);
	pickle_append_all(out_of(snapshot));
	pickle_set(out_of(snapshot));
}

void snapshot_remark(struct snapshot *snapshot, const char *text, bool first)
{
	struct string *out = out_of(snapshot);

	if (first) {
		end_segments(snapshot);
		pickle_text(out, "remarks", strlen("remarks"));
		pickle_list(out);
		pickle_mark(out);
	}
	pickle_text(out, text, strlen(text));
}

void snapshot_end(struct snapshot *snapshot, bool has_remarks)
{
	struct string *out = out_of(snapshot);
	uint32_t device;

	if (has_remarks) {
		pickle_append_all(out);
		pickle_set(out);
	} else {
		end_segments(snapshot);
	}
	put_constant(snapshot, KEY_DEVICE_TRACES);
	pickle_list(out);
	pickle_mark(out);
	for (device = 0; device < snapshot->used; device++)
		put_list(snapshot, device);
	if (snapshot->lists[SNAPSHOT_UNKNOWN])
		put_list(snapshot, SNAPSHOT_UNKNOWN);
	pickle_append_all(out);
	pickle_set(out);
	if (snapshot->lists[SNAPSHOT_UNKNOWN]) {
		pickle_text(out, "unknown_device", strlen("unknown_device"));
		pickle_u64(out, snapshot->used);
		pickle_set(out);
	}
	pickle_text(out, "allocator_settings", strlen("allocator_settings"));
	pickle_dict(out);
	pickle_set(out);
	pickle_end(out);
}
