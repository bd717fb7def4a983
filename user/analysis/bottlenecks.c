// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/bottlenecks.h"

#define MIN_WINDOWS 4 /* with any call: fewer say nothing of a run */

/* ---- noting down ----------------------------------------------------------------------------- */

static uint64_t *time_of(struct activity *activity, uint8_t op)
{
	switch (op) {
	case MS_OP_SYNC:
		return &activity->sync_ns;
	case MS_OP_COPY:
		return &activity->copy_ns;
	case MS_OP_ALLOC:
	case MS_OP_FREE:
		return &activity->alloc_ns;
	}
	return &activity->other_ns;
}

/* What part of a stretch of time lies in a bucket. */
static uint64_t overlap(const struct track *track, unsigned int bucket, uint64_t begin_ns,
			uint64_t end_ns)
{
	uint64_t from = track_bucket_begin(track, bucket), to = from + (1ull << track->shift);

	if (from < begin_ns)
		from = begin_ns;
	if (to > end_ns)
		to = end_ns;
	return from < to ? to - from : 0;
}

static void spend(struct track *track, uint8_t op, uint64_t begin_ns, uint64_t end_ns,
		  uint64_t thread)
{
	unsigned int i, first = track_bucket_at(track, begin_ns);
	unsigned int last = track_bucket_at(track, end_ns);

	if (begin_ns < track->base_ns)
		begin_ns = track->base_ns;
	for (i = first; i <= last; i++) {
		track->activity[i].threads |= thread;
		*time_of(&track->activity[i], op) += overlap(track, i, begin_ns, end_ns);
	}
}

static void spend_idle(struct track *track, uint64_t begin_ns, uint64_t end_ns, bool pause)
{
	unsigned int i, last = track_bucket_at(track, end_ns);

	for (i = track_bucket_at(track, begin_ns); i <= last; i++) {
		uint64_t *ns = pause ? &track->activity[i].pause_ns : &track->activity[i].idle_ns;

		*ns += overlap(track, i, begin_ns, end_ns);
	}
}

