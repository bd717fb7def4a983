// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who held what at a moment, and what programs had been told of the device.
 */
#include "analysis/oom_figures.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "analysis/leaks.h"
#include "analysis/oom_limit.h"
#include "analysis/oom_others.h"
#include "analysis/oom_relation.h"
#include "analysis/oom_series.h"
#include "ledger/kernels.h"

/* CUDA_ERROR_MPS_CLIENT_TERMINATED */
#define MPS_CLIENT_TERMINATED 810

#define LARGE_BLOCK (2ull << 20) /* what allocators take from the driver is no smaller */
#define FEW_FREES 4              /* at most one for so many allocations */

/* ---- the live set ---------------------------------------------------------------------------- */

/* While it is being gathered: kinds by what they have in common. */
struct gathering {
	struct analysis_oom *oom;
	struct map places;      /* row and space -> position in `kinds` */
	struct map site_places; /* stack -> position in `sites` */
	struct oom_kind *kinds;
	size_t kinds_count, kinds_capacity;
	struct oom_site *sites;
	size_t sites_count, sites_capacity;
	struct oom_process *processes;
	size_t processes_count, processes_capacity;
	const struct state *state;
};

static void amount_add(struct amount *amount, uint64_t bytes)
{
	amount->count++;
	amount->bytes += bytes;
}

static int kind_add(struct gathering *gathering, const struct allocation *allocation)
{
	uint64_t key = (uint64_t)allocation->row << 8 | allocation->space;
	uint64_t *place = map_get(&gathering->places, key);

	if (!place) {
		if (memory_grow(&gathering->kinds, &gathering->kinds_capacity,
				gathering->kinds_count + 1, sizeof(*gathering->kinds)) ||
		    map_set(&gathering->places, key, gathering->kinds_count))
			return -ENOMEM;
		gathering->kinds[gathering->kinds_count++] = (struct oom_kind){
			.space = allocation->space,
			.row = allocation->row,
		};
		place = map_get(&gathering->places, key);
	}
	assert(gathering->kinds && place && *place < gathering->kinds_count);
	amount_add(&gathering->kinds[*place].live, allocation->size_bytes);
	return 0;
}

static void kind_add_own(struct oom_process *process, const struct allocation *allocation)
{
	size_t i = 0;

	while (i < process->kinds_count && (process->kinds[i].row != allocation->row ||
					    process->kinds[i].space != allocation->space))
		i++;
	if (i == OOM_KINDS)
		return;
	if (i == process->kinds_count)
		process->kinds[process->kinds_count++] = (struct oom_kind){
			.space = allocation->space,
			.row = allocation->row,
		};
	amount_add(&process->kinds[i].live, allocation->size_bytes);
}

/* Stacks with the same lines, of two processes perhaps, are one. */
static int site_add(struct gathering *gathering, const struct allocation *allocation)
{
	const uint32_t stack = stacks_first_alike(&gathering->state->stacks, allocation->stack);
	const uint64_t *known;
	size_t place;

	if (!stack)
		return 0;
	known = map_get(&gathering->site_places, stack);
	place = known ? *known : gathering->sites_count;
	if (!known) {
		if (memory_grow(&gathering->sites, &gathering->sites_capacity, place + 1,
				sizeof(*gathering->sites)) ||
		    map_set(&gathering->site_places, stack, place))
			return -ENOMEM;
		gathering->sites[gathering->sites_count++] = (struct oom_site){ .stack = stack };
	}
	amount_add(&gathering->sites[place].live, allocation->size_bytes);
	return 0;
}

static bool is_larger(const struct allocation *a, const struct allocation *b)
{
	return a->size_bytes > b->size_bytes || (a->size_bytes == b->size_bytes && a->id < b->id);
}

static bool is_newer(const struct allocation *a, const struct allocation *b)
{
	return a->ts_ns > b->ts_ns || (a->ts_ns == b->ts_ns && a->id > b->id);
}

