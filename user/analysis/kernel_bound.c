// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether a GPU that was busy for most of the time spent it in one kernel, or a few. A part of the
 * analysis.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/findings.h"
#include "analysis/gpu_use.h"
#include "base/demangle.h"

#define FEW 3         /* kernels, if no single one takes the time; together they take */
#define NEARLY_ALL 80 /* percent of it */

/* The kernels that take the time: those with most of it come first. */
struct kernels {
	const struct gpu_kernel **sorted; /* to be freed */
	size_t count;                     /* of these; 0: many take it */
	uint64_t ns;                      /* that they take */
	uint64_t all_ns;                  /* of all kernels, copies and memsets, added up */
};

static bool take_the_time(const struct kernels *kernels, const struct analysis_options *options)
{
	const uint64_t share = host_evidence_percent(kernels->ns, kernels->all_ns);

	return share >= options->kernel_share && (kernels->count == 1 || share >= NEARLY_ALL);
}

/* Returns 0 or -ENOMEM. */
static int kernels_take(struct kernels *kernels, const struct gpu_times *times,
			const struct analysis_options *options)
{
	*kernels = (struct kernels){ .all_ns = gpu_use_work_ns(times) };
	kernels->sorted = gpu_times_sorted(times);
	if (!kernels->sorted)
		return -ENOMEM;
	while (kernels->count < FEW && kernels->count < times->kernels_count) {
		kernels->ns += kernels->sorted[kernels->count++]->total.total_ns;
		if (take_the_time(kernels, options))
			return 0;
	}
	kernels->count = 0;
	return 0;
}

/* ---- what is said ---------------------------------------------------------------------------- */

/* As people write it. NULL without memory. */
static const char *name_of(struct findings *findings, const struct gpu_kernel *kernel)
{
	struct string text = { 0 };
	const char *name;

	demangle_append(&text, kernel->name ? kernel->name : "a kernel without a name");
	name = text.failed ? NULL : findings_name(findings, text.bytes, text.length);
	string_fini(&text);
	return name;
}

/* Returns 0 or -ENOMEM. */
static int say_kernel(struct finding *finding, struct findings *findings,
		      const struct gpu_kernel *kernel, uint64_t all_ns)
{
	const char *name = name_of(findings, kernel);
	uint64_t median_ns;

	if (!name)
		return -ENOMEM;
	finding_say_of(finding, "share of the GPU's work that is the kernel", name, FINDING_PERCENT,
		       host_evidence_percent(kernel->total.total_ns, all_ns));
	finding_say(finding, "how often it ran", FINDING_COUNT, kernel->total.count);
	if (call_times_percentile(&kernel->runs, 50, &median_ns))
		finding_say(finding, "how long in the median, to an eighth", FINDING_NS, median_ns);
	return 0;
}

static int say(struct finding *finding, struct findings *findings, const struct gpu_use *use,
	       const struct kernels *kernels)
{
	size_t i;
	int err = 0;

	finding_say(finding, "share of the time with work that the GPU was busy", FINDING_PERCENT,
		    gpu_use_busy_share(use));
	finding_say(finding, "share of it in these kernels", FINDING_PERCENT,
		    host_evidence_percent(kernels->ns, kernels->all_ns));
	finding_say(finding, "busy with kernels, copies and memsets", FINDING_NS, use->busy_ns);
	finding_say(finding, "from its first work to its last", FINDING_NS, use->span_ns);
	for (i = 0; !err && i < kernels->count; i++)
		err = say_kernel(finding, findings, kernels->sorted[i], kernels->all_ns);
	return err;
}

static int report(const struct process_activity *activity, const struct gpu_use *use,
		  const struct kernels *kernels, struct findings *findings)
{
	static const char *const many =
		"which kernels ran on which of its devices is not told apart";
	struct finding finding = process_activity_finding(activity, FINDING_KERNEL_BOUND);
	const struct gpu_times *times = activity->process->gpu;
	int err;

	finding.device = times->devices_count == 1 ? use->device->device : -1;
	finding.first_ts_ns = use->device->first_ns;
	finding.last_ts_ns = use->device->last_ns;
	finding.duration_ns = use->busy_ns;
	err = say(&finding, findings, use, kernels);
	if (err)
		return err;
	if (times->devices_count > 1)
		finding_lower(&finding, FINDING_MEDIUM, many);
	if (gpu_use_misses_some(activity, use))
		finding_lower(&finding, FINDING_MEDIUM,
			      "some of CUPTI's times are missing: of other kernels, perhaps");
	return findings_add(findings, &finding);
}

/* ---- the rule -------------------------------------------------------------------------------- */

/* The device that was busy for longest; its `device` is NULL if none was for most of the time. */
static int busiest(struct gpu_use *busiest, const struct process_activity *activity,
		   const struct analysis_options *options)
{
	struct gpu_use use;
	size_t i;
	int err;

	*busiest = (struct gpu_use){ 0 };
	for (i = 0; i < gpu_use_devices(activity); i++) {
		err = gpu_use_take(&use, activity, options, i);
		if (err)
			return err;
		gpu_use_fini(&use); /* its gaps one by one */
		if (gpu_use_is_busy(&use, options) && use.busy_ns > busiest->busy_ns)
			*busiest = use;
	}
	return 0;
}

int kernel_bound_report(struct process_activity *activity, const struct analysis_options *options,
			struct findings *findings)
{
	struct kernels kernels;
	struct gpu_use use;
	int err = busiest(&use, activity, options);

	if (err || !use.device)
		return err;
	err = kernels_take(&kernels, activity->process->gpu, options);
	if (!err && kernels.count)
		err = report(activity, &use, &kernels, findings);
	free(kernels.sorted);
	return err;
}
