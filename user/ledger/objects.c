// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/objects.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

/* Stands for the context of what belongs to none. */
#define NO_CONTEXT UINT64_MAX

struct linked {
	struct object object;
	struct linked *next, *before; /* of the same context */
};

struct objects {
	struct map places[MS_OBJECTS_COUNT]; /* handle -> struct linked */
	struct map contexts;                 /* context -> the first of its struct linked */
	size_t count;

	struct object_total *totals;
	size_t totals_count, totals_capacity, last_total;

	struct object *gone; /* what the last event ended */
	size_t gone_count, gone_capacity;
};

static const struct {
	const char *one, *several;
} kinds[] = {
#define X(object, one, several) [MS_OBJECT_##object] = { one, several },
	MS_OBJECTS(X)
#undef X
};

/* Whether it ends with its context. */
static bool has_context(uint8_t kind)
{
	return kind != MS_OBJECT_LIBRARY && kind != MS_OBJECT_GRAPH &&
	       kind != MS_OBJECT_MEMORY_POOL && kind != MS_OBJECT_LINKER;
}

const char *objects_name(enum ms_object_kind kind)
{
	return kinds[kind].one;
}

const char *objects_plural(enum ms_object_kind kind)
{
	return kinds[kind].several;
}

/* ---- totals ---------------------------------------------------------------------------------- */

static bool is_total_of(const struct object_total *total, uint8_t kind, int32_t device)
{
	return total->kind == kind && total->device == device;
}

static struct object_total *find_total(struct objects *objects, uint8_t kind, int32_t device)
{
	size_t i;

	if (objects->last_total < objects->totals_count &&
	    is_total_of(&objects->totals[objects->last_total], kind, device))
		return &objects->totals[objects->last_total];
	for (i = 0; i < objects->totals_count; i++)
		if (is_total_of(&objects->totals[i], kind, device)) {
			objects->last_total = i;
			return &objects->totals[i];
		}
	return NULL;
}

/* NULL without memory. */
static struct object_total *total_of(struct objects *objects, uint8_t kind, int32_t device)
{
	struct object_total *total = find_total(objects, kind, device);

	if (total)
		return total;
	/* Numbers that no machine has are as good as unknown. */
	if (objects->totals_count >= LIMIT_OBJECT_TOTALS && device >= 0)
		return total_of(objects, kind, -1);
	if (memory_grow(&objects->totals, &objects->totals_capacity, objects->totals_count + 1,
			sizeof(*objects->totals)))
		return NULL;
	total = &objects->totals[objects->totals_count++];
	*total = (struct object_total){ .kind = kind, .device = device };
	return total;
}

static int total_add(struct objects *objects, const struct object *object)
{
	struct object_total *total = total_of(objects, object->kind, object->device);

	if (!total)
		return -ENOMEM;
	total->made++;
	if (++total->live > total->peak) {
		total->peak = total->live;
		total->peak_ts_ns = object->made_ns;
	}
	return 0;
}

static void total_end(struct objects *objects, const struct object *object, bool destroyed)
{
	/* It may be counted with those of unknown devices. */
	struct object_total *total = total_of(objects, object->kind, object->device);

	if (!total || !total->live)
		return;
	total->live--;
	total->destroyed += destroyed;
	total->ended += !destroyed;
}

/* ---- making and ending ----------------------------------------------------------------------- */

static struct objects *objects_of(struct process *process)
{
	if (!process->objects)
		process->objects = calloc(1, sizeof(*process->objects));
	return process->objects;
}

static struct linked *linked_at(const struct map *map, uint64_t key)
{
	const uint64_t *place = map_get(map, key);

	return place ? (struct linked *)(uintptr_t)*place : NULL;
}

/* Returns 0, or -ENOMEM: then nothing changed. */
static int link_object(struct objects *objects, struct linked *linked)
{
	const struct object *object = &linked->object;
	int err = map_set(&objects->places[object->kind], object->handle, (uintptr_t)linked);

	if (err)
		return err;
	linked->before = NULL;
	linked->next = linked_at(&objects->contexts, object->context);
	err = map_set(&objects->contexts, object->context, (uintptr_t)linked);
	if (err) {
		map_remove(&objects->places[object->kind], object->handle);
		return err;
	}
	if (linked->next)
		linked->next->before = linked;
	objects->count++;
	return 0;
}

static void unlink_object(struct objects *objects, struct linked *linked)
{
	const struct object *object = &linked->object;

	map_remove(&objects->places[object->kind], object->handle);
	if (linked->next)
		linked->next->before = linked->before;
	if (linked->before)
		linked->before->next = linked->next;
	else if (linked->next)
		*map_get(&objects->contexts, object->context) = (uintptr_t)linked->next;
	else
		map_remove(&objects->contexts, object->context);
	objects->count--;
}