/* Sinks into the list of those that come first. */
static void list_add(struct oom_block *list, size_t *length, const struct oom_block *block,
		     bool (*comes_before)(const struct allocation *a, const struct allocation *b))
{
	size_t place = *length;

	if (place == OOM_TOP && !comes_before(&block->allocation, &list[OOM_TOP - 1].allocation))
		return;
	if (place == OOM_TOP)
		place--;
	else
		(*length)++;
	for (; place > 0 && comes_before(&block->allocation, &list[place - 1].allocation); place--)
		list[place] = list[place - 1];
	list[place] = *block;
}

static int gather_block(struct gathering *gathering, const struct process *process,
			const struct allocation *allocation, struct oom_process *entry)
{
	struct analysis_oom *oom = gathering->oom;
	struct oom_block block = { .pid = process->pid,
				   .start_ns = process->start_ns,
				   .allocation = *allocation };

	switch (oom_relation_of(oom, gathering->state, process, allocation->space,
				allocation->device)) {
	case OOM_RELATION_NONE:
		return 0;
	case OOM_RELATION_UNCLEAR:
		if (allocation->space != MS_SPACE_MANAGED)
			amount_add(&oom->unclear, allocation->size_bytes);
		return 0;
	case OOM_RELATION_SAME:
		break;
	}
	if (allocation->space == MS_SPACE_MANAGED)
		amount_add(&oom->managed, allocation->size_bytes);
	else
		amount_add(&entry->live, allocation->size_bytes);
	kind_add_own(entry, allocation);
	if (allocation->space != MS_SPACE_MANAGED && allocation->ts_ns > oom->view.ts_ns)
		oom->taken_since_bytes += allocation->size_bytes;
	list_add(oom->largest, &oom->largest_count, &block, is_larger);
	list_add(oom->newest, &oom->newest_count, &block, is_newer);
	return kind_add(gathering, allocation) ?: site_add(gathering, allocation);
}

static int gather_process(struct gathering *gathering, const struct process *process)
{
	struct analysis_oom *oom = gathering->oom;
	const bool is_own = process->pid == oom->pid && process->start_ns == oom->start_ns;
	struct oom_process entry = { .pid = process->pid,
				     .start_ns = process->start_ns,
				     .held_before = process->was_running };
	size_t key, i;
	int err = 0;

	memcpy(entry.comm, process->comm, sizeof(entry.comm));
	oom->held_before |= process->was_running && !process->exited;
	oom->own_before |= is_own && process->was_running;
	for (key = 0; key < LEDGERS_COUNT; key++)
		for (i = 0; !err && i < process->ledgers[key].count; i++)
			err = gather_block(gathering, process, &process->ledgers[key].entries[i],
					   &entry);
	if (!err && !oom_relation_is_host(oom->space))
		oom_others_note(oom, process, entry.live.bytes);
	if (err || !entry.live.count)
		return err;
	oom->live.count += entry.live.count;
	oom->live.bytes += entry.live.bytes;
	if (is_own)
		oom->own = entry.live;
	if (memory_grow(&gathering->processes, &gathering->processes_capacity,
			gathering->processes_count + 1, sizeof(*gathering->processes)))
		return -ENOMEM;
	gathering->processes[gathering->processes_count++] = entry;
	return 0;
}

static int compare_bytes(const struct amount *a, const struct amount *b)
{
	return (b->bytes > a->bytes) - (b->bytes < a->bytes);
}

static int compare_processes(const void *a, const void *b)
{
	const struct oom_process *first = a, *second = b;
	int order = compare_bytes(&first->live, &second->live);

	return order ? order : (first->pid > second->pid) - (first->pid < second->pid);
}

static int compare_kinds(const void *a, const void *b)
{
	const struct oom_kind *first = a, *second = b;
	int order = compare_bytes(&first->live, &second->live);

	return order ? order : (int)first->row - (int)second->row;
}

static int compare_sites(const void *a, const void *b)
{
	const struct oom_site *first = a, *second = b;
	int order = compare_bytes(&first->live, &second->live);

	return order ? order : (first->stack > second->stack) - (first->stack < second->stack);
}

static void list_process(struct analysis_oom *oom, struct oom_process *process)
{
	qsort(process->kinds, process->kinds_count, sizeof(*process->kinds), compare_kinds);
	oom->processes[oom->processes_count++] = *process;
}

