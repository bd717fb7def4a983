// SPDX-License-Identifier: BSD-2-Clause
#include "render/gate_words.h"

#include <assert.h>
#include <string.h>

#include "render/field.h"
#include "render/finding_words.h"
#include "render/identity_words.h"
#include "render/report_words.h"
#include "render/stack_words.h"

static void append_chain(struct string *out, const struct report_recording *recording,
			 const struct stack *stack)
{
	struct string chain = { 0 };

	stack_words_append_chain(&chain, &recording->state->stacks, stack);
	field_append_safe(out, chain.bytes, chain.length);
	out->failed |= chain.failed;
	string_fini(&chain);
}

static const struct report_finding *first_of(const struct gate_condition *condition,
					     const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++)
		if (gate_takes(condition, recording, recording->findings[i].finding))
			return &recording->findings[i];
	return NULL;
}

/* The process that left most, and the line of code that most of that is from. */
static void append_left(struct string *out, const struct gate_condition *condition,
			const struct report_recording *recording)
{
	size_t count;
	const struct process *process = report_left_most(recording, condition->left_bytes, &count);
	const struct stack *stack;
	uint64_t key, bytes;

	assert(process); /* else it has not failed */
	identity_words_process(out, process);
	string_append_format(out, " held %s of device memory when it ended",
			     REPORT_SIZE(report_held_on_devices(process)));
	if (count > 1)
		string_append_format(out, ", and %zu more left so much", count - 1);
	key = event_process_key(process->pid, process->start_ns);
	stack = sites_fitting(&recording->sites, recording->state, key, MS_NO_ROW, 0, &bytes);
	if (!stack)
		return;
	string_append_format(out, "; %s of it was allocated in ", REPORT_SIZE(bytes));
	append_chain(out, recording, stack);
}

/* The peak of a device includes what processes held that were not chosen. */
static void append_own_peak(struct string *out, const struct gate_condition *condition,
			    const struct report_recording *recording)
{
	size_t count;
	const struct report_own_peak peak =
		report_highest_peak(recording, condition->peak_bytes, &count);

	assert(peak.process); /* else it has not failed */
	identity_words_process(out, peak.process);
	string_append_format(out, " held %s of device memory at ", REPORT_SIZE(peak.bytes));
	report_append_time(out, recording, peak.ts_ns);
	if (count > 1)
		string_append_format(out, ", and %zu more held so much", count - 1);
}

/* As the report's first lines have it. */
static void append_peak(struct string *out, const struct gate_condition *condition,
			const struct report_recording *recording)
{
	const struct report_device *device = report_fullest(recording);

	if (report_selects(&recording->options)) {
		append_own_peak(out, condition, recording);
		return;
	}
	assert(device); /* else it has not failed */
	string_append_format(out, "%s were held on ", REPORT_SIZE(device->peak_bytes));
	string_append_text(out, device->device >= 0 ? "device " : "a device of unknown number");
	if (device->device >= 0)
		report_device_append_label(out, recording, device);
	string_append_text(out, " at ");
	report_append_time(out, recording, device->peak_ts_ns);
	if (!recording->processes_count)
		return;
	string_append_text(out, "; the process with the highest peak is ");
	identity_words_process(out, recording->processes[0].process);
}

static const char *subject_of(const struct gate_condition *condition,
			      const struct gate_result *result)
{
	switch (condition->kind) {
	case GATE_LEFT:
		return "what processes left at their end";
	case GATE_PEAK:
		return "a peak of that size";
	default:
		return finding_rule_name(result->blind);
	}
}

static const char *inexact_words(const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;

	return report_has_losses(recording) || report_is_inexact(recording) ||
			       coverage->missed_processes || coverage->untraced ?
		       "the numbers are not exact" :
		       "children that were forked are not recorded, and whether they used CUDA is"
		       " not known (record -f includes children)";
}

static void append_failure(struct string *out, const struct gate_condition *condition,
			   const struct report_recording *recording,
			   const struct gate_result *result)
{
	const char *const texts[GATE_KINDS_COUNT] = {
		[GATE_LOSS] = "the recording lacks something",
		[GATE_INEXACT] = inexact_words(recording),
		[GATE_EMPTY] = "no call was recorded",
	};
	const struct report_finding *first = first_of(condition, recording);

	if (condition->kind == GATE_LEFT) {
		append_left(out, condition, recording);
		return;
	}
	if (condition->kind == GATE_PEAK) {
		append_peak(out, condition, recording);
		return;
	}
	if (!first) {
		string_append_text(out, texts[condition->kind] ? texts[condition->kind] : "");
		return;
	}
	finding_words_append(out, recording, first->finding);
	if (result->findings > 1)
		string_append_format(out, ", and %zu more", result->findings - 1);
	if (!first->stack)
		return;
	string_append_text(out, "; ");
	finding_words_site(out, recording, first);
}

