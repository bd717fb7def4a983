// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "analysis/leaks.h"
#include "analysis/oom_cause.h"

void ooms_fini(struct ooms *ooms)
{
	free(ooms->list);
	*ooms = (struct ooms){ 0 };
}

static bool is_host_memory(uint8_t space)
{
	return space == MS_SPACE_PINNED || space == MS_SPACE_REGISTERED;
}

/* ---- the live set ---------------------------------------------------------------------------- */

/* While it is being gathered: kinds by what they have in common. */
struct gathering {
	struct analysis_oom *oom;
	struct map places; /* row and space -> position in `kinds` */
	struct oom_kind *kinds;
	size_t kinds_count, kinds_capacity;
	struct oom_process *processes;
	size_t processes_count, processes_capacity;
	const struct state *state;
};

static void amount_add(struct amount *amount, uint64_t bytes)
{
	amount->count++;
	amount->bytes += bytes;
}

/* Of memory whose device is unknown, or if it is not known which one failed: it may be there. */
static bool concerns(const struct analysis_oom *oom, const struct state *state,
		     const struct process *process, const struct allocation *allocation)
{
	const struct process *own;

	if (is_host_memory(oom->space))
		return is_host_memory(allocation->space);
	if (!usage_is_on_device(allocation->space) && allocation->space != MS_SPACE_MANAGED)
		return false;
	if (oom->device < 0 || allocation->device < 0)
		return true;
	if (process->pid == oom->pid && process->start_ns == oom->start_ns)
		return oom->device == allocation->device;
	own = state_find(state, oom->pid, oom->start_ns);
	return own ? usage_device_is_same(state->usage, &own->devices, oom->device,
					  &process->devices, allocation->device) :
		     oom->device == allocation->device;
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
			const struct allocation *allocation, struct amount *of_process)
{
	struct analysis_oom *oom = gathering->oom;
	struct oom_block block = { .pid = process->pid,
				   .start_ns = process->start_ns,
				   .allocation = *allocation };

	if (!concerns(oom, gathering->state, process, allocation))
		return 0;
	if (allocation->space == MS_SPACE_MANAGED)
		amount_add(&oom->managed, allocation->size_bytes);
	else
		amount_add(of_process, allocation->size_bytes);
	if (allocation->space != MS_SPACE_MANAGED && allocation->ts_ns > oom->view_ts_ns)
		oom->taken_since_bytes += allocation->size_bytes;
	list_add(oom->largest, &oom->largest_count, &block, is_larger);
	list_add(oom->newest, &oom->newest_count, &block, is_newer);
	return kind_add(gathering, allocation);
}

static int gather_process(struct gathering *gathering, const struct process *process)
{
	struct analysis_oom *oom = gathering->oom;
	struct oom_process entry = { .pid = process->pid, .start_ns = process->start_ns };
	size_t key, i;
	int err = 0;

	memcpy(entry.comm, process->comm, sizeof(entry.comm));
	oom->held_before |= process->was_running && !process->exited;
	for (key = 0; key < LEDGERS_COUNT; key++)
		for (i = 0; !err && i < process->ledgers[key].count; i++)
			err = gather_block(gathering, process, &process->ledgers[key].entries[i],
					   &entry.live);
	if (err || !entry.live.count)
		return err;
	oom->live.count += entry.live.count;
	oom->live.bytes += entry.live.bytes;
	if (process->pid == oom->pid && process->start_ns == oom->start_ns)
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
	for (i = 0; i < gathering->processes_count && i < OOM_TOP; i++)
		oom->processes[oom->processes_count++] = gathering->processes[i];
	for (i = 0; i < gathering->kinds_count && i < OOM_TOP; i++)
		oom->kinds[oom->kinds_count++] = gathering->kinds[i];
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
	free(gathering.kinds);
	free(gathering.processes);
	return err;
}

/* ---- what the program was told --------------------------------------------------------------- */

static void look_at_views(struct analysis_oom *oom, const struct process *process)
{
	size_t i;

	for (i = 0; i < process->views_count; i++) {
		const struct view *view = &process->views[i];
		int64_t device = (int64_t)view->handle;

		if (view->is_pool || (device >= 0 && oom->device >= 0 && device != oom->device) ||
		    (oom->view_known && view->ts_ns <= oom->view_ts_ns))
			continue;
		oom->view_known = true;
		oom->view_total_bytes = view->total_bytes;
		oom->view_free_bytes = view->free_bytes;
		oom->view_ts_ns = view->ts_ns;
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
		/* Of a pool, that is what it has in use. */
		if (view->total_bytes > view->free_bytes)
			oom->pooled_bytes += view->total_bytes - view->free_bytes;
	}
}

