// SPDX-License-Identifier: BSD-2-Clause
#include "model/tracks.h"

#include <stdlib.h>

#include "base/memory.h"

void tracks_fini(struct tracks *tracks)
{
	size_t i;

	for (i = 0; i < tracks->count; i++)
		track_free(tracks->list[i]);
	free(tracks->list);
	map_fini(&tracks->by_pid);
	*tracks = (struct tracks){ 0 };
}

static struct track *newest_of(const struct tracks *tracks, uint32_t pid)
{
	const uint64_t *newest = map_get(&tracks->by_pid, pid);

	return newest ? (struct track *)(uintptr_t)*newest : NULL;
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
	track->older = newest_of(tracks, process->pid);
	if (map_set(&tracks->by_pid, process->pid, (uintptr_t)track)) {
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

	if (track && track->pid == process->pid && track->start_ns == process->start_ns)
		return track;
	track = newest_of(tracks, process->pid);
	while (track && track->start_ns != process->start_ns)
		track = track->older;
	if (!track)
		track = add(tracks, process, ts_ns, options);
	tracks->last = track;
	return track;
}

size_t tracks_bytes(const struct tracks *tracks)
{
	size_t bytes = map_bytes(&tracks->by_pid) + tracks->capacity * sizeof(*tracks->list), i;

	for (i = 0; i < tracks->count; i++)
		bytes += track_bytes(tracks->list[i]);
	return bytes;
}

void tracks_remove(struct tracks *tracks, struct track *track)
{
	struct track *newer = newest_of(tracks, track->pid);
	size_t i = 0;

	if (newer != track) {
		while (newer->older != track)
			newer = newer->older;
		newer->older = track->older;
	} else if (track->older) {
		*map_get(&tracks->by_pid, track->pid) = (uintptr_t)track->older;
	} else {
		map_remove(&tracks->by_pid, track->pid);
	}
	while (tracks->list[i] != track)
		i++;
	tracks->list[i] = tracks->list[--tracks->count];
	tracks->last = NULL;
	track_free(track);
}
