/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a report calls a device, and what it says that it is.
 */
#ifndef MEMSCOPE_RENDER_REPORT_DEVICE_WORDS_H
#define MEMSCOPE_RENDER_REPORT_DEVICE_WORDS_H

#include "base/string.h"
#include "report/report.h"

/* The sentence to say where report_device_numbers_are_own(). */
extern const char report_device_numbers[];

/*
 * "UUID GPU-..., PCI bus id 00000000:01:00.0, NVIDIA H100, 80 GiB. Device 0 of a (4711), 1 of b
 * (4712).", or nothing if nothing is known that the number does not say. Names come from traced
 * programs: field_append_safe() has been applied.
 */
void report_append_device_identity(struct string *out, const struct report_recording *recording,
				   const struct report_device *device);

#endif /* MEMSCOPE_RENDER_REPORT_DEVICE_WORDS_H */
