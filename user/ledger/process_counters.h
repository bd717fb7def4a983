/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is counted for each process: the rows of process_counters.def.
 */
#ifndef MEMSCOPE_LEDGER_PROCESS_COUNTERS_H
#define MEMSCOPE_LEDGER_PROCESS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

enum process_counter {
#define COUNTER(id, ...) COUNTER_##id,
#include "ledger/process_counters.def"
#undef COUNTER
	COUNTERS_COUNT,
};

struct process_counter_info {
	const char *name;
	uint64_t number;   /* in recordings */
	bool is_of_others; /* in JSON a member of "others" */
	bool is_inexact;   /* what is live is not exact if there are any */
	bool is_passing;   /* begins anew with the time that is asked for */
	bool in_report;
	const char *one, *many;
};

extern const struct process_counter_info process_counters[COUNTERS_COUNT];

/* What so many are. */
const char *process_counter_words(enum process_counter counter, uint64_t count);

/* By the number in recordings; -1: there is none, as far as this version knows. */
int process_counter_find(uint64_t number);

/* Whether what is live is not exact with such counts. */
bool process_counters_are_inexact(const uint64_t counters[COUNTERS_COUNT]);

#endif /* MEMSCOPE_LEDGER_PROCESS_COUNTERS_H */
