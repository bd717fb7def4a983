// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/driver_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/probe.h"
#include "ledger/driver_devices.h"
#include "ledger/driver_joins.h"
#include "ledger/limits.h"
#include "ledger/state.h"

#define NO_MEMORY 0x51 /* NV_ERR_NO_MEMORY, src/common/sdk/nvidia/inc/nvstatuscodes.h */

static const char *const names[] = {
#define X(cause, name, description) name,
	DRIVER_CAUSES(X)
#undef X
};

static const char *const descriptions[] = {
#define X(cause, name, description) description,
	DRIVER_CAUSES(X)
#undef X
};

const char *driver_cause_name(enum driver_cause cause)
{
	return names[cause];
}

const char *driver_cause_description(enum driver_cause cause)
{
	return descriptions[cause];
}

static enum driver_cause cause_of_allocation(uint8_t space)
{
	switch (space) {
	case MS_SPACE_PHYSICAL:
		return DRIVER_CAUSE_PHYSICAL;
	case MS_SPACE_POOL:
	case MS_SPACE_GRAPH:
		return DRIVER_CAUSE_POOLS;
	case MS_SPACE_DEVICE:
	case MS_SPACE_MANAGED:
	case MS_SPACE_ARRAY:
		return DRIVER_CAUSE_ALLOCATIONS;
	default:
		return DRIVER_CAUSE_OTHER_CALLS;
	}
}

/* cuModuleLoad..., cuLibraryLoad...: rows that only name what they return. */
static bool loads_code(const struct probe *probe)
{
	return strstr(probe->symbol, "ModuleLoad") || strstr(probe->symbol, "LibraryLoad");
}

static enum driver_cause cause_of(uint16_t row)
{
	const struct probe *probe = row == MS_NO_ROW ? NULL : probe_at(row);

	if (!probe)
		return DRIVER_CAUSE_NO_CALL;
	switch (probe->spec.op) {
	case MS_OP_ALLOC:
		return cause_of_allocation(probe->spec.space);
	case MS_OP_CONTEXT:
		return DRIVER_CAUSE_CONTEXTS;
	case MS_OP_LAUNCH:
		return probe->spec.action == MS_ACTION_GRAPH_LAUNCH ? DRIVER_CAUSE_POOLS :
								      DRIVER_CAUSE_LAUNCHES;
	case MS_OP_MEMORY:
		return loads_code(probe) ? DRIVER_CAUSE_CODE : DRIVER_CAUSE_OTHER_CALLS;
	default:
		return DRIVER_CAUSE_OTHER_CALLS;
	}
}

/* ---- objects --------------------------------------------------------------------------------- */

static void total_take(struct driver_total *total, uint64_t bytes)
{
	total->live_count++;
	total->live_bytes += bytes;
	if (total->live_bytes > total->peak_bytes)
		total->peak_bytes = total->live_bytes;
}

static void total_give_back(struct driver_total *total, uint64_t bytes)
{
	total->live_count--;
	total->live_bytes -= bytes;
}

/* Whose memory it is; NULL: it is no memory. */
static struct driver_total *total_of(struct driver_objects *objects, uint32_t class_number)
{
	if (class_number == MS_NV_MEMORY_LOCAL)
		return &objects->device;
	if (class_number == DRIVER_ALIAS)
		return &objects->shared;
	return class_number == MS_NV_DEVICE ? NULL : &objects->host;
}

static uint64_t chain_key(const struct driver_object *object, enum driver_chain chain)
{
	return driver_ranges_key(object->client, chain == DRIVER_CHAIN_PARENT ? object->parent : 0);
}

/* Points what is before and behind the object in the chain to `next` and `previous` instead. */
static void chain_join(struct driver_objects *objects, const struct driver_object *object,
		       enum driver_chain chain, uint32_t next, uint32_t previous)
{
	const uint32_t before = object->links[chain].previous, behind = object->links[chain].next;

	if (behind)
		objects->objects[behind - 1].links[chain].previous = previous;
	if (before)
		objects->objects[before - 1].links[chain].next = next;
	else if (next)
		*map_get(&objects->chains[chain], chain_key(object, chain)) = next;
	else
		map_remove(&objects->chains[chain], chain_key(object, chain));
}

/* The last one has been entered nowhere. Returns 0 or -ENOMEM; then it is in no chain. */
static int chains_enter(struct driver_objects *objects)
{
	const uint32_t place = (uint32_t)objects->count;
	struct driver_object *object = &objects->objects[place - 1];
	int chain;

	for (chain = 0; chain < DRIVER_CHAINS_COUNT; chain++) {
		const uint64_t key = chain_key(object, chain);
		const uint64_t *first = map_get(&objects->chains[chain], key);

		object->links[chain].previous = 0;
		object->links[chain].next = first ? (uint32_t)*first : 0;
		if (map_set(&objects->chains[chain], key, place))
			break;
		if (object->links[chain].next)
			objects->objects[object->links[chain].next - 1].links[chain].previous =
				place;
	}
	if (chain == DRIVER_CHAINS_COUNT)
		return 0;
	while (chain-- > 0)
		chain_join(objects, object, chain, object->links[chain].next, 0);
	return -ENOMEM;
}

