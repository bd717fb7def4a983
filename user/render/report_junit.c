// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_junit.h"

#include <string.h>
#include <time.h>

#include "render/ci.h"
#include "render/gate_words.h"
#include "render/finding_words.h"
#include "render/report_words.h"

/* One after the other, an XML text that is made of texts of any origin. */
struct junit {
	struct string *out;
	struct string text; /* that is made */
	const struct report *report;
	const struct gate *gate;
};

struct counts {
	size_t tests, failures, errors, skipped;
};

static void put_attribute(struct junit *junit, const char *name)
{
	string_append_format(junit->out, " %s=\"", name);
	ci_xml_string(junit->out, &junit->text);
	string_append_char(junit->out, '"');
	string_clear(&junit->text);
}

static void put_counts(struct junit *junit, const struct counts *counts)
{
	string_append_format(junit->out,
			     " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
			     counts->tests, counts->failures, counts->errors, counts->skipped);
}

/* ---- counting -------------------------------------------------------------------------------- */

static void count(struct counts *counts, const struct gate *gate, enum gate_outcome outcome)
{
	counts->tests++;
	counts->failures += outcome == GATE_FAILED;
	counts->errors += outcome == GATE_UNKNOWN && !gate->unknown_passes;
	counts->skipped += outcome == GATE_UNKNOWN && gate->unknown_passes;
}

static struct counts count_recording(const struct junit *junit,
				     const struct report_recording *recording)
{
	struct counts counts = { 0 };
	size_t i;

	for (i = 0; i < junit->gate->count; i++)
		count(&counts, junit->gate,
		      gate_judge(&junit->gate->list[i], junit->report, recording).outcome);
	return counts;
}

static struct counts count_refused(const struct junit *junit)
{
	struct counts counts = { 0 };
	size_t i;

	for (i = 0; i < junit->gate->count; i++)
		if (gate_minds_refused(&junit->gate->list[i], junit->report))
			count(&counts, junit->gate, GATE_FAILED);
	return counts;
}

static void add_counts(struct counts *sum, struct counts counts)
{
	sum->tests += counts.tests;
	sum->failures += counts.failures;
	sum->errors += counts.errors;
	sum->skipped += counts.skipped;
}

/* ---- test cases ------------------------------------------------------------------------------ */

static void begin_case(struct junit *junit, const struct gate_condition *condition)
{
	string_append_text(junit->out, "<testcase classname=\"memscope-bpf\"");
	string_append_text(&junit->text, condition->text);
	put_attribute(junit, "name");
	string_append_char(junit->out, '>');
}

/* All findings that made it fail, with what they rest on. */
static void put_findings(struct junit *junit, const struct report_recording *recording,
			 const struct gate_condition *condition)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (!gate_takes(condition, recording, finding))
			continue;
		finding_words_append(&junit->text, recording, finding);
		string_append_text(&junit->text, "\n    ");
		gate_append_evidence(&junit->text, recording, finding, "\n    ");
		string_append_char(&junit->text, '\n');
	}
	ci_xml_string(junit->out, &junit->text);
	string_clear(&junit->text);
}

static void put_case(struct junit *junit, const struct report_recording *recording,
		     const struct gate_condition *condition)
{
	const struct gate_result result = gate_judge(condition, junit->report, recording);
	const char *tag = result.outcome == GATE_FAILED ? "failure" :
			  junit->gate->unknown_passes   ? "skipped" :
							  "error";

	begin_case(junit, condition);
	if (result.outcome != GATE_PASSED) {
		string_append_format(junit->out, "<%s", tag);
		gate_append_result(&junit->text, condition, recording, &result);
		put_attribute(junit, "message");
		if (strcmp(tag, "skipped") != 0) {
			string_append_text(&junit->text, condition->text);
			put_attribute(junit, "type");
		}
		string_append_char(junit->out, '>');
		put_findings(junit, recording, condition);
		string_append_format(junit->out, "</%s>", tag);
	}
	string_append_text(junit->out, "</testcase>\n");
}

/* ---- suites ---------------------------------------------------------------------------------- */

/* As the schema has it: without a zone. */
static void put_timestamp(struct junit *junit, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	const time_t seconds =
		(time_t)((report_begin_ns(recording) + coverage->wall_offset_ns) / 1000000000);
	struct tm tm;
	char text[40];

	if (!coverage->wall_known || !gmtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	string_append_text(&junit->text, text);
	put_attribute(junit, "timestamp");
}

static void put_time(struct junit *junit, const struct report_recording *recording)
{
	const uint64_t ms = (report_end_ns(recording) - report_begin_ns(recording)) / 1000000;

	string_append_format(junit->out, " time=\"%llu.%03llu\"", (unsigned long long)(ms / 1000),
			     (unsigned long long)(ms % 1000));
}

/* What else was found is there to be read. */
static void put_others(struct junit *junit, const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (gate_has(junit->gate, recording, finding))
			continue;
		finding_words_append(&junit->text, recording, finding);
		string_append_char(&junit->text, '\n');
	}
	if (recording->suppressed)
		string_append_format(&junit->text, "%zu finding%s suppressed.\n",
				     recording->suppressed,
				     recording->suppressed == 1 ? " is" : "s are");
	if (junit->text.length) {
		string_append_text(junit->out, "<system-out>");
		ci_xml_string(junit->out, &junit->text);
		string_append_text(junit->out, "</system-out>\n");
	}
	string_clear(&junit->text);
}

static void put_suite(struct junit *junit, const struct report_recording *recording)
{
	const struct counts counts = count_recording(junit, recording);
	size_t i;

	string_append_text(junit->out, "<testsuite");
	gate_append_recording(&junit->text, recording);
	put_attribute(junit, "name");
	put_counts(junit, &counts);
	put_time(junit, recording);
	put_timestamp(junit, recording);
	string_append_text(junit->out, ">\n");
	for (i = 0; i < junit->gate->count; i++)
		put_case(junit, recording, &junit->gate->list[i]);
	put_others(junit, recording);
	string_append_text(junit->out, "</testsuite>\n");
}

/* Files of which no recording can be made. */
static void put_refused(struct junit *junit)
{
	const struct counts counts = count_refused(junit);
	size_t i;

	if (!counts.tests)
		return;
	string_append_text(junit->out, "<testsuite name=\"files\"");
	put_counts(junit, &counts);
	string_append_text(junit->out, ">\n");
	for (i = 0; i < junit->gate->count; i++) {
		if (!gate_minds_refused(&junit->gate->list[i], junit->report))
			continue;
		begin_case(junit, &junit->gate->list[i]);
		string_append_text(junit->out, "<failure message=\"" GATE_REFUSED
					       "\" type=\"loss\"></failure></testcase>\n");
	}
	string_append_text(junit->out, "</testsuite>\n");
}

void report_junit(struct string *out, const struct report *report, const struct gate *gate)
{
	const struct gate otherwise = gate_default();
	struct junit junit = { .out = out,
			       .report = report,
			       .gate = gate->count ? gate : &otherwise };
	struct counts counts = count_refused(&junit);
	size_t i;

	for (i = 0; i < report->count; i++)
		add_counts(&counts, count_recording(&junit, report->recordings[i]));
	string_append_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
				"<testsuites name=\"memscope-bpf\"");
	put_counts(&junit, &counts);
	string_append_text(out, ">\n");
	for (i = 0; i < report->count; i++)
		put_suite(&junit, report->recordings[i]);
	put_refused(&junit);
	string_append_text(out, "</testsuites>\n");
	out->failed |= junit.text.failed;
	string_fini(&junit.text);
}
