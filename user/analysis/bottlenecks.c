// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/bottlenecks.h"

#include "analysis/copy_bound.h"
#include "analysis/gpu_use.h"
#include "ledger/process.h"

#define COMPUTES 50   /* percent of the time: then it is what the host does */
#define MIN_WINDOWS 4 /* with any call: fewer say nothing of a run */

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
		sums->last_ns = sums->before_ns = activity->base_ns;
	if (now_ns > sums->last_ns && now_ns - sums->last_ns >= SUMS_TOGETHER_NS)
		sums->before_ns = sums->last_ns;
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

void bottlenecks_event(struct process_activity *activity, const struct event *event)
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

/* ---- what bounds it -------------------------------------------------------------------------- */

/* The sum of the windows that one rule is about. */
struct bound {
	uint64_t windows, active;
	uint64_t time_ns, length_ns; /* of the calls, and of the windows and their threads */
	uint64_t observed_ns;        /* all of the process's time, of its threads */
	uint64_t first_ns, last_ns;
	struct activity_slice sum;
};

enum share { SHARE_SYNC, SHARE_COPY, SHARE_ALLOC, SHARE_IDLE };

static bool is_active(const struct activity_slice *slice)
{
	return slice->syncs || slice->copies || slice->allocs || slice->launches ||
	       slice->sync_ns || slice->copy_ns || slice->alloc_ns;
}

/*
 * Where calls were only counted, gaps cannot be seen: what is left of the time is idle at most, and
 * the device had nothing to do if synchronisations were short.
 */
static uint64_t idle_of(const struct process_activity *activity, const struct activity_slice *slice,
			uint64_t length)
{
	uint64_t busy = slice->sync_ns + slice->copy_ns + slice->alloc_ns + slice->other_ns;

	if (!activity->summed)
		return slice->launches || slice->idle_ns ? slice->idle_ns : 0;
	if (!slice->launches || !slice->syncs || slice->short_syncs < slice->syncs || busy > length)
		return 0;
	return length - busy;
}

static uint64_t time_in(const struct process_activity *activity, const struct activity_slice *slice,
			enum share share, uint64_t length)
{
	switch (share) {
	case SHARE_SYNC:
		return slice->sync_ns;
	case SHARE_COPY:
		return slice->copy_ns;
	case SHARE_ALLOC:
		return slice->alloc_ns;
	case SHARE_IDLE:
		return idle_of(activity, slice, length);
	}
	return 0;
}

/* In a damaged recording the times may be any. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	return a <= UINT64_MAX / b ? a * b : UINT64_MAX;
}

static void bound_add(struct bound *bound, const struct process_activity *activity, unsigned int i,
		      uint64_t time_ns, uint64_t length_ns)
{
	const struct activity_slice *slice = &activity->slices[i];
	uint64_t begin_ns = process_activity_bucket_begin(activity, i);

	if (!bound->windows++)
		bound->first_ns = begin_ns;
	bound->last_ns = begin_ns + process_activity_bucket_length(activity, i);
	bound->time_ns = add(bound->time_ns, time_ns);
	bound->length_ns = add(bound->length_ns, length_ns);
	bound->sum.syncs += slice->syncs;
	bound->sum.copies += slice->copies;
	bound->sum.async_copies += slice->async_copies;
	bound->sum.copy_bytes += slice->copy_bytes;
	bound->sum.allocs += slice->allocs;
	bound->sum.launches += slice->launches;
	bound->sum.short_syncs += slice->short_syncs;
}

/*
 * Time without work is no part of a window. Where calls were only counted, a gap between the others
 * may have been full of them.
 */
static uint64_t pause_of(const struct process_activity *activity,
			 const struct activity_slice *slice, uint64_t length)
{
	if (activity->summed)
		return 0;
	return slice->pause_ns < length ? slice->pause_ns : length;
}

static struct bound bound_of(const struct process_activity *activity, enum share share,
			     uint64_t percent)
{
	struct bound bound = { 0 };
	unsigned int i;

	for (i = 0; i <= activity->bucket; i++) {
		const struct activity_slice *slice = &activity->slices[i];
		uint64_t length = process_activity_bucket_length(activity, i), time_ns;
		uint64_t threads = __builtin_popcountll(slice->threads);

		/* The threads' times add up; a gap is one for all of them. */
		threads = threads && share != SHARE_IDLE ? threads : 1;
		bound.observed_ns = add(bound.observed_ns, times(length, threads));
		length -= pause_of(activity, slice, length);
		if (!is_active(slice) && !slice->idle_ns)
			continue;
		bound.active++;
		length = times(length, threads);
		time_ns = time_in(activity, slice, share, length);
		if (time_ns > length)
			time_ns = length;
		if (length && (double)time_ns * 100 >= (double)length * (double)percent)
			bound_add(&bound, activity, i, time_ns, length);
	}
	return bound;
}

