// SPDX-License-Identifier: BSD-2-Clause
/*
 * What of a report is to be said first.
 */
#include "report/report.h"

#include <string.h>

#define AT_NS 1000000 /* times that people give have milliseconds */

/* ---- what a bundle was written for ----------------------------------------------------------- */

bool report_is_for_oom(const struct report_recording *recording)
{
	const char *reason = recording->coverage.reason;

	return reason && !strcmp(reason, "oom") && recording->ooms_count;
}

static bool is_newer(const struct analysis_oom *a, const struct analysis_oom *b)
{
	const bool open_a = a->request.outcome == OOM_OPEN, open_b = b->request.outcome == OOM_OPEN;

	return open_a != open_b ? open_b : a->last_ts_ns >= b->last_ts_ns;
}

/* Another thread of the process may have failed meanwhile, and the same one again after it. */
static bool is_named(const struct report_coverage *coverage, const struct analysis_oom *oom)
{
	return oom->pid == coverage->failed_pid && oom->ts_ns <= coverage->failed_ns &&
	       coverage->failed_ns <= oom->last_ts_ns;
}

static bool has_named(const struct report_recording *recording, size_t *place)
{
	const struct report_coverage *coverage = &recording->coverage;
	uint64_t last_ns = UINT64_MAX;
	size_t i;

	for (i = 0; coverage->failed_pid && i < recording->ooms_count; i++) {
		const struct analysis_oom *oom = recording->ooms[i];

		if (!is_named(coverage, oom) || oom->last_ts_ns >= last_ns)
			continue;
		last_ns = oom->last_ts_ns;
		*place = i;
	}
	return last_ns != UINT64_MAX;
}

/*
 * If the bundle does not say which: it is written as soon as it is known how a failure ended, so it
 * is the last of those.
 */
static size_t newest_oom(const struct report_recording *recording)
{
	size_t newest = 0, i;

	for (i = 1; i < recording->ooms_count; i++)
		if (is_newer(recording->ooms[i], recording->ooms[newest]))
			newest = i;
	return newest;
}

/*
 * A report that ends when memory ran out, or just after that (--at oom), is about that failure,
 * whatever came of others by then: what came of this one is later.
 */
static bool is_at(const struct report_recording *recording, size_t *place)
{
	const uint64_t until_ns = recording->coverage.until_ns;
	uint64_t last_ns = 0;
	size_t i;

	for (i = 0; until_ns && i < recording->ooms_count; i++) {
		const uint64_t at_ns = recording->ooms[i]->last_ts_ns;

		if (at_ns > until_ns || until_ns - at_ns > AT_NS || at_ns < last_ns)
			continue;
		last_ns = at_ns;
		*place = i;
	}
	return last_ns != 0;
}

/* The failure that it is to begin with, whatever else there is. */
static bool has_leading(const struct report_recording *recording, size_t *place)
{
	if (is_at(recording, place))
		return true;
	if (!report_is_for_oom(recording))
		return false;
	if (!has_named(recording, place))
		*place = newest_oom(recording);
	return true;
}

static bool is_leading(const struct report_recording *recording, const struct finding *finding)
{
	const struct analysis_oom *ooms;
	size_t count, place;

	if (finding->rule != FINDING_OOM || !has_leading(recording, &place))
		return false;
	ooms = analysis_ooms(recording->analysis, &count);
	return finding->oom < count && &ooms[finding->oom] == recording->ooms[place];
}

/* ---- findings -------------------------------------------------------------------------------- */

static bool is_note(const struct finding *finding)
{
	return finding_topic_of(finding->rule) == FINDING_TOPIC_NOTE;
}

/*
 * Out of memory is what people call for, unless the program had it in the end; then a program that
 * does not stay up; what may well be nothing comes after all that is not. How busy the machine was
 * says nothing of the program's memory, however sure it is.
 */
static int rank_of(const struct finding *finding)
{
	if (finding_ended_well(finding) || finding->rule == FINDING_CPU_CONTENTION)
		return 4;
	if (finding->rule == FINDING_OOM)
		return finding->outcome == OOM_HANDLED ? 2 : 0;
	if (finding->rule == FINDING_CRASH_LOOP)
		return 1;
	return finding->confidence == FINDING_LOW ? 3 : 2;
}

/* What no device could have granted says little, if another request failed that one could have. */
static int gravity_of_oom(const struct finding *finding)
{
	return 3 * finding->too_large + (finding->outcome == OOM_FATAL   ? 0 :
					 finding->outcome == OOM_GAVE_UP ? 1 :
									   2);
}

static bool is_graver(const struct finding *a, const struct finding *b)
{
	const enum finding_topic topic_a = finding_topic_of(a->rule),
				 topic_b = finding_topic_of(b->rule);

	if (rank_of(a) != rank_of(b))
		return rank_of(a) < rank_of(b);
	if (topic_a != topic_b)
		return topic_a < topic_b;
	if (a->rule == FINDING_OOM && gravity_of_oom(a) != gravity_of_oom(b))
		return gravity_of_oom(a) < gravity_of_oom(b);
	if (a->confidence != b->confidence)
		return a->confidence > b->confidence;
	return a->bytes > b->bytes;
}

const struct finding *report_gravest(const struct report *report, bool notes,
				     const struct report_recording **where)
{
	const struct finding *found = NULL;
	bool found_leads = false;
	size_t i, j;

	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];

		for (j = 0; j < recording->findings_count; j++) {
			const struct finding *finding = recording->findings[j].finding;
			const bool leads = is_leading(recording, finding);

			if (is_note(finding) != notes)
				continue;
			if (found &&
			    (leads != found_leads ? found_leads : !is_graver(finding, found)))
				continue;
			found = finding;
			found_leads = leads;
			*where = recording;
		}
	}
	return found;
}

/* The same among failures: what a report begins with is what it shows the moment of. */
size_t report_gravest_oom(const struct report_recording *recording)
{
	const struct finding *found = NULL;
	const struct analysis_oom *ooms;
	size_t count, i;

	if (has_leading(recording, &i))
		return i;
	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding->rule == FINDING_OOM && (!found || is_graver(finding, found)))
			found = finding;
	}
	ooms = analysis_ooms(recording->analysis, &count);
	for (i = 0; found && i < recording->ooms_count; i++)
		if (found->oom < count && recording->ooms[i] == &ooms[found->oom])
			return i;
	return 0;
}