/* How much there was of what was too little. */
static void append_figures(struct string *out, const struct report_recording *recording,
			   const struct gate_result *result)
{
	const struct analysis_options *thresholds = &recording->thresholds;
	const struct holdings_warmup *warmup = &recording->options.warmup;
	uint64_t allocs = 0;
	size_t i;

	switch (report_shortage_of(result->why)) {
	case REPORT_SHORT_OF_NOTHING:
		break;
	case REPORT_SHORT_OF_LEAK_TIME:
		string_append_format(out, " (%s; leak-time is ",
				     REPORT_DURATION(report_longest_work_ns(recording)));
		string_append_format(out, "%s)", REPORT_DURATION(thresholds->leak_time_ns));
		break;
	case REPORT_SHORT_OF_BOUND_TIME:
		string_append_format(out, " (%s; bound-time is ",
				     REPORT_DURATION(report_longest_ns(recording)));
		string_append_format(out, "%s)", REPORT_DURATION(thresholds->bound_time_ns));
		break;
	case REPORT_SHORT_OF_WARMUP:
		for (i = 0; i < recording->holdings.count; i++)
			if (recording->holdings.list[i]->allocs > allocs)
				allocs = recording->holdings.list[i]->allocs;
		string_append_format(out, " (at most %s allocation%s in a process, ",
				     REPORT_COUNT(allocs), allocs == 1 ? "" : "s");
		string_append_text(out, REPORT_DURATION(report_longest_ns(recording)));
		if (warmup->allocs)
			string_append_format(out, "; --warmup is %s allocations",
					     REPORT_COUNT(warmup->allocs));
		else if (warmup->ns)
			string_append_format(out, "; --warmup is %s", REPORT_DURATION(warmup->ns));
		string_append_char(out, ')');
		break;
	}
}

void gate_append_result(struct string *out, const struct gate_condition *condition,
			const struct report_recording *recording, const struct gate_result *result)
{
	switch (result->outcome) {
	case GATE_PASSED:
		break;
	case GATE_UNKNOWN:
		string_append_format(out, "%s could not be looked for: %s",
				     subject_of(condition, result), result->why);
		append_figures(out, recording, result);
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

static uint64_t calls_of(const struct process *process)
{
	uint64_t calls = 0;
	enum ms_op op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		calls += process->calls[op];
	return calls;
}

/* Those that are asked for: all, or what -p and the like name. */
static void count_calls(const struct report_recording *recording, uint64_t *processes,
			uint64_t *calls)
{
	size_t i;

	*processes += recording->processes_count;
	for (i = 0; i < recording->processes_count; i++)
		*calls += calls_of(recording->processes[i].process);
	if (!report_has_more(recording))
		return;
	*processes += recording->state->more_count;
	*calls += calls_of(recording->state->more);
}

void gate_append_checked(struct string *out, const struct gate *gate, uint64_t unknown,
			 const struct report *report)
{
	uint64_t calls = 0, processes = 0, ns = 0;
	const char *before = "checked ";
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];

		count_calls(recording, &processes, &calls);
		ns += report_end_ns(recording) - report_begin_ns(recording);
	}
	for (i = 0; i < gate->count; i++) {
		if (unknown >> i & 1)
			continue;
		string_append_format(out, "%s%s", before, gate->list[i].text);
		before = ", ";
	}
	if (*before != ',')
		string_append_text(out, "no condition could be checked");
	string_append_format(out, " in %s call%s of ", REPORT_COUNT(calls), calls == 1 ? "" : "s");
	string_append_format(out, "%s process%s, ", REPORT_COUNT(processes),
			     processes == 1 ? "" : "es");
	string_append_text(out, REPORT_DURATION(ns));
}

static bool asks_for_leaks(const struct gate *gate)
{
	enum finding_rule rule;
	uint64_t leaks = 0;
	size_t i;

	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		leaks |= (uint64_t)gate_is_leak(rule) << rule;
	for (i = 0; i < gate->count; i++)
		if (gate->list[i].kind == GATE_RULES && gate->list[i].rules & leaks)
			return true;
	return false;
}

/* Whether a rule that was asked for calls something a leak, with too little confidence to count. */
static bool doubts_leak(const struct gate *gate, const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (gate_is_leak(finding->rule) && gate_spares(gate, recording, finding))
			return true;
	}
	return false;
}

void gate_append_unfreed(struct string *out, const struct gate *gate, const struct report *report)
{
	bool doubtful = false;
	uint64_t left = 0;
	size_t i;

	for (i = 0; asks_for_leaks(gate) && i < report->count; i++) {
		left += report_left_bytes(report->recordings[i]);
		doubtful |= doubts_leak(gate, report->recordings[i]);
	}
	if (left)
		string_append_format(
			out,
			"; %s had not been freed when processes ended, which no rule"
			" that was asked for calls a leak%s: report --fail-on left=SIZE"
			" fails for that",
			REPORT_SIZE(left), doubtful ? " with enough confidence" : "");
}

bool gate_minds_refused(const struct gate_condition *condition, const struct report *report)
{
	return report->refused && (condition->kind == GATE_LOSS || condition->kind == GATE_INEXACT);
}