/* So little, by itself or of all the time, that nothing would be gained. */
static bool is_little(const struct bound *bound, const struct analysis_options *options)
{
	return bound->time_ns < options->bound_least_ns ||
	       (double)bound->time_ns * 100 <
		       (double)bound->observed_ns * (double)options->bound_share;
}

static bool is_bound(const struct bound *bound, const struct analysis_options *options)
{
	return bound->active >= MIN_WINDOWS && bound->windows > 0 &&
	       bound->windows * 100 >= bound->active * options->bound_windows &&
	       !is_little(bound, options);
}

static uint64_t percent_of(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((double)part * 100 / (double)whole) : 0;
}

static struct finding bound_finding(const struct process_activity *activity,
				    const struct bound *bound, enum finding_rule rule,
				    const char *what)
{
	struct finding finding = process_activity_finding(activity, rule);

	finding.first_ts_ns = bound->first_ns;
	finding.last_ts_ns = bound->last_ns;
	finding.duration_ns = bound->time_ns;
	finding_say(&finding, what, FINDING_PERCENT,
		    percent_of(bound->time_ns, bound->observed_ns));
	finding_say(&finding, "as a duration", FINDING_NS, bound->time_ns);
	finding_say(&finding, "share of the time of the windows below", FINDING_PERCENT,
		    percent_of(bound->time_ns, bound->length_ns));
	finding_say(&finding, "windows bound like this", FINDING_COUNT, bound->windows);
	finding_say(&finding, "windows with any call", FINDING_COUNT, bound->active);
	if (activity->process && process_was_budgeted(activity->process))
		finding_lower(&finding, FINDING_LOW,
			      "the agent did not trace all calls, to keep its budget");
	return finding;
}

static int report_sync(const struct process_activity *activity, const struct bound *bound,
		       struct findings *findings)
{
	struct finding finding = bound_finding(activity, bound, FINDING_SYNC_BOUND,
					       "share of the host's time in synchronisation");

	finding_say(&finding, "synchronisations", FINDING_COUNT, bound->sum.syncs);
	finding_say(&finding, "launches", FINDING_COUNT, bound->sum.launches);
	host_evidence_say_split(&finding, &activity->host.syncs);
	if (host_evidence_percent(activity->host.syncs.runnable_ns,
				  activity->host.syncs.total_ns) >=
	    activity->options->contention_share)
		finding_lower(&finding, FINDING_MEDIUM,
			      "threads waited for a CPU, too, not for the device alone");
	/* Waiting once for much work is what a busy device looks like. */
	if (bound->sum.syncs * 10 < bound->sum.launches)
		finding_lower(
			&finding, FINDING_MEDIUM,
			"few synchronisations for many launches: the device may just be busy");
	return findings_add(findings, &finding);
}

static int report_copy(const struct process_activity *activity, const struct bound *bound,
		       struct findings *findings)
{
	struct finding finding = bound_finding(activity, bound, FINDING_COPY_BOUND,
					       "share of the host's time in copies");

	finding.bytes = bound->sum.copy_bytes;
	finding_say(&finding, "copies", FINDING_COUNT, bound->sum.copies);
	finding_say(&finding, "bytes copied", FINDING_BYTES, bound->sum.copy_bytes);
	finding_say(&finding, "asynchronous copies among them", FINDING_COUNT,
		    bound->sum.async_copies);
	if (bound->sum.async_copies)
		finding_lower(
			&finding, FINDING_MEDIUM,
			"only the calls of asynchronous copies are known, not how long the copies take");
	if (bound->sum.launches)
		finding_lower(&finding, FINDING_MEDIUM,
			      "a synchronous copy also waits for kernels launched before it");
	return findings_add(findings, &finding);
}

static int report_alloc(const struct process_activity *activity, const struct bound *bound,
			struct findings *findings)
{
	struct finding finding = bound_finding(activity, bound, FINDING_ALLOC_BOUND,
					       "share of the host's time in allocations and frees");

	finding_say(&finding, "allocations and frees", FINDING_COUNT, bound->sum.allocs);
	host_evidence_say_split(&finding, &activity->host.allocs);
	if (bound->sum.launches)
		finding_lower(&finding, FINDING_MEDIUM,
			      "a free may wait for kernels launched before it");
	return findings_add(findings, &finding);
}

static int report_idle(const struct process_activity *activity, const struct bound *bound,
		       enum finding_rule rule, struct findings *findings)
{
	struct finding finding = bound_finding(
		activity, bound, rule,
		activity->summed ? "share of the time with no call and an idle device, at most" :
				   "share of the time with no call and an idle device, at least");
	uint64_t computed;
	const bool known = host_evidence_computed(&activity->host, &computed);

