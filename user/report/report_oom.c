// SPDX-License-Identifier: BSD-2-Clause
/*
 * Failed allocations in a report: which of them counts most.
 */
#include "report/report.h"

size_t report_gravest_oom(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->ooms_count; i++)
		if (recording->ooms[i]->request.outcome == OOM_FATAL)
			return i;
	return 0;
}
