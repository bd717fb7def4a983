/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of what was found: bounded, the lesser findings go first. A part of the analysis.
 */
#ifndef MEMSCOPE_MODEL_FINDINGS_H
#define MEMSCOPE_MODEL_FINDINGS_H

#include "model/finding.h"

#define FINDINGS_MAX 256

struct findings {
	struct finding *list;
	size_t count, capacity;
	uint64_t dropped;
};

void findings_fini(struct findings *findings);

/* Returns 0 or -ENOMEM. */
int findings_add(struct findings *findings, const struct finding *finding);

/* By topic, then by bytes, then by time. */
void findings_sort(struct findings *findings);

#endif /* MEMSCOPE_MODEL_FINDINGS_H */
