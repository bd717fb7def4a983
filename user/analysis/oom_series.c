// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_series.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "analysis/oom_relation.h"
#include "base/memory.h"

/* While it is being looked for: blocks by where they were made, and their size. */
struct search {
	struct analysis_oom *oom;
	const struct state *state;
	const struct process *process;
	struct map places; /* where and size -> position in `all` */
	struct oom_series *all;
	size_t count, capacity;
};

typedef int search_fn(struct search *search, const struct allocation *allocation);

/* Managed memory may be anywhere. */
static bool is_own(const struct search *search, const struct allocation *allocation)
{
	return allocation->space != MS_SPACE_MANAGED &&
	       oom_relation_of(search->oom, search->state, search->process, allocation->space,
			       allocation->device) == OOM_RELATION_SAME;
}

static int each_block(struct search *search, search_fn *take)
{
	size_t key, i;
	int err = 0;

	for (key = 0; key < LEDGERS_COUNT; key++) {
		const struct ledger *ledger = &search->process->ledgers[key];

		for (i = 0; !err && i < ledger->count; i++)
			if (is_own(search, &ledger->entries[i]))
				err = take(search, &ledger->entries[i]);
	}
	return err;
}

static uint32_t stack_of(const struct search *search, const struct allocation *allocation)
{
	return stacks_first_alike(&search->state->stacks, allocation->stack);
}

/* What two kinds of blocks might share by chance is told apart by is_part_of(). */
static uint64_t key_of(const struct search *search, const struct allocation *allocation)
{
	const uint64_t where = (uint64_t)stack_of(search, allocation) << 24 |
			       (uint64_t)allocation->row << 8 | allocation->space;

	return where * 0x9e3779b97f4a7c15ull ^ allocation->size_bytes;
}

static bool is_part_of(const struct search *search, const struct allocation *allocation,
		       const struct oom_series *series)
{
	return allocation->size_bytes == series->block_bytes && allocation->row == series->row &&
	       allocation->space == series->space && stack_of(search, allocation) == series->stack;
}

static int add_block(struct search *search, const struct allocation *allocation)
{
	const uint64_t key = key_of(search, allocation);
	const uint64_t *known = map_get(&search->places, key);
	const size_t place = known ? *known : search->count;
	struct oom_series *series;

	if (!known) {
		if (memory_grow(&search->all, &search->capacity, place + 1, sizeof(*search->all)) ||
		    map_set(&search->places, key, place))
			return -ENOMEM;
		search->all[search->count++] = (struct oom_series){
			.stack = stack_of(search, allocation),
			.row = allocation->row,
			.space = allocation->space,
			.block_bytes = allocation->size_bytes,
			.first_ns = allocation->ts_ns,
			.last_ns = allocation->ts_ns,
		};
	}
	assert(search->all && place < search->count);
	series = &search->all[place];
	if (!is_part_of(search, allocation, series))
		return 0;
	series->live.count++;
	series->live.bytes += allocation->size_bytes;
	if (allocation->ts_ns < series->first_ns)
		series->first_ns = allocation->ts_ns;
	if (allocation->ts_ns > series->last_ns)
		series->last_ns = allocation->ts_ns;
	return 0;
}

static uint64_t length_of(const struct analysis_oom *oom)
{
	const struct oom_series *series = &oom->series;

	return (series->made_before ? series->last_ns : oom->figures_ts_ns) - series->first_ns;
}

/* When in the time from the first one to the failure, or to the last one, its blocks were made. */
static int note_time(struct search *search, const struct allocation *allocation)
{
	struct oom_series *series = &search->oom->series;
	const uint64_t length = length_of(search->oom);
	uint64_t part;

	if (!is_part_of(search, allocation, series))
		return 0;
	part = length ? (allocation->ts_ns - series->first_ns) / (length / OOM_SERIES_PARTS + 1) :
			0;
	series->made[part < OOM_SERIES_PARTS ? part : OOM_SERIES_PARTS - 1]++;
	return 0;
}

static struct process_activity *activity_of(const struct oom_around *around,
					    const struct process *process)
{
	size_t i;

	for (i = 0; i < around->tracks_count; i++)
		if (around->activities[i]->pid == process->pid &&
		    around->activities[i]->start_ns == process->start_ns)
			return around->activities[i];
	return NULL;
}

/* Which block is freed is not kept: so one that is alike, on any device, may have been of them. */
static void note_frees(struct oom_series *series, const struct process_activity *activity)
{
	size_t i;

	for (i = 0; i < activity->groups_count; i++) {
		const struct group *group = &activity->groups[i];

		if (group->row == series->row && group->space == series->space &&
		    group->size_class == usage_size_class(series->block_bytes))
			series->frees += group->frees;
	}
}

/* Not how many: those that are only counted are told of later. */
static void note_launches(struct oom_series *series, const struct process_activity *activity)
{
	unsigned int i = process_activity_bucket_at(activity, series->first_ns);

	for (; i <= activity->bucket; i++)
		series->launched |= activity->slices[i].launches > 0;
}

/* Most of what it held, and more than a few blocks; else there is none. */
static void choose(struct search *search, const struct analysis_options *options)
{
	const struct oom_series *largest = NULL;
	size_t i;

	for (i = 0; i < search->count; i++)
		if (!largest || search->all[i].live.bytes > largest->live.bytes)
			largest = &search->all[i];
	if (!largest || largest->live.count < options->steady_count ||
	    (double)largest->live.bytes * 100 <=
		    (double)search->oom->own.bytes * (double)options->oom_share)
		return;
	search->oom->series = *largest;
}

int oom_series_find(struct analysis_oom *oom, const struct oom_around *around,
		    const struct process *process, const struct analysis_options *options)
{
	struct search search = { .oom = oom, .state = around->state, .process = process };
	const struct process_activity *activity = activity_of(around, process);
	int err;

	if (oom_relation_is_host(oom->space) || !activity)
		return 0;
	err = each_block(&search, add_block);
	if (!err)
		choose(&search, options);
	if (!err && oom->series.live.count) {
		oom->series.made_before = oom->series.last_ns < activity->base_ns;
		err = each_block(&search, note_time);
		note_frees(&oom->series, activity);
		note_launches(&oom->series, activity);
	}
	map_fini(&search.places);
	free(search.all);
	return err;
}

bool oom_series_is_steady(const struct analysis_oom *oom, const struct analysis_options *options)
{
	const struct oom_series *series = &oom->series;
	const bool alike =
		usage_size_class(oom->requested_bytes) == usage_size_class(series->block_bytes);
	size_t i;

	/* What loads a program is often made at once, and then something else is asked for. */
	if (!series->launched && !alike)
		return false;
	/* If nothing is asked for but more of that, again and again, it is what cannot go on. */
	if (series->made_before && (!alike || oom->failures < options->steady_count))
		return false;
	if (!series->live.count || series->frees || length_of(oom) < options->steady_ns)
		return false;
	for (i = 0; i < OOM_SERIES_PARTS; i++)
		if (!series->made[i] || series->made[i] > series->live.count / 2)
			return false;
	return true;
}
