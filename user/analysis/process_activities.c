// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/process_activities.h"

#include <stdlib.h>

#include "base/memory.h"

void tracks_fini(struct tracks *tracks)
{
	size_t i;

	for (i = 0; i < tracks->count; i++)
		track_free(tracks->list[i]);
	free(tracks->list);
	map_fini(&tracks->by_identity);
	*tracks = (struct tracks){ 0 };
}

static uint64_t key_of(const struct track *track)
{
	return event_process_key(track->pid, track->start_ns);
}

static struct track *add(struct tracks *tracks, const struct process *process, uint64_t ts_ns,
			 const struct analysis_options *options)
{
	struct track *track;

	if (memory_grow(&tracks->list, &tracks->capacity, tracks->count + 1, sizeof(*tracks->list)))
		return NULL;
	track = track_new(process, ts_ns, options);
	if (!track)
		return NULL;
	if (map_set(&tracks->by_identity, key_of(track), (uintptr_t)track)) {
		track_free(track);
		return NULL;
	}
	tracks->list[tracks->count++] = track;
	return track;
}

struct track *tracks_of(struct tracks *tracks, const struct process *process, uint64_t ts_ns,
			const struct analysis_options *options)
{
	struct track *track = tracks->last;
	const uint64_t *place;

	if (track && track->pid == process->pid && track->start_ns == process->start_ns)
		return track;
	place = map_get(&tracks->by_identity, event_process_key(process->pid, process->start_ns));
	track = place ? (struct track *)(uintptr_t)*place : add(tracks, process, ts_ns, options);
	tracks->last = track;
	return track;
}

size_t tracks_bytes(const struct tracks *tracks)
{
	size_t bytes = map_bytes(&tracks->by_identity) + tracks->capacity * sizeof(*tracks->list),
	       i;

	for (i = 0; i < tracks->count; i++)
		bytes += track_bytes(tracks->list[i]);
	return bytes;
}

void tracks_remove(struct tracks *tracks, struct track *track)
{
	size_t i = 0;

	map_remove(&tracks->by_identity, key_of(track));
	while (tracks->list[i] != track)
		i++;
	tracks->list[i] = tracks->list[--tracks->count];
	tracks->last = NULL;
	track_free(track);
}
