// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/limits.h"

void stacks_fini(struct stacks *stacks)
{
	free(stacks->frames);
	free(stacks->stacks);
	free(stacks->links);
	map_fini(&stacks->frame_places);
	map_fini(&stacks->stack_places);
	map_fini(&stacks->lines_places);
	map_fini(&stacks->same_frames);
	map_fini(&stacks->same_stacks);
	id_aliases_fini(&stacks->frame_aliases);
	id_aliases_fini(&stacks->stack_aliases);
	string_table_fini(&stacks->texts);
	*stacks = (struct stacks){ 0 };
}

size_t stacks_bytes(const struct stacks *stacks)
{
	return stacks->texts.bytes + stacks->frames_capacity * sizeof(*stacks->frames) +
	       stacks->stacks_capacity * sizeof(*stacks->stacks) +
	       stacks->links_capacity * sizeof(*stacks->links) + map_bytes(&stacks->frame_places) +
	       map_bytes(&stacks->stack_places) + map_bytes(&stacks->lines_places) +
	       map_bytes(&stacks->same_frames) + map_bytes(&stacks->same_stacks) +
	       id_aliases_bytes(&stacks->frame_aliases) + id_aliases_bytes(&stacks->stack_aliases);
}

const char *stacks_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static int intern_texts(struct string_table *strings, const struct ms_frame_record *record,
			const char *texts[MS_FRAME_TEXTS_COUNT])
{
	const char *text = record->texts;
	int i;

	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++) {
		size_t length = strlen(text);

		texts[i] = string_intern(strings, text, length);
		if (!texts[i])
			return -ENOMEM;
		text += length + 1;
	}
	return 0;
}

static struct frame frame_of(const struct ms_frame_record *record,
			     const char *const texts[MS_FRAME_TEXTS_COUNT])
{
	return (struct frame){
		.function = texts[MS_FRAME_FUNCTION],
		.module = texts[MS_FRAME_MODULE],
		.build_id = texts[MS_FRAME_BUILD_ID],
		.source = texts[MS_FRAME_SOURCE],
		.address = record->address,
		.id = record->id,
		.line = record->line,
		.offset = record->offset,
		.kind = record->kind,
		.flags = record->flags,
	};
}

/* Of all but its id. The texts are interned. */
static uint64_t frame_hash(const struct frame *frame)
{
	const uint64_t what[] = { (uintptr_t)frame->function,
				  (uintptr_t)frame->module,
				  (uintptr_t)frame->build_id,
				  (uintptr_t)frame->source,
				  frame->address,
				  (uint64_t)frame->line << 32 | frame->offset,
				  (uint64_t)frame->kind << 8 | frame->flags };

	return string_hash(map_secret(), what, sizeof(what));
}

static bool is_same_frame(const struct frame *a, const struct frame *b)
{
	return a->function == b->function && a->module == b->module && a->build_id == b->build_id &&
	       a->source == b->source && a->address == b->address && a->line == b->line &&
	       a->offset == b->offset && a->kind == b->kind && a->flags == b->flags;
}

/* Where a frame is that is the same but for its id; NULL: it is new. */
static const uint64_t *find_same_frame(const struct stacks *stacks,
				       const struct ms_frame_record *record)
{
	const char *texts[MS_FRAME_TEXTS_COUNT], *text = record->texts;
	struct frame frame;
	const uint64_t *place;
	int i;

	if (!stacks->joins)
		return NULL;
	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++, text += strlen(text) + 1)
		if (!(texts[i] = string_find(&stacks->texts, text, strlen(text))))
			return NULL;
	frame = frame_of(record, texts);
	place = map_get(&stacks->same_frames, frame_hash(&frame));
	return place && is_same_frame(&stacks->frames[*place], &frame) ? place : NULL;
}

static int note_frame(struct stacks *stacks, const struct frame *frame, uint64_t place)
{
	return stacks->joins ? map_set(&stacks->same_frames, frame_hash(frame), place) : 0;
}

