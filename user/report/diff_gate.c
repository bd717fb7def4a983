// SPDX-License-Identifier: BSD-2-Clause
#include "report/diff_gate.h"

/* Those that are alike are one, of which the first is the largest. */
static bool fails_for(const struct gate_condition *condition, const struct diff_finding *finding)
{
	return finding->beyond && (finding->presence == DIFF_NEW || finding->worse) &&
	       gate_takes(condition, NULL, finding->b);
}

const struct diff_finding *diff_gate_finding(const struct gate_condition *condition,
					     const struct diff *diff)
{
	size_t i;

	for (i = 0; i < diff->findings_count; i++)
		if (fails_for(condition, &diff->findings[i]))
			return &diff->findings[i];
	return NULL;
}

static size_t count_findings(const struct gate_condition *condition, const struct diff *diff)
{
	size_t count = 0, i;

	for (i = 0; i < diff->findings_count; i++)
		count += fails_for(condition, &diff->findings[i]);
	return count;
}

static size_t count_taken(const struct gate_condition *condition, const struct report *report,
			  uint64_t *most_bytes)
{
	uint64_t bytes[FINDING_RULES_COUNT] = { 0 };
	size_t count = 0, i, j;

	*most_bytes = 0;
	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];

		for (j = 0; j < recording->findings_count; j++) {
			const struct finding *finding = recording->findings[j].finding;

			if (!gate_takes(condition, recording, finding))
				continue;
			count++;
			bytes[finding->rule] += finding->bytes;
			if (bytes[finding->rule] > *most_bytes)
				*most_bytes = bytes[finding->rule];
		}
	}
	return count;
}

bool diff_gate_in_both(const struct gate_condition *condition, const struct diff *diff,
		       struct diff_gate_sides *sides)
{
	*sides = (struct diff_gate_sides){ 0 };
	if (condition->growth_bytes || count_findings(condition, diff))
		return false;
	sides->count_a = count_taken(condition, diff->a, &sides->bytes_a);
	sides->count_b = count_taken(condition, diff->b, &sides->bytes_b);
	return sides->count_a && sides->count_b;
}

static bool is_met(const struct gate_condition *condition, const struct diff *diff)
{
	switch (condition->kind) {
	case GATE_RULES:
		return condition->growth_bytes &&
		       diff_growth(diff).bytes >= condition->growth_bytes;
	case GATE_NEW:
		return diff_has_new(diff);
	case GATE_ANY:
		return diff_differs_in_b(diff);
	case GATE_LOSS:
		return diff_has_losses(diff->a) || diff_has_losses(diff->b);
	case GATE_INEXACT:
		return !report_all_is_exact(diff->a) || !report_all_is_exact(diff->b) ||
		       diff_lacks_children(diff->a) || diff_lacks_children(diff->b);
	case GATE_EMPTY:
	case GATE_LEFT:
	case GATE_PEAK:
	case GATE_KINDS_COUNT:
		break;
	}
	return false;
}

/* In any recording of B: what could not be looked for there may be new. */
static const char *blind(const struct gate_condition *condition, const struct diff *diff,
			 enum finding_rule *rule)
{
	const char *why = NULL;
	size_t i;

	for (i = 0; !why && i < diff->b->count; i++)
		if (diff->b->recordings[i]->called || report_is_empty(diff->b))
			why = gate_blind(condition, diff->b->recordings[i], rule);
	return why;
}

/* What has no calls neither grew nor was grown beyond. */
static const char *blind_to_growth(const struct diff *diff)
{
	if (report_is_empty(diff->a))
		return "no call was recorded in A";
	return report_is_empty(diff->b) ? "no call was recorded in B" : NULL;
}

struct gate_result diff_judge(const struct gate_condition *condition, const struct diff *diff)
{
	struct gate_result result = { 0 };

	if (!condition->growth_bytes)
		result.findings = count_findings(condition, diff);
	if (result.findings || is_met(condition, diff)) {
		result.outcome = GATE_FAILED;
		return result;
	}
	if (condition->kind != GATE_RULES)
		return result;
	result.why = condition->growth_bytes ? blind_to_growth(diff) :
					       blind(condition, diff, &result.blind);
	result.outcome = result.why ? GATE_UNKNOWN : GATE_PASSED;
	return result;
}
