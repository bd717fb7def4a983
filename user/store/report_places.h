/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When memory ran out and when most was held: for times that say so (`--at oom`, `--at peak`). They
 * are what a report on the whole recording says.
 */
#ifndef MEMSCOPE_STORE_REPORT_PLACES_H
#define MEMSCOPE_STORE_REPORT_PLACES_H

#include <stdbool.h>

#include "base/string.h"
#include "report/report.h"
#include "store/report_time.h"

/* Whether a report on the whole recording has to be made to know it. */
bool report_places_is(const struct report_time *time);

/*
 * Sets its `ns`, if it is such a one. The path is for what is logged. Returns 0, or -ESRCH: there
 * is no such moment in the recording; then `why` says so.
 */
int report_places_set(struct report_time *time, const struct report_recording *whole,
		      const char *path, struct string *why);

#endif /* MEMSCOPE_STORE_REPORT_PLACES_H */
