// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/gpu_idle.h"

#include <errno.h>

#define MOST 50 /* percent: then it is what the host does */

/* What is known of one GPU: nanoseconds between its first work and its last. */
struct idle {
	const struct gpu_device *device;
	uint64_t span_ns, busy_ns;
	struct gpu_gap_sum gaps;   /* in which it is idle */
	uint64_t pauses_ns;        /* without work: not among the gaps */
	uint64_t observed_ns;      /* in which CUPTI's times were recorded */
	struct gpu_gaps all;       /* to be freed */
	uint64_t computed, queued; /* of the process, percent of the time */
	bool has_computed, has_queued;
	bool is_alone;  /* the process uses no other device */
	bool is_summed; /* some calls were only counted */
};

/* ---- what is known --------------------------------------------------------------------------- */

static uint64_t observed_ns(const struct process_activity *activity, const struct gpu_times *times,
			    uint64_t span_ns)
{
	const uint64_t end_ns =
		times->status.state == MS_GPU_ON ? activity->now_ns : times->last_status_ns;
	const uint64_t begin_ns = times->first_status_ns > activity->base_ns ?
					  times->first_status_ns :
					  activity->base_ns;
	const uint64_t ns = end_ns > begin_ns ? end_ns - begin_ns : 0;

	return ns > span_ns ? ns : span_ns;
}

static void take_host(struct idle *idle, const struct host_evidence *host)
{
	idle->has_computed = host_evidence_computed(host, &idle->computed);
	idle->has_queued = host->has_used && host->used.has_queue;
	idle->queued =
		idle->has_queued ? host_evidence_percent(host->used.queue_ns, host->used.ns) : 0;
}

/* Returns 0 or -ENOMEM. */
static int take(struct idle *idle, const struct process_activity *activity,
		const struct analysis_options *options, size_t i)
{
	const struct gpu_times *times = activity->process->gpu;
	struct gpu_gap_sum pauses;
	int err;

	*idle = (struct idle){ .device = &times->devices[i] };
	err = gpu_busy_gaps(&idle->device->busy, &times->calls, &idle->all);
	if (err)
		return err;
	idle->span_ns = idle->device->last_ns - idle->device->first_ns;
	idle->busy_ns = gpu_busy_ns(&idle->device->busy);
	idle->observed_ns = observed_ns(activity, times, idle->span_ns);
	idle->is_alone = times->devices_count == 1;
	idle->is_summed = times->calls.summed;
	take_host(idle, &activity->host);
	/* A host that computes has work for itself, so the gap is no lack of work. */
	gpu_gaps_sums(&idle->all,
		      idle->has_computed && idle->computed >= MOST ? UINT64_MAX :
								     options->gap_max_ns,
		      &idle->gaps, &pauses);
	idle->pauses_ns = pauses.ns;
	return 0;
}

static bool is_idle(const struct idle *idle, const struct analysis_options *options)
{
	const uint64_t with_work_ns = idle->busy_ns + idle->gaps.ns;

	return idle->observed_ns >= options->bound_time_ns &&
	       idle->gaps.ns >= options->bound_least_ns &&
	       host_evidence_percent(idle->gaps.ns, idle->observed_ns) >= options->bound_share &&
	       host_evidence_percent(idle->gaps.ns, with_work_ns) >= options->gpu_idle_share;
}

static size_t devices_of(const struct process_activity *activity)
{
	return activity->process && activity->process->gpu ? activity->process->gpu->devices_count :
							     0;
}

bool gpu_idle_is_measured(const struct process_activity *activity,
			  const struct analysis_options *options)
{
	bool found = false;
	struct idle idle;
	size_t i;

	for (i = 0; !found && i < devices_of(activity); i++) {
		if (take(&idle, activity, options, i))
			return false;
		found = is_idle(&idle, options);
		gpu_gaps_fini(&idle.all);
	}
	return found;
}

/* ---- why ------------------------------------------------------------------------------------- */

static uint64_t share_in(const struct idle *idle, enum gpu_gap_in in)
{
	return host_evidence_percent(idle->gaps.in_ns[in], idle->gaps.ns);
}

static const char input_bound[] = "input-bound (the host waited in the gaps, and not for a CPU)";

/* Of the time in no call, only the kernel's numbers for the whole process say more. */
static const char *cause_outside(const struct idle *idle, const struct analysis_options *options)
{
	const uint64_t idle_share = host_evidence_percent(idle->gaps.ns, idle->observed_ns);

	/* Even if it computed whenever the GPU was busy, it did so in most of the gaps. */
	if (idle->has_computed && idle->computed >= MOST &&
	    idle->computed + idle_share >= 100 + idle_share * MOST / 100)
		return "host-bound (the host computed in the gaps)";
	if (idle->has_queued && idle->queued >= options->queue_share)
		return "starved (threads of the host waited for a CPU)";
	if (idle->has_computed && idle->has_queued && idle->computed < options->input_share &&
	    idle->computed < idle_share * MOST / 100)
		return input_bound;
	return NULL;
}

