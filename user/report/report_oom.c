// SPDX-License-Identifier: BSD-2-Clause
/*
 * Failed allocations in a report: which of them it is about.
 */
#include "report/report.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Whether none of what is reported is about it. */
static bool is_suppressed(const struct report_recording *recording, size_t oom)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		assert(finding); /* finish_findings() has set it */
		if (finding->rule == FINDING_OOM && finding->oom == oom)
			return false;
	}
	return recording->suppressed;
}

int report_ooms_finish(struct report_recording *recording)
{
	size_t count, i;
	const struct analysis_oom *ooms = analysis_ooms(recording->analysis, &count);

	recording->ooms = calloc(count + 1, sizeof(*recording->ooms));
	if (!recording->ooms)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		if (!report_is_about(recording, ooms[i].pid, ooms[i].start_ns, ooms[i].device) ||
		    is_suppressed(recording, i))
			continue;
		recording->ooms[recording->ooms_count++] = &ooms[i];
	}
	return 0;
}