static void chains_leave(struct driver_objects *objects, const struct driver_object *object)
{
	int chain;

	for (chain = 0; chain < DRIVER_CHAINS_COUNT; chain++)
		chain_join(objects, object, chain, object->links[chain].next,
			   object->links[chain].previous);
}

static void object_remove(struct driver_objects *objects, size_t place)
{
	struct driver_object *object = &objects->objects[place];
	struct driver_total *total = total_of(objects, object->class_number);
	const uint32_t new_place = (uint32_t)place + 1;
	int chain;

	if (total)
		total_give_back(total, object->bytes);
	if (total == &objects->device) {
		total_give_back(&objects->causes[object->cause], object->bytes);
		driver_devices_remove(objects, object);
	}
	map_remove(&objects->places, driver_ranges_key(object->client, object->object));
	chains_leave(objects, object);
	if (place == --objects->count)
		return;
	*object = objects->objects[objects->count];
	/* There is room: what it had there is overwritten. */
	*map_get(&objects->places, driver_ranges_key(object->client, object->object)) = place;
	for (chain = 0; chain < DRIVER_CHAINS_COUNT; chain++)
		chain_join(objects, object, chain, new_place, new_place);
}

static void count_in(struct driver_objects *objects, const struct driver_object *object)
{
	struct driver_total *total = total_of(objects, object->class_number);

	if (!total)
		return;
	total_take(total, object->bytes);
	if (total != &objects->device)
		return;
	total_take(&objects->causes[object->cause], object->bytes);
	driver_devices_add(objects, object);
}

/* Returns 0 or -ENOMEM; then nothing has changed. */
static int enter(struct driver_objects *objects, struct driver_object *object)
{
	const uint64_t key = driver_ranges_key(object->client, object->object);

	if (memory_grow(&objects->objects, &objects->capacity, objects->count + 1,
			sizeof(*objects->objects)) ||
	    map_set(&objects->places, key, objects->count))
		return -ENOMEM;
	objects->objects[objects->count++] = *object;
	if (chains_enter(objects))
		goto failed;
	if (total_of(objects, object->class_number) != &objects->device)
		return 0;
	if (!driver_devices_group(objects, object->client, object->parent, &object->group)) {
		objects->objects[objects->count - 1].group = object->group;
		return 0;
	}
	chains_leave(objects, &objects->objects[objects->count - 1]);
failed:
	map_remove(&objects->places, key);
	objects->count--;
	return -ENOMEM;
}

/* Returns 1, 0: there are too many, or -ENOMEM. */
static int put(struct process *process, struct driver_object *object)
{
	struct driver_objects *objects = &process->driver;
	const uint64_t *known =
		map_get(&objects->places, driver_ranges_key(object->client, object->object));

	/* A handle that is given again: its free was not seen. */
	if (known)
		object_remove(objects, *known);
	if (objects->count >= LIMIT_DRIVER_OBJECTS) {
		process->counters[COUNTER_OTHER_DRIVER_OBJECTS]++;
		return 0;
	}
	if (enter(objects, object))
		return -ENOMEM;
	count_in(objects, object);
	return 1;
}

static int object_add(struct process *process, const struct ms_object *record)
{
	struct driver_objects *objects = &process->driver;
	const struct driver_total *total = total_of(objects, record->class_number);
	struct driver_object object = { .client = record->client,
					.object = record->object,
					.parent = record->parent,
					.class_number = record->class_number,
					.bytes = total ? record->size : 0,
					.cause = cause_of(record->row) };
	const int put_in = put(process, &object);

	if (put_in > 0 && total == &objects->device)
		driver_devices_ask(objects, record, &object);
	return put_in < 0 ? put_in : 0;
}

const struct driver_object *driver_objects_find(const struct driver_objects *objects,
						uint32_t client, uint32_t object)
{
	const uint64_t *place = map_get(&objects->places, driver_ranges_key(client, object));

	return place ? &objects->objects[*place] : NULL;
}

int driver_objects_alias(struct process *process, const struct ms_object *record, uint64_t source,
			 uint64_t bytes)
{
	struct driver_object object = { .client = record->client,
					.object = record->object,
					.parent = record->parent,
					.class_number = DRIVER_ALIAS,
					.bytes = bytes,
					.source = source,
					.cause = cause_of(record->row) };
	const int put_in = put(process, &object);

	return put_in < 0 ? put_in : 0;
}

/* What is below it goes, too: a client's objects, and a device's or a part's of it memory. */
static void object_free(struct driver_objects *objects, uint32_t client, uint32_t object)
{
	const enum driver_chain chain =
		client == object ? DRIVER_CHAIN_CLIENT : DRIVER_CHAIN_PARENT;
	const uint64_t key = driver_ranges_key(client, chain == DRIVER_CHAIN_PARENT ? object : 0);
	const uint64_t *place = map_get(&objects->places, driver_ranges_key(client, object));

	if (place)
		object_remove(objects, *place);
	while ((place = map_get(&objects->chains[chain], key)))
		object_remove(objects, *place - 1);
}