static void list_greatest(const struct gathering *gathering)
{
	struct analysis_oom *oom = gathering->oom;
	size_t i;

	if (gathering->processes_count)
		qsort(gathering->processes, gathering->processes_count,
		      sizeof(*gathering->processes), compare_processes);
	if (gathering->kinds_count)
		qsort(gathering->kinds, gathering->kinds_count, sizeof(*gathering->kinds),
		      compare_kinds);
	if (gathering->sites_count)
		qsort(gathering->sites, gathering->sites_count, sizeof(*gathering->sites),
		      compare_sites);
	for (i = 0; i < gathering->processes_count && i < OOM_TOP; i++)
		list_process(oom, &gathering->processes[i]);
	for (i = 0; i < gathering->kinds_count && i < OOM_TOP; i++)
		oom->kinds[oom->kinds_count++] = gathering->kinds[i];
	for (i = 0; i < gathering->sites_count && i < OOM_TOP; i++)
		oom->sites[oom->sites_count++] = gathering->sites[i];
	oom->more_processes = gathering->processes_count - oom->processes_count;
}

static int gather(struct analysis_oom *oom, const struct state *state)
{
	struct gathering gathering = { .oom = oom, .state = state };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < state->processes_count; i++)
		err = gather_process(&gathering, state->processes[i]);
	if (!err)
		list_greatest(&gathering);
	map_fini(&gathering.places);
	map_fini(&gathering.site_places);
	free(gathering.sites);
	free(gathering.kinds);
	free(gathering.processes);
	return err;
}

/* ---- what the program was told --------------------------------------------------------------- */

static void look_at_views(struct analysis_oom *oom, const struct state *state,
			  const struct process *process)
{
	size_t i;

	for (i = 0; i < process->views_count; i++) {
		const struct view *view = &process->views[i];

		if (view->is_pool ||
		    oom_relation_of(oom, state, process, MS_SPACE_DEVICE, (int32_t)view->handle) !=
			    OOM_RELATION_SAME ||
		    (oom->view.known && view->ts_ns <= oom->view.ts_ns))
			continue;
		oom->view = (struct oom_view){ .known = true,
					       .pid = process->pid,
					       .total_bytes = view->total_bytes,
					       .free_bytes = view->free_bytes,
					       .ts_ns = view->ts_ns };
		memcpy(oom->view.comm, process->comm, sizeof(oom->view.comm));
	}
}

static void look_at_pools(struct analysis_oom *oom, const struct process *process)
{
	size_t i;

	for (i = 0; i < process->views_count; i++) {
		const struct view *view = &process->views[i];

		if (!view->is_pool || !view->total_bytes)
			continue;
		if (!oom->pools_known || view->ts_ns < oom->pools_ts_ns)
			oom->pools_ts_ns = view->ts_ns;
		oom->pools_known = true;
		/* For a pool, that is what it has in use. */
		if (view->total_bytes > view->free_bytes)
			oom->pooled_bytes += view->total_bytes - view->free_bytes;
	}
}

static void look_around(struct analysis_oom *oom, const struct state *state,
			const struct process *process, const struct analysis_options *options)
{
	size_t i;

	if (oom_relation_is_host(oom->space))
		return;
	look_at_views(oom, state, process);
	/* What another one was told of the same device is better than nothing. */
	for (i = 0; !oom->view.known && i < state->processes_count; i++)
		look_at_views(oom, state, state->processes[i]);
	oom->view_fresh =
		oom->view.known && (oom->figures_ts_ns <= oom->view.ts_ns ||
				    oom->figures_ts_ns - oom->view.ts_ns <= options->oom_view_ns);
	look_at_pools(oom, process);
	oom->reserved_bytes = process->spaces[MS_SPACE_RESERVED].live_bytes;
}

