/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices in a report: what is accounted for on each, and what the driver reported about it. A
 * part of the report.
 */
#ifndef MEMSCOPE_REPORT_REPORT_DEVICES_H
#define MEMSCOPE_REPORT_REPORT_DEVICES_H

#include "report/report.h"

/* A program has asked how much memory a device has. */
void report_devices_told(struct report_recording *recording, const struct event *event,
			 const struct change *change);

/* Whether the report is about that device, or about all. */
bool report_devices_asked(const struct report_recording *recording, int32_t device);

/* Fills in recording->devices. Returns 0 or -ENOMEM. */
int report_devices_finish(struct report_recording *recording);

#endif /* MEMSCOPE_REPORT_REPORT_DEVICES_H */
