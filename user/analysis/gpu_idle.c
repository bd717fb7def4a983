// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether GPUs had enough to do, by CUPTI's times of their work, and what the host did when they
 * had not. A part of the analysis.
 */
#include "analysis/findings.h"
#include "analysis/gpu_use.h"

/* What is known of a GPU and its process. */
struct idle {
	struct gpu_use use;
	uint64_t queued; /* percent of the time */
	bool has_queued;
	bool is_alone;  /* the process uses no other device */
	bool is_summed; /* some calls were only counted */
};

/* Returns 0 or -ENOMEM. */
static int take(struct idle *idle, const struct process_activity *activity,
		const struct analysis_options *options, size_t i)
{
	const struct host_evidence *host = &activity->host;
	const struct gpu_times *times = activity->process->gpu;

	*idle = (struct idle){ .is_alone = times->devices_count == 1,
			       .is_summed = times->calls.summed };
	idle->has_queued = host->has_used && host->used.has_queue;
	if (idle->has_queued)
		idle->queued = host_evidence_percent(host->used.queue_ns, host->used.ns);
	return gpu_use_take(&idle->use, activity, options, i);
}

/* ---- why ------------------------------------------------------------------------------------- */

static uint64_t share_in(const struct idle *idle, enum gpu_gap_in in)
{
	return host_evidence_percent(idle->use.gaps.in_ns[in], idle->use.gaps.ns);
}

static const char input_bound[] = "input-bound (the host waited in the gaps, and not for a CPU)";

/* Of the time in no call, only the kernel's numbers for the whole process say more. */
static const char *cause_outside(const struct idle *idle, const struct analysis_options *options)
{
	const uint64_t idle_share = host_evidence_percent(idle->use.gaps.ns, idle->use.observed_ns);

	/* Even if it computed whenever the GPU was busy, it did so in most of the gaps. */
	if (idle->use.has_computed && idle->use.computed >= GPU_USE_MOST &&
	    idle->use.computed + idle_share >= 100 + idle_share * GPU_USE_MOST / 100)
		return "host-bound (the host computed in the gaps)";
	if (idle->has_queued && idle->queued >= options->queue_share)
		return "starved (threads of the host waited for a CPU)";
	if (idle->use.has_computed && idle->has_queued &&
	    idle->use.computed < options->input_share &&
	    idle->use.computed < idle_share * GPU_USE_MOST / 100)
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
		if (in_calls[in] && share_in(idle, in) >= GPU_USE_MOST)
			return in == GPU_GAP_SYNC && !idle->is_alone ? NULL : in_calls[in];
	if (idle->is_summed || share_in(idle, GPU_GAP_NO_CALL) < GPU_USE_MOST)
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
		    FINDING_PERCENT,
		    host_evidence_percent(idle->use.gaps.ns, idle->use.observed_ns));
	finding_say(finding, "as a duration", FINDING_NS, idle->use.gaps.ns);
	finding_say(finding, "busy with kernels, copies and memsets", FINDING_NS,
		    idle->use.busy_ns);
	finding_say(finding, "from its first work to its last", FINDING_NS, idle->use.span_ns);
	finding_say(finding, "gaps", FINDING_COUNT, idle->use.gaps.count);
	finding_say(finding, "the longest time between its work", FINDING_NS,
		    idle->use.all.longest_ns);
	finding_say(finding, "that began at", FINDING_TIME, idle->use.all.longest_begin_ns);
	if (idle->use.pauses_ns)
		finding_say(finding, "without work for longer than gap-max, not counted as idle",
			    FINDING_NS, idle->use.pauses_ns);
	say_gaps(finding, idle);
	if (idle->use.has_computed)
		finding_say(finding, "CPU time outside of calls, share of the time",
			    FINDING_PERCENT, idle->use.computed);
	if (idle->has_queued)
		finding_say(finding, "waits of all threads for a CPU, share of the time",
			    FINDING_PERCENT, idle->queued);
}

static void lower(struct finding *finding, const struct idle *idle,
		  const struct process_activity *activity)
{
	if (gpu_use_misses_some(activity, &idle->use))
		finding_lower(finding, FINDING_MEDIUM,
			      "some of CUPTI's times are missing: the GPU was busy for longer");
	if (finding->pattern == input_bound)
		finding_lower(finding, FINDING_MEDIUM,
			      "what the host waited for is not recorded, it may have had no work:"
			      " markers around it would tell");
	else if (!finding->pattern && idle->is_summed)
		finding_lower(finding, FINDING_MEDIUM,
			      "calls were only counted: when they were is not known");
	else if (!finding->pattern && !idle->is_alone &&
		 share_in(idle, GPU_GAP_SYNC) >= GPU_USE_MOST)
		finding_lower(finding, FINDING_MEDIUM,
			      "threads waited in the gaps, maybe for another device");
	else if (!finding->pattern && idle->use.has_computed)
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

	finding.device = idle->use.device->device;
	finding.first_ts_ns = idle->use.device->first_ns;
	finding.last_ts_ns = idle->use.device->last_ns;
	finding.duration_ns = idle->use.gaps.ns;
	finding.pattern = cause_of(idle, options);
	say(&finding, idle);
	lower(&finding, idle, activity);
	return findings_add(findings, &finding);
}

int gpu_idle_report(struct process_activity *activity, const struct analysis_options *options,
		    struct findings *findings)
{
	struct idle idle;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < gpu_use_devices(activity); i++) {
		err = take(&idle, activity, options, i);
		if (err)
			break;
		if (gpu_use_is_idle(&idle.use, options))
			err = report(activity, options, &idle, findings);
		gpu_use_fini(&idle.use);
	}
	return err;
}
