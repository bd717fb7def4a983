// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/host_time.h"

/* ---- noting down ----------------------------------------------------------------------------- */

static uint64_t *time_of(struct activity_slice *slice, uint8_t op)
{
	switch (op) {
	case MS_OP_SYNC:
		return &slice->sync_ns;
	case MS_OP_COPY:
		return &slice->copy_ns;
	case MS_OP_ALLOC:
	case MS_OP_FREE:
		return &slice->alloc_ns;
	case MS_OP_LAUNCH:
		return &slice->launch_ns;
	}
	return &slice->other_ns;
}

/* What part of a stretch of time lies in a bucket. */
static uint64_t overlap(const struct process_activity *activity, unsigned int bucket,
			uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from = process_activity_bucket_begin(activity, bucket),
		 to = from + (1ull << activity->shift);

	if (from < begin_ns)
		from = begin_ns;
	if (to > end_ns)
		to = end_ns;
	return from < to ? to - from : 0;
}

static void spend(struct process_activity *activity, uint8_t op, uint64_t begin_ns, uint64_t end_ns,
		  uint64_t thread)
{
	unsigned int i, first = process_activity_bucket_at(activity, begin_ns);
	unsigned int last = process_activity_bucket_at(activity, end_ns);

	if (begin_ns < activity->base_ns)
		begin_ns = activity->base_ns;
	for (i = first; i <= last; i++) {
		activity->slices[i].threads |= thread;
		*time_of(&activity->slices[i], op) += overlap(activity, i, begin_ns, end_ns);
	}
}

static void spend_idle(struct process_activity *activity, uint64_t begin_ns, uint64_t end_ns,
		       bool pause)
{
	unsigned int i, last = process_activity_bucket_at(activity, end_ns);

	for (i = process_activity_bucket_at(activity, begin_ns); i <= last; i++) {
		uint64_t *ns = pause ? &activity->slices[i].pause_ns : &activity->slices[i].idle_ns;

		*ns += overlap(activity, i, begin_ns, end_ns);
	}
}

/* A call of another thread lasted all through what looked like a gap. */
static void take_back_idle(struct process_activity *activity, uint64_t begin_ns, uint64_t end_ns)
{
	unsigned int i, last = process_activity_bucket_at(activity, end_ns);

	for (i = process_activity_bucket_at(activity, begin_ns); i <= last; i++) {
		struct activity_slice *slice = &activity->slices[i];
		uint64_t ns = overlap(activity, i, begin_ns, end_ns);

		slice->idle_ns -= ns < slice->idle_ns ? ns : slice->idle_ns;
		slice->pause_ns -= ns < slice->pause_ns ? ns : slice->pause_ns;
	}
}

static bool is_synchronous(const struct event *event)
{
	return event->probe->spec.op == MS_OP_SYNC ||
	       (event->probe->spec.op == MS_OP_COPY && event_is_synchronous(event));
}

/*
 * That nothing was called says nothing of the device. It was idle if all that had been given to it
 * was done when the gap began (the last call had waited for it), or if, when the gap was over, a
 * synchronisation had nothing to wait for.
 */
static void note_gap(struct process_activity *activity, const struct event *event, uint64_t end_ns)
{
	const struct analysis_options *options = activity->options;
	const uint64_t begin_ns = event->header->ts_ns, duration_ns = event->call->duration_ns;
	const uint8_t op = event->probe->spec.op;

	if (begin_ns < activity->last_gap_end_ns && duration_ns >= options->gap_ns)
		take_back_idle(activity, begin_ns, end_ns);
	if (activity->pending_gap_ns) {
		if (op == MS_OP_SYNC && duration_ns < options->short_sync_ns)
			spend_idle(activity, activity->last_gap_end_ns - activity->pending_gap_ns,
				   activity->last_gap_end_ns, false);
		if (op == MS_OP_SYNC || op == MS_OP_LAUNCH || op == MS_OP_COPY)
			activity->pending_gap_ns = 0;
	}
	if (activity->last_end_ns && begin_ns > activity->last_end_ns &&
	    begin_ns - activity->last_end_ns >= options->gap_ns && activity->launches) {
		uint64_t gap_ns = begin_ns - activity->last_end_ns;

		activity->last_gap_end_ns = begin_ns;
		if (gap_ns > options->gap_max_ns)
			spend_idle(activity, activity->last_end_ns, begin_ns, true);
		else if (activity->drained ||
			 (op == MS_OP_SYNC && duration_ns < options->short_sync_ns))
			spend_idle(activity, activity->last_end_ns, begin_ns, false);
		else if (op != MS_OP_SYNC && op != MS_OP_LAUNCH && op != MS_OP_COPY)
			activity->pending_gap_ns = gap_ns;
	}
	if (end_ns < activity->last_end_ns)
		return;
	activity->last_end_ns = end_ns;
	activity->drained = is_synchronous(event) && event_succeeded(event->call);
}

