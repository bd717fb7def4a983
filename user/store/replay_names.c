// SPDX-License-Identifier: BSD-2-Clause
#include "store/replay_names.h"

#include <errno.h>
#include <string.h>

#include "event/event.h"
#include "ledger/checkpoint.h"

/* In the map: the first id, and how many there are from it on downwards. */
#define COUNT_BITS 8
#define COUNT_MOST ((1u << COUNT_BITS) - 1)

void replay_names_fini(struct replay_names *names)
{
	map_fini(&names->inlined);
}

void replay_names_forget(struct replay_names *names)
{
	map_fini(&names->inlined);
}

/* A recording counts its own ids from 1, and never has so many. */
static uint32_t new_id(struct replay_names *names)
{
	return UINT32_MAX - names->inlined_ids++;
}

static int take_inlined(struct replay_names *names, struct ms_frame_record *record, size_t room,
			size_t count, int (*take)(void *context), void *context)
{
	const uint32_t first = UINT32_MAX - names->inlined_ids;
	const size_t length = record->event.size;
	int err = map_set(&names->inlined, record->id, (uint64_t)first << COUNT_BITS | count);
	size_t i;

	memcpy(names->frame, record, length);
	for (i = 0; !err && i < count; i++) {
		memcpy(record, names->frame, length);
		names->namer->inlined(names->namer->context, i, record, room);
		record->id = new_id(names);
		err = take(context);
	}
	memcpy(record, names->frame, length);
	return err;
}

static int name_frame(struct replay_names *names, struct ms_frame_record *record, size_t room,
		      int (*take)(void *context), void *context)
{
	const size_t count = names->namer->put(names->namer->context, record, room);

	/* A recording tells a frame anew in each of its segments. */
	if (!count || count > COUNT_MOST || map_get(&names->inlined, record->id))
		return 0;
	return take_inlined(names, record, room, count, take, context);
}

static void lengthen_stack(const struct replay_names *names, struct ms_stack *record, size_t room)
{
	const size_t had = record->count;
	uint32_t frames[MS_STACK_MOST], all[MS_STACK_MOST];
	size_t count = 0, i, j;

	if (!names->inlined.count || record->form != MS_STACK_FRAMES)
		return;
	memcpy(frames, record->frames, had * sizeof(*frames));
	for (i = 0; i < had; i++) {
		const uint64_t *found = map_get(&names->inlined, frames[i]);
		const size_t inlined = found ? *found & COUNT_MOST : 0;

		for (j = 0; j < inlined && count < MS_STACK_MOST; j++)
			all[count++] = (uint32_t)(*found >> COUNT_BITS) - (uint32_t)j;
		if (count == MS_STACK_MOST)
			break;
		all[count++] = frames[i];
	}
	if (sizeof(*record) + count * sizeof(*all) > room)
		return;
	if (i < had)
		record->end = MS_STACK_END_DEPTH;
	memcpy(record->frames, all, count * sizeof(*all));
	record->count = (uint16_t)count;
	record->event.size = (uint16_t)(sizeof(*record) + count * sizeof(*all));
}

int replay_names_put(struct replay_names *names, void *record, size_t room,
		     int (*take)(void *context), void *context)
{
	const struct ms_event *event = record;

	if (!names->namer)
		return 0;
	switch (event->type) {
	case MS_TYPE_FRAME:
	case MS_CHECKPOINT_FRAME:
		return event_check_frame(record) ? 0 :
						   name_frame(names, record, room, take, context);
	case MS_TYPE_STACK:
	case MS_CHECKPOINT_STACK:
		if (!event_check_stack(record))
			lengthen_stack(names, record, room);
		return 0;
	}
	return 0;
}
