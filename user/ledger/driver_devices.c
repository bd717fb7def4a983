// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/driver_devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/event.h"
#include "ledger/limits.h"
#include "ledger/state.h"

static uint64_t key_of(uint32_t client, uint32_t parent)
{
	return (uint64_t)client << 32 | parent;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void forget(struct driver_objects *objects)
{
	map_fini(&objects->group_places);
	objects->groups_count = 0;
	objects->groups_free = objects->asking_count = 0;
	objects->groups_ended = false;
}

/* Returns the position of one that has no memory, or -ENOMEM. */
static int64_t unused(struct driver_objects *objects)
{
	uint32_t place = objects->groups_free;

	if (place) {
		objects->groups_free = objects->groups[place - 1].next_free;
		return place - 1;
	}
	if (memory_grow(&objects->groups, &objects->groups_capacity, objects->groups_count + 1,
			sizeof(*objects->groups)))
		return -ENOMEM;
	return (int64_t)objects->groups_count++;
}

/* The place of those that are too many is kept for them. */
static bool are_many(const struct driver_objects *objects)
{
	const struct map *places = &objects->group_places;
	const size_t kept = map_get(places, 0) ? 1 : 0;

	return places->count - kept >= LIMIT_DRIVER_GROUPS - 1;
}

int driver_devices_group(struct driver_objects *objects, uint32_t client, uint32_t parent,
			 uint32_t *group)
{
	const uint64_t *known;
	int64_t place;

	if (objects->groups_ended)
		forget(objects);
	known = map_get(&objects->group_places, key_of(client, parent));
	if (!known && are_many(objects)) {
		client = parent = 0;
		known = map_get(&objects->group_places, 0);
	}
	if (known) {
		*group = (uint32_t)*known;
		return 0;
	}
	place = unused(objects);
	if (place < 0)
		return -ENOMEM;
	objects->groups[place] =
		(struct driver_group){ .client = client, .parent = parent, .device = -1 };
	if (!client && !parent)
		objects->groups[place].evidence = DRIVER_EVIDENCE_UNCLEAR;
	if (map_set(&objects->group_places, key_of(client, parent), (uint64_t)place)) {
		objects->groups[place].next_free = objects->groups_free;
		objects->groups_free = (uint32_t)place + 1;
		return -ENOMEM;
	}
	*group = (uint32_t)place;
	return 0;
}

void driver_devices_add(struct driver_objects *objects, const struct driver_object *object)
{
	struct driver_group *group = &objects->groups[object->group];

	group->live_count++;
	group->causes[object->cause] += object->bytes;
}

/* A handle comes to mean something else once nothing has it any more. */
void driver_devices_remove(struct driver_objects *objects, const struct driver_object *object)
{
	struct driver_group *group = &objects->groups[object->group];

	group->causes[object->cause] -= object->bytes;
	if (--group->live_count)
		return;
	map_remove(&objects->group_places, key_of(group->client, group->parent));
	group->next_free = objects->groups_free;
	objects->groups_free = object->group + 1;
}

void driver_devices_end(struct driver_objects *objects)
{
	/* It has ended before, and has made nothing since then. */
	if (objects->groups_ended)
		forget(objects);
	map_fini(&objects->group_places);
	objects->groups_ended = true;
}

void driver_devices_fini(struct driver_objects *objects)
{
	forget(objects);
	free(objects->groups);
	objects->groups = NULL;
	objects->groups_capacity = 0;
}

/* ---- which device it is ---------------------------------------------------------------------- */

static enum driver_evidence evidence_of(enum driver_cause cause)
{
	switch (cause) {
	case DRIVER_CAUSE_ALLOCATIONS:
	case DRIVER_CAUSE_PHYSICAL:
	case DRIVER_CAUSE_POOLS:
	case DRIVER_CAUSE_LAUNCHES:
		return DRIVER_EVIDENCE_ALLOCATION;
	case DRIVER_CAUSE_CONTEXTS:
		return DRIVER_EVIDENCE_CONTEXT;
	case DRIVER_CAUSE_CODE:
	case DRIVER_CAUSE_OTHER_CALLS:
	case DRIVER_CAUSE_NO_CALL:
	case DRIVER_CAUSES_COUNT:
		break;
	}
	return DRIVER_EVIDENCE_NONE;
}

/* Where the question goes: to the same one, which is newer now, or to the oldest one's place. */
static struct driver_asking *asking_for(struct driver_objects *objects,
					const struct driver_asking *question)
{
	struct driver_asking *place;
	uint32_t i;

	for (i = 0; i < objects->asking_count; i++) {
		place = &objects->asking[i];
		if (place->tid == question->tid && place->row == question->row &&
		    place->client == question->client && place->parent == question->parent)
			return place;
	}
	place = &objects->asking[objects->asking_next];
	objects->asking_next = (objects->asking_next + 1) % DRIVER_ASKING;
	if (objects->asking_count < DRIVER_ASKING)
		objects->asking_count++;
	return place;
}

void driver_devices_ask(struct driver_objects *objects, const struct ms_object *record,
			const struct driver_object *object)
{
	const struct driver_group *group = &objects->groups[object->group];
	const struct driver_asking question = {
		.ts_ns = record->event.ts_ns,
		.tid = record->event.tid,
		.client = group->client,
		.parent = group->parent,
		.row = record->row,
		.evidence = (uint8_t)evidence_of(object->cause),
	};

	if (question.evidence != DRIVER_EVIDENCE_NONE && question.evidence >= group->evidence)
		*asking_for(objects, &question) = question;
}

static void learn(struct driver_group *group, enum driver_evidence evidence, int32_t device)
{
	if (evidence > group->evidence) {
		group->evidence = evidence;
		group->device = device;
	} else if (evidence == group->evidence && group->device != device) {
		group->evidence = DRIVER_EVIDENCE_UNCLEAR;
		group->device = -1;
	}
}

static bool is_of_call(const struct driver_asking *asking, const struct event *event)
{
	const struct ms_call *call = event->call;

	return asking->evidence != DRIVER_EVIDENCE_NONE && asking->tid == event->header->tid &&
	       (asking->row == call->row || asking->row == call->driver_row) &&
	       asking->ts_ns >= event->header->ts_ns &&
	       asking->ts_ns - event->header->ts_ns <= call->duration_ns;
}

void driver_devices_answer(struct driver_objects *objects, const struct event *event,
			   int32_t device)
{
	bool waiting = false;
	uint32_t i;

	for (i = 0; i < objects->asking_count; i++) {
		struct driver_asking *asking = &objects->asking[i];

		if (is_of_call(asking, event)) {
			const uint64_t *place = map_get(&objects->group_places,
							key_of(asking->client, asking->parent));

			if (place && device >= 0)
				learn(&objects->groups[*place], asking->evidence, device);
			asking->evidence = DRIVER_EVIDENCE_NONE;
		}
		waiting |= asking->evidence != DRIVER_EVIDENCE_NONE;
	}
	if (!waiting)
		objects->asking_count = objects->asking_next = 0;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static bool holds(const struct driver_group *group)
{
	return group->live_count != 0;
}

int32_t driver_devices_next(const struct process *process, int32_t device)
{
	const struct driver_objects *objects = &process->driver;
	int32_t next = DRIVER_DEVICES_END;
	size_t i;

	if (objects->groups_ended && !process->exited)
		return next;
	for (i = 0; i < objects->groups_count; i++) {
		const struct driver_group *group = &objects->groups[i];

		if (holds(group) && group->device > device && group->device < next)
			next = group->device;
	}
	return next;
}

uint64_t driver_devices_objects(const struct process *process, int32_t device)
{
	const struct driver_objects *objects = &process->driver;
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < objects->groups_count; i++)
		if (objects->groups[i].device == device)
			count += objects->groups[i].live_count;
	return count;
}

uint64_t driver_devices_bytes(const struct process *process, int32_t device,
			      uint64_t causes[DRIVER_CAUSES_COUNT])
{
	const struct driver_objects *objects = &process->driver;
	uint64_t bytes = 0;
	size_t i, cause;

	memset(causes, 0, DRIVER_CAUSES_COUNT * sizeof(*causes));
	for (i = 0; i < objects->groups_count; i++) {
		if (!holds(&objects->groups[i]) || objects->groups[i].device != device)
			continue;
		for (cause = 0; cause < DRIVER_CAUSES_COUNT; cause++) {
			causes[cause] += objects->groups[i].causes[cause];
			bytes += objects->groups[i].causes[cause];
		}
	}
	return bytes;
}
