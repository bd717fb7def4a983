// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/process_activities.h"

#include <stdlib.h>

#include "base/memory.h"

void process_activities_fini(struct process_activities *activities)
{
	size_t i;

	for (i = 0; i < activities->count; i++)
		process_activity_free(activities->list[i]);
	free(activities->list);
	map_fini(&activities->by_identity);
	*activities = (struct process_activities){ 0 };
}

static uint64_t key_of(const struct process_activity *activity)
{
	return event_process_key(activity->pid, activity->start_ns);
}

static struct process_activity *add(struct process_activities *activities,
				    const struct process *process, uint64_t ts_ns,
				    const struct analysis_options *options)
{
	struct process_activity *activity;

	if (memory_grow(&activities->list, &activities->capacity, activities->count + 1,
			sizeof(*activities->list)))
		return NULL;
	activity = process_activity_new(process, ts_ns, options);
	if (!activity)
		return NULL;
	if (map_set(&activities->by_identity, key_of(activity), (uintptr_t)activity)) {
		process_activity_free(activity);
		return NULL;
	}
	activity->place = activities->count;
	activities->list[activities->count++] = activity;
	return activity;
}

struct process_activity *process_activities_of(struct process_activities *activities,
					       const struct process *process, uint64_t ts_ns,
					       const struct analysis_options *options)
{
	struct process_activity *activity = activities->last;
	const uint64_t *place;

	if (activity && activity->pid == process->pid && activity->start_ns == process->start_ns)
		return activity;
	place = map_get(&activities->by_identity,
			event_process_key(process->pid, process->start_ns));
	activity = place ? (struct process_activity *)(uintptr_t)*place :
			   add(activities, process, ts_ns, options);
	activities->last = activity;
	return activity;
}

size_t process_activities_bytes(const struct process_activities *activities)
{
	size_t bytes = map_bytes(&activities->by_identity) +
		       activities->capacity * sizeof(*activities->list),
	       i;

	for (i = 0; i < activities->count; i++)
		bytes += process_activity_bytes(activities->list[i]);
	return bytes;
}

void process_activities_remove(struct process_activities *activities,
			       struct process_activity *activity)
{
	struct process_activity *last = activities->list[--activities->count];

	map_remove(&activities->by_identity, key_of(activity));
	activities->list[activity->place] = last;
	last->place = activity->place;
	activities->last = NULL;
	process_activity_free(activity);
}