static void look_around(struct analysis_oom *oom, const struct state *state,
			const struct process *process, const struct analysis_options *options)
{
	size_t i;

	if (is_host_memory(oom->space))
		return;
	look_at_views(oom, process);
	/* What another one was told is better than nothing. */
	for (i = 0; !oom->view_known && i < state->processes_count; i++)
		look_at_views(oom, state->processes[i]);
	oom->view_fresh = oom->view_known && oom->ts_ns - oom->view_ts_ns <= options->oom_view_ns;
	look_at_pools(oom, process);
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

/* ---- events ---------------------------------------------------------------------------------- */

/* Whose growth it is, and what failed. */
struct grown {
	struct analysis_oom *oom;
	const struct state *state;
	const struct process *process;
};

static void add_growth(void *context, const struct group *like, const struct growth *growth)
{
	const struct grown *grown = context;
	const struct allocation one = { .space = like->space, .device = like->device };

	if (like->space == MS_SPACE_MANAGED ||
	    !concerns(grown->oom, grown->state, grown->process, &one))
		return;
	grown->oom->growing.count += growth->left.count;
	grown->oom->growing.bytes += growth->left.bytes;
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

/* The same thread tries again, perhaps with less. */
static struct analysis_oom *find_retried(struct ooms *ooms, const struct event *event,
					 const struct analysis_options *options)
{
	size_t i;

	for (i = ooms->count; i > 0; i--) {
		struct analysis_oom *oom = &ooms->list[i - 1];

		if (oom->pid == event->header->pid && oom->start_ns == event->header->start_ns &&
		    oom->tid == event->header->tid)
			return event->header->ts_ns <= oom->last_ts_ns ||
					       event->header->ts_ns - oom->last_ts_ns <
						       options->oom_retry_ns ?
				       oom :
				       NULL;
	}
	return NULL;
}

static void oom_init(struct analysis_oom *oom, const struct event *event,
		     const struct change *change)
{
	const struct ms_call *call = event->call;

	*oom = (struct analysis_oom){
		.ts_ns = event->header->ts_ns,
		.last_ts_ns = event->header->ts_ns,
		.failures = 1,
		.pid = event->header->pid,
		.tid = event->header->tid,
		.start_ns = event->header->start_ns,
		.row = call->row,
		.space = event->probe->spec.space,
		.device = change->device,
		.requested_known = call->known & MS_KNOWN_SIZE,
		.requested_bytes = call->size,
	};
	memcpy(oom->comm, change->process->comm, sizeof(oom->comm));
}

int ooms_event(struct ooms *ooms, const struct oom_around *around, const struct event *event,
	       const struct change *change, const struct analysis_options *options)
{
	struct analysis_oom *oom = find_retried(ooms, event, options);
	int err;

	ooms->failures++;
	if (oom) {
		oom->failures++;
		oom->last_ts_ns = event->header->ts_ns;
		return 0;
	}
	if (ooms->count == OOM_MAX) {
		ooms->not_listed++;
		return 0;
	}
	if (!ooms->list)
		ooms->list = calloc(OOM_MAX, sizeof(*ooms->list));
	if (!ooms->list)
		return -ENOMEM;
	oom = &ooms->list[ooms->count++];
	oom_init(oom, event, change);
	look_around(oom, around->state, change->process, options);
	err = gather(oom, around->state);
	if (!err)
		err = find_holes(oom, change->process);
	if (!err)
		err = find_growth(oom, around, options);
	oom_cause_find(oom, options);
	return err;
}

/* ---- findings -------------------------------------------------------------------------------- */

static void say_live(struct finding *finding, const struct analysis_oom *oom)
{
	finding_say(finding, "live bytes of all traced processes", FINDING_BYTES, oom->live.bytes);
	finding_say(finding, "live bytes of this process", FINDING_BYTES, oom->own.bytes);
	finding_say(finding, "live bytes of the others", FINDING_BYTES,
		    oom->live.bytes - oom->own.bytes);
	if (oom->growing.bytes)
		finding_say(finding, "live bytes in kinds that only grow", FINDING_BYTES,
			    oom->growing.bytes);
}

static void say_known(struct finding *finding, const struct analysis_oom *oom)
{
	if (oom->view_known) {
		finding_say(finding, "free bytes, as the driver reported", FINDING_BYTES,
			    oom->view_free_bytes);
		finding_say(finding, "age of that report", FINDING_NS,
			    oom->ts_ns > oom->view_ts_ns ? oom->ts_ns - oom->view_ts_ns : 0);
		finding_say(finding, "bytes of the device", FINDING_BYTES, oom->view_total_bytes);
	}
	if (oom->pools_known)
		finding_say(finding, "bytes that pools held unused", FINDING_BYTES,
			    oom->pooled_bytes);
	if (oom->holes_known) {
		finding_say(finding, "largest hole between its blocks", FINDING_BYTES,
			    oom->largest_hole_bytes);
		finding_say(finding, "all such holes", FINDING_BYTES, oom->holes_bytes);
	}
}

int ooms_report(const struct ooms *ooms, struct findings *findings)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ooms->count; i++) {
		const struct analysis_oom *oom = &ooms->list[i];
		struct finding finding = {
			.rule = FINDING_OOM,
			.confidence = oom->confidence,
			.lowered_by = oom->lowered_by,
			.pid = oom->pid,
			.start_ns = oom->start_ns,
			.device = oom->device,
			.space = oom->space,
			.row = oom->row,
			.first_ts_ns = oom->ts_ns,
			.last_ts_ns = oom->last_ts_ns,
			.bytes = oom->requested_bytes,
			.oom = i,
		};

		memcpy(finding.comm, oom->comm, sizeof(finding.comm));
		if (oom->requested_known)
			finding_say(&finding, "bytes asked for", FINDING_BYTES,
				    oom->requested_bytes);
		finding_say(&finding, "failures in a row", FINDING_COUNT, oom->failures);
		say_live(&finding, oom);
		say_known(&finding, oom);
		err = findings_add(findings, &finding);
	}
	return err;
}
