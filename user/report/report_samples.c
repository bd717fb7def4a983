// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report goes by besides calls and the lives of processes: blocks of tensors, and what NVML
 * says.
 */
#include <errno.h>

#include "report/report.h"

int report_recording_sample(struct report_recording *recording, const struct event *event,
			    const struct change *change)
{
	int err = 0;

	if (change->has_tensor)
		return report_recording_event(recording, event, change);
	if (event->header->type == MS_TYPE_HELD)
		err = analysis_event(recording->analysis, event, change);
	recording->incomplete |= err == -ENOMEM;
	return 0;
}