/* A call of another thread lasted all through what looked like a gap. */
static void take_back_idle(struct track *track, uint64_t begin_ns, uint64_t end_ns)
{
	unsigned int i, last = track_bucket_at(track, end_ns);

	for (i = track_bucket_at(track, begin_ns); i <= last; i++) {
		struct activity *activity = &track->activity[i];
		uint64_t ns = overlap(track, i, begin_ns, end_ns);

		activity->idle_ns -= ns < activity->idle_ns ? ns : activity->idle_ns;
		activity->pause_ns -= ns < activity->pause_ns ? ns : activity->pause_ns;
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
static void note_gap(struct track *track, const struct event *event, uint64_t end_ns)
{
	const struct analysis_options *options = track->options;
	const uint64_t begin_ns = event->header->ts_ns, duration_ns = event->call->duration_ns;
	const uint8_t op = event->probe->spec.op;

	if (begin_ns < track->last_gap_end_ns && duration_ns >= options->gap_ns)
		take_back_idle(track, begin_ns, end_ns);
	if (track->pending_gap_ns) {
		if (op == MS_OP_SYNC && duration_ns < options->short_sync_ns)
			spend_idle(track, track->last_gap_end_ns - track->pending_gap_ns,
				   track->last_gap_end_ns, false);
		if (op == MS_OP_SYNC || op == MS_OP_LAUNCH || op == MS_OP_COPY)
			track->pending_gap_ns = 0;
	}
	if (track->last_end_ns && begin_ns > track->last_end_ns &&
	    begin_ns - track->last_end_ns >= options->gap_ns && track->launches) {
		uint64_t gap_ns = begin_ns - track->last_end_ns;

		track->last_gap_end_ns = begin_ns;
		if (gap_ns > options->gap_max_ns)
			spend_idle(track, track->last_end_ns, begin_ns, true);
		else if (track->drained ||
			 (op == MS_OP_SYNC && duration_ns < options->short_sync_ns))
			spend_idle(track, track->last_end_ns, begin_ns, false);
		else if (op != MS_OP_SYNC && op != MS_OP_LAUNCH && op != MS_OP_COPY)
			track->pending_gap_ns = gap_ns;
	}
	if (end_ns < track->last_end_ns)
		return;
	track->last_end_ns = end_ns;
	track->drained = is_synchronous(event) && event_succeeded(event->call);
}

static void count(struct track *track, const struct event *event)
{
	struct activity *activity = &track->activity[track->bucket];
	const struct ms_call *call = event->call;

	switch (event->probe->spec.op) {
	case MS_OP_SYNC:
		activity->syncs += event->count;
		if (call->duration_ns / event->count < track->options->short_sync_ns)
			activity->short_syncs += event->count;
		break;
	case MS_OP_COPY:
		activity->copies += event->count;
		if (!is_synchronous(event))
			activity->async_copies += event->count;
		activity->copy_bytes += call->size;
		break;
	case MS_OP_ALLOC:
	case MS_OP_FREE:
		activity->allocs++;
		break;
	case MS_OP_LAUNCH:
		activity->launches += event->count;
		track->launches += event->count;
		break;
	}
}

void bottlenecks_event(struct track *track, const struct event *event)
{
	const struct ms_call *call = event->call;
	const uint64_t begin_ns = event->header->ts_ns, end_ns = begin_ns + call->duration_ns;

	if (call->flags & MS_CALL_PART)
		return;
	if (event->header->type == MS_TYPE_CALLS) {
		/* Neither when nor by how many threads is known: just before they were counted. */
		track->summed = true;
		if (call->duration_ns)
			spend(track, event->probe->spec.op,
			      begin_ns > call->duration_ns ? begin_ns - call->duration_ns : 0,
			      begin_ns, 0);
	} else {
		uint64_t thread = 1ull << event->header->tid % TRACK_THREADS;

		note_gap(track, event, end_ns);
		/* The outer call's time is its inner calls' too. */
		if (!(call->flags & MS_CALL_NESTED))
			spend(track, event->probe->spec.op, begin_ns, end_ns, thread);
	}
	count(track, event);
}

/* ---- what bounds it -------------------------------------------------------------------------- */

/* The sum of the windows that one rule is about. */
struct bound {
	uint64_t windows, active;
	uint64_t time_ns, length_ns; /* of the calls, and of the windows and their threads */
	uint64_t first_ns, last_ns;
	struct activity sum;
};

enum share { SHARE_SYNC, SHARE_COPY, SHARE_ALLOC, SHARE_IDLE };

static bool is_active(const struct activity *activity)
{
	return activity->syncs || activity->copies || activity->allocs || activity->launches ||
	       activity->sync_ns || activity->copy_ns || activity->alloc_ns;
}

/*
 * Where calls were only counted, gaps cannot be seen: what is left of the time is idle at most, and
 * the device had nothing to do if synchronisations were short.
 */
static uint64_t idle_of(const struct track *track, const struct activity *activity, uint64_t length)
{
	uint64_t busy =
		activity->sync_ns + activity->copy_ns + activity->alloc_ns + activity->other_ns;

	if (!track->summed)
		return activity->launches || activity->idle_ns ? activity->idle_ns : 0;
	if (!activity->launches || !activity->syncs || activity->short_syncs < activity->syncs ||
	    busy > length)
		return 0;
	return length - busy;
}

static uint64_t time_in(const struct track *track, const struct activity *activity,
			enum share share, uint64_t length)
{
	switch (share) {
	case SHARE_SYNC:
		return activity->sync_ns;
	case SHARE_COPY:
		return activity->copy_ns;
	case SHARE_ALLOC:
		return activity->alloc_ns;
	case SHARE_IDLE:
		return idle_of(track, activity, length);
	}
	return 0;
}

/* Of a damaged recording the times may be any. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static void bound_add(struct bound *bound, const struct track *track, unsigned int i,
		      uint64_t time_ns, uint64_t length_ns)
{
	const struct activity *activity = &track->activity[i];
	uint64_t begin_ns = track_bucket_begin(track, i);

	if (!bound->windows++)
		bound->first_ns = begin_ns;
	bound->last_ns = begin_ns + track_bucket_length(track, i);
	bound->time_ns = add(bound->time_ns, time_ns);
	bound->length_ns = add(bound->length_ns, length_ns);
	bound->sum.syncs += activity->syncs;
	bound->sum.copies += activity->copies;
	bound->sum.async_copies += activity->async_copies;
	bound->sum.copy_bytes += activity->copy_bytes;
	bound->sum.allocs += activity->allocs;
	bound->sum.launches += activity->launches;
	bound->sum.short_syncs += activity->short_syncs;
}

static struct bound bound_of(const struct track *track, enum share share, uint64_t percent)
{
	struct bound bound = { 0 };
	unsigned int i;

	for (i = 0; i <= track->bucket; i++) {
		const struct activity *activity = &track->activity[i];
		uint64_t length = track_bucket_length(track, i), time_ns;
		uint64_t threads = __builtin_popcountll(activity->threads);

		/* Time without work is no part of it. */
		length -= activity->pause_ns < length ? activity->pause_ns : length;
		if (!is_active(activity) && !activity->idle_ns)
			continue;
		bound.active++;
		/* The threads' times add up; a gap is one for all of them. */
		length *= threads && share != SHARE_IDLE ? threads : 1;
		time_ns = time_in(track, activity, share, length);
		if (time_ns > length)
			time_ns = length;
		if (length && (double)time_ns * 100 >= (double)length * (double)percent)
			bound_add(&bound, track, i, time_ns, length);
	}
	return bound;
}

static bool is_bound(const struct bound *bound, const struct analysis_options *options)
{
	return bound->active >= MIN_WINDOWS && bound->windows > 0 &&
	       bound->windows * 100 >= bound->active * options->bound_windows;
}

static struct finding bound_finding(const struct track *track, const struct bound *bound,
				    enum finding_rule rule, const char *what)
{
	struct finding finding = track_finding(track, rule);

