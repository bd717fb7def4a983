/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the history calls processes and devices.
 */
#ifndef MEMSCOPE_AGENT_HISTORY_NAMES_H
#define MEMSCOPE_AGENT_HISTORY_NAMES_H

#include "history/batch.h"
#include "ledger/state.h"

/* As much of the text as there is room for; NULL: "". */
void history_names_copy(char *out, size_t size, const char *text);

/* Who it is. Its counts become 0. */
void history_names_process(const struct process *process, struct history_process *out);

/* The device's key: its UUID, else its PCI bus id, else the number by which it is called. */
void history_names_device(struct history_device *out, const struct usage_totals *totals,
			  size_t place);

#endif /* MEMSCOPE_AGENT_HISTORY_NAMES_H */
