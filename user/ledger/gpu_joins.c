// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/gpu_joins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/limits.h"

/* ---- calls that probes saw ------------------------------------------------------------------- */

static struct gpu_thread *thread_get(struct gpu_joins *joins, uint32_t tid, int *err)
{
	const uint64_t *place = map_get(&joins->thread_places, tid);

	if (place)
		return &joins->threads[*place];
	if (joins->threads_count >= LIMIT_GPU_THREADS)
		return NULL;
	*err = memory_grow(&joins->threads, &joins->threads_capacity, joins->threads_count + 1,
			   sizeof(*joins->threads));
	if (!*err)
		*err = map_set(&joins->thread_places, tid, joins->threads_count);
	if (*err)
		return NULL;
	joins->threads[joins->threads_count] = (struct gpu_thread){ 0 };
	return &joins->threads[joins->threads_count++];
}

static bool is_complete(const struct event *event)
{
	return event->header->type != MS_TYPE_CALLS && event->call->known & MS_KNOWN_RESULT &&
	       !(event->call->flags & (MS_CALL_NESTED | MS_CALL_PART));
}

bool gpu_joins_wants(const struct event *event)
{
	switch (event->probe->spec.op) {
	case MS_OP_LAUNCH:
	case MS_OP_COPY:
	case MS_OP_MEMSET:
		return is_complete(event);
	}
	return false;
}

/* Whether it waits for all that its context has been given. */
static bool is_wait(const struct event *event)
{
	return event->probe->spec.op == MS_OP_SYNC && is_complete(event) &&
	       event_succeeded(event->call) &&
	       (!strncmp(event->probe->symbol, "cuCtxSynchronize", 16) ||
		!strcmp(event->probe->symbol, "cudaDeviceSynchronize"));
}

/* The older half goes: CUPTI hands over what is some seconds old at most. */
static void make_room(struct gpu_thread *thread)
{
	const size_t gone = thread->count / 2;

	memmove(thread->calls, thread->calls + gone,
		(thread->count - gone) * sizeof(*thread->calls));
	thread->count -= gone;
}

static int remember(struct gpu_thread *thread, const struct event *event)
{
	int err;

	if (thread->count == LIMIT_GPU_CALLS)
		make_room(thread);
	err = memory_grow(&thread->calls, &thread->capacity, thread->count + 1,
			  sizeof(*thread->calls));
	if (!err)
		thread->calls[thread->count++] =
			(struct gpu_call){ event_begin_ns(event), event_end_ns(event) };
	return err;
}

/* ---- CUPTI's records of calls ---------------------------------------------------------------- */

