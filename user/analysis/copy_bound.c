// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/copy_bound.h"

#include "analysis/gpu_use.h"
#include "ledger/process.h"

/* What a GPU copies while nothing else runs on it, at least. */
static uint64_t alone_ns(const struct gpu_use *use)
{
	const uint64_t others_ns = use->device->kernels_ns + use->device->memsets_ns;

	return use->busy_ns > others_ns ? use->busy_ns - others_ns : 0;
}

static uint64_t share_of(const struct gpu_use *use)
{
	return host_evidence_percent(alone_ns(use), use->busy_ns + use->gaps.ns);
}

/* The direction that takes most of the time; NULL: none is known. */
static const struct gpu_total *slowest(const struct gpu_times *times, uint32_t *direction)
{
	const struct gpu_total *most = NULL;
	uint32_t i;

	for (i = 0; i < MS_DIRECTIONS_COUNT; i++) {
		if (!times->copies[i].total_ns ||
		    (most && times->copies[i].total_ns <= most->total_ns))
			continue;
		most = &times->copies[i];
		*direction = i;
	}
	return most;
}

static void say_direction(struct finding *finding, const struct process_activity *activity,
			  const struct gpu_times *times)
{
	uint32_t direction;
	const struct gpu_total *most = slowest(times, &direction);

	if (!most)
		return;
	finding_say_of(finding, "bytes copied in the direction that takes longest,",
		       probe_direction_name(direction), FINDING_BYTES, most->bytes);
	if (!most->untimed)
		finding_say(finding, "at a rate of", FINDING_BYTES_PER_SECOND,
			    finding_rate(most->bytes, most->total_ns));
	/* What stays on the device does not take it. */
	if (activity->host.link_rate &&
	    (direction == MS_DIRECTION_HTOD || direction == MS_DIRECTION_DTOH))
		finding_say(finding, "the link of the GPU had in each direction, at most",
			    FINDING_BYTES_PER_SECOND, activity->host.link_rate);
	if (times->pageable.total_ns)
		finding_say(finding, "share of the time of copies from or to pageable memory",
			    FINDING_PERCENT,
			    host_evidence_percent(times->pageable.total_ns,
						  gpu_times_copies(times).total_ns));
}

static int report(const struct process_activity *activity, const struct gpu_use *use,
		  struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_COPY_BOUND);
	const struct gpu_times *times = activity->process->gpu;
	const struct gpu_total copies = gpu_times_copies(times);

	finding.says = "lets its GPU copy, and nothing else, for %0 of the time";
	finding.device = use->device->device;
	finding.first_ts_ns = use->device->first_ns;
	finding.last_ts_ns = use->device->last_ns;
	finding.duration_ns = alone_ns(use);
	finding.bytes = copies.bytes;
	finding_say(&finding, "share of the time with work that the GPU copied alone, at least",
		    FINDING_PERCENT, share_of(use));
	finding_say(&finding, "as a duration", FINDING_NS, alone_ns(use));
	finding_say(&finding, "busy with kernels, copies and memsets", FINDING_NS, use->busy_ns);
	finding_say(&finding, "from its first work to its last", FINDING_NS, use->span_ns);
	if (use->pauses_ns)
		finding_say(&finding, "without work for longer than gap-max, not in that share",
			    FINDING_NS, use->pauses_ns);
	finding_say(&finding, "copies", FINDING_COUNT, copies.count);
	finding_say(&finding, "bytes copied", FINDING_BYTES, copies.bytes);
	say_direction(&finding, activity, times);
	if (times->devices_count > 1)
		finding_lower(&finding, FINDING_MEDIUM,
			      "copies are those of all its devices: they are not told apart");
	if (gpu_use_misses_some(activity, use))
		finding_lower(&finding, FINDING_MEDIUM,
			      "some of CUPTI's times are missing: of kernels, perhaps");
	return findings_add(findings, &finding);
}

int copy_bound_report(const struct process_activity *activity,
		      const struct analysis_options *options, struct findings *findings,
		      bool *found)
{
	struct gpu_use use;
	size_t i;
	int err = 0;

	*found = false;
	for (i = 0; !err && !*found && i < gpu_use_devices(activity); i++) {
		err = gpu_use_take(&use, activity, options, i);
		if (err)
			break;
		*found = gpu_use_is_busy(&use, options) && share_of(&use) >= GPU_USE_MOST;
		if (*found)
			err = report(activity, &use, findings);
		gpu_use_fini(&use);
	}
	return err;
}
