// SPDX-License-Identifier: BSD-2-Clause
/*
 * What of a report is to be said first.
 */
#include "report/report.h"

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
	size_t i, j;

	for (i = 0; i < report->count; i++) {
		for (j = 0; j < report->recordings[i]->findings_count; j++) {
			const struct finding *finding = report->recordings[i]->findings[j].finding;

			if (is_note(finding) != notes || (found && !is_graver(finding, found)))
				continue;
			found = finding;
			*where = report->recordings[i];
		}
	}
	return found;
}

/* The same among failures: those that ended well come last. */
static int rank_of_oom(const struct analysis_oom *oom)
{
	const struct finding finding = { .rule = FINDING_OOM,
					 .outcome = oom->request.outcome,
					 .too_large = oom->cause == OOM_TOO_LARGE };

	return 6 * rank_of(&finding) + gravity_of_oom(&finding);
}

size_t report_gravest_oom(const struct report_recording *recording)
{
	size_t found = 0, i;

	for (i = 1; i < recording->ooms_count; i++)
		if (rank_of_oom(recording->ooms[i]) < rank_of_oom(recording->ooms[found]))
			found = i;
	return found;
}
