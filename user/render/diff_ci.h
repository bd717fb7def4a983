/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A diff in the formats of CI servers: JUnit XML, in which each condition of --fail-on is a test,
 * and annotations of GitHub's workflows.
 */
#ifndef MEMSCOPE_RENDER_DIFF_CI_H
#define MEMSCOPE_RENDER_DIFF_CI_H

#include "base/string.h"
#include "report/diff_gate.h"

/* Appends why a condition fails, or could not be looked at; nothing if it passes. */
void diff_append_result(struct string *out, const struct gate_condition *condition,
			const struct diff *diff, const struct gate_result *result);

/*
 * That findings of B do not count because A has findings of this kind, too, how much they are on
 * each side, and what to ask instead; nothing if that is not so.
 */
void diff_append_in_both(struct string *out, const struct gate_condition *condition,
			 const struct diff *diff);

/* A gate without conditions stands for gate_default(). */
void diff_junit(struct string *out, const struct diff *diff, const struct gate *gate);
void diff_github(struct string *out, const struct diff *diff, const struct gate *gate);

#endif /* MEMSCOPE_RENDER_DIFF_CI_H */