static bool is_client(uint32_t class_number)
{
	return class_number <= MS_NV_ROOT_NON_PRIV || class_number == MS_NV_ROOT_CLIENT;
}

int driver_objects_apply(struct process *process, const struct ms_object *record)
{
	struct driver_objects *objects = &process->driver;

	if (record->action == MS_OBJECT_CLOSED) {
		while (objects->count)
			object_remove(objects, objects->count - 1);
		driver_ranges_fini(&objects->ranges);
		return 0;
	}
	if (record->action == MS_OBJECT_MISSED) {
		objects->missed_ns = record->event.ts_ns;
		return 0;
	}
	objects->seen = true;
	if (record->action == MS_OBJECT_UNREAD) {
		process->counters[COUNTER_UNREAD_IOCTLS]++;
		return 0;
	}
	if (record->status) {
		objects->failures += record->status == NO_MEMORY;
		return 0;
	}
	switch ((enum ms_object_action)record->action) {
	case MS_OBJECT_ALLOC:
		return is_client(record->class_number) ? 0 : object_add(process, record);
	case MS_OBJECT_FREE:
		object_free(objects, record->client, record->object);
		return 0;
	case MS_OBJECT_DUP: /* no memory of their own */
	case MS_OBJECT_IMPORT:
	case MS_OBJECT_EXPORT:
	case MS_OBJECT_MISSED:
	case MS_OBJECT_CLOSED:
	case MS_OBJECT_UNREAD:
	case MS_OBJECT_ACTIONS_COUNT:
		break;
	}
	return 0;
}

void driver_objects_call(struct driver_objects *objects, const struct event *event, int32_t device)
{
	if (objects->asking_count)
		driver_devices_answer(objects, event, device);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void total_end(struct driver_total *total)
{
	total->exit_bytes = total->live_bytes;
	total->live_bytes = total->live_count = 0;
}

static void forget(struct driver_objects *objects)
{
	size_t i;

	free(objects->objects);
	objects->objects = NULL;
	objects->count = objects->capacity = 0;
	map_fini(&objects->places);
	for (i = 0; i < DRIVER_CHAINS_COUNT; i++)
		map_fini(&objects->chains[i]);
	driver_ranges_fini(&objects->ranges);
}

void driver_objects_end(struct driver_objects *objects)
{
	size_t i;

	total_end(&objects->device);
	total_end(&objects->host);
	total_end(&objects->shared);
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		total_end(&objects->causes[i]);
	driver_devices_end(objects);
	forget(objects);
}

void driver_objects_exec(struct driver_objects *objects)
{
	driver_objects_end(objects);
	objects->missed_ns = 0;
}

void driver_objects_restart(struct driver_objects *objects)
{
	size_t i;

	objects->device.peak_bytes = objects->device.live_bytes;
	objects->host.peak_bytes = objects->host.live_bytes;
	objects->shared.peak_bytes = objects->shared.live_bytes;
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		objects->causes[i].peak_bytes = objects->causes[i].live_bytes;
	objects->failures = 0;
}

static void total_add(struct driver_total *sum, const struct driver_total *total)
{
	sum->live_bytes += total->live_bytes;
	sum->live_count += total->live_count;
	sum->exit_bytes += total->exit_bytes;
	if (total->peak_bytes > sum->peak_bytes)
		sum->peak_bytes = total->peak_bytes;
}

void driver_objects_add(struct driver_objects *sum, const struct driver_objects *objects)
{
	size_t i;

	sum->seen |= objects->seen;
	sum->failures += objects->failures;
	if (objects->missed_ns > sum->missed_ns)
		sum->missed_ns = objects->missed_ns;
	total_add(&sum->device, &objects->device);
	total_add(&sum->host, &objects->host);
	total_add(&sum->shared, &objects->shared);
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		total_add(&sum->causes[i], &objects->causes[i]);
}

size_t driver_objects_bytes(const struct driver_objects *objects)
{
	size_t bytes = objects->capacity * sizeof(*objects->objects) + map_bytes(&objects->places) +
		       objects->groups_capacity * sizeof(*objects->groups) +
		       map_bytes(&objects->group_places);
	size_t i;

	for (i = 0; i < DRIVER_CHAINS_COUNT; i++)
		bytes += map_bytes(&objects->chains[i]);
	return bytes + driver_ranges_bytes(&objects->ranges) +
	       (objects->joins_at_exit ? sizeof(*objects->joins_at_exit) : 0);
}

void driver_objects_fini(struct driver_objects *objects)
{
	forget(objects);
	free(objects->joins_at_exit);
	objects->joins_at_exit = NULL;
	driver_devices_fini(objects);
}