/* Returns 0, or -ENOMEM: then it has ended, but the event does not say so. */
static int end_one(struct objects *objects, struct linked *linked, bool destroyed,
		   struct change *change)
{
	int err = memory_grow(&objects->gone, &objects->gone_capacity, objects->gone_count + 1,
			      sizeof(*objects->gone));

	if (!err)
		objects->gone[objects->gone_count++] = linked->object;
	change->ended_objects = objects->gone;
	change->ended_objects_count = objects->gone_count;
	total_end(objects, &linked->object, destroyed);
	unlink_object(objects, linked);
	free(linked);
	return err;
}

static int add_one(struct process *process, const struct object *object)
{
	struct objects *objects = objects_of(process);
	struct linked *linked;

	if (!objects)
		return -ENOMEM;
	if (objects->count >= LIMIT_OBJECTS) {
		process->counters[COUNTER_OTHER_OBJECTS]++;
		return 0;
	}
	linked = calloc(1, sizeof(*linked));
	if (!linked)
		return -ENOMEM;
	linked->object = *object;
	if (link_object(objects, linked)) {
		free(linked);
		return -ENOMEM;
	}
	return 0;
}

/* What has that handle is what is being made, or its end was not seen. */
static int make(struct process *process, const struct object *object, struct change *change)
{
	struct objects *objects = objects_of(process);
	struct linked *known;
	int err;

	if (!objects)
		return -ENOMEM;
	known = linked_at(&objects->places[object->kind], object->handle);
	err = known ? end_one(objects, known, false, change) : 0;
	if (!err)
		err = total_add(objects, object);
	if (!err)
		err = add_one(process, object);
	if (!err && (known = linked_at(&objects->places[object->kind], object->handle)))
		change->made_object = &known->object;
	return err;
}

/* The runtime's call and the driver's inside of it make one: the inner one ended in the outer. */
static bool is_same(const struct process *process, uint8_t kind, uint64_t handle, uint64_t begin_ns)
{
	const struct linked *known =
		process->objects ? linked_at(&process->objects->places[kind], handle) : NULL;

	return known && begin_ns < known->object.made_ns;
}

/* Meanwhile another thread may have been given its handle for what it made. */
static int destroy(struct process *process, uint8_t kind, const struct event *event,
		   struct change *change)
{
	struct objects *objects = process->objects;
	struct linked *known =
		objects ? linked_at(&objects->places[kind], event->call->addr) : NULL;

	if (!known || known->object.made_ns > event->header->ts_ns)
		return 0;
	return end_one(objects, known, true, change);
}

void objects_begin_event(struct process *process)
{
	if (process->objects)
		process->objects->gone_count = 0;
}

int objects_apply(struct process *process, const struct event *event, struct change *change)
{
	const struct ms_spec *spec = &event->probe->spec;
	const struct ms_call *call = event->call;
	struct object object;

	if (!(call->known & MS_KNOWN_ADDR) || !call->addr)
		return 0;
	objects_begin_event(process);
	if (spec->flags & MS_ROW_ENDS)
		return destroy(process, spec->object, event, change);
	if (is_same(process, spec->object, call->addr, event->header->ts_ns))
		return 0;
	object = (struct object){ .handle = call->addr,
				  .context = has_context(spec->object) ? call->context : NO_CONTEXT,
				  .made_ns = event_end_ns(event),
				  .device = change->device,
				  .row = call->row,
				  .kind = spec->object };
	return make(process, &object, change);
}

int objects_make_context(struct process *process, const struct event *event, int32_t device,
			 bool primary, struct change *change)
{
	const uint64_t handle = event->call->addr;
	const struct object object = { .handle = handle,
				       .context = handle,
				       .made_ns = event_end_ns(event),
				       .device = device,
				       .row = event->call->row,
				       .kind = MS_OBJECT_CONTEXT };

	if (!handle || (primary && is_same(process, MS_OBJECT_CONTEXT, handle, 0)))
		return 0;
	return make(process, &object, change);
}