static void look_at_device(struct analysis_oom *oom, const struct state *state,
			   const struct process *process)
{
	const struct process_device *known = process_devices_find(&process->devices, oom->device);
	const struct usage_device *device;
	size_t place = SIZE_MAX;

	if (known)
		oom->device_bytes = known->identity.total_bytes;
	if (state->usage && oom->device >= 0)
		place = usage_device_place(state->usage, &process->devices, oom->device);
	if (place == SIZE_MAX)
		return;
	device = &state->usage->devices[place];
	if (!oom->device_bytes)
		oom->device_bytes = device->identity.total_bytes;
	if (!device->peak_unclear && device->peak_bytes > device->live_bytes)
		oom->room_bytes = device->peak_bytes - device->live_bytes;
}

/* ---- signs of an allocator of the program's own ---------------------------------------------- */

static uint64_t retry_frees_of(const struct oom_around *around, const struct process *process)
{
	size_t i;

	for (i = 0; i < around->tracks_count; i++)
		if (around->activities[i]->pid == process->pid &&
		    around->activities[i]->start_ns == process->start_ns)
			return around->activities[i]->retry_frees;
	return 0;
}

/* The ledger has looked at the segments when the call failed. */
static void look_into_segments(struct analysis_oom *oom, const struct process *process)
{
	const struct tensors *tensors = &process->tensors;
	size_t i;

	oom->allocator = OOM_ALLOCATOR_UNKNOWN;
	for (i = 0; i < tensors->devices_count; i++) {
		const struct tensor_segments *at =
			tensors->devices[i].moments[TENSOR_AT_FAILED_CALL];

		if (!at || at->ts_ns != tensors->failed_ns || !at->count || !at->wanted_bytes ||
		    (oom->device >= 0 && tensors->devices[i].device != oom->device))
			continue;
		oom->allocator = tensor_segments_are_cached(at) ? OOM_ALLOCATOR_CACHES :
				 tensor_segments_are_broken(at) ? OOM_ALLOCATOR_IN_BITS :
								  OOM_ALLOCATOR_USED;
		oom->allocator_complete =
			tensor_segments_are_complete(at) && tensors_are_exact(tensors);
	}
}

static void look_for_signs(struct analysis_oom *oom, const struct oom_around *around,
			   const struct process *process)
{
	const uint64_t retried = retry_frees_of(around, process);
	uint64_t allocs = 0, frees = 0;
	size_t space, i;

	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!usage_is_on_device(space))
			continue;
		allocs += process->spaces[space].allocs;
		frees += process->spaces[space].frees;
	}
	oom->large_blocks = oom->own.count && oom->own.bytes / oom->own.count >= LARGE_BLOCK;
	oom->few_frees = (frees - (retried < frees ? retried : frees)) * FEW_FREES <= allocs;
	oom->is_torch = kernels_are_of_torch(process);
	look_into_segments(oom, process);
	for (i = 0; i < process->failures_count; i++)
		oom->evicted |= process->failures[i].result == MPS_CLIENT_TERMINATED;
}

/* ---- holes between blocks -------------------------------------------------------------------- */

struct extent {
	uint64_t begin, end;
};

static int compare_extents(const void *a, const void *b)
{
	const struct extent *first = a, *second = b;

	return (first->begin > second->begin) - (first->begin < second->begin);
}

static void count_holes(struct analysis_oom *oom, struct extent *extents, size_t count,
			uint64_t freed_bytes)
{
	size_t i;

	qsort(extents, count, sizeof(*extents), compare_extents);
	oom->holes_known = true;
	for (i = 1; i < count; i++) {
		uint64_t hole;

		if (extents[i].begin <= extents[i - 1].end)
			continue;
		hole = extents[i].begin - extents[i - 1].end;
		if (hole > freed_bytes)
			continue;
		oom->holes++;
		oom->holes_bytes += hole;
		if (hole > oom->largest_hole_bytes)
			oom->largest_hole_bytes = hole;
	}
}