/* So many of them, with so many bytes. */
static void count_in(struct activity_slice *slice, const struct event *event,
		     const struct analysis_options *options, uint64_t count, uint64_t bytes)
{
	switch (event->probe->spec.op) {
	case MS_OP_SYNC:
		slice->syncs += count;
		if (event->call->known & MS_KNOWN_RESULT &&
		    event->call->duration_ns / event->count < options->short_sync_ns)
			slice->short_syncs += count;
		break;
	case MS_OP_COPY:
		slice->copies += count;
		if (!is_synchronous(event))
			slice->async_copies += count;
		slice->copy_bytes += bytes;
		break;
	case MS_OP_ALLOC:
	case MS_OP_FREE:
		slice->allocs++;
		break;
	case MS_OP_LAUNCH:
		slice->launches += count;
		break;
	}
}

/* ---- calls that were only counted ------------------------------------------------------------ */

/* Sums that are taken at one time are told one after the other. */
#define SUMS_TOGETHER_NS 50000000

/* Since when they have been counted: the sums before these, at the latest. */
static uint64_t counted_since(struct process_activity *activity, const struct event *event)
{
	struct activity_sums *sums = &activity->sums[event->probe->spec.op];
	const uint64_t now_ns = event->header->ts_ns, begin_ns = event_begin_ns(event);
	uint64_t since_ns;

	if (!sums->last_ns)
		sums->first_ns = sums->last_ns = sums->before_ns = activity->base_ns;
	if (now_ns > sums->first_ns && now_ns - sums->first_ns >= SUMS_TOGETHER_NS) {
		sums->before_ns = sums->last_ns;
		sums->first_ns = now_ns;
	}
	if (now_ns > sums->last_ns)
		sums->last_ns = now_ns;
	since_ns = sums->before_ns < begin_ns ? sums->before_ns : begin_ns;
	return since_ns > activity->base_ns ? since_ns : activity->base_ns;
}

/* What belongs to the first `passed_ns` of something that was spread evenly over some time. */
static uint64_t portion(uint64_t amount, uint64_t passed_ns, uint64_t length_ns)
{
	return length_ns ? (uint64_t)((unsigned __int128)amount * passed_ns / length_ns) : amount;
}

/* Neither when they were made nor by how many threads is known: evenly, then. */
static void spread(struct process_activity *activity, const struct event *event)
{
	const uint64_t since_ns = counted_since(activity, event), now_ns = event->header->ts_ns,
		       length_ns = now_ns > since_ns ? now_ns - since_ns : 0;
	const uint64_t amounts[] = { event->call->duration_ns, event->count, event->call->size };
	const unsigned int last = process_activity_bucket_at(activity, now_ns);
	uint64_t done[3] = { 0 }, now[3], passed_ns = 0;
	unsigned int i, j;

	for (i = process_activity_bucket_at(activity, since_ns); i <= last; i++) {
		struct activity_slice *slice = &activity->slices[i];

		passed_ns += overlap(activity, i, since_ns, now_ns);
		for (j = 0; j < 3; j++) {
			now[j] = i == last ? amounts[j] : portion(amounts[j], passed_ns, length_ns);
			now[j] -= done[j];
			done[j] += now[j];
		}
		*time_of(slice, event->probe->spec.op) += now[0];
		count_in(slice, event, activity->options, now[1], now[2]);
	}
}

/* ---- each call ------------------------------------------------------------------------------- */

static void note_call(struct process_activity *activity, const struct event *event)
{
	const uint64_t begin_ns = event->header->ts_ns,
		       end_ns = begin_ns + event->call->duration_ns,
		       thread = 1ull << event->header->tid % ACTIVITY_THREADS;

	note_gap(activity, event, end_ns);
	/* The outer call's time is its inner calls' too. */
	if (!(event->call->flags & MS_CALL_NESTED))
		spend(activity, event->probe->spec.op, begin_ns, end_ns, thread);
	count_in(&activity->slices[activity->bucket], event, activity->options, event->count,
		 event->call->size);
}

void host_time_event(struct process_activity *activity, const struct event *event)
{
	if (event->call->flags & MS_CALL_PART)
		return;
	if (event->header->type == MS_TYPE_CALLS) {
		activity->summed = true;
		spread(activity, event);
	} else {
		note_call(activity, event);
	}
	if (event->probe->spec.op == MS_OP_LAUNCH)
		activity->launches += event->count;
}
