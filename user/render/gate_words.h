/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words for a condition of --fail-on, in a message or in a format for CI.
 */
#ifndef MEMSCOPE_RENDER_GATE_WORDS_H
#define MEMSCOPE_RENDER_GATE_WORDS_H

#include "base/string.h"
#include "report/gate.h"

/*
 * Appends what made a recording fail a condition, or what could not be looked for; nothing if it
 * passed. The text is safe for terminals.
 */
void gate_append_result(struct string *out, const struct gate_condition *condition,
			const struct report_recording *recording, const struct gate_result *result);

/* Appends the numbers that a finding rests on: "growth: 64 MiB; ...". */
void gate_append_evidence(struct string *out, const struct report_recording *recording,
			  const struct finding *finding, const char *between);

/*
 * Appends "checked leak, oom in 1,234 calls of 2 processes, 3.20 s": what a report passed, without
 * the conditions at the places in `unknown` (a bit set).
 */
void gate_append_checked(struct string *out, const struct gate *gate, uint64_t unknown,
			 const struct report *report);

/*
 * Appends "; 60 MiB had not been freed ..." to that, if a rule about leaks was asked for: the
 * report's first lines say so beside "nothing was found".
 */
void gate_append_unfreed(struct string *out, const struct gate *gate, const struct report *report);

/* Appends what a recording is called: the host and its files. */
void gate_append_recording(struct string *out, const struct report_recording *recording);

/* The words for files that could not be used at all. */
#define GATE_REFUSED "a file could not be used"

/* Whether a condition fails because of such files. */
bool gate_minds_refused(const struct gate_condition *condition, const struct report *report);

#endif /* MEMSCOPE_RENDER_GATE_WORDS_H */
