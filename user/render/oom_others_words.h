/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which other processes held memory of a device on which a call failed, and whose they are.
 */
#ifndef MEMSCOPE_RENDER_OOM_OTHERS_WORDS_H
#define MEMSCOPE_RENDER_OOM_OTHERS_WORDS_H

#include "base/string.h"
#include "report/report.h"

/*
 * "others held 1.9 GiB, 47 % of what was in use: python3 w.py (195) of user bob, pod x 1.9 GiB".
 * Of user, pod, container and job, what is not the same for the process that failed.
 */
void oom_others_words(struct string *out, const struct report_recording *recording,
		      const struct analysis_oom *oom);

/* The first of those alone: "python3 w.py (195) of user bob 1.9 GiB"; nothing without one. */
void oom_others_words_first(struct string *out, const struct report_recording *recording,
			    const struct analysis_oom *oom);

#endif /* MEMSCOPE_RENDER_OOM_OTHERS_WORDS_H */