/* NULL: it is not known. */
static const char *cause_of(const struct idle *idle, const struct analysis_options *options)
{
	static const char *const in_calls[GPU_GAP_INS] = {
		[GPU_GAP_LAUNCH] = "launch-bound (most of the gaps are in calls that launch)",
		[GPU_GAP_COPY] = "copy-bound (most of the gaps are in calls that copy)",
		[GPU_GAP_SYNC] =
			"late (most of the gaps are in waits that end after the GPU's work)",
		[GPU_GAP_ALLOC] =
			"alloc-bound (most of the gaps are in calls that allocate and free)",
	};
	enum gpu_gap_in in;

	for (in = 0; in < GPU_GAP_INS; in++)
		if (in_calls[in] && share_in(idle, in) >= MOST)
			return in == GPU_GAP_SYNC && !idle->is_alone ? NULL : in_calls[in];
	if (idle->is_summed || share_in(idle, GPU_GAP_NO_CALL) < MOST)
		return NULL;
	return cause_outside(idle, options);
}

/* ---- the rule -------------------------------------------------------------------------------- */

static void say_gaps(struct finding *finding, const struct idle *idle)
{
	static const char *const shares[GPU_GAP_INS] = {
		[GPU_GAP_LAUNCH] = "share of the gaps in calls that launch",
		[GPU_GAP_COPY] = "share in calls that copy or set memory",
		[GPU_GAP_SYNC] = "share in synchronisation",
		[GPU_GAP_ALLOC] = "share in allocations and frees",
		[GPU_GAP_OTHER_CALL] = "share in other calls",
		[GPU_GAP_NO_CALL] = "share in no call",
		[GPU_GAP_UNKNOWN] = "share for which this is not known",
	};
	enum gpu_gap_in in;

	for (in = 0; in < GPU_GAP_INS; in++)
		if (share_in(idle, in))
			finding_say(finding, shares[in], FINDING_PERCENT, share_in(idle, in));
}

static void say(struct finding *finding, const struct idle *idle)
{
	finding_say(finding, "share of the observed time that the GPU was idle between its work",
		    FINDING_PERCENT, host_evidence_percent(idle->gaps.ns, idle->observed_ns));
	finding_say(finding, "as a duration", FINDING_NS, idle->gaps.ns);
	finding_say(finding, "busy with kernels, copies and memsets", FINDING_NS, idle->busy_ns);
	finding_say(finding, "from its first work to its last", FINDING_NS, idle->span_ns);
	finding_say(finding, "gaps", FINDING_COUNT, idle->gaps.count);
	finding_say(finding, "the longest time between its work", FINDING_NS, idle->all.longest_ns);
	finding_say(finding, "that began at", FINDING_TIME, idle->all.longest_begin_ns);
	if (idle->pauses_ns)
		finding_say(finding, "without work for longer than gap-max, not counted as idle",
			    FINDING_NS, idle->pauses_ns);
	say_gaps(finding, idle);
	if (idle->has_computed)
		finding_say(finding, "CPU time outside of calls, share of the time",
			    FINDING_PERCENT, idle->computed);
	if (idle->has_queued)
		finding_say(finding, "waits of all threads for a CPU, share of the time",
			    FINDING_PERCENT, idle->queued);
}

static void lower(struct finding *finding, const struct idle *idle, const struct gpu_times *times)
{
	if (times->status.dropped || times->status.untimed || times->status.no_buffer ||
	    idle->device->busy.late)
		finding_lower(finding, FINDING_MEDIUM,
			      "some of CUPTI's times are missing: the GPU was busy for longer");
	if (finding->pattern == input_bound)
		finding_lower(finding, FINDING_MEDIUM,
			      "what the host waited for is not recorded, it may have had no work:"
			      " markers around it would tell");
	else if (!finding->pattern && idle->is_summed)
		finding_lower(finding, FINDING_MEDIUM,
			      "calls were only counted: when they were is not known");
	else if (!finding->pattern && !idle->is_alone && share_in(idle, GPU_GAP_SYNC) >= MOST)
		finding_lower(finding, FINDING_MEDIUM,
			      "threads waited in the gaps, maybe for another device");
	else if (!finding->pattern && idle->has_computed)
		finding_lower(finding, FINDING_MEDIUM,
			      "why is not clear: markers around the parts of the program would"
			      " tell");
	else if (!finding->pattern)
		finding_lower(finding, FINDING_MEDIUM,
			      "whether the host computed or waited is not recorded: --host would"
			      " tell");
}

static int report(const struct process_activity *activity, const struct analysis_options *options,
		  const struct idle *idle, struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_GPU_IDLE);

	finding.device = idle->device->device;
	finding.first_ts_ns = idle->device->first_ns;
	finding.last_ts_ns = idle->device->last_ns;
	finding.duration_ns = idle->gaps.ns;
	finding.pattern = cause_of(idle, options);
	say(&finding, idle);
	lower(&finding, idle, activity->process->gpu);
	return findings_add(findings, &finding);
}

int gpu_idle_report(struct process_activity *activity, const struct analysis_options *options,
		    struct findings *findings)
{
	struct idle idle;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < devices_of(activity); i++) {
		err = take(&idle, activity, options, i);
		if (err)
			break;
		if (is_idle(&idle, options))
			err = report(activity, options, &idle, findings);
		gpu_gaps_fini(&idle.all);
	}
	return err;
}
