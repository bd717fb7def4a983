// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a process does not get of the host: CPU time, and memory, or not where it needs it. What is
 * recorded of that is a lower bound.
 */
#include "analysis/findings.h"
#include "analysis/process_activity.h"

#define NEARLY_FULL 95 /* percent of a cgroup's limit */

static uint64_t seen_ns(const struct process_activity *activity)
{
	return activity->now_ns - activity->base_ns;
}

/* So much, by itself and of the time, that it matters. */
static bool is_much(uint64_t part_ns, uint64_t whole_ns, uint64_t percent,
		    const struct analysis_options *options)
{
	return part_ns >= options->bound_least_ns &&
	       host_evidence_percent(part_ns, whole_ns) >= percent;
}

static struct finding finding_of(const struct process_activity *activity, enum finding_rule rule,
				 uint64_t duration_ns)
{
	struct finding finding = process_activity_finding(activity, rule);

	finding.first_ts_ns = activity->base_ns;
	finding.last_ts_ns = activity->now_ns;
	finding.duration_ns = duration_ns;
	return finding;
}

/* ---- CPU time -------------------------------------------------------------------------------- */

static bool waited_in_calls(const struct process_activity *activity,
			    const struct analysis_options *options)
{
	const struct call_split *calls = &activity->host.calls;

	return is_much(calls->runnable_ns, calls->total_ns, options->contention_share, options) &&
	       host_evidence_percent(calls->runnable_ns, seen_ns(activity)) >= options->bound_share;
}

static bool was_queued(const struct process_activity *activity,
		       const struct analysis_options *options)
{
	const struct host_used *used = &activity->host.used;

	return activity->host.has_used && used->has_queue &&
	       is_much(used->queue_ns, used->ns, options->queue_share, options);
}

static bool was_throttled(const struct process_activity *activity,
			  const struct analysis_options *options)
{
	const struct host_used *used = &activity->host.used;

	return activity->host.has_used && used->has_throttled &&
	       is_much(used->throttled_ns, used->ns, options->throttle_share, options);
}

static void say_cpu(struct finding *finding, const struct host_evidence *host, bool summed)
{
	const struct call_split *calls = &host->calls;

	if (calls->total_ns) {
		finding_say(finding,
			    summed ? "share of the time in calls recorded one by one that threads"
				     " waited for a CPU" :
				     "share of the time in calls that threads waited for a CPU",
			    FINDING_PERCENT,
			    host_evidence_percent(calls->runnable_ns, calls->total_ns));
		finding_say(finding, "as a duration", FINDING_NS, calls->runnable_ns);
		finding_say(finding, "calls", FINDING_COUNT, calls->calls);
	}
	if (host->has_used && host->used.has_queue)
		finding_say(finding, "waits of all its threads for a CPU, at least", FINDING_NS,
			    host->used.queue_ns);
	if (host->has_used && host->used.has_throttled && host->used.throttled) {
		finding_say(finding, "time that its cgroup was throttled", FINDING_NS,
			    host->used.throttled_ns);
		finding_say(finding, "times that it was", FINDING_COUNT, host->used.throttled);
	}
	if (host->has_used)
		finding_say(finding, "the process was looked at for", FINDING_NS, host->used.ns);
	if (host->has_pressure && host->pressure.has_cpu)
		finding_say(finding,
			    "share of the time that a task of the machine waited for a CPU",
			    FINDING_PERCENT,
			    host_evidence_percent(host->pressure.cpu_some_ns, host->pressure.ns));
}

int contention_report_cpu(struct process_activity *activity, const struct analysis_options *options,
			  struct findings *findings)
{
	const struct host_evidence *host = &activity->host;
	const bool in_calls = waited_in_calls(activity, options);
	const bool queued = was_queued(activity, options);
	const bool throttled = was_throttled(activity, options);
	struct finding finding;

