/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the formats of a report say alike of memory that ran out: what was asked for, how it ended,
 * and what would have helped.
 */
#ifndef MEMSCOPE_RENDER_REPORT_OOM_WORDS_H
#define MEMSCOPE_RENDER_REPORT_OOM_WORDS_H

#include "report/report.h"

/* "train (4242), thread 4243, asked cudaMalloc for 2.00 GiB of device memory": a device follows. */
void report_append_oom_request(struct string *out, const struct analysis_oom *oom);

/* ", 3 times in 1.20 s, first for 4.00 GiB": what follows the device; "" or more. */
void report_append_oom_repeats(struct string *out, const struct analysis_oom *oom);

/* "recovered", and in a sentence how: "1.00 GiB was granted 2.00 ms after the last failure". */
void report_append_oom_outcome(struct string *out, const struct report_recording *recording,
			       const struct analysis_oom *oom);

/* "It would have fit ..."; nothing if that is not known. */
void report_append_oom_remedies(struct string *out, const struct report_recording *recording,
				const struct analysis_oom *oom);

/* For the verdict, without a full stop. */
/* Appends "full (8 GiB asked for beside 300 MiB ...)": the cause, and what it means here. */
void report_append_oom_cause(struct string *out, const struct report_recording *recording,
			     const struct analysis_oom *oom);

/*
 * If one place made most of what the process held, in equal blocks: appends " held 960 MiB, and 896
 * MiB of that came from step < main in 14 blocks of 64 MiB each, ...".
 */
void report_append_oom_series(struct string *out, const struct report_recording *recording,
			      const struct analysis_oom *oom);

void report_append_oom_verdict(struct string *out, const struct report_recording *recording,
			       const struct analysis_oom *oom);

#endif /* MEMSCOPE_RENDER_REPORT_OOM_WORDS_H */
