// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was found in a report, by the groups of processes that it was found in.
 */
#include "report/report.h"

void report_groups_finish(struct report_recording *recording)
{
	struct process_groups *groups = &recording->groups;
	size_t i;

	if (!groups->by)
		return;
	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;
		struct process_group *group =
			process_groups_find(groups, finding->pid, finding->start_ns);

		if (group && finding_topic_of(finding->rule) == FINDING_TOPIC_LEAK)
			group->leaks++;
	}
	for (i = 0; i < recording->ooms_count; i++) {
		const struct analysis_oom *oom = recording->ooms[i];
		struct process_group *group = process_groups_find(groups, oom->pid, oom->start_ns);

		if (!group)
			continue;
		group->ooms++;
		group->fatal_ooms += oom->request.outcome == OOM_FATAL;
	}
	process_groups_finish(groups);
}
