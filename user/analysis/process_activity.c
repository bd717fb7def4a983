// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/process_activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "analysis/copies.h"
#include "analysis/oom.h"

struct track *track_new(const struct process *process, uint64_t ts_ns,
			const struct analysis_options *options)
{
	struct track *track = calloc(1, sizeof(*track));

	if (!track)
		return NULL;
	track->options = options;
	track->pid = process->pid;
	track->start_ns = process->start_ns;
	track->base_ns = track->now_ns = ts_ns;
	track->storm_begin_ns = ts_ns;
	track->shift = TRACK_FIRST_SHIFT;
	track->missed_frees = process->missed_frees;
	memcpy(track->comm, process->comm, sizeof(track->comm));
	return track;
}

void track_free(struct track *track)
{
	if (!track)
		return;
	free(track->groups);
	map_fini(&track->group_places);
	copies_free(track->copies);
	free(track);
}

size_t track_bytes(const struct track *track)
{
	return sizeof(*track) + track->groups_capacity * sizeof(*track->groups) +
	       map_bytes(&track->group_places) + copies_bytes(track->copies);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void activity_add(struct activity *sum, const struct activity *activity)
{
	sum->sync_ns += activity->sync_ns;
	sum->copy_ns += activity->copy_ns;
	sum->alloc_ns += activity->alloc_ns;
	sum->other_ns += activity->other_ns;
	sum->idle_ns += activity->idle_ns;
	sum->pause_ns += activity->pause_ns;
	sum->syncs += activity->syncs;
	sum->copies += activity->copies;
	sum->async_copies += activity->async_copies;
	sum->allocs += activity->allocs;
	sum->launches += activity->launches;
	sum->short_syncs += activity->short_syncs;
	sum->copy_bytes += activity->copy_bytes;
	sum->threads |= activity->threads;
}

static void group_fold(struct group *group)
{
	unsigned int i;

	for (i = 0; i < TRACK_BUCKETS; i += 2) {
		struct amount born = group->born[i];
		uint64_t lowest = group->lowest[i];

		born.count += group->born[i + 1].count;
		born.bytes += group->born[i + 1].bytes;
		if (i + 1 <= group->newest && group->lowest[i + 1] < lowest)
			lowest = group->lowest[i + 1];
		group->born[i / 2] = born;
		group->lowest[i / 2] = lowest;
	}
	memset(&group->born[TRACK_BUCKETS / 2], 0, sizeof(group->born) / 2);
	memset(&group->lowest[TRACK_BUCKETS / 2], 0, sizeof(group->lowest) / 2);
	group->newest /= 2;
}

/* Two buckets become one. */
static void fold(struct track *track)
{
	size_t i;

	for (i = 0; i < track->groups_count; i++)
		group_fold(&track->groups[i]);
	for (i = 0; i < TRACK_BUCKETS; i += 2) {
		struct activity sum = track->activity[i];

		activity_add(&sum, &track->activity[i + 1]);
		track->activity[i / 2] = sum;
		track->allocs[i / 2] = track->allocs[i] + track->allocs[i + 1];
	}
	memset(&track->activity[TRACK_BUCKETS / 2], 0, sizeof(track->activity) / 2);
	memset(&track->allocs[TRACK_BUCKETS / 2], 0, sizeof(track->allocs) / 2);
	track->shift++;
}

void track_advance(struct track *track, uint64_t ts_ns)
{
	if (ts_ns <= track->now_ns)
		return;
	track->now_ns = ts_ns;
	while ((ts_ns - track->base_ns) >> track->shift >= TRACK_BUCKETS)
		fold(track);
	track->bucket = (ts_ns - track->base_ns) >> track->shift;
}

unsigned int track_bucket_at(const struct track *track, uint64_t ts_ns)
{
	uint64_t bucket = ts_ns > track->base_ns ? (ts_ns - track->base_ns) >> track->shift : 0;

	return bucket < track->bucket ? bucket : track->bucket;
}

uint64_t track_bucket_begin(const struct track *track, unsigned int bucket)
{
	return track->base_ns + ((uint64_t)bucket << track->shift);
}

uint64_t track_bucket_length(const struct track *track, unsigned int bucket)
{
	uint64_t begin = track_bucket_begin(track, bucket), length = 1ull << track->shift;

	return track->now_ns - begin < length ? track->now_ns - begin : length;
}

/* ---- kinds of allocations -------------------------------------------------------------------- */

/* What graphs allocate is not said block by block: it is read from the state, now and then. */
bool track_counts(const struct allocation *allocation)
{
	return allocation->space != MS_SPACE_RESERVED && allocation->space != MS_SPACE_MAPPED;
}

/* Rows of dumps are translated to those of this program, so they mean the same. */
static uint64_t key_of(const struct allocation *allocation)
{
	return (uint64_t)allocation->row << 16 | (uint64_t)allocation->space << 8 |
	       usage_size_class(allocation->size_bytes);
}

struct group *track_find_group(struct track *track, const struct allocation *allocation)
{
	uint64_t key = key_of(allocation), *place;

	if (track->groups_count && track->last_key == key)
		return &track->groups[track->last_place];
	place = map_get(&track->group_places, key);
	if (!place)
		return NULL;
	track->last_key = key;
	track->last_place = *place;
	return &track->groups[*place];
}

struct group *track_group(struct track *track, const struct allocation *allocation)
{
	struct group *group = track_find_group(track, allocation);
	uint64_t key = key_of(allocation);

	if (group)
		return group;
	if (memory_grow(&track->groups, &track->groups_capacity, track->groups_count + 1,
			sizeof(*track->groups)) ||
	    map_set(&track->group_places, key, track->groups_count))
		return NULL;
	group = &track->groups[track->groups_count];
	track->last_key = key;
	track->last_place = track->groups_count++;
	memset(group, 0, sizeof(*group));
	group->space = allocation->space;
	group->size_class = usage_size_class(allocation->size_bytes);
	group->row = allocation->row;
	group->device = -1;
	group->newest = track->bucket;
	return group;
}

void track_group_advance(const struct track *track, struct group *group)
{
	while (group->newest < track->bucket)
		group->lowest[++group->newest] = group->live.count;
}

static void device_add(struct track *track, const struct allocation *allocation, bool add)
{
	const uint32_t device = allocation->device;
	uint64_t *live;

	if (device >= TRACK_DEVICES || !usage_is_on_device(allocation->space))
		return;
	live = &track->device_live[device];
	if (add)
		*live += allocation->size_bytes;
	else
		*live -= *live < allocation->size_bytes ? *live : allocation->size_bytes;
}

static void note_device(struct group *group, int32_t device)
{
	if (!group->has_device)
		group->device = device;
	else if (group->device != device)
		group->device = -1;
	group->has_device = true;
}

static bool is_in_window(const struct track *track, const struct allocation *allocation)
{
	const struct analysis_options *options = track->options;

	return options->window_c_ns && allocation->ts_ns >= options->window_a_ns &&
	       allocation->ts_ns <= options->window_b_ns;
}

void track_live_add(struct track *track, struct group *group, const struct allocation *allocation)
{
	struct amount *born = &group->born[track_bucket_at(track, allocation->ts_ns)];

	track_group_advance(track, group);
	if (!group->first_ts_ns || allocation->ts_ns < group->first_ts_ns)
		group->first_ts_ns = allocation->ts_ns;
	note_device(group, allocation->device);
	born->count++;
	born->bytes += allocation->size_bytes;
	group->live.count++;
	group->live.bytes += allocation->size_bytes;
	if (++track->live_count > track->peak_count)
		track->peak_count = track->live_count;
	if (is_in_window(track, allocation)) {
		group->window.count++;
		group->window.bytes += allocation->size_bytes;
	}
	if (group->live.count > group->peak_count)
		group->peak_count = group->live.count;
	device_add(track, allocation, true);
}

void track_live_remove(struct track *track, struct group *group,
		       const struct allocation *allocation)
{
	struct amount *born = &group->born[track_bucket_at(track, allocation->ts_ns)];

	track_group_advance(track, group);
	/* What was not counted, because part of the recording is missing, cannot be taken back. */
	if (!born->count || born->bytes < allocation->size_bytes || !group->live.count) {
		track->dirty = true;
		return;
	}
	born->count--;
	born->bytes -= allocation->size_bytes;
	group->live.count--;
	group->live.bytes -= allocation->size_bytes;
	track->live_count--;
	if (is_in_window(track, allocation)) {
		group->window.count--;
		group->window.bytes -= allocation->size_bytes;
	}
	if (group->live.count < group->lowest[group->newest])
		group->lowest[group->newest] = group->live.count;
	device_add(track, allocation, false);
}

/* ---- what is live, read anew ----------------------------------------------------------------- */

static void forget_live(struct track *track)
{
	size_t i;

	track->live_count = 0;
	memset(track->device_live, 0, sizeof(track->device_live));
	for (i = 0; i < track->groups_count; i++) {
		track_group_advance(track, &track->groups[i]);
		track->groups[i].live = (struct amount){ 0 };
		track->groups[i].window = (struct amount){ 0 };
		memset(track->groups[i].born, 0, sizeof(track->groups[i].born));
	}
}

int track_scan(struct track *track, const struct process *process)
{
	size_t key, i;

	forget_live(track);
	copies_forget_pinned(track);
	for (key = 0; key < LEDGERS_COUNT; key++) {
		const struct ledger *ledger = &process->ledgers[key];

		for (i = 0; i < ledger->count; i++) {
			struct group *group;

			if (!track_counts(&ledger->entries[i]))
				continue;
			group = track_group(track, &ledger->entries[i]);
			if (!group || copies_alloc(track, &ledger->entries[i]))
				return -ENOMEM;
			track_live_add(track, group, &ledger->entries[i]);
			track->allocs[0] +=
				!track->scanned && ledger->entries[i].ts_ns < track->base_ns;
		}
	}
	for (i = 0; i < track->groups_count; i++) {
		struct group *group = &track->groups[i];

		if (group->live.count < group->lowest[group->newest])
			group->lowest[group->newest] = group->live.count;
	}
	track->dirty = false;
	track->scanned = true;
	track->missed_frees = process->missed_frees;
	return 0;
}

/* ---- threads, findings ----------------------------------------------------------------------- */

struct thread *track_thread(struct track *track, uint32_t tid)
{
	struct thread *thread = &track->threads[tid % TRACK_THREADS];

	if (thread->tid != tid)
		*thread = (struct thread){ .tid = tid };
	return thread;
}

struct finding track_finding(const struct track *track, enum finding_rule rule)
{
	struct finding finding = {
		.rule = rule,
		.confidence = FINDING_HIGH,
		.pid = track->pid,
		.start_ns = track->start_ns,
		.device = -1,
		.row = MS_NO_ROW,
		.first_ts_ns = track->base_ns,
		.last_ts_ns = track->now_ns,
	};

	memcpy(finding.comm, track->comm, sizeof(finding.comm));
	return finding;
}
