/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a report or a diff is asked to fail on: conditions as --fail-on has them, and whether a
 * recording meets them. docs/ci.md describes them.
 */
#ifndef MEMSCOPE_REPORT_GATE_H
#define MEMSCOPE_REPORT_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "report/report.h"

#define GATE_CONDITIONS 64
#define GATE_TEXT_BYTES 48

enum gate_kind {
	GATE_RULES, /* findings of rules */
	GATE_LOSS,
	GATE_INEXACT,
	GATE_EMPTY,
	GATE_LEFT,
	GATE_PEAK,
	GATE_NEW, /* of a diff, as the next */
	GATE_ANY,
	GATE_KINDS_COUNT,
};

struct gate_condition {
	char text[GATE_TEXT_BYTES]; /* as it was written */
	enum gate_kind kind;
	uint64_t rules;                /* bit set of enum finding_rule */
	bool is_topic;                 /* they stand for a topic: not each of them was named */
	enum finding_confidence least; /* that counts */
	uint64_t growth_bytes;         /* of growth=SIZE, else 0 */
	uint64_t left_bytes;           /* of left=SIZE; left alone: 1 */
	uint64_t peak_bytes;           /* of peak=SIZE, else 0 */
	bool any_oom;                  /* also where the program had the memory in the end */
};

struct gate {
	struct gate_condition list[GATE_CONDITIONS];
	size_t count;
	bool unknown_passes;
};

enum gate_outcome {
	GATE_PASSED,
	GATE_UNKNOWN, /* a rule that was asked for could not look */
	GATE_FAILED,
};

struct gate_result {
	enum gate_outcome outcome;
	size_t findings;         /* that it failed for */
	enum finding_rule blind; /* GATE_UNKNOWN: the first rule that could not look, */
	const char *why;         /* and why */
};

/*
 * Adds what one word of --fail-on says; `kinds` is the set of kinds that may be asked for. Returns
 * 0, or -EINVAL: then `why` says what is wrong with it.
 */
int gate_add(struct gate *gate, const char *word, uint32_t kinds, struct string *why);

/* What is asked of a report if nothing is chosen, and a format needs something to say. */
struct gate gate_default(void);

/* What "leak" stands for. Growth is judged by the size that is asked for. */
bool gate_is_leak(enum finding_rule rule);

/* The smallest growth that is asked for; 0: none is. */
uint64_t gate_growth_bytes(const struct gate *gate);

/* Whether a condition fails for a finding of that recording, if there is no other. */
bool gate_takes(const struct gate_condition *condition, const struct report_recording *recording,
		const struct finding *finding);

/* The same of any condition of the gate. */
bool gate_has(const struct gate *gate, const struct report_recording *recording,
	      const struct finding *finding);

/*
 * Whether a condition would fail for the finding if it asked for less confidence: that is all that
 * speaks for the program then. Returns the condition, or NULL.
 */
const struct gate_condition *gate_spares(const struct gate *gate,
					 const struct report_recording *recording,
					 const struct finding *finding);

/* How a recording of a report meets a condition. */
struct gate_result gate_judge(const struct gate_condition *condition, const struct report *report,
			      const struct report_recording *recording);

/* Why a recording could not be looked at for a condition; NULL: it could. */
const char *gate_blind(const struct gate_condition *condition,
		       const struct report_recording *recording, enum finding_rule *rule);

/* Whether the outcome makes the command fail. */
bool gate_is_failure(const struct gate *gate, enum gate_outcome outcome);

#endif /* MEMSCOPE_REPORT_GATE_H */