/* The last call of the thread that began by then; NULL: none did. */
static const struct gpu_call *last_begun(const struct gpu_thread *thread, uint64_t ns)
{
	size_t low = 0, high = thread->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (thread->calls[middle].begin_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &thread->calls[low - 1] : NULL;
}

/* The call that the record is of: with times that are not quite right, the one it overlaps most. */
static const struct gpu_call *call_of(const struct gpu_joins *joins,
				      const struct ms_activity_body *record)
{
	const uint64_t *place = map_get(&joins->thread_places, record->thread);
	const uint64_t middle_ns = record->begin_ns + (record->end_ns - record->begin_ns) / 2;
	const struct gpu_call *call;

	if (!place || record->flags & MS_ACTIVITY_UNTIMED)
		return NULL;
	call = last_begun(&joins->threads[*place], middle_ns);
	return call && middle_ns <= call->end_ns ? call : NULL;
}

static void slack_note(struct gpu_slack *slack, uint64_t earlier_ns, uint64_t later_ns)
{
	const int64_t ns = (int64_t)(later_ns - earlier_ns);

	if (!slack->count++ || ns < slack->least_ns)
		slack->least_ns = ns;
	slack->outside += ns < 0;
}

/* ---- CUPTI's numbers ------------------------------------------------------------------------- */

const struct gpu_link *gpu_joins_find(const struct gpu_joins *joins, uint32_t correlation)
{
	const uint64_t *place = map_get(&joins->link_places, correlation);

	return place ? &joins->links[*place] : NULL;
}

static struct gpu_link *link_get(struct gpu_joins *joins, uint32_t correlation, int *err)
{
	const uint64_t *place = map_get(&joins->link_places, correlation);
	size_t at;

	if (place)
		return &joins->links[*place];
	if (joins->links_count == LIMIT_GPU_LINKS) {
		at = joins->next++ % LIMIT_GPU_LINKS;
		map_remove(&joins->link_places, joins->links[at].correlation);
	} else {
		*err = memory_grow(&joins->links, &joins->links_capacity, joins->links_count + 1,
				   sizeof(*joins->links));
		if (*err)
			return NULL;
		at = joins->links_count++;
	}
	joins->links[at] = (struct gpu_link){ .correlation = correlation };
	*err = map_set(&joins->link_places, correlation, at);
	return *err ? NULL : &joins->links[at];
}

/*
 * When the first wait ended that began after the call: what the call gave the GPU was done by then.
 * They are in the order in which they ended, which is not quite that in which they began. 0: there
 * was none.
 */
static uint64_t waited_until(const struct gpu_joins *joins, const struct gpu_link *link)
{
	const struct gpu_thread *waits = &joins->waits;
	size_t low = 0, high = waits->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (waits->calls[middle].end_ns <= link->end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < waits->count && waits->calls[low].begin_ns < link->end_ns)
		low++;
	return low < waits->count ? waits->calls[low].end_ns : 0;
}

/* With contexts on several devices, or several on one, it is not known which was waited for. */
static void note_waited(struct gpu_joins *joins, const struct gpu_link *link, uint64_t done_ns)
{
	const uint64_t until_ns = joins->contexts == 1 ? waited_until(joins, link) : 0;

	if (until_ns)
		slack_note(&joins->end, done_ns, until_ns);
}

/* What the call of the link made the GPU do: so many, of which the first began then. */
static void note_started(struct gpu_joins *joins, const struct gpu_link *link, uint64_t count,
			 uint64_t begins_ns, uint64_t first_ns)
{
	const uint64_t calls_ns = count * link->begin_ns;

	slack_note(&joins->start, link->begin_ns, first_ns);
	joins->started += count;
	if (begins_ns > calls_ns)
		joins->delay_ns += begins_ns - calls_ns;
}

/* The call is known now by which the GPU did it. */
static void join(struct gpu_joins *joins, struct gpu_link *link, const struct gpu_early *record,
		 const struct gpu_call *call)
{
	link->begin_ns = call->begin_ns;
	link->end_ns = call->end_ns;
	joins->in_probed++;
	joins->with_probed += link->waiting;
	slack_note(&joins->entry, call->begin_ns, record->begin_ns);
	slack_note(&joins->leave, record->end_ns, call->end_ns);
	if (link->timed)
		note_started(joins, link, link->timed, link->begins_ns, link->first_ns);
	if (link->last_ns)
		slack_note(&joins->end, link->last_ns, link->end_ns);
	if (link->done_ns)
		note_waited(joins, link, link->done_ns);
}

static int note_early(struct gpu_joins *joins, const struct ms_activity_body *record)
{
	struct gpu_thread *thread;
	int err = 0;

	if (record->flags & MS_ACTIVITY_UNTIMED)
		return 0;
	thread = thread_get(joins, record->thread, &err);
	if (thread)
		thread->early[thread->early_next++ % GPU_EARLY] =
			(struct gpu_early){ record->begin_ns, record->end_ns, record->correlation };
	return err;
}

static int note_call(struct gpu_joins *joins, struct gpu_link *link,
		     const struct ms_activity_body *record)
{
	const struct gpu_early times = { record->begin_ns, record->end_ns, record->correlation };
	const struct gpu_call *call = call_of(joins, record);

	/* The number is used again: there are 2^32. */
	if (link->said)
		*link = (struct gpu_link){ .correlation = record->correlation };
	link->said = true;
	joins->calls++;
	joins->with_call += link->waiting;
	if (!call)
		return note_early(joins, record);
	join(joins, link, &times, call);
	return 0;
}

/* Whether the record of the probe is that of a call that CUPTI has spoken of already. */
static void join_early(struct gpu_joins *joins, struct gpu_thread *thread)
{
	const struct gpu_call *call = &thread->calls[thread->count - 1];
	size_t i;

	for (i = 0; i < GPU_EARLY; i++) {
		struct gpu_early *early = &thread->early[i];
		const uint64_t middle_ns = early->begin_ns + (early->end_ns - early->begin_ns) / 2;
		const uint64_t *place;

		if (!early->correlation || middle_ns < call->begin_ns || middle_ns > call->end_ns)
			continue;
		place = map_get(&joins->link_places, early->correlation);
		if (place && !joins->links[*place].end_ns)
			join(joins, &joins->links[*place], early, call);
		early->correlation = 0;
	}
}

/* Copies between a device's own memory are not waited for, whatever the function is called. */
static bool is_waited_for(const struct ms_activity_body *activity)
{
	return activity->kind == MS_ACTIVITY_COPY && !(activity->flags & MS_ACTIVITY_ASYNC) &&
	       activity->to != MS_GPU_MEMORY_DEVICE;
}

static void note_waiting(struct gpu_link *link, const struct ms_activity_body *activity)
{
	link->waiting++;
	if (activity->flags & MS_ACTIVITY_UNTIMED)
		return;
	if (!link->timed++ || activity->begin_ns < link->first_ns)
		link->first_ns = activity->begin_ns;
	link->begins_ns += activity->begin_ns;
	if (activity->end_ns > link->done_ns)
		link->done_ns = activity->end_ns;
	if (is_waited_for(activity) && activity->end_ns > link->last_ns)
		link->last_ns = activity->end_ns;
}

/* Whether there is more than one, with those of all devices. */
static void note_context(struct gpu_joins *joins, const struct ms_activity_body *activity)
{
	if (!joins->contexts) {
		joins->contexts = 1;
		joins->context = activity->context;
		joins->device = activity->device;
	} else if (joins->context != activity->context || joins->device != activity->device) {
		joins->contexts = 2;
	}
}

static void note_activity(struct gpu_joins *joins, struct gpu_link *link,
			  const struct ms_activity_body *activity)
{
	joins->activities++;
	note_context(joins, activity);
	joins->with_call += link->said;
	if (!link->end_ns) {
		note_waiting(link, activity);
		return;
	}
	joins->with_probed++;
	if (activity->flags & MS_ACTIVITY_UNTIMED)
		return;
	note_started(joins, link, 1, activity->begin_ns, activity->begin_ns);
	note_waited(joins, link, activity->end_ns);
	if (is_waited_for(activity))
		slack_note(&joins->end, activity->end_ns, link->end_ns);
}

int gpu_joins_call(struct gpu_joins *joins, const struct event *event)
{
	struct gpu_thread *thread;
	int err = 0;

	if (is_wait(event))
		return remember(&joins->waits, event);
	if (!gpu_joins_wants(event))
		return 0;
	thread = thread_get(joins, event->header->tid, &err);
	if (!thread)
		return err;
	joins->probed++;
	err = remember(thread, event);
	if (!err)
		join_early(joins, thread);
	return err;
}

int gpu_joins_activity(struct gpu_joins *joins, const struct ms_activity_body *activity,
		       const struct gpu_link **result)
{
	struct gpu_link *link;
	int err = 0;

	*result = NULL;
	if (!activity->correlation || activity->kind == MS_ACTIVITY_OVERHEAD ||
	    activity->flags & MS_ACTIVITY_DEVICE_LAUNCHED)
		return 0;
	link = link_get(joins, activity->correlation, &err);
	if (!link)
		return err;
	if (activity->kind == MS_ACTIVITY_CALL)
		err = note_call(joins, link, activity);
	else
		note_activity(joins, link, activity);
	*result = link;
	return err;
}

/* ---- what it shows --------------------------------------------------------------------------- */

/* An offset of the clock lies between these two, if it is always the same. */
static bool error_of(const struct gpu_slack *before, const struct gpu_slack *behind,
		     uint64_t converted_ns, uint64_t *ns)
{
	const int64_t ahead = before->least_ns, after = behind->least_ns;
	const uint64_t a = (uint64_t)(ahead < 0 ? -ahead : ahead);
	const uint64_t b = (uint64_t)(after < 0 ? -after : after);

	if (!before->count || !behind->count)
		return false;
	*ns = a > b ? a : b;
	if (converted_ns > *ns)
		*ns = converted_ns;
	return true;
}

bool gpu_joins_call_error(const struct gpu_joins *joins, uint64_t converted_ns, uint64_t *ns)
{
	return error_of(&joins->entry, &joins->leave, converted_ns, ns);
}

bool gpu_joins_gpu_error(const struct gpu_joins *joins, uint64_t converted_ns, uint64_t *ns)
{
	return error_of(&joins->start, &joins->end, converted_ns, ns);
}

void gpu_joins_restart(struct gpu_joins *joins)
{
	joins->probed = joins->calls = joins->in_probed = 0;
	joins->activities = joins->with_call = joins->with_probed = 0;
	joins->entry = joins->leave = joins->start = joins->end = (struct gpu_slack){ 0 };
	joins->delay_ns = joins->started = 0;
}

static void slack_add(struct gpu_slack *sum, const struct gpu_slack *slack)
{
	if (slack->count && (!sum->count || slack->least_ns < sum->least_ns))
		sum->least_ns = slack->least_ns;
	sum->count += slack->count;
	sum->outside += slack->outside;
}

void gpu_joins_add(struct gpu_joins *sum, const struct gpu_joins *joins)
{
	sum->probed += joins->probed;
	sum->calls += joins->calls;
	sum->in_probed += joins->in_probed;
	sum->activities += joins->activities;
	sum->with_call += joins->with_call;
	sum->with_probed += joins->with_probed;
	sum->delay_ns += joins->delay_ns;
	sum->started += joins->started;
	slack_add(&sum->entry, &joins->entry);
	slack_add(&sum->leave, &joins->leave);
	slack_add(&sum->start, &joins->start);
	slack_add(&sum->end, &joins->end);
}

size_t gpu_joins_bytes(const struct gpu_joins *joins)
{
	size_t bytes = map_bytes(&joins->thread_places) + map_bytes(&joins->link_places), i;

	for (i = 0; i < joins->threads_count; i++)
		bytes += joins->threads[i].capacity * sizeof(*joins->threads[i].calls);
	return bytes + joins->threads_capacity * sizeof(*joins->threads) +
	       joins->waits.capacity * sizeof(*joins->waits.calls) +
	       joins->links_capacity * sizeof(*joins->links);
}

void gpu_joins_fini(struct gpu_joins *joins)
{
	size_t i;

	for (i = 0; i < joins->threads_count; i++)
		free(joins->threads[i].calls);
	free(joins->waits.calls);
	free(joins->threads);
	free(joins->links);
	map_fini(&joins->thread_places);
	map_fini(&joins->link_places);
	*joins = (struct gpu_joins){ 0 };
}
