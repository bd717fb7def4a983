/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One finding in a sentence: who does what, how much of it, by which rule, and how sure that is.
 */
#ifndef MEMSCOPE_RENDER_FINDING_WORDS_H
#define MEMSCOPE_RENDER_FINDING_WORDS_H

#include "analysis/finding.h"
#include "report/report.h"

/* In a finding about objects: "module" if it is about one, else "modules". */
const char *finding_words_objects(const struct finding *finding);

/* How much of it comes from its stack; escaped. */
void finding_words_site(struct string *out, const struct report_recording *recording,
			const struct report_finding *numbered);

/* What a line of evidence says, before its number, with what it is about; escaped. */
void finding_words_evidence(struct string *out, const struct finding_evidence *evidence);

/*
 * Appends "train (4242) leaves 2 GiB behind (leak-growth, cudaMalloc, device 0; high confidence)",
 * without a full stop. Times are those of the recording.
 */
void finding_words_append(struct string *out, const struct report_recording *recording,
			  const struct finding *finding);

/* The same without the process's name and what is in parentheses: " leaves 2 GiB behind". */
void finding_words_append_says(struct string *out, const struct report_recording *recording,
			       const struct finding *finding);

#endif /* MEMSCOPE_RENDER_FINDING_WORDS_H */
