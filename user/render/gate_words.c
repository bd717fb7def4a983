// SPDX-License-Identifier: BSD-2-Clause
#include "render/gate_words.h"

#include <string.h>

#include "render/field.h"
#include "render/finding_words.h"
#include "render/report_words.h"

static const struct finding *first_of(const struct gate_condition *condition,
				      const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++)
		if (gate_takes(condition, recording, recording->findings[i].finding))
			return recording->findings[i].finding;
	return NULL;
}

static void append_failure(struct string *out, const struct gate_condition *condition,
			   const struct report_recording *recording,
			   const struct gate_result *result)
{
	static const char *const texts[GATE_KINDS_COUNT] = {
		[GATE_LOSS] = "the recording lacks something",
		[GATE_INEXACT] = "the numbers are not exact",
		[GATE_EMPTY] = "no call was recorded",
	};
	const struct finding *finding = first_of(condition, recording);

	if (!finding) {
		string_append_text(out, texts[condition->kind] ? texts[condition->kind] : "");
		return;
	}
	finding_words_append(out, recording, finding);
	if (result->findings > 1)
		string_append_format(out, ", and %zu more", result->findings - 1);
}

void gate_append_result(struct string *out, const struct gate_condition *condition,
			const struct report_recording *recording, const struct gate_result *result)
{
	switch (result->outcome) {
	case GATE_PASSED:
		break;
	case GATE_UNKNOWN:
		string_append_format(out, "%s could not be looked for: %s",
				     finding_rule_name(result->blind), result->why);
		break;
	case GATE_FAILED:
		append_failure(out, condition, recording, result);
		break;
	}
}

void gate_append_evidence(struct string *out, const struct report_recording *recording,
			  const struct finding *finding, const char *between)
{
	size_t i;

	for (i = 0; i < finding->evidence_count; i++) {
		const struct finding_evidence *evidence = &finding->evidence[i];

		string_append_text(out, i ? between : "");
		finding_words_evidence(out, evidence);
		string_append_text(out, ": ");
		report_append_value(out, recording, evidence->unit, evidence->value);
	}
}

void gate_append_recording(struct string *out, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	const char *host = coverage->host ? coverage->host : "an unknown host";

	field_append_safe(out, host, strlen(host));
	if (coverage->files_count) {
		string_append_text(out, ", ");
		field_append_safe(out, coverage->files[0], strlen(coverage->files[0]));
	}
	if (coverage->files_count > 1)
		string_append_format(out, " and %zu more", coverage->files_count - 1);
}

bool gate_minds_refused(const struct gate_condition *condition, const struct report *report)
{
	return report->refused && (condition->kind == GATE_LOSS || condition->kind == GATE_INEXACT);
}