	if (seen_ns(activity) < options->bound_time_ns || !(in_calls || queued || throttled))
		return 0;
	finding =
		finding_of(activity, FINDING_CPU_CONTENTION,
			   host->used.queue_ns > host->calls.runnable_ns ? host->used.queue_ns :
									   host->calls.runnable_ns);
	say_cpu(&finding, host, activity->summed);
	if (!in_calls)
		finding_lower(
			&finding, FINDING_MEDIUM,
			"no call of CUDA waited for long: the device may have had enough to do");
	else if (!queued && !throttled)
		finding_lower(
			&finding, FINDING_MEDIUM,
			"only calls show it: looking at the host more often (--host) would tell"
			" if all of the process waits");
	if (activity->summed && in_calls)
		finding_lower(
			&finding, FINDING_MEDIUM,
			"how long threads waited in calls that were only counted is not recorded"
			" (--copies=all, --launches=all)");
	return findings_add(findings, &finding);
}

/* ---- memory of the host ---------------------------------------------------------------------- */

static void say_memory(struct finding *finding, const struct host_evidence *host)
{
	const struct host_pressure *pressure = &host->pressure;

	if (host->has_used && host->used.has_stall)
		finding_say(finding,
			    "share of the time that a task of its cgroup waited for memory",
			    FINDING_PERCENT,
			    host_evidence_percent(host->used.stall_ns, host->used.ns));
	if (host->has_pressure && pressure->has_memory) {
		finding_say(finding, "share that one of the machine did", FINDING_PERCENT,
			    host_evidence_percent(pressure->memory_some_ns, pressure->ns));
		finding_say(finding, "share that all of the machine did", FINDING_PERCENT,
			    host_evidence_percent(pressure->memory_full_ns, pressure->ns));
	}
	finding_say(finding, "pages of the process that had to be read from a disk", FINDING_COUNT,
		    host->used.major_faults);
	if (host->limit_bytes) {
		finding_say(finding, "in its cgroup", FINDING_BYTES, host->cgroup_bytes);
		finding_say(finding, "that this may have", FINDING_BYTES, host->limit_bytes);
	}
}

int contention_report_memory(struct process_activity *activity,
			     const struct analysis_options *options, struct findings *findings)
{
	const struct host_evidence *host = &activity->host;
	const struct host_pressure *pressure = &host->pressure;
	const bool full =
		host->limit_bytes && host->cgroup_bytes / NEARLY_FULL >= host->limit_bytes / 100;
	const bool own = host->has_used && host->used.has_stall &&
			 is_much(host->used.stall_ns, host->used.ns, options->stall_share, options);
	const bool all =
		host->has_used && host->has_pressure && pressure->has_memory &&
		is_much(pressure->memory_full_ns, pressure->ns, options->stall_share, options);
	struct finding finding;

	if (seen_ns(activity) < options->bound_time_ns || (!own && !all) ||
	    (!own && !full && !host->used.major_faults))
		return 0;
	finding = finding_of(activity, FINDING_HOST_MEMORY_PRESSURE,
			     own ? host->used.stall_ns : pressure->memory_full_ns);
	say_memory(&finding, host);
	if (!own)
		finding_lower(
			&finding, FINDING_MEDIUM,
			"tasks of the machine waited for memory: pressure of the process's own"
			" cgroup (version 2) would tell if it is one of them");
	else if (!host->used.major_faults && !full)
		finding_lower(
			&finding, FINDING_MEDIUM,
			"a task of its cgroup waited for memory, which may be another process");
	return findings_add(findings, &finding);
}

/* ---- memory on another node ------------------------------------------------------------------ */

int contention_report_node(struct process_activity *activity,
			   const struct analysis_options *options, struct findings *findings)
{
	const struct host_evidence *host = &activity->host;
	struct finding finding;

	if (host->far_bytes < options->node_bytes || host->far_bytes <= host->near_bytes)
		return 0;
	finding = finding_of(activity, FINDING_WRONG_NODE, 0);
	finding.bytes = host->far_bytes;
	finding_say(&finding, "memory of the host for the GPU on another NUMA node than the GPU's",
		    FINDING_BYTES, host->far_bytes);
	finding_say(&finding, "on the GPU's", FINDING_BYTES, host->near_bytes);
	finding_say(&finding, "the other node, or the one with most of it", FINDING_COUNT,
		    host->far_node);
	finding_say(&finding, "the GPU's node", FINDING_COUNT, host->gpu_node);
	finding_lower(&finding, FINDING_MEDIUM,
		      "how much slower that makes copies is not measured");
	return findings_add(findings, &finding);
}
