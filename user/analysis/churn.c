// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/churn.h"

#include "analysis/bottlenecks.h"

/* ---- storms ---------------------------------------------------------------------------------- */

/* The window is over: was it a storm? */
static void window_close(struct process_activity *activity, const struct analysis_options *options)
{
	uint64_t length = options->storm_window_ns;
	uint64_t rate = finding_rate(activity->storm_calls, length);

	/* A program that sets itself up only allocates. */
	if (rate < options->storm_rate || activity->storm_frees * 4 < activity->storm_calls ||
	    (double)activity->storm_ns * 100 < (double)length * (double)options->storm_share)
		return;
	if (!activity->storms)
		activity->storms_first_ns = activity->storm_begin_ns;
	activity->storms_last_ns = activity->storm_begin_ns + length;
	activity->storms++;
	activity->storms_calls += activity->storm_calls;
	activity->storms_ns += activity->storm_ns;
	stack_tally_merge(&activity->storms_lines, &activity->storm_lines);
	if (rate > activity->storms_peak)
		activity->storms_peak = rate;
}

static void storm_add(struct process_activity *activity, const struct event *event)
{
	const struct analysis_options *options = activity->options;

	if (event->call->flags & MS_CALL_NESTED)
		return; /* its time is that of the outer call */
	if (activity->now_ns - activity->storm_begin_ns >= options->storm_window_ns) {
		window_close(activity, options);
		activity->storm_begin_ns = activity->now_ns;
		activity->storm_calls = activity->storm_frees = activity->storm_ns = 0;
		activity->storm_lines = (struct stack_tally){ 0 };
	}
	activity->storm_calls++;
	activity->storm_frees += event->probe->spec.op == MS_OP_FREE;
	activity->storm_ns += event->call->duration_ns;
	if (event->probe->spec.op == MS_OP_ALLOC)
		stack_tally_add(&activity->storm_lines, event_stack_id(event->call), 1);
}

void churn_finish(struct process_activity *activity, const struct analysis_options *options)
{
	if (options->storm_window_ns)
		window_close(activity, options);
}

/* Storms are only of interest where allocations do not bound the whole run. */
int churn_report_storms(struct process_activity *activity, const struct analysis_options *options,
			struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_STORM);

	/* What takes that much of the time is said by alloc-bound. */
	if (!activity->storms || bottlenecks_is_alloc_bound(activity, options))
		return 0;
	finding.first_ts_ns = activity->storms_first_ns;
	finding.last_ts_ns = activity->storms_last_ns;
	finding.duration_ns = activity->storms_ns;
	finding.lines = activity->storms_lines;
	finding_say(&finding, "windows with a storm", FINDING_COUNT, activity->storms);
	finding_say(&finding, "length of a window", FINDING_NS, options->storm_window_ns);
	finding_say(&finding, "allocations and frees in them", FINDING_COUNT,
		    activity->storms_calls);
	finding_say(&finding, "time in these calls", FINDING_NS, activity->storms_ns);
	finding_say(&finding, "highest rate", FINDING_PER_SECOND, activity->storms_peak);
	return findings_add(findings, &finding);
}

/* ---- temporary allocations ------------------------------------------------------------------- */

void churn_alloc(struct process_activity *activity, const struct event *event,
		 const struct allocation *allocation, struct group *group)
{
	process_activity_thread(activity, event->header->tid)->last_id = allocation->id;
	if (group) {
		group->allocs++;
		group->call_ns += event->call->duration_ns;
	}
	storm_add(activity, event);
}

void churn_free(struct process_activity *activity, const struct event *event,
		const struct allocation *allocation, struct group *group)
{
	struct thread *thread = process_activity_thread(activity, event->header->tid);

	if (group) {
		group->frees++;
		group->call_ns += event->call->duration_ns;
	}
	if (group && allocation->id && thread->last_id == allocation->id) {
		group->temporary++;
		group->temporary_bytes += allocation->size_bytes;
		thread->last_id = 0;
	}
	storm_add(activity, event);
}

static bool is_worth(const struct process_activity *activity, const struct group *group,
		     const struct analysis_options *options)
{
	double length = (double)(activity->now_ns - activity->base_ns);

	/* Pools are made for it. */
	return group->space != MS_SPACE_POOL && group->temporary >= options->temporary_count &&
	       (double)group->temporary * 100 >=
		       (double)group->allocs * (double)options->temporary_share &&
	       (double)group->call_ns * 100 >= length * (double)options->temporary_time;
}

static int report(const struct process_activity *activity, const struct group *group,
		  struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_TEMPORARY);

	finding.space = group->space;
	finding.row = group->row;
	finding.device = group->device;
	finding.first_ts_ns = group->first_ts_ns;
	finding.bytes = group->temporary_bytes;
	finding.duration_ns = group->call_ns;
	finding_say(&finding, "allocations freed before the thread's next", FINDING_COUNT,
		    group->temporary);
	finding_say(&finding, "bytes of them", FINDING_BYTES, group->temporary_bytes);
	finding_say(&finding, "allocations of this kind", FINDING_COUNT, group->allocs);
	finding_say(&finding, "size of each, at least", FINDING_BYTES, 1ull << group->size_class);
	finding_say(&finding, "time in its allocations and frees", FINDING_NS, group->call_ns);
	return findings_add(findings, &finding);
}

int churn_report_temporary(struct process_activity *activity,
			   const struct analysis_options *options, struct findings *findings)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < activity->groups_count; i++)
		if (is_worth(activity, &activity->groups[i], options))
			err = report(activity, &activity->groups[i], findings);
	return err;
}
