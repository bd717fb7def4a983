// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/contexts.h"

#include <stdlib.h>

#include "base/memory.h"
#include "ledger/allocations.h"
#include "ledger/objects.h"

void contexts_fini(struct process *process)
{
	free(process->contexts);
	map_fini(&process->context_places);
	map_fini(&process->primary_places);
	process->contexts = NULL;
	process->contexts_count = process->contexts_capacity = 0;
}

static struct context *context_at(const struct process *process, const uint64_t *place)
{
	return place ? &process->contexts[*place] : NULL;
}

static struct context *context_find(const struct process *process, uint64_t handle)
{
	return context_at(process, map_get(&process->context_places, handle));
}

static struct context *context_primary(const struct process *process, int32_t device)
{
	return context_at(process, map_get(&process->primary_places, (uint32_t)device));
}

/* Where to find it; that it is not found there any more. */
static int places_set(struct process *process, const struct context *context)
{
	const uint64_t place = context - process->contexts;
	int err = 0;

	if (context->handle)
		err = map_set(&process->context_places, context->handle, place);
	if (!err && context->primary)
		err = map_set(&process->primary_places, (uint32_t)context->device, place);
	return err;
}

static void places_clear(struct process *process, const struct context *context)
{
	if (context->handle && context_find(process, context->handle) == context)
		map_remove(&process->context_places, context->handle);
	if (context_primary(process, context->device) == context)
		map_remove(&process->primary_places, (uint32_t)context->device);
}

/* The last one takes the place of one that is no more. */
static void context_remove(struct process *process, struct context *context)
{
	struct context *last = &process->contexts[--process->contexts_count];

	places_clear(process, context);
	if (context == last)
		return;
	places_clear(process, last);
	*context = *last;
	places_set(process, context); /* there is room: it has just been there */
}

int contexts_load(struct process *process, const struct context *context)
{
	struct context *loaded;
	int err;

	if (process->contexts_count >= LIMIT_CONTEXTS) {
		process->counters[COUNTER_OTHER_CONTEXTS]++;
		return 0;
	}
	err = memory_grow(&process->contexts, &process->contexts_capacity,
			  process->contexts_count + 1, sizeof(*process->contexts));
	if (err)
		return err;
	loaded = &process->contexts[process->contexts_count++];
	*loaded = *context;
	err = places_set(process, loaded);
	if (err)
		context_remove(process, loaded);
	return err;
}

static int context_add(struct process *process, const struct event *event, bool primary,
		       struct change *change)
{
	const struct ms_call *call = event->call;
	struct context made = { .handle = call->addr,
				.device = call->known & MS_KNOWN_DEVICE ? call->device : -1,
				.primary = primary,
				.references = primary };
	struct context *known;
	int err = objects_make_context(process, event, made.device, primary, change);

	if (err)
		return err;
	/* Where the driver wrote its handle could not be read. One for each primary. */
	if (!call->addr && !primary)
		return 0;
	known = call->addr ? context_find(process, call->addr) :
			     context_primary(process, made.device);
	if (!known)
		return contexts_load(process, &made);
	places_clear(process, known);
	made.handle = known->handle;
	made.references += known->references;
	*known = made;
	return places_set(process, known);
}

static int context_end(struct process *process, struct context *context, uint64_t handle,
		       struct change *change)
{
	int err;

	if (context)
		context_remove(process, context);
	if (!handle)
		return 0;
	process->counters[COUNTER_UNCLEAR_ENDS] += allocations_any_in(process, 0);
	allocations_end(process, handle, change);
	err = objects_end_context(process, handle, change);
	/* Those of unknown contexts were in one that is no more. */
	if (!err && !process->contexts_count && !state_may_hold_more(process))
		err = objects_end_context(process, 0, change);
	return err;
}

/* What it holds ends; it stays, and so do the references to it. */
static int context_reset(struct process *process, const struct context *context,
			 struct change *change)
{
	/* 0 would be all of them. */
	bool unclear = context && !context->handle;

	process->counters[COUNTER_UNCLEAR_ENDS] += unclear || allocations_any_in(process, 0);
	if (!context || unclear)
		return 0;
	allocations_end(process, context->handle, change);
	return objects_end_context(process, context->handle, change);
}

int contexts_apply(struct process *process, const struct event *event, struct change *change)
{
	const struct ms_call *call = event->call;
	struct context *context;

	if (!event_succeeded(call))
		return 0;
	objects_begin_event(process);
	switch (event->probe->spec.action) {
	case MS_ACTION_CREATE:
		return context_add(process, event, false, change);
	case MS_ACTION_RETAIN:
		return context_add(process, event, true, change);
	case MS_ACTION_DESTROY:
		return context_end(process, context_find(process, call->addr), call->addr, change);
	case MS_ACTION_RELEASE:
		context = context_primary(process, call->device);
		if (!context)
			return 0;
		context->references -= context->references > 0;
		/* Earlier references of a process that was running are not known. */
		if (!context->references && !process->was_running)
			return context_end(process, context, context->handle, change);
		return 0;
	case MS_ACTION_RESET:
		return context_reset(process, context_primary(process, call->device), change);
	}
	return 0;
}

int32_t contexts_device(const struct process *process, const struct ms_call *call)
{
	const struct context *context;
	int32_t device;

	if (call->known & MS_KNOWN_DEVICE)
		return call->device;
	context = call->known & MS_KNOWN_CONTEXT && call->context ?
			  context_find(process, call->context) :
			  NULL;
	device = context ? context->device : -1;
	/* The context was made before the process was attached to; but there is one device. */
	return device < 0 && process->devices.single ? 0 : device;
}