static int find_holes(struct analysis_oom *oom, const struct process *process)
{
	const struct ledger *ledger = &process->ledgers[MS_KEY_POINTER];
	const struct space_total *space = &process->spaces[MS_SPACE_DEVICE];
	struct extent *extents;
	size_t i, count = 0;

	if (oom->space != MS_SPACE_DEVICE || space->live_count < 2)
		return 0;
	extents = malloc(ledger->count * sizeof(*extents));
	if (!extents)
		return -ENOMEM;
	for (i = 0; i < ledger->count; i++) {
		const struct allocation *entry = &ledger->entries[i];

		if (entry->space == MS_SPACE_DEVICE &&
		    (oom->device < 0 || entry->device < 0 || oom->device == entry->device))
			extents[count++] =
				(struct extent){ entry->addr, entry->addr + entry->size_bytes };
	}
	if (count > 1)
		count_holes(oom, extents, count, space->peak_bytes - space->live_bytes);
	free(extents);
	return 0;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* Whose growth it is, and what failed. */
struct grown {
	struct analysis_oom *oom;
	const struct state *state;
	const struct process *process;
};

static void add_growth(void *context, const struct group *like, const struct growth *growth)
{
	const struct grown *grown = context;

	if (like->space == MS_SPACE_MANAGED ||
	    oom_relation_of(grown->oom, grown->state, grown->process, like->space, like->device) !=
		    OOM_RELATION_SAME)
		return;
	grown->oom->growing.count += growth->left.count;
	grown->oom->growing.bytes += growth->left.bytes;
	if (grown->process->pid != grown->oom->pid ||
	    grown->process->start_ns != grown->oom->start_ns)
		return;
	grown->oom->own_growing.count += growth->left.count;
	grown->oom->own_growing.bytes += growth->left.bytes;
}

static int find_growth_of(struct analysis_oom *oom, const struct state *state,
			  struct process_activity *activity, const struct analysis_options *options)
{
	struct grown grown = { oom, state, state_find(state, activity->pid, activity->start_ns) };

	return grown.process ? leaks_each_growth(activity, options, add_growth, &grown) : 0;
}

static int find_growth(struct analysis_oom *oom, const struct oom_around *around,
		       const struct analysis_options *options)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < around->tracks_count; i++) {
		process_activity_advance(around->activities[i], around->now_ns);
		err = find_growth_of(oom, around->state, around->activities[i], options);
	}
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What is about the moment of the last failure begins anew. */
static void forget(struct analysis_oom *oom)
{
	const struct analysis_oom kept = *oom;

	*oom = (struct analysis_oom){
		.ts_ns = kept.ts_ns,
		.last_ts_ns = kept.last_ts_ns,
		.failures = kept.failures,
		.pid = kept.pid,
		.tid = kept.tid,
		.start_ns = kept.start_ns,
		.row = kept.row,
		.space = kept.space,
		.device = kept.device,
		.requested_known = kept.requested_known,
		.requested_bytes = kept.requested_bytes,
		.request = kept.request,
		.first_own = kept.first_own,
		.few_frees = kept.few_frees,
	};
	memcpy(oom->comm, kept.comm, sizeof(oom->comm));
}

int oom_figures_take(struct analysis_oom *oom, const struct oom_around *around,
		     const struct process *process, const struct analysis_options *options)
{
	const bool is_first = !oom->figures_ts_ns, few_frees = oom->few_frees;
	int err;

	forget(oom);
	oom->figures_ts_ns = oom->last_ts_ns;
	look_around(oom, around->state, process, options);
	look_at_device(oom, around->state, process);
	if (!oom_relation_is_host(oom->space))
		oom_others_begin(oom, around->state, process, options);
	err = gather(oom, around->state);
	oom_others_end(oom);
	if (!err)
		err = find_holes(oom, process);
	if (!err)
		err = find_growth(oom, around, options);
	if (!err)
		err = oom_series_find(oom, around, process, options);
	look_for_signs(oom, around, process);
	oom_limit_take(oom, process);
	/* What was freed for the retry is none of the few. */
	if (!is_first)
		oom->few_frees = few_frees;
	/* Again when pieces of it were given back. */
	if (oom->request.failures <= 1)
		oom->first_own = oom->own;
	return err;
}

/* ---- what they lack -------------------------------------------------------------------------- */

bool analysis_oom_lacks_own(const struct analysis_oom *oom)
{
	return oom->own_before && oom->cause == OOM_UNKNOWN && !oom_relation_is_host(oom->space);
}
