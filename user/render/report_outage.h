/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often memory ran out, and from when to when: also what is none of the failures that a report
 * describes, as it describes some of many.
 */
#ifndef MEMSCOPE_RENDER_REPORT_OUTAGE_H
#define MEMSCOPE_RENDER_REPORT_OUTAGE_H

#include "base/string.h"
#include "render/verdict.h"
#include "report/report.h"

/* " (571 times since 12:01:22.526)": of the process of that failure; nothing if it is alone. */
void report_outage_append_all(struct string *out, const struct report_recording *recording,
			      const struct analysis_oom *oom);

/*
 * How often memory ran out, for whom, and how that ended: a sentence, if what the report begins
 * with is something else. A program that has come through it is no less a program that was refused.
 */
void report_outage_say(struct verdict *verdict, const struct report *report);

/* Of all processes that the report is about and that it describes failures of. */
struct refused report_outage_of(const struct report_recording *recording);

#endif /* MEMSCOPE_RENDER_REPORT_OUTAGE_H */