	finding.first_ts_ns = bound->first_ns;
	finding.last_ts_ns = bound->last_ns;
	finding.duration_ns = bound->time_ns;
	finding_say(&finding, what, FINDING_PERCENT,
		    (uint64_t)((double)bound->time_ns * 100 / (double)bound->length_ns));
	finding_say(&finding, "that is", FINDING_NS, bound->time_ns);
	finding_say(&finding, "windows of which this is true", FINDING_COUNT, bound->windows);
	finding_say(&finding, "windows with any call", FINDING_COUNT, bound->active);
	return finding;
}

static int report_sync(const struct track *track, const struct bound *bound,
		       struct findings *findings)
{
	struct finding finding = bound_finding(track, bound, FINDING_SYNC_BOUND,
					       "of the host's time, in synchronisation");

	finding_say(&finding, "synchronisations", FINDING_COUNT, bound->sum.syncs);
	finding_say(&finding, "launches", FINDING_COUNT, bound->sum.launches);
	/* Waiting once for much work is what a busy device looks like. */
	if (bound->sum.syncs * 10 < bound->sum.launches)
		finding_lower(
			&finding, FINDING_MEDIUM,
			"few synchronisations for many launches: the device may just be busy");
	return findings_add(findings, &finding);
}

static int report_copy(const struct track *track, const struct bound *bound,
		       struct findings *findings)
{
	struct finding finding =
		bound_finding(track, bound, FINDING_COPY_BOUND, "of the host's time, in copies");

	finding.bytes = bound->sum.copy_bytes;
	finding_say(&finding, "copies", FINDING_COUNT, bound->sum.copies);
	finding_say(&finding, "bytes copied", FINDING_BYTES, bound->sum.copy_bytes);
	finding_say(&finding, "of them asynchronous", FINDING_COUNT, bound->sum.async_copies);
	if (bound->sum.async_copies)
		finding_lower(&finding, FINDING_MEDIUM,
			      "how long asynchronous copies take is not known, only their calls");
	if (bound->sum.launches)
		finding_lower(&finding, FINDING_MEDIUM,
			      "a synchronous copy also waits for kernels launched before it");
	return findings_add(findings, &finding);
}

static int report_alloc(const struct track *track, const struct bound *bound,
			struct findings *findings)
{
	struct finding finding = bound_finding(track, bound, FINDING_ALLOC_BOUND,
					       "of the host's time, in allocations and frees");

	finding_say(&finding, "allocations and frees", FINDING_COUNT, bound->sum.allocs);
	if (bound->sum.launches)
		finding_lower(&finding, FINDING_MEDIUM,
			      "a free may wait for kernels launched before it");
	return findings_add(findings, &finding);
}

static int report_idle(const struct track *track, const struct bound *bound,
		       struct findings *findings)
{
	struct finding finding = bound_finding(track, bound, FINDING_HOST_BOUND,
					       "of the time, nothing called and the device idle");

	finding_say(&finding, "launches", FINDING_COUNT, bound->sum.launches);
	finding_say(&finding, "synchronisations", FINDING_COUNT, bound->sum.syncs);
	finding_say(&finding, "of them with nothing to wait for", FINDING_COUNT,
		    bound->sum.short_syncs);
	if (track->summed)
		finding_lower(&finding, FINDING_LOW,
			      "calls were only counted: when they were is not known");
	finding_lower(&finding, FINDING_MEDIUM,
		      "whether the host computed or waited for work is not recorded");
	return findings_add(findings, &finding);
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* Whether a process is bound by it: then `*bound` says how. */
static bool find_bound(const struct track *track, const struct analysis_options *options,
		       enum share share, uint64_t percent, struct bound *bound)
{
	if (track->now_ns - track->base_ns < options->bound_time_ns)
		return false;
	*bound = bound_of(track, share, percent);
	return is_bound(bound, options);
}

int bottlenecks_report_sync(struct track *track, const struct analysis_options *options,
			    struct findings *findings)
{
	struct bound bound;

	return find_bound(track, options, SHARE_SYNC, options->sync_share, &bound) ?
		       report_sync(track, &bound, findings) :
		       0;
}

int bottlenecks_report_copy(struct track *track, const struct analysis_options *options,
			    struct findings *findings)
{
	struct bound bound;

	return find_bound(track, options, SHARE_COPY, options->copy_share, &bound) ?
		       report_copy(track, &bound, findings) :
		       0;
}

bool bottlenecks_is_alloc_bound(const struct track *track, const struct analysis_options *options)
{
	struct bound bound;

	return find_bound(track, options, SHARE_ALLOC, options->alloc_share, &bound);
}

int bottlenecks_report_alloc(struct track *track, const struct analysis_options *options,
			     struct findings *findings)
{
	struct bound bound;

	return find_bound(track, options, SHARE_ALLOC, options->alloc_share, &bound) ?
		       report_alloc(track, &bound, findings) :
		       0;
}

int bottlenecks_report_host(struct track *track, const struct analysis_options *options,
			    struct findings *findings)
{
	struct bound bound;

	return find_bound(track, options, SHARE_IDLE, options->idle_share, &bound) ?
		       report_idle(track, &bound, findings) :
		       0;
}
