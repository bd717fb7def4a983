// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/bottlenecks.h"

#include "analysis/copy_bound.h"
#include "analysis/gpu_use.h"
#include "ledger/process.h"

#define COMPUTES 50   /* percent of the time: then it is what the host does */
#define MIN_WINDOWS 4 /* with any call: fewer say nothing of a run */

/* ---- what bounds it -------------------------------------------------------------------------- */

/* The sum of the windows that one rule is about. */
struct bound {
	uint64_t windows, active;
	uint64_t time_ns, length_ns; /* of the calls, and of the windows and their threads */
	uint64_t observed_ns;        /* all of the process's time, of its threads */
	uint64_t first_ns, last_ns;
	struct activity_slice sum;
};

enum share { SHARE_SYNC, SHARE_COPY, SHARE_ALLOC, SHARE_LAUNCH, SHARE_IDLE };

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
	uint64_t busy = slice->sync_ns + slice->copy_ns + slice->alloc_ns + slice->launch_ns +
			slice->other_ns;

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
	case SHARE_LAUNCH:
		return slice->launch_ns;
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
	finding_say(&finding, "copies in these windows", FINDING_COUNT, bound->sum.copies);
	finding_say(&finding, "bytes copied in these windows", FINDING_BYTES,
		    bound->sum.copy_bytes);
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

/*
 * Launches that are short: a device that does not keep up makes them wait, or what waits for it,
 * so then it is the device that has too much to do.
 */
static bool keeps_up(const struct bound *bound, const struct analysis_options *options)
{
	return bound->sum.launches &&
	       bound->time_ns / bound->sum.launches < options->long_launch_ns &&
	       bound->sum.short_syncs * 2 >= bound->sum.syncs;
}

static int report_launch(const struct process_activity *activity, const struct bound *bound,
			 struct findings *findings)
{
	struct finding finding = bound_finding(activity, bound, FINDING_LAUNCH_BOUND,
					       "share of the host's time in calls that launch");

	finding_say(&finding, "launches", FINDING_COUNT, bound->sum.launches);
	finding_say(&finding, "the mean launch", FINDING_NS, bound->time_ns / bound->sum.launches);
	finding_say(&finding, "synchronisations", FINDING_COUNT, bound->sum.syncs);
	finding_say(&finding, "synchronisations with nothing to wait for", FINDING_COUNT,
		    bound->sum.short_syncs);
	if (!bound->sum.syncs)
		finding_lower(&finding, FINDING_MEDIUM,
			      "nothing waited for the device, so whether it kept up is not known:"
			      " record --gpu-time would tell");
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

int bottlenecks_report_launch(struct process_activity *activity,
			      const struct analysis_options *options, struct findings *findings)
{
	struct bound bound;

	if (!find_bound(activity, options, SHARE_LAUNCH, options->launch_share, &bound) ||
	    !keeps_up(&bound, options) || gpu_use_any_is_idle(activity, options))
		return 0;
	return report_launch(activity, &bound, findings);
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
