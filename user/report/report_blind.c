// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report cannot say, since what a rule goes by was not recorded.
 */
#include "report/report.h"

static const char *const not_captured[MS_OPS_COUNT] = {
	[MS_OP_ALLOC] = "allocations were not captured",
	[MS_OP_FREE] = "frees were not captured",
	[MS_OP_COPY] = "copies were not captured",
	[MS_OP_MEMSET] = "memsets were not captured",
	[MS_OP_LAUNCH] = "launches were not captured",
	[MS_OP_SYNC] = "synchronisations were not captured",
	[MS_OP_MEMORY] = "the driver's answers about memory were not captured",
	[MS_OP_CONTEXT] = "contexts were not captured",
	[MS_OP_NAME] = "names were not captured",
};

static bool has_launches(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].process->launches)
			return true;
	return recording->state->more && recording->state->more->launches;
}

static const char *blind_to_order(const struct report_recording *recording)
{
	if (recording->coverage.copies_summed)
		return "copies were summed up: record with --copies=all";
	if (recording->coverage.launches_summed && has_launches(recording))
		return "launches were only counted: record with --launches=all";
	return NULL;
}

/* As the rule itself has it. */
static const char *blind_to_pinned(const struct report_recording *recording)
{
	const struct report_unknown unknown = report_unknown(recording);

	if (report_has(recording, FINDING_PAGEABLE_COPIES))
		return NULL;
	if (unknown.was_running || unknown.entries_only ||
	    unknown.counters[COUNTER_UNKNOWN_ALLOCS] || unknown.counters[COUNTER_UNKNOWN_SIZES])
		return "which host memory is page-locked is not known";
	return NULL;
}

static const char *blind_for_now(const struct report_recording *recording)
{
	uint64_t length_ns = report_end_ns(recording) - report_begin_ns(recording);

	return length_ns < recording->thresholds.bound_time_ns ?
		       "less time was recorded than bound-time" :
		       NULL;
}

const char *report_blind(const struct report_recording *recording, enum finding_rule rule)
{
	uint32_t missing = finding_rule_needs(rule) & ~recording->coverage.captured_ops, op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (missing >> op & 1)
			return not_captured[op];
	switch (finding_rule_blind(rule)) {
	case RULE_BLIND_TO_ORDER:
		return blind_to_order(recording);
	case RULE_BLIND_TO_PINNED:
		return blind_to_pinned(recording);
	case RULE_BLIND_FOR_NOW:
		return blind_for_now(recording);
	case RULE_BLIND_NOTHING:
		return NULL;
	}
	return NULL;
}
