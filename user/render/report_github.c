// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_github.h"

#include "render/ci.h"
#include "render/gate_words.h"
#include "render/finding_words.h"
#include "render/report_words.h"
#include "render/stack_words.h"

static void annotate_line(struct string *out, const char *level, const struct frame *line,
			  const char *what, struct string *text)
{
	const struct ci_line at = { line ? line->source : NULL, line ? line->line : 0 };
	struct string title = { 0 };

	string_append_format(&title, "memscope-bpf: %s", what);
	ci_annotation(out, level, line ? &at : NULL, &title, text);
	string_fini(&title);
	string_clear(text);
}

static void annotate(struct string *out, const char *level, const char *what, struct string *text)
{
	annotate_line(out, level, NULL, what, text);
}

/* Where it was, if there are several. */
static void append_place(struct string *text, const struct report *report,
			 const struct report_recording *recording)
{
	if (report->count < 2)
		return;
	string_append_text(text, " (");
	gate_append_recording(text, recording);
	string_append_char(text, ')');
}

/* Where most of what is left was allocated. NULL: it is not known, or that is not asked for. */
static const struct frame *line_of(const struct report_recording *recording,
				   const struct gate_condition *condition)
{
	const struct process *process;
	const struct stack *stack;
	uint64_t bytes;
	size_t count;

	if (condition->kind != GATE_LEFT)
		return NULL;
	process = report_left_most(recording, condition->left_bytes, &count);
	if (!process)
		return NULL;
	stack = sites_fitting(&recording->sites, recording->state,
			      event_process_key(process->pid, process->start_ns), MS_NO_ROW, 0,
			      &bytes);
	return stack ? stack_words_own_line(&recording->state->stacks, stack) : NULL;
}

/* What fails and is no finding, or could not be looked for. Returns whether it fails. */
static bool annotate_condition(struct string *out, const struct report *report,
			       const struct report_recording *recording, const struct gate *gate,
			       const struct gate_condition *condition)
{
	const struct gate_result result = gate_judge(condition, report, recording);
	struct string text = { 0 };

	const bool fails = gate_is_failure(gate, result.outcome);

	if (result.outcome == GATE_PASSED || result.findings)
		return false;
	gate_append_result(&text, condition, recording, &result);
	append_place(&text, report, recording);
	annotate_line(out, fails ? "error" : "warning", line_of(recording, condition),
		      condition->text, &text);
	string_fini(&text);
	return fails;
}

static const char *level_of(const struct finding *finding, bool is_asked_for)
{
	if (is_asked_for)
		return "error";
	return finding->confidence >= FINDING_MEDIUM && !finding_ended_well(finding) &&
			       finding_topic_of(finding->rule) != FINDING_TOPIC_NOTE ?
		       "warning" :
		       "notice";
}

static void annotate_findings(struct string *out, const struct report *report,
			      const struct report_recording *recording, const struct gate *gate,
			      bool asked_for)
{
	struct string text = { 0 };
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct report_finding *numbered = &recording->findings[i];
		const struct finding *finding = numbered->finding;
		const struct frame *line = NULL;

		if (gate_has(gate, recording, finding) != asked_for)
			continue;
		finding_words_append(&text, recording, finding);
		append_place(&text, report, recording);
		string_append_text(&text, "\n");
		if (numbered->stack) {
			line = stack_words_own_line(&recording->state->stacks, numbered->stack);
			finding_words_site(&text, recording, numbered);
			string_append_text(&text, "\n");
		}
		gate_append_evidence(&text, recording, finding, "\n");
		annotate_line(out, level_of(finding, asked_for), line,
			      finding_rule_name(finding->rule), &text);
	}
	string_fini(&text);
}

/* Its first sentence says what was found, which is not all that can fail. */
static void annotate_verdict(struct string *out, const struct report *report, bool fails)
{
	const struct report_recording *where;
	const bool finds_nothing = !report_gravest(report, false, &where);
	struct string text = { 0 };
	struct verdict verdict;
	size_t i;

	report_verdict(&verdict, report);
	for (i = finds_nothing && fails; i < verdict.count; i++) {
		string_append_text(&text, text.length ? " " : "");
		string_append(&text, verdict.sentences[i].bytes, verdict.sentences[i].length);
		text.failed |= verdict.sentences[i].failed;
	}
	if (text.length)
		annotate(out, "notice", "report", &text);
	verdict_fini(&verdict);
	string_fini(&text);
}

/* A step of a workflow shows the first few: what makes it fail comes before all else. */
void report_github(struct string *out, const struct report *report, const struct gate *gate)
{
	struct string text = { 0 };
	bool fails = false;
	size_t i, j;

	for (i = 0; i < report->count; i++)
		annotate_findings(out, report, report->recordings[i], gate, true);
	for (i = 0; i < report->count; i++)
		for (j = 0; j < gate->count; j++)
			fails |= annotate_condition(out, report, report->recordings[i], gate,
						    &gate->list[j]);
	for (j = 0; j < gate->count; j++)
		if (gate_minds_refused(&gate->list[j], report)) {
			string_append_text(&text, GATE_REFUSED);
			annotate(out, "error", gate->list[j].text, &text);
			fails = true;
		}
	for (i = 0; i < report->count; i++)
		annotate_findings(out, report, report->recordings[i], gate, false);
	annotate_verdict(out, report, fails);
	string_fini(&text);
}
