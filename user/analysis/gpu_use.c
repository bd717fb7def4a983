// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/gpu_use.h"

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

size_t gpu_use_devices(const struct process_activity *activity)
{
	return activity->process && activity->process->gpu ? activity->process->gpu->devices_count :
							     0;
}

int gpu_use_take(struct gpu_use *use, const struct process_activity *activity,
		 const struct analysis_options *options, size_t i)
{
	const struct gpu_times *times = activity->process->gpu;
	struct gpu_gap_sum pauses;
	int err;

	*use = (struct gpu_use){ .device = &times->devices[i] };
	err = gpu_busy_gaps(&use->device->busy, &times->calls, &use->all);
	if (err)
		return err;
	use->span_ns = use->device->last_ns - use->device->first_ns;
	use->busy_ns = gpu_busy_ns(&use->device->busy);
	use->observed_ns = observed_ns(activity, times, use->span_ns);
	use->has_computed = host_evidence_computed(&activity->host, &use->computed);
	/* A host that computes has work for itself, so the gap is no lack of work. */
	gpu_gaps_sums(&use->all,
		      use->has_computed && use->computed >= GPU_USE_MOST ? UINT64_MAX :
									   options->gap_max_ns,
		      &use->gaps, &pauses);
	use->pauses_ns = pauses.ns;
	return 0;
}

void gpu_use_fini(struct gpu_use *use)
{
	gpu_gaps_fini(&use->all);
}

uint64_t gpu_use_busy_share(const struct gpu_use *use)
{
	return host_evidence_percent(use->busy_ns, use->busy_ns + use->gaps.ns);
}

bool gpu_use_is_idle(const struct gpu_use *use, const struct analysis_options *options)
{
	return use->observed_ns >= options->bound_time_ns &&
	       use->gaps.ns >= options->bound_least_ns &&
	       host_evidence_percent(use->gaps.ns, use->observed_ns) >= options->bound_share &&
	       host_evidence_percent(use->gaps.ns, use->busy_ns + use->gaps.ns) >=
		       options->gpu_idle_share;
}

bool gpu_use_is_busy(const struct gpu_use *use, const struct analysis_options *options)
{
	return use->observed_ns >= options->bound_time_ns &&
	       use->busy_ns >= options->bound_least_ns &&
	       host_evidence_percent(use->busy_ns, use->observed_ns) >= GPU_USE_MOST &&
	       gpu_use_busy_share(use) >= options->gpu_busy_share;
}

bool gpu_use_any_is_idle(const struct process_activity *activity,
			 const struct analysis_options *options)
{
	bool found = false;
	struct gpu_use use;
	size_t i;

	for (i = 0; !found && i < gpu_use_devices(activity); i++) {
		if (gpu_use_take(&use, activity, options, i))
			return false;
		found = gpu_use_is_idle(&use, options);
		gpu_use_fini(&use);
	}
	return found;
}

static bool hides(const struct gpu_use *use, uint64_t process_ns, uint64_t percent)
{
	return use->span_ns >= use->busy_ns &&
	       host_evidence_percent(use->span_ns, process_ns) >= GPU_USE_MOST &&
	       host_evidence_percent(use->span_ns - use->busy_ns, use->span_ns) < percent;
}

bool gpu_use_hides_host(const struct process_activity *activity,
			const struct analysis_options *options, uint64_t percent)
{
	const size_t count = gpu_use_devices(activity);
	bool all = count > 0;
	struct gpu_use use;
	size_t i;

	for (i = 0; all && i < count; i++) {
		if (gpu_use_take(&use, activity, options, i))
			return false;
		all = hides(&use, activity->now_ns - activity->base_ns, percent);
		gpu_use_fini(&use);
	}
	return all;
}

uint64_t gpu_use_work_ns(const struct gpu_times *times)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0; i < times->devices_count; i++)
		ns += times->devices[i].kernels_ns + times->devices[i].copies_ns +
		      times->devices[i].memsets_ns;
	return ns;
}

uint64_t gpu_use_copies_share(const struct process_activity *activity)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0; i < gpu_use_devices(activity); i++)
		ns += activity->process->gpu->devices[i].copies_ns;
	return ns ? host_evidence_percent(ns, gpu_use_work_ns(activity->process->gpu)) : 0;
}

bool gpu_use_misses_some(const struct process_activity *activity, const struct gpu_use *use)
{
	const struct ms_gpu_status_body *status = &activity->process->gpu->status;

	return status->dropped || status->untimed || status->no_buffer || use->device->busy.late;
}