int objects_end_context(struct process *process, uint64_t context, struct change *change)
{
	struct objects *objects = process->objects;
	struct linked *linked, *next;
	int err = 0;

	if (!objects)
		return 0;
	for (linked = linked_at(&objects->contexts, context); linked; linked = next) {
		const bool itself = linked->object.kind == MS_OBJECT_CONTEXT;

		next = linked->next;
		if (end_one(objects, linked, itself, change))
			err = -ENOMEM;
	}
	return err;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void clear(struct objects *objects)
{
	size_t kind, i;

	for (kind = 0; kind < MS_OBJECTS_COUNT; kind++) {
		struct map *map = &objects->places[kind];

		for (i = 0; i < map->capacity; i++)
			if (map_is_used(map, i))
				free((struct linked *)(uintptr_t)map->slots[i].value);
		map_fini(map);
	}
	map_fini(&objects->contexts);
	objects->count = 0;
}

void objects_end_all(struct process *process)
{
	struct objects *objects = process->objects;
	size_t i;

	if (!objects)
		return;
	clear(objects);
	for (i = 0; i < objects->totals_count; i++) {
		objects->totals[i].ended += objects->totals[i].live;
		objects->totals[i].live = 0;
	}
}

void objects_forget(struct process *process)
{
	struct objects *objects = process->objects;

	if (!objects)
		return;
	clear(objects);
	free(objects->gone);
	objects->gone = NULL;
	objects->gone_count = objects->gone_capacity = 0;
}

void objects_free(struct process *process)
{
	objects_forget(process);
	if (process->objects)
		free(process->objects->totals);
	free(process->objects);
	process->objects = NULL;
}

/* ---- totals and anchors ---------------------------------------------------------------------- */

void objects_restart(struct process *process, uint64_t now_ns)
{
	struct objects *objects = process->objects;
	size_t i;

	for (i = 0; objects && i < objects->totals_count; i++) {
		struct object_total *total = &objects->totals[i];

		*total = (struct object_total){ .kind = total->kind,
						.device = total->device,
						.live = total->live,
						.peak = total->live,
						.peak_ts_ns = now_ns };
	}
}

size_t objects_bytes(const struct process *process)
{
	const struct objects *objects = process->objects;
	size_t bytes, kind;

	if (!objects)
		return 0;
	bytes = sizeof(*objects) + map_bytes(&objects->contexts) +
		objects->count * sizeof(struct linked) +
		objects->totals_capacity * sizeof(*objects->totals) +
		objects->gone_capacity * sizeof(*objects->gone);
	for (kind = 0; kind < MS_OBJECTS_COUNT; kind++)
		bytes += map_bytes(&objects->places[kind]);
	return bytes;
}

const struct object_total *objects_totals(const struct process *process, size_t *count)
{
	*count = process->objects ? process->objects->totals_count : 0;
	return process->objects ? process->objects->totals : NULL;
}

void objects_add_totals(struct process *sum, const struct process *process)
{
	size_t count, i;
	const struct object_total *totals = objects_totals(process, &count);
	struct objects *objects = count ? objects_of(sum) : NULL;

	for (i = 0; objects && i < count; i++) {
		/* A number of a device means nothing outside of its process. */
		struct object_total *total = total_of(objects, totals[i].kind, -1);

		if (!total)
			return;
		total->live += totals[i].live;
		total->made += totals[i].made;
		total->destroyed += totals[i].destroyed;
		total->ended += totals[i].ended;
		/* Not at the same time, so they do not add up. */
		if (totals[i].peak > total->peak) {
			total->peak = totals[i].peak;
			total->peak_ts_ns = totals[i].peak_ts_ns;
		}
	}
}

void objects_each(const struct process *process,
		  void (*each)(void *context, const struct object *object), void *context)
{
	const struct objects *objects = process->objects;
	size_t kind, i;

	for (kind = 0; objects && kind < MS_OBJECTS_COUNT; kind++) {
		struct map_pair *sorted = map_sorted(&objects->places[kind]);

		for (i = 0; sorted && i < objects->places[kind].count; i++)
			each(context, &((struct linked *)(uintptr_t)sorted[i].value)->object);
		free(sorted);
	}
}

int objects_load(struct process *process, const struct object *object)
{
	struct objects *objects = objects_of(process);

	if (!objects)
		return -ENOMEM;
	if (linked_at(&objects->places[object->kind], object->handle))
		return -EINVAL;
	return add_one(process, object);
}

int objects_load_total(struct process *process, const struct object_total *total)
{
	struct objects *objects = objects_of(process);
	struct object_total *loaded;

	if (!objects)
		return -ENOMEM;
	if (find_total(objects, total->kind, total->device))
		return -EINVAL;
	loaded = total_of(objects, total->kind, total->device);
	if (!loaded)
		return -ENOMEM;
	if (!is_total_of(loaded, total->kind, total->device))
		return -EINVAL; /* there were never so many */
	*loaded = *total;
	return 0;
}
