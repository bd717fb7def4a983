/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of calls that failed because memory had run out: analysis/oom_watch.h finds it out.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_OUTCOME_H
#define MEMSCOPE_ANALYSIS_OOM_OUTCOME_H

/* clang-format off */
#define OOM_OUTCOMES(X) \
	X(OPEN,       "open")       /* not known: the recording, or what it saw of the process, ended */ \
	X(RECOVERED,  "recovered")  /* as much as was asked for was granted afterwards */ \
	X(BACKED_OFF, "backed-off") /* less was granted */ \
	X(HANDLED,    "handled")    /* nothing was, and the process did well without it */ \
	X(FATAL,      "fatal")      /* nothing was, and the process failed or was killed */ \
	X(GAVE_UP,    "gave-up")    /* nothing was, and it did nothing more, or ended without an error */
/* clang-format on */

enum oom_outcome {
#define X(outcome, name) OOM_##outcome,
	OOM_OUTCOMES(X)
#undef X
		OOM_OUTCOMES_COUNT,
};

const char *oom_outcome_name(enum oom_outcome outcome);

#endif /* MEMSCOPE_ANALYSIS_OOM_OUTCOME_H */