int stacks_add_frame(struct stacks *stacks, const struct ms_frame_record *record)
{
	const char *texts[MS_FRAME_TEXTS_COUNT];
	const uint64_t *same;
	struct frame *frame;
	int err;

	if (map_get(&stacks->frame_places, record->id) ||
	    id_aliases_find(&stacks->frame_aliases, record->id))
		return 0;
	same = find_same_frame(stacks, record);
	if (same)
		return id_aliases_add(&stacks->frame_aliases, record->id, (uint32_t)*same,
				      LIMIT_STACK_ALIASES);
	if (stacks->frames_count >= LIMIT_FRAMES ||
	    stacks->texts.bytes + record->length > LIMIT_FRAME_BYTES) {
		stacks->others++;
		return 0;
	}
	err = intern_texts(&stacks->texts, record, texts);
	if (err ||
	    memory_grow((void **)&stacks->frames, &stacks->frames_capacity,
			stacks->frames_count + 1, sizeof(*stacks->frames)) ||
	    map_set(&stacks->frame_places, record->id, stacks->frames_count))
		return -ENOMEM;
	frame = &stacks->frames[stacks->frames_count++];
	*frame = frame_of(record, texts);
	return note_frame(stacks, frame, stacks->frames_count - 1);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is_one_of(const char *path, const char *const *names)
{
	const char *name = stacks_name_of(path);

	for (; *names; names++)
		if (begins_with(name, *names))
			return true;
	return false;
}

bool stacks_is_cuda(const char *path)
{
	static const char *const names[] = { "libcuda.so", "libcudart", "libnvidia-", NULL };

	return is_one_of(path, names);
}

/* What a script calls C functions through has no use for memory itself. */
static bool is_bridge(const char *path)
{
	static const char *const names[] = { "libffi.so", "_ctypes", NULL };

	return is_one_of(path, names);
}

/* Python frames lie on top of the library that a call of theirs led into. */
static const char *owner_of(const struct stacks *stacks, const struct stack *stack)
{
	size_t i;

	for (i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		if (!frame)
			return NULL;
		if (frame->kind == MS_FRAME_NATIVE && frame->module[0] &&
		    !stacks_is_cuda(frame->module) && !is_bridge(frame->module))
			return stacks_name_of(frame->module);
	}
	return NULL;
}

static int add_links(struct stacks *stacks, const struct ms_stack *record)
{
	size_t i;

	if (memory_grow((void **)&stacks->links, &stacks->links_capacity,
			stacks->links_count + record->count, sizeof(*stacks->links)))
		return -ENOMEM;
	for (i = 0; i < record->count; i++) {
		const uint64_t *place;
		uint32_t id;

		memcpy(&id, record->frames + i * sizeof(id), sizeof(id));
		place = map_get(&stacks->frame_places, id);
		if (!place) {
			id_aliases_use(&stacks->frame_aliases, id, LIMIT_STACK_ALIASES);
			place = id_aliases_find(&stacks->frame_aliases, id);
		}
		stacks->links[stacks->links_count++] = place ? (uint32_t)*place + 1 : 0;
	}
	return 0;
}

/* Of its frames and its end: 0 if one of them is not known, which may be any, or nobody asks. */
static uint64_t content_of(const struct stacks *stacks, const struct stack *stack)
{
	size_t i;

	if (!stacks->joins)
		return 0;
	for (i = 0; i < stack->count; i++)
		if (!stacks->links[stack->first + i])
			return 0;
	return stack->count ? map_hash(map_secret(), stack->likeness + stack->end) : 0;
}

/* Where a stack is that is the same but for its id; NULL: there is none. */
static const uint64_t *find_same(const struct stacks *stacks, const struct stack *stack)
{
	const uint64_t content = content_of(stacks, stack);
	const uint64_t *place = content ? map_get(&stacks->same_stacks, content) : NULL;
	const struct stack *other = place ? &stacks->stacks[*place] : NULL;

	if (!other || other->count != stack->count || other->end != stack->end ||
	    memcmp(stacks->links + other->first, stacks->links + stack->first,
		   stack->count * sizeof(*stacks->links)) != 0)
		return NULL;
	return place;
}

static int note_content(struct stacks *stacks, const struct stack *stack, uint64_t place)
{
	const uint64_t content = content_of(stacks, stack);

	return content ? map_set(&stacks->same_stacks, content, place) : 0;
}

static void note_likeness(const struct stacks *stacks, struct stack *stack)
{
	uint32_t lines[MS_STACK_MOST];
	size_t count = 0, i;

	for (i = 0; i < stack->count && i < MS_STACK_MOST; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		if (frame && frame->kind == MS_FRAME_PYTHON)
			lines[count++] = stacks->links[stack->first + i];
	}
	stack->likeness = string_hash(map_secret(), stacks->links + stack->first,
				      stack->count * sizeof(*lines));
	stack->lines = count ? string_hash(map_secret(), lines, count * sizeof(*lines)) : 0;
}

/* Its frames are the last links. */
static int add_new(struct stacks *stacks, struct stack *stack)
{
	const char *owner = owner_of(stacks, stack);

	if (memory_grow((void **)&stacks->stacks, &stacks->stacks_capacity,
			stacks->stacks_count + 1, sizeof(*stacks->stacks)))
		return -ENOMEM;
	stack->owner = owner ? string_intern(&stacks->texts, owner, strlen(owner)) : NULL;
	if ((owner && !stack->owner) ||
	    map_set(&stacks->stack_places, stack->id, stacks->stacks_count) ||
	    note_content(stacks, stack, stacks->stacks_count))
		return -ENOMEM;
	stacks->stacks[stacks->stacks_count++] = *stack;
	return map_get(&stacks->lines_places, stacks_lines(stack)) ?
		       0 :
		       map_set(&stacks->lines_places, stacks_lines(stack), stack->id);
}

int stacks_add(struct stacks *stacks, const struct ms_stack *record)
{
	struct stack stack = { .hash = record->hash,
			       .id = record->id,
			       .first = stacks->links_count,
			       .count = record->count,
			       .end = record->end };
	const uint64_t *same;

	/* Addresses mean nothing any more: what they were could not be found out. */
	if (record->form != MS_STACK_FRAMES || map_get(&stacks->stack_places, record->id) ||
	    id_aliases_find(&stacks->stack_aliases, record->id))
		return 0;
	if (stacks->links_count + record->count > LIMIT_STACK_FRAMES) {
		stacks->others++;
		return 0;
	}
	if (add_links(stacks, record))
		return -ENOMEM;
	note_likeness(stacks, &stack);
	same = find_same(stacks, &stack);
	if (!same && stacks->stacks_count < LIMIT_STACKS)
		return add_new(stacks, &stack);
	stacks->links_count = stack.first;
	if (same)
		return id_aliases_add(&stacks->stack_aliases, record->id, (uint32_t)*same,
				      LIMIT_STACK_ALIASES);
	stacks->others++;
	return 0;
}

uint32_t stacks_first_alike(const struct stacks *stacks, uint32_t id)
{
	const struct stack *stack = stacks_find(stacks, id);
	const uint64_t *first = stack ? map_get(&stacks->lines_places, stacks_lines(stack)) : NULL;

	return first ? (uint32_t)*first : id;
}

const struct stack *stacks_find(const struct stacks *stacks, uint32_t id)
{
	const uint64_t *place = id ? map_get(&stacks->stack_places, id) : NULL;

	if (!place && id)
		place = id_aliases_find(&stacks->stack_aliases, id);
	return place ? &stacks->stacks[*place] : NULL;
}

uint32_t stacks_use(struct stacks *stacks, uint32_t id)
{
	const struct stack *stack;

	id_aliases_use(&stacks->stack_aliases, id, LIMIT_STACK_ALIASES);
	stack = stacks_find(stacks, id);
	/* It may be one of those that have made way. */
	stacks->others += !stack && id && stacks->stack_aliases.dropped;
	return stack ? stack->id : id;
}

const struct frame *stacks_frame(const struct stacks *stacks, const struct stack *stack,
				 size_t place)
{
	const uint32_t link = stacks->links[stack->first + place];

	return link ? &stacks->frames[link - 1] : NULL;
}

/* ---- forgetting ------------------------------------------------------------------------------ */

/* Returns the frame's link in `kept`; 0 without memory. */
static uint32_t keep_frame(struct stacks *kept, const struct frame *from)
{
	const uint64_t *place = map_get(&kept->frame_places, from->id);
	struct frame frame = *from;

	if (place)
		return (uint32_t)*place + 1;
	frame.function = string_intern(&kept->texts, from->function, strlen(from->function));
	frame.module = string_intern(&kept->texts, from->module, strlen(from->module));
	frame.build_id = string_intern(&kept->texts, from->build_id, strlen(from->build_id));
	frame.source = string_intern(&kept->texts, from->source, strlen(from->source));
	if (!frame.function || !frame.module || !frame.build_id || !frame.source ||
	    memory_grow((void **)&kept->frames, &kept->frames_capacity, kept->frames_count + 1,
			sizeof(*kept->frames)) ||
	    map_set(&kept->frame_places, frame.id, kept->frames_count))
		return 0;
	if (note_frame(kept, &frame, kept->frames_count))
		return 0;
	kept->frames[kept->frames_count++] = frame;
	return (uint32_t)kept->frames_count;
}

static int keep_stack(struct stacks *kept, const struct stacks *stacks, const struct stack *from)
{
	struct stack stack = *from;
	size_t i;

	stack.first = (uint32_t)kept->links_count;
	if (memory_grow((void **)&kept->stacks, &kept->stacks_capacity, kept->stacks_count + 1,
			sizeof(*kept->stacks)) ||
	    memory_grow((void **)&kept->links, &kept->links_capacity,
			kept->links_count + stack.count, sizeof(*kept->links)))
		return -ENOMEM;
	for (i = 0; i < stack.count; i++) {
		const struct frame *frame = stacks_frame(stacks, from, i);
		const uint32_t link = frame ? keep_frame(kept, frame) : 0;

		if (frame && !link)
			return -ENOMEM;
		kept->links[kept->links_count++] = link;
	}
	/* Frames have other places now, which this is a hash of. */
	note_likeness(kept, &stack);
	if (stack.owner &&
	    !(stack.owner = string_intern(&kept->texts, stack.owner, strlen(stack.owner))))
		return -ENOMEM;
	if (map_set(&kept->stack_places, stack.id, kept->stacks_count) ||
	    note_content(kept, &stack, kept->stacks_count))
		return -ENOMEM;
	kept->stacks[kept->stacks_count++] = stack;
	return map_get(&kept->lines_places, stacks_lines(&stack)) ?
		       0 :
		       map_set(&kept->lines_places, stacks_lines(&stack), stack.id);
}

int stacks_keep(struct stacks *stacks, const struct map *wanted)
{
	struct stacks kept = { .joins = stacks->joins, .others = stacks->others };
	int err = 0;
	size_t i;

	for (i = 0; !err && i < stacks->stacks_count; i++)
		if (map_get(wanted, stacks->stacks[i].id))
			err = keep_stack(&kept, stacks, &stacks->stacks[i]);
	if (err) {
		stacks_fini(&kept);
		return err;
	}
	stacks_fini(stacks);
	*stacks = kept;
	return 0;
}

unsigned int stacks_fullness(const struct stacks *stacks)
{
	const struct {
		size_t taken, most;
	} rooms[] = {
		{ stacks->stacks_count, LIMIT_STACKS },
		{ stacks->links_count, LIMIT_STACK_FRAMES },
		{ stacks->frames_count, LIMIT_FRAMES },
		{ stacks->texts.bytes, LIMIT_FRAME_BYTES },
	};
	size_t fullest = 0, i;

	for (i = 0; i < sizeof(rooms) / sizeof(*rooms); i++)
		if (rooms[i].taken * 16 / rooms[i].most > fullest)
			fullest = rooms[i].taken * 16 / rooms[i].most;
	return (unsigned int)fullest;
}
