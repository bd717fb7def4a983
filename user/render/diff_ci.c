// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_ci.h"

#include "render/ci.h"
#include "render/diff_words.h"
#include "render/report_words.h"

/* ---- words ----------------------------------------------------------------------------------- */

static void append_failure(struct string *out, const struct gate_condition *condition,
			   const struct diff *diff, const struct gate_result *result)
{
	const struct diff_growth growth = diff_growth(diff);
	const struct diff_finding *finding;
	const bool exact_a = report_all_is_exact(diff->a), exact_b = report_all_is_exact(diff->b);

	switch (condition->kind) {
	case GATE_RULES:
		if (condition->growth_bytes) {
			diff_append_growth(out, &growth);
			return;
		}
		finding = diff_gate_finding(condition, diff);
		diff_append_finding(out, finding);
		if (finding->worse)
			string_append_format(out,
					     ", %s before: at least twice as much for its time and"
					     " work",
					     REPORT_SIZE(finding->bytes_a));
		else
			string_append_text(out, ", which was not there before");
		if (result->findings > 1)
			string_append_format(out, ", and %zu more", result->findings - 1);
		return;
	case GATE_NEW:
		string_append_text(out, "there is something that was not there before");
		return;
	case GATE_ANY:
		string_append_text(out, "something differs by more than noise");
		return;
	case GATE_LOSS:
		string_append_text(out, "a recording lacks something");
		return;
	case GATE_INEXACT:
		if (exact_a && exact_b)
			string_append_text(out, "children that were forked are not recorded, and"
						" whether they used CUDA is not known (record -f"
						" includes children)");
		else
			string_append_format(out, "the numbers of %s are not exact",
					     exact_a ? "B" :
					     exact_b ? "A" :
						       "both");
		return;
	case GATE_EMPTY:
	case GATE_LEFT:
	case GATE_PEAK:
	case GATE_KINDS_COUNT:
		return;
	}
}

void diff_append_result(struct string *out, const struct gate_condition *condition,
			const struct diff *diff, const struct gate_result *result)
{
	if (result->outcome == GATE_FAILED)
		append_failure(out, condition, diff, result);
	else if (result->outcome == GATE_UNKNOWN && condition->growth_bytes)
		string_append_format(out, "growth could not be looked for: %s", result->why);
	else if (result->outcome == GATE_UNKNOWN)
		string_append_format(out, "%s could not be looked for in B: %s",
				     finding_rule_name(result->blind), result->why);
}

static bool is_about_leaks(const struct gate_condition *condition)
{
	enum finding_rule rule;

	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		if (condition->rules >> rule & 1 && finding_topic_of(rule) == FINDING_TOPIC_LEAK)
			return true;
	return false;
}

void diff_append_in_both(struct string *out, const struct gate_condition *condition,
			 const struct diff *diff)
{
	struct diff_gate_sides sides;

	if (!diff_gate_in_both(condition, diff, &sides))
		return;
	string_append_format(out, "what B has of this kind, A has, too%s, so it is not counted: ",
			     is_about_leaks(condition) ?
				     ", and B not twice as much (for the same time and launches)" :
				     "");
	if (sides.bytes_a || sides.bytes_b)
		string_append_format(out, "%s in A, %s in B", REPORT_SIZE(sides.bytes_a),
				     REPORT_SIZE(sides.bytes_b));
	else
		string_append_format(out, "%zu finding%s in A, %zu in B", sides.count_a,
				     sides.count_a == 1 ? "" : "s", sides.count_b);
	string_append_format(out, "; write %sreport --fail-on %s for B alone",
			     is_about_leaks(condition) ?
				     "growth=10M to fail if a process of B holds 10 MiB more, or " :
				     "",
			     condition->text);
}

static void append_verdict(struct string *out, const struct diff *diff)
{
	struct verdict verdict;
	size_t i;

	diff_verdict(&verdict, diff);
	for (i = 0; i < verdict.count; i++) {
		string_append_text(out, i ? " " : "");
		string_append(out, verdict.sentences[i].bytes, verdict.sentences[i].length);
		out->failed |= verdict.sentences[i].failed;
	}
	verdict_fini(&verdict);
}

/* ---- JUnit ----------------------------------------------------------------------------------- */

static void put_case(struct string *out, const struct gate *gate,
		     const struct gate_condition *condition, const struct diff *diff)
{
	const struct gate_result result = diff_judge(condition, diff);
	const char *tag = result.outcome == GATE_FAILED ? "failure" :
			  gate->unknown_passes          ? "skipped" :
							  "error";
	struct string text = { 0 };

	string_append_format(&text, "%s", condition->text);
	string_append_text(out, "<testcase classname=\"memscope-bpf\" name=\"");
	ci_xml_string(out, &text);
	string_append_text(out, "\">");
	if (result.outcome != GATE_PASSED) {
		string_clear(&text);
		diff_append_result(&text, condition, diff, &result);
		string_append_format(out, "<%s message=\"", tag);
		ci_xml_string(out, &text);
		string_append_format(out, "\"></%s>", tag);
	}
	string_append_text(out, "</testcase>\n");
	string_fini(&text);
}

void diff_junit(struct string *out, const struct diff *diff, const struct gate *gate)
{
	const struct gate otherwise = gate_default();
	size_t failures = 0, unknown = 0, i;
	struct string text = { 0 };

	if (!gate->count)
		gate = &otherwise;
	for (i = 0; i < gate->count; i++) {
		const enum gate_outcome outcome = diff_judge(&gate->list[i], diff).outcome;

		failures += outcome == GATE_FAILED;
		unknown += outcome == GATE_UNKNOWN;
	}
	string_append_format(out,
			     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			     "<testsuites name=\"memscope-bpf\">\n"
			     "<testsuite name=\"diff\" tests=\"%zu\" failures=\"%zu\""
			     " errors=\"%zu\" skipped=\"%zu\">\n",
			     gate->count, failures, gate->unknown_passes ? 0 : unknown,
			     gate->unknown_passes ? unknown : 0);
	for (i = 0; i < gate->count; i++)
		put_case(out, gate, &gate->list[i], diff);
	append_verdict(&text, diff);
	string_append_text(out, "<system-out>");
	ci_xml_string(out, &text);
	string_append_text(out, "</system-out>\n</testsuite>\n</testsuites>\n");
	string_fini(&text);
}

/* ---- GitHub ---------------------------------------------------------------------------------- */

static void annotate(struct string *out, const char *level, const char *what, struct string *text)
{
	struct string title = { 0 };

	string_append_format(&title, "memscope-bpf diff: %s", what);
	ci_annotation(out, level, NULL, &title, text);
	string_fini(&title);
	string_clear(text);
}

void diff_github(struct string *out, const struct diff *diff, const struct gate *gate)
{
	struct string text = { 0 };
	size_t i;

	for (i = 0; i < gate->count; i++) {
		const struct gate_result result = diff_judge(&gate->list[i], diff);

		if (result.outcome == GATE_PASSED)
			continue;
		diff_append_result(&text, &gate->list[i], diff, &result);
		annotate(out, gate_is_failure(gate, result.outcome) ? "error" : "warning",
			 gate->list[i].text, &text);
	}
	append_verdict(&text, diff);
	annotate(out, diff_is_worse(diff) || diff_leaks_more(diff) ? "warning" : "notice",
		 "what changed", &text);
	string_fini(&text);
}