	finding_say(&finding, "launches", FINDING_COUNT, bound->sum.launches);
	finding_say(&finding, "synchronisations", FINDING_COUNT, bound->sum.syncs);
	finding_say(&finding, "synchronisations with nothing to wait for", FINDING_COUNT,
		    bound->sum.short_syncs);
	if (activity->summed)
		finding_lower(&finding, FINDING_LOW,
			      "calls were only counted: when they were is not known");
	if (known)
		finding_say(&finding, "CPU time outside of calls, share of the time",
			    FINDING_PERCENT, computed);
	if (rule == FINDING_INPUT_BOUND)
		finding_lower(
			&finding, FINDING_MEDIUM,
			"what the host waited for is not recorded: markers around it would say");
	else if (!known)
		finding_lower(&finding, FINDING_MEDIUM,
			      "whether the host computed or waited for work is not recorded");
	else if (computed < COMPUTES)
		finding_lower(&finding, FINDING_MEDIUM,
			      "the host computed for only a part of the time");
	return findings_add(findings, &finding);
}

/* ---- the rules ------------------------------------------------------------------------------- */

/*
 * By CUPTI's times, the GPU was at work meanwhile: only if that work is copies, they bound it. A
 * device that is busy enough is not idle, whatever gaps there are between calls.
 */
static bool is_hidden(const struct process_activity *activity,
		      const struct analysis_options *options, enum share share, uint64_t percent)
{
	if (share == SHARE_IDLE && options->gpu_busy_share < 100)
		percent = 100 - options->gpu_busy_share;
	return gpu_use_hides_host(activity, options, percent) &&
	       (share != SHARE_COPY || gpu_use_copies_share(activity) < percent);
}

/* Whether a process is bound by it: then `*bound` says how. */
static bool find_bound(const struct process_activity *activity,
		       const struct analysis_options *options, enum share share, uint64_t percent,
		       struct bound *bound)
{
	if (activity->now_ns - activity->base_ns < options->bound_time_ns)
		return false;
	*bound = bound_of(activity, share, percent);
	return is_bound(bound, options) && !is_hidden(activity, options, share, percent);
}

int bottlenecks_report_sync(struct process_activity *activity,
			    const struct analysis_options *options, struct findings *findings)
{
	struct bound bound;

	return find_bound(activity, options, SHARE_SYNC, options->sync_share, &bound) ?
		       report_sync(activity, &bound, findings) :
		       0;
}

int bottlenecks_report_copy(struct process_activity *activity,
			    const struct analysis_options *options, struct findings *findings)
{
	struct bound bound;
	bool measured;
	int err = copy_bound_report(activity, options, findings, &measured);

	if (err || measured ||
	    !find_bound(activity, options, SHARE_COPY, options->copy_share, &bound))
		return err;
	return report_copy(activity, &bound, findings);
}

bool bottlenecks_is_alloc_bound(const struct process_activity *activity,
				const struct analysis_options *options)
{
	struct bound bound;

	return find_bound(activity, options, SHARE_ALLOC, options->alloc_share, &bound);
}

int bottlenecks_report_alloc(struct process_activity *activity,
			     const struct analysis_options *options, struct findings *findings)
{
	struct bound bound;

	return find_bound(activity, options, SHARE_ALLOC, options->alloc_share, &bound) ?
		       report_alloc(activity, &bound, findings) :
		       0;
}

/* The host neither computed nor waited for a CPU. */
static bool waits_for_input(const struct process_activity *activity,
			    const struct analysis_options *options)
{
	const struct host_used *used = &activity->host.used;
	uint64_t computed;

	return host_evidence_computed(&activity->host, &computed) &&
	       computed < options->input_share && used->has_queue &&
	       host_evidence_percent(used->queue_ns, used->ns) < options->queue_share;
}

/* Where CUPTI has measured it, gpu-idle says so, with what the host did. */
static bool finds_idle(const struct process_activity *activity,
		       const struct analysis_options *options, struct bound *bound)
{
	return find_bound(activity, options, SHARE_IDLE, options->idle_share, bound) &&
	       !gpu_use_any_is_idle(activity, options);
}

int bottlenecks_report_host(struct process_activity *activity,
			    const struct analysis_options *options, struct findings *findings)
{
	struct bound bound;

	if (waits_for_input(activity, options) || !finds_idle(activity, options, &bound))
		return 0;
	return report_idle(activity, &bound, FINDING_HOST_BOUND, findings);
}

int bottlenecks_report_input(struct process_activity *activity,
			     const struct analysis_options *options, struct findings *findings)
{
	struct bound bound;

	if (!waits_for_input(activity, options) || !finds_idle(activity, options, &bound))
		return 0;
	return report_idle(activity, &bound, FINDING_INPUT_BOUND, findings);
}
