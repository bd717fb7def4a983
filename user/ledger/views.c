// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/views.h"

#include <errno.h>

#include "base/memory.h"
#include "ledger/contexts.h"
#include "ledger/usage.h"

/* CUmemPool_attribute, and the same numbers in cudaMemPoolAttr. */
#define POOL_ATTRIBUTE_RESERVED 5
#define POOL_ATTRIBUTE_USED 7

static const struct map *places_of(const struct process *process, bool is_pool)
{
	return is_pool ? &process->pool_places : &process->device_places;
}

/* NULL without memory, or if there is no place for one more, which is counted. */
static struct view *view_add(struct process *process, bool is_pool, uint64_t handle)
{
	if (process->views_count >= LIMIT_VIEWS) {
		process->counters[COUNTER_OTHER_VIEWS]++;
		return NULL;
	}
	if (memory_grow(&process->views, &process->views_capacity, process->views_count + 1,
			sizeof(*process->views)) ||
	    map_set(is_pool ? &process->pool_places : &process->device_places, handle,
		    process->views_count))
		return NULL;
	process->views[process->views_count] =
		(struct view){ .handle = handle, .is_pool = is_pool };
	return &process->views[process->views_count++];
}

/* As view_add(); `*err` is -ENOMEM or 0. */
static struct view *view_of(struct process *process, bool is_pool, uint64_t handle, int *err)
{
	const uint64_t *place = map_get(places_of(process, is_pool), handle);
	const uint64_t others = process->counters[COUNTER_OTHER_VIEWS];
	struct view *view = place ? &process->views[*place] : view_add(process, is_pool, handle);

	*err = view || process->counters[COUNTER_OTHER_VIEWS] != others ? 0 : -ENOMEM;
	return view;
}

int views_device_info(struct process *process, const struct event *event)
{
	const struct ms_call *call = event->call;
	const struct usage_told told = { event_end_ns(event), call->size, call->src };
	int32_t device;
	struct view *view;
	int err;

	if (!(call->known & MS_KNOWN_SIZE) || !(call->known & MS_KNOWN_SRC))
		return 0;
	device = contexts_device(process, call);
	usage_device_told(process->usage, device, &told);
	view = view_of(process, false, (uint64_t)(int64_t)device, &err);
	if (!view)
		return err;
	view->total_bytes = call->size;
	view->free_bytes = call->src;
	view->has_total = view->has_free = true;
	view->ts_ns = event->header->ts_ns + call->duration_ns;
	return 0;
}

int views_pool_info(struct process *process, const struct event *event)
{
	const struct ms_call *call = event->call;
	struct view *view;
	int err;

	if (!(call->known & MS_KNOWN_SIZE) ||
	    (call->src != POOL_ATTRIBUTE_RESERVED && call->src != POOL_ATTRIBUTE_USED))
		return 0;
	view = view_of(process, true, call->addr, &err);
	if (!view)
		return err;
	if (call->src == POOL_ATTRIBUTE_RESERVED)
		view->total_bytes = call->size;
	else
		view->free_bytes = call->size;
	view->has_total |= call->src == POOL_ATTRIBUTE_RESERVED;
	view->has_free |= call->src == POOL_ATTRIBUTE_USED;
	view->ts_ns = event->header->ts_ns + call->duration_ns;
	return 0;
}

int views_load(struct process *process, const struct view *view)
{
	int err;
	struct view *loaded = view_of(process, view->is_pool, view->handle, &err);

	if (loaded)
		*loaded = *view;
	return err;
}

const struct view *views_of_device(const struct process *process, int32_t device)
{
	const uint64_t *place = map_get(&process->device_places, (uint64_t)(int64_t)device);

	return place ? &process->views[*place] : NULL;
}
