// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/process_activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "analysis/copies.h"
#include "analysis/failed_calls.h"
#include "analysis/held_growth.h"
#include "analysis/piles.h"
#include "analysis/pools.h"
#include "analysis/refusals.h"
#include "analysis/tensor_lines.h"
#include "analysis/unexplained.h"

/* There may be very many processes that do nothing. */
static struct activity_slice no_activity[ACTIVITY_BUCKETS];

int process_activity_begin_activity(struct process_activity *activity)
{
	struct activity_slice *own;

	if (activity->slices != no_activity)
		return 0;
	own = calloc(ACTIVITY_BUCKETS, sizeof(*own));
	if (!own)
		return -ENOMEM;
	activity->slices = own;
	return 0;
}

struct process_activity *process_activity_new(const struct process *process, uint64_t ts_ns,
					      const struct analysis_options *options)
{
	struct process_activity *activity = calloc(1, sizeof(*activity));

	if (!activity)
		return NULL;
	activity->options = options;
	activity->slices = no_activity;
	activity->pid = process->pid;
	activity->start_ns = process->start_ns;
	activity->base_ns = activity->now_ns = ts_ns;
	activity->storm_begin_ns = ts_ns;
	activity->shift = ACTIVITY_FIRST_SHIFT;
	activity->missed_frees = process->counters[COUNTER_MISSED_FREES];
	memcpy(activity->comm, process->comm, sizeof(activity->comm));
	return activity;
}

void process_activity_free(struct process_activity *activity)
{
	size_t i;

	if (!activity)
		return;
	if (activity->slices != no_activity)
		free(activity->slices);
	for (i = 0; i < activity->groups_count; i++) {
		free(activity->groups[i].freed);
		free(activity->groups[i].held);
	}
	for (i = 0; i < ACTIVITY_UNEXPLAINED; i++)
		free(activity->unexplained[i]);
	free(activity->ended);
	free(activity->groups);
	map_fini(&activity->group_places);
	copies_free(activity->copies);
	failed_calls_free(activity->failed_calls);
	refusals_free(activity->refusals);
	pools_free(activity->pools);
	piles_free(activity->piles);
	tensor_lines_free(activity->tensors);
	free(activity);
}

