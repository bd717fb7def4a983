/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts, modules, streams, events, graphs ... that a process makes and does not destroy, and
 * contexts with which it does nothing. A part of the analysis; docs/rules.md explains it (pile,
 * idle-context).
 */
#ifndef MEMSCOPE_ANALYSIS_PILES_H
#define MEMSCOPE_ANALYSIS_PILES_H

#include "analysis/process_activity.h"

/* A call; `change` says what it made and ended. Returns 0 or -ENOMEM. */
int piles_event(struct process_activity *activity, const struct event *event,
		const struct change *change);

/* A program has ended, and another one begins in its process. */
void piles_end_program(struct process_activity *activity);

/* Reads what is live anew. Returns 0 or -ENOMEM. */
int piles_scan(struct process_activity *activity, const struct process *process);

/* Two buckets become one. */
void piles_fold(struct piles *piles);

void piles_free(struct piles *piles);
size_t piles_bytes(const struct piles *piles);

#endif /* MEMSCOPE_ANALYSIS_PILES_H */
