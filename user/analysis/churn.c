// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/churn.h"

#include "analysis/bottlenecks.h"

/* ---- storms ---------------------------------------------------------------------------------- */

/* The window is over: was it a storm? */
static void window_close(struct track *track, const struct analysis_options *options)
{
	uint64_t length = options->storm_window_ns;
	uint64_t rate = finding_rate(track->storm_calls, length);

	/* A program that sets itself up only allocates. */
	if (rate < options->storm_rate || track->storm_frees * 4 < track->storm_calls ||
	    (double)track->storm_ns * 100 < (double)length * (double)options->storm_share)
		return;
	if (!track->storms)
		track->storms_first_ns = track->storm_begin_ns;
	track->storms_last_ns = track->storm_begin_ns + length;
	track->storms++;
	track->storms_calls += track->storm_calls;
	track->storms_ns += track->storm_ns;
	if (rate > track->storms_peak)
		track->storms_peak = rate;
}

static void storm_add(struct track *track, const struct event *event)
{
	const struct analysis_options *options = track->options;

	if (event->call->flags & MS_CALL_NESTED)
		return; /* its time is that of the outer call */
	if (track->now_ns - track->storm_begin_ns >= options->storm_window_ns) {
		window_close(track, options);
		track->storm_begin_ns = track->now_ns;
		track->storm_calls = track->storm_frees = track->storm_ns = 0;
	}
	track->storm_calls++;
	track->storm_frees += event->probe->spec.op == MS_OP_FREE;
	track->storm_ns += event->call->duration_ns;
}

void churn_finish(struct track *track, const struct analysis_options *options)
{
	if (options->storm_window_ns)
		window_close(track, options);
}

int churn_report_storms(struct track *track, const struct analysis_options *options,
			struct findings *findings)
{
	struct finding finding = track_finding(track, FINDING_STORM);

	/* What takes that much of the time is said by alloc-bound. */
	if (!track->storms || bottlenecks_is_alloc_bound(track, options))
		return 0;
	finding.first_ts_ns = track->storms_first_ns;
	finding.last_ts_ns = track->storms_last_ns;
	finding.duration_ns = track->storms_ns;
	finding_say(&finding, "windows with a storm", FINDING_COUNT, track->storms);
	finding_say(&finding, "length of a window", FINDING_NS, options->storm_window_ns);
	finding_say(&finding, "allocations and frees in them", FINDING_COUNT, track->storms_calls);
	finding_say(&finding, "time in these calls", FINDING_NS, track->storms_ns);
	finding_say(&finding, "highest rate", FINDING_PER_SECOND, track->storms_peak);
	return findings_add(findings, &finding);
}

/* ---- temporary allocations ------------------------------------------------------------------- */

void churn_alloc(struct track *track, const struct event *event,
		 const struct allocation *allocation, struct group *group)
{
	track_thread(track, event->header->tid)->last_id = allocation->id;
	if (group) {
		group->allocs++;
		group->call_ns += event->call->duration_ns;
	}
	storm_add(track, event);
}

void churn_free(struct track *track, const struct event *event, const struct allocation *allocation,
		struct group *group)
{
	struct thread *thread = track_thread(track, event->header->tid);

	if (group) {
		group->frees++;
		group->call_ns += event->call->duration_ns;
	}
	if (group && allocation->id && thread->last_id == allocation->id) {
		group->temporary++;
		group->temporary_bytes += allocation->size_bytes;
		thread->last_id = 0;
	}
	storm_add(track, event);
}

static bool is_worth(const struct track *track, const struct group *group,
		     const struct analysis_options *options)
{
	double length = (double)(track->now_ns - track->base_ns);

	/* Pools are made for it. */
	return group->space != MS_SPACE_POOL && group->temporary >= options->temporary_count &&
	       (double)group->temporary * 100 >=
		       (double)group->allocs * (double)options->temporary_share &&
	       (double)group->call_ns * 100 >= length * (double)options->temporary_time;
}

static int report(const struct track *track, const struct group *group, struct findings *findings)
{
	struct finding finding = track_finding(track, FINDING_TEMPORARY);

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
	finding_say(&finding, "smallest size of this kind", FINDING_BYTES,
		    1ull << group->size_class);
	finding_say(&finding, "time in its allocations and frees", FINDING_NS, group->call_ns);
	return findings_add(findings, &finding);
}

int churn_report_temporary(struct track *track, const struct analysis_options *options,
			   struct findings *findings)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < track->groups_count; i++)
		if (is_worth(track, &track->groups[i], options))
			err = report(track, &track->groups[i], findings);
	return err;
}
