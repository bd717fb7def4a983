// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report goes by besides calls and the lives of processes: blocks of tensors, launches that
 * chance chose, what NVML says, and limits of cgroups.
 */
#include <errno.h>

#include "report/report.h"

int report_recording_sample(struct report_recording *recording, const struct event *event,
			    const struct change *change)
{
	int err = 0;

	if (change->has_tensor)
		return report_recording_event(recording, event, change);
	nvml_series_record(&recording->nvml_series, recording->state, event);
	if (event->header->type == MS_TYPE_HELD || event->header->type == MS_TYPE_LIMIT)
		err = analysis_event(recording->analysis, event, change);
	else if (!change->process || report_wants(&recording->options, change->process))
		err = call_sites_sample(&recording->launch_sites, recording->state, event);
	recording->incomplete |= err == -ENOMEM || recording->nvml_series.incomplete;
	return 0;
}

size_t report_recording_bytes(const struct report_recording *recording)
{
	return timeline_bytes(&recording->timeline) + analysis_bytes(recording->analysis) +
	       holdings_bytes(&recording->holdings) + sites_bytes(&recording->sites) +
	       call_sites_bytes(&recording->call_sites) +
	       call_sites_bytes(&recording->launch_sites) +
	       process_groups_bytes(&recording->groups) + phases_bytes(&recording->phases) +
	       steps_bytes(&recording->steps) + nvml_series_bytes(&recording->nvml_series);
}