size_t process_activity_bytes(const struct process_activity *activity)
{
	const size_t own = activity->slices != no_activity ? ACTIVITY_BUCKETS : 0;

	return sizeof(*activity) + own * sizeof(*activity->slices) +
	       activity->groups_capacity * sizeof(*activity->groups) +
	       activity->freed_groups * sizeof(struct group_freed) + held_growth_bytes(activity) +
	       map_bytes(&activity->group_places) + copies_bytes(activity->copies) +
	       unexplained_bytes(activity) + failed_calls_bytes(activity->failed_calls) +
	       refusals_bytes(activity->refusals) + pools_bytes(activity->pools) +
	       piles_bytes(activity->piles) + tensor_lines_bytes(activity->tensors);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void activity_add(struct activity_slice *sum, const struct activity_slice *slice)
{
	sum->sync_ns += slice->sync_ns;
	sum->copy_ns += slice->copy_ns;
	sum->alloc_ns += slice->alloc_ns;
	sum->launch_ns += slice->launch_ns;
	sum->other_ns += slice->other_ns;
	sum->idle_ns += slice->idle_ns;
	sum->pause_ns += slice->pause_ns;
	sum->syncs += slice->syncs;
	sum->copies += slice->copies;
	sum->async_copies += slice->async_copies;
	sum->allocs += slice->allocs;
	sum->launches += slice->launches;
	sum->short_syncs += slice->short_syncs;
	sum->copy_bytes += slice->copy_bytes;
	sum->threads |= slice->threads;
}

static void fold_activity(struct activity_slice *slices)
{
	size_t i;

	for (i = 0; i < ACTIVITY_BUCKETS; i += 2) {
		struct activity_slice sum = slices[i];

		activity_add(&sum, &slices[i + 1]);
		slices[i / 2] = sum;
	}
	memset(&slices[ACTIVITY_BUCKETS / 2], 0, ACTIVITY_BUCKETS / 2 * sizeof(*slices));
}

/* Two buckets become one. */
static void fold(struct process_activity *activity)
{
	size_t i;

	for (i = 0; i < activity->groups_count; i++)
		group_fold(&activity->groups[i]);
	tensor_lines_fold(activity->tensors);
	refusals_fold(activity->refusals);
	if (activity->slices != no_activity)
		fold_activity(activity->slices);
	for (i = 0; i < ACTIVITY_UNEXPLAINED; i++)
		if (activity->unexplained[i])
			unexplained_fold(activity->unexplained[i]);
	for (i = 0; i < ACTIVITY_BUCKETS; i += 2)
		activity->allocs[i / 2] = activity->allocs[i] + activity->allocs[i + 1];
	memset(&activity->allocs[ACTIVITY_BUCKETS / 2], 0, sizeof(activity->allocs) / 2);
	piles_fold(activity->piles);
	activity->shift++;
}

void process_activity_advance(struct process_activity *activity, uint64_t ts_ns)
{
	if (ts_ns <= activity->now_ns)
		return;
	activity->now_ns = ts_ns;
	while ((ts_ns - activity->base_ns) >> activity->shift >= ACTIVITY_BUCKETS)
		fold(activity);
	activity->bucket = (ts_ns - activity->base_ns) >> activity->shift;
}

unsigned int process_activity_bucket_at(const struct process_activity *activity, uint64_t ts_ns)
{
	uint64_t bucket =
		ts_ns > activity->base_ns ? (ts_ns - activity->base_ns) >> activity->shift : 0;

	return bucket < activity->bucket ? bucket : activity->bucket;
}

unsigned int process_activity_born_at(const struct process_activity *activity, uint64_t ts_ns)
{
	return ts_ns < activity->base_ns ? GROUP_BEFORE :
					   process_activity_bucket_at(activity, ts_ns);
}

uint64_t process_activity_bucket_begin(const struct process_activity *activity, unsigned int bucket)
{
	return activity->base_ns + ((uint64_t)bucket << activity->shift);
}

uint64_t process_activity_bucket_length(const struct process_activity *activity,
					unsigned int bucket)
{
	uint64_t begin = process_activity_bucket_begin(activity, bucket),
		 length = 1ull << activity->shift;

	return activity->now_ns - begin < length ? activity->now_ns - begin : length;
}

/* ---- kinds of allocations -------------------------------------------------------------------- */

/* What graphs allocate is not said block by block: it is read from the state, now and then. */
bool process_activity_counts(const struct allocation *allocation)
{
	return allocation->space != MS_SPACE_RESERVED && allocation->space != MS_SPACE_MAPPED;
}

/* Any number can be in a recording; of those that no machine has, one is as good as another. */
static int32_t device_of(const struct allocation *allocation)
{
	return (uint32_t)allocation->device < ACTIVITY_DEVICES ? allocation->device : -1;
}

/* Rows of dumps are translated to those of this program, so they mean the same. */
static uint64_t key_of(const struct allocation *allocation)
{
	return (uint64_t)allocation->row << 24 | (uint64_t)allocation->space << 16 |
	       (uint64_t)(device_of(allocation) + 1) << 8 |
	       usage_size_class(allocation->size_bytes);
}

struct group *process_activity_find_group(struct process_activity *activity,
					  const struct allocation *allocation)
{
	uint64_t key = key_of(allocation), *place;

	if (activity->groups_count && activity->last_key == key)
		return &activity->groups[activity->last_place];
	place = map_get(&activity->group_places, key);
	if (!place)
		return NULL;
	activity->last_key = key;
	activity->last_place = *place;
	return &activity->groups[*place];
}

struct group *process_activity_group(struct process_activity *activity,
				     const struct allocation *allocation)
{
	struct group *group = process_activity_find_group(activity, allocation);
	uint64_t key = key_of(allocation);

	if (group)
		return group;
	if (memory_grow(&activity->groups, &activity->groups_capacity, activity->groups_count + 1,
			sizeof(*activity->groups)) ||
	    map_set(&activity->group_places, key, activity->groups_count))
		return NULL;
	group = &activity->groups[activity->groups_count];
	activity->last_key = key;
	activity->last_place = activity->groups_count++;
	memset(group, 0, sizeof(*group));
	group->space = allocation->space;
	group->size_class = usage_size_class(allocation->size_bytes);
	group->row = allocation->row;
	group->device = device_of(allocation);
	group->newest = activity->bucket;
	return group;
}

static void device_add(struct process_activity *activity, const struct allocation *allocation,
		       bool add)
{
	const uint32_t device = allocation->device;
	uint64_t *live;

	if (device >= ACTIVITY_DEVICES || !usage_is_on_device(allocation->space))
		return;
	live = &activity->device_live[device];
	if (add)
		*live += allocation->size_bytes;
	else
		*live -= *live < allocation->size_bytes ? *live : allocation->size_bytes;
}

static bool is_in_window(const struct process_activity *activity,
			 const struct allocation *allocation)
{
	const struct analysis_options *options = activity->options;

	return options->window_c_ns && allocation->ts_ns >= options->window_a_ns &&
	       allocation->ts_ns <= options->window_b_ns;
}

void process_activity_live_add(struct process_activity *activity, struct group *group,
			       const struct allocation *allocation)
{
	group_add(group, activity->bucket, process_activity_born_at(activity, allocation->ts_ns),
		  allocation->size_bytes);
	group_add_line(group, allocation->stack, allocation->size_bytes);
	if (!group->first_ts_ns || allocation->ts_ns < group->first_ts_ns)
		group->first_ts_ns = allocation->ts_ns;
	if (!activity->first_alloc_ns || allocation->ts_ns < activity->first_alloc_ns)
		activity->first_alloc_ns = allocation->ts_ns;
	if (++activity->live_count > activity->peak_count)
		activity->peak_count = activity->live_count;
	if (is_in_window(activity, allocation)) {
		group->window.count++;
		group->window.bytes += allocation->size_bytes;
	}
	device_add(activity, allocation, true);
}

void process_activity_live_remove(struct process_activity *activity, struct group *group,
				  const struct allocation *allocation)
{
	const bool had_freed = group->freed;
	const bool removed = group_remove(group, activity->bucket,
					  process_activity_born_at(activity, allocation->ts_ns),
					  allocation->size_bytes, activity->ending.number);

	activity->freed_groups += !had_freed && group->freed;
	/* What was not counted, because part of the recording is missing, cannot be taken back. */
	if (!removed) {
		activity->dirty = true;
		return;
	}
	group_remove_line(group, allocation->stack, allocation->size_bytes,
			  activity->ending.number);
	activity->live_count--;
	if (is_in_window(activity, allocation)) {
		group->window.count--;
		group->window.bytes -= allocation->size_bytes;
	}
	device_add(activity, allocation, false);
}

/* ---- how it ends ----------------------------------------------------------------------------- */

#define ENDING_WORK 8            /* frees for each call that may still come between them */
#define ENDING_SHARE 8           /* an ending takes at most this part of the time */
#define ENDING_PAUSE_NS 50000000 /* in which such calls may have been made */

void process_activity_note_frees(struct process_activity *activity, struct activity_ending *ending,
				 uint64_t count)
{
	if (ending->unsure && activity->now_ns - ending->last_ns >= ENDING_PAUSE_NS)
		ending->frees = 0;
	if (!ending->frees) {
		ending->unsure = false;
		ending->number++;
		ending->begin_ns = activity->now_ns;
		ending->work_ns = activity->last_work_ns;
		ending->works = 0;
	}
	ending->frees += count;
	ending->last_ns = activity->now_ns;
}

static void work_after(struct activity_ending *ending, uint64_t count, uint64_t since_ns)
{
	if (!ending->frees)
		return;
	if (since_ns < ending->begin_ns) {
		ending->unsure = true;
		return;
	}
	ending->works = count < UINT64_MAX - ending->works ? ending->works + count : UINT64_MAX;
	if (ending->works > ending->frees / ENDING_WORK)
		ending->frees = 0;
}

void process_activity_note_work(struct process_activity *activity, uint64_t count,
				uint64_t since_ns)
{
	if (!activity->ending.frees || since_ns >= activity->ending.begin_ns)
		activity->last_work_ns = activity->now_ns;
	work_after(&activity->ending, count, since_ns);
	work_after(&activity->tensors_ending, count, since_ns);
}

bool process_activity_has_ended(const struct process_activity *activity,
				const struct activity_ending *ending)
{
	/* How long a program takes to exit after its last free says nothing. */
	const uint64_t end_ns = activity->exited ? ending->last_ns : activity->now_ns;
	uint64_t most_ns;

	if (!ending->frees)
		return false;
	most_ns = (end_ns - activity->base_ns) / ENDING_SHARE;
	if (most_ns < activity->options->leak_time_ns)
		most_ns = activity->options->leak_time_ns;
	return end_ns - ending->begin_ns <= most_ns;
}

/* ---- what is live, read anew ----------------------------------------------------------------- */

static void forget_live(struct process_activity *activity, uint64_t ending)
{
	size_t i;

	activity->live_count = 0;
	memset(activity->device_live, 0, sizeof(activity->device_live));
	for (i = 0; i < activity->groups_count; i++) {
		const bool had_freed = activity->groups[i].freed;

		group_clear(&activity->groups[i], activity->bucket, ending);
		activity->freed_groups += !had_freed && activity->groups[i].freed;
	}
}

/* In what an allocation takes; of a group much has to be cleared. */
#define GROUP_WALK 16

static uint64_t walk_of(const struct process_activity *activity, const struct process *process)
{
	uint64_t walk = activity->groups_count * GROUP_WALK;
	size_t key;

	for (key = 0; key < LEDGERS_COUNT; key++)
		walk += process->ledgers[key].count;
	return walk;
}

#define WALK_ALWAYS (4ull << 20)
#define WALK_PER_EVENT 8

bool process_activity_may_walk(const struct process_activity *activity,
			       const struct process *process)
{
	return activity->walked + walk_of(activity, process) <=
	       WALK_ALWAYS + WALK_PER_EVENT * activity->events;
}

/* Finds the group of a live one. Returns 0 or -ENOMEM. */
static int scan_allocation(struct process_activity *activity, const struct allocation *allocation,
			   uint64_t ending)
{
	struct group *group = process_activity_group(activity, allocation);

	if (!group || copies_alloc(activity, allocation))
		return -ENOMEM;
	if (ending)
		group_take_back(group, process_activity_born_at(activity, allocation->ts_ns),
				allocation->size_bytes, allocation->stack, ending);
	process_activity_live_add(activity, group, allocation);
	activity->allocs_before += !activity->scanned && allocation->ts_ns < activity->base_ns;
	return 0;
}

int process_activity_scan(struct process_activity *activity, const struct process *process,
			  bool ended)
{
	const uint64_t ending = ended ? activity->ending.number : 0;
	size_t key, i;

	activity->walked += walk_of(activity, process);
	forget_live(activity, ending);
	copies_forget_pinned(activity);
	for (key = 0; key < LEDGERS_COUNT; key++) {
		const struct ledger *ledger = &process->ledgers[key];

		for (i = 0; i < ledger->count; i++) {
			if (process_activity_counts(&ledger->entries[i]) &&
			    scan_allocation(activity, &ledger->entries[i], ending))
				return -ENOMEM;
		}
	}
	for (i = 0; i < activity->groups_count; i++)
		group_settle(&activity->groups[i]);
	activity->dirty = false;
	activity->scanned = true;
	activity->missed_frees = process->counters[COUNTER_MISSED_FREES];
	return 0;
}

/* ---- threads, findings ----------------------------------------------------------------------- */

struct thread *process_activity_thread(struct process_activity *activity, uint32_t tid)
{
	struct thread *thread = &activity->threads[tid % ACTIVITY_THREADS];

	if (thread->tid != tid)
		*thread = (struct thread){ .tid = tid };
	return thread;
}

struct finding process_activity_finding(const struct process_activity *activity,
					enum finding_rule rule)
{
	struct finding finding = {
		.rule = rule,
		.confidence = FINDING_HIGH,
		.pid = activity->pid,
		.start_ns = activity->start_ns,
		.device = -1,
		.row = MS_NO_ROW,
		.first_ts_ns = activity->base_ns,
		.last_ts_ns = activity->now_ns,
	};

	memcpy(finding.comm, activity->comm, sizeof(finding.comm));
	return finding;
}
