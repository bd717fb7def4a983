// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_words.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "ledger/process.h"
#include "render/field.h"
#include "render/finding_words.h"
#include "render/identity_words.h"
#include "render/report_exactness.h"
#include "render/report_notes.h"
#include "render/report_oom_words.h"
#include "render/report_outage.h"
#include "render/report_xids.h"

typedef unsigned long long ull; /* for printf: uint64_t is unsigned long here, not everywhere */

const char *report_confidence_name(enum finding_confidence confidence)
{
	return finding_confidence_name(confidence);
}

const char *report_unit_name(enum finding_unit unit)
{
	switch (unit) {
	case FINDING_COUNT:
		return "count";
	case FINDING_BYTES:
		return "bytes";
	case FINDING_NS:
		return "ns";
	case FINDING_PERCENT:
		return "percent";
	case FINDING_BYTES_PER_SECOND:
		return "bytes_per_second";
	case FINDING_PER_SECOND:
		return "per_second";
	case FINDING_TIME:
		return "ts_ns";
	case FINDING_ADDRESS:
		return "address";
	case FINDING_PID:
		return "pid";
	case FINDING_CURESULT:
		return "CUresult";
	case FINDING_CUDAERROR:
		return "cudaError_t";
	}
	return "count";
}

void report_append_time(struct string *out, const struct report_recording *recording,
			uint64_t ts_ns)
{
	const struct report_coverage *coverage = &recording->coverage;
	char text[CLOCK_TEXT_BYTES];

	if (coverage->wall_known) {
		string_append_text(out, clock_utc_text(text, ts_ns + coverage->wall_offset_ns));
		return;
	}
	if (ts_ns < coverage->account.first_ts_ns)
		string_append_format(out, "-%.3f s", (coverage->account.first_ts_ns - ts_ns) / 1e9);
	else
		string_append_format(out, "+%.3f s", (ts_ns - coverage->account.first_ts_ns) / 1e9);
}

void report_append_process(struct string *out, uint32_t pid, const char *name)
{
	if (*name)
		field_append_safe(out, name, strlen(name));
	else
		string_append_text(out, "process");
	string_append_format(out, " (%u)", pid);
}

#define UNIDENTIFIED_NAMED 4

size_t report_append_unidentified(struct string *out, const struct report_recording *recording)
{
	const struct state *state = recording->state;
	size_t count = 0, i;

	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];

		if (!report_may_want(&recording->options, process) || ++count > UNIDENTIFIED_NAMED)
			continue;
		string_append_text(out, count > 1 ? ", " : "");
		report_append_process(out, process->pid, process->name);
	}
	if (count > UNIDENTIFIED_NAMED)
		string_append_format(out, " and %zu more", count - UNIDENTIFIED_NAMED);
	return count;
}

static void append_left_out(struct string *out, const struct report_recording *recording)
{
	struct string names = { 0 };
	const size_t count = report_append_unidentified(&names, recording);

	if (count)
		string_append_format(out, "; left out: %zu of which that is not known (%.*s)",
				     count, (int)names.length, names.bytes);
	out->failed |= names.failed;
	string_fini(&names);
}

bool report_append_selection(struct string *out, const struct report_recording *recording)
{
	const struct report_options *options = &recording->options;
	const uint64_t all = recording->state->processes_count + recording->state->more_count;
	struct string asked = { 0 };
	size_t i;

	if (!report_selects(options))
		return false;
	string_append_format(out, "%zu of %s process%s: ", recording->processes_count,
			     REPORT_COUNT(all), all == 1 ? "" : "es");
	for (i = 0; i < options->pids_count; i++)
		string_append_format(out, "%s%u", i ? ", " : "pid ", options->pids[i]);
	process_selection_append(&asked, &options->selection);
	if (asked.length) {
		string_append_text(out, i ? "; " : "");
		field_append_safe(out, asked.bytes, asked.length);
	}
	out->failed |= asked.failed;
	string_fini(&asked);
	append_left_out(out, recording);
	return true;
}

static void append_result(struct string *out, enum ms_layer layer, uint64_t value)
{
	const char *name = probe_result_name(layer, (int32_t)value);

	string_append_format(out, name ? "%s (%d)" : "%s%d", name ? name : "", (int32_t)value);
}

void report_append_value(struct string *out, const struct report_recording *recording,
			 enum finding_unit unit, uint64_t value)
{
	char text[STRING_NUMBER_BYTES];

	switch (unit) {
	case FINDING_COUNT:
		string_append_text(out, string_count(text, value));
		break;
	case FINDING_BYTES:
		string_append_text(out, string_size(text, value));
		break;
	case FINDING_NS:
		string_append_text(out, string_duration(text, value));
		break;
	case FINDING_PERCENT:
		string_append_format(out, "%llu %%", (ull)value);
		break;
	case FINDING_BYTES_PER_SECOND:
		string_append_format(out, "%s/s", string_size(text, value));
		break;
	case FINDING_PER_SECOND:
		string_append_format(out, "%s/s", string_count(text, value));
		break;
	case FINDING_TIME:
		report_append_time(out, recording, value);
		break;
	case FINDING_ADDRESS:
		string_append_hex(out, value);
		break;
	case FINDING_PID:
		string_append_u64(out, value);
		break;
	case FINDING_CURESULT:
		append_result(out, MS_LAYER_DRIVER, value);
		break;
	case FINDING_CUDAERROR:
		append_result(out, MS_LAYER_RUNTIME, value);
		break;
	}
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static void append_place(struct string *out, const struct report *report,
			 const struct report_recording *recording)
{
	const char *host = recording->coverage.host;

	if (report->count < 2)
		return;
	string_append_text(out, " on ");
	if (host)
		field_append_safe(out, host, strlen(host));
	else
		string_append_text(out, "an unknown host");
}

static size_t count_findings(const struct report *report)
{
	size_t count = 0, i, j;

	for (i = 0; i < report->count; i++)
		for (j = 0; j < report->recordings[i]->findings_count; j++)
			count += finding_topic_of(
					 report->recordings[i]->findings[j].finding->rule) !=
				 FINDING_TOPIC_NOTE;
	return count;
}

static bool is_blind(const struct report *report, enum finding_rule rule)
{
	size_t i;

	for (i = 0; i < report->count; i++)
		if (report_blind(report->recordings[i], rule, FINDING_LOW))
			return true;
	return false;
}

/* Whether every recording had what all rules of a topic go by. */
static bool was_looked_for(const struct report *report, enum finding_topic topic)
{
	enum finding_rule rule;

	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		if (finding_topic_of(rule) == topic && is_blind(report, rule))
			return false;
	return true;
}

/* NULL: that there is none cannot be said. */
static const char *nothing_of(const struct report *report, enum finding_topic topic)
{
	static const char *const no[FINDING_TOPICS_COUNT] = {
		[FINDING_TOPIC_KEPT] = "memory kept without need",
		[FINDING_TOPIC_OOM] = "out-of-memory failure",
		[FINDING_TOPIC_CHURN] = "churn",
		[FINDING_TOPIC_COPIES] = "copy that could be avoided or made faster",
		[FINDING_TOPIC_BOTTLENECK] = "bottleneck",
	};

	/* By the process's own blocks: what else grows on the device may have other reasons. */
	if (topic == FINDING_TOPIC_LEAK && !is_blind(report, FINDING_LEAK_GROWTH))
		return is_blind(report, FINDING_LEAK_AT_EXIT) ? "leak while it ran" : "leak";
	/* What leaks is kept without need, too. */
	if (topic == FINDING_TOPIC_KEPT && !was_looked_for(report, FINDING_TOPIC_LEAK))
		return NULL;
	return was_looked_for(report, topic) ? no[topic] : NULL;
}

static void append_nothing(struct string *out, const struct report *report)
{
	const struct report_coverage *coverage = &report->recordings[0]->coverage;
	const char *before = ": no ";
	enum finding_topic topic;
	enum finding_rule rule;

	if (report_is_empty(report)) {
		string_append_text(
			out, coverage->from_ns || coverage->until_ns ?
				     "No call was recorded in that time." :
				     "No call was recorded, so nothing wrong could be found.");
		return;
	}
	report_append_nothing_found(out, report);
	for (topic = 0; topic < FINDING_TOPICS_COUNT; topic++) {
		const char *nothing = nothing_of(report, topic);

		if (!nothing)
			continue;
		string_append_format(out, "%s%s", before, nothing);
		before = ", no ";
	}
	before = ". Not looked for: ";
	for (rule = 0; rule < FINDING_RULES_COUNT; rule++) {
		if (!is_blind(report, rule))
			continue;
		string_append_format(out, "%s%s", before, finding_rule_name(rule));
		before = ", ";
	}
	string_append_char(out, '.');
}

static const struct analysis_oom *oom_of(const struct report_recording *recording,
					 const struct finding *finding)
{
	size_t count;
	const struct analysis_oom *ooms = analysis_ooms(recording->analysis, &count);

	return finding->rule == FINDING_OOM && finding->oom < count ? &ooms[finding->oom] : NULL;
}

/* What looks like something wrong to who sees the curve is not passed over. */
static void append_note(struct string *out, const struct report *report)
{
	const struct report_recording *where = NULL;
	const struct finding *note = report_gravest(report, true, &where);

	if (!note)
		return;
	string_append_text(out, " Not wrong, but to be known: ");
	finding_words_append(out, where, note);
	append_place(out, report, where);
	string_append_char(out, '.');
}

static void append_suppressed(struct string *out, const struct report *report)
{
	size_t count = 0, i;

	for (i = 0; i < report->count; i++)
		count += report->recordings[i]->suppressed;
	if (count)
		string_append_format(out, " %zu finding%s suppressed.", count,
				     count == 1 ? " is" : "s are");
}

/* Whether it is the same in another process: workers, or one that is started again and again. */
static bool is_repeated(const struct finding *finding, const struct finding *other)
{
	return other != finding && other->rule == finding->rule && other->row == finding->row &&
	       other->pid != finding->pid && !strcmp(other->name, finding->name);
}

/* Returns in how many findings, of which each process has one at least. */
static size_t append_repeats(struct string *out, const struct report_recording *where,
			     const struct finding *finding)
{
	size_t count = 0, i;

	for (i = 0; i < where->findings_count; i++)
		count += is_repeated(finding, where->findings[i].finding);
	if (count)
		string_append_format(out, "; the same %s time%s in other processes of that name",
				     REPORT_COUNT(count), count == 1 ? "" : "s");
	return count;
}

/* What would have helped, and what to do: of the gravest finding alone. */
static void say_remedy(struct verdict *verdict, const struct report *report)
{
	const struct report_recording *where = NULL;
	const struct finding *finding = report_gravest(report, false, &where);
	const char *suggestion = finding ? report_suggestion_of(where, finding) : NULL;
	const struct analysis_oom *oom = finding ? oom_of(where, finding) : NULL;
	const bool low = finding && finding->confidence == FINDING_LOW;
	const bool unsure = oom && oom->confidence == FINDING_LOW;
	const char *stacks;
	struct string *out;

	/* What may well be nothing needs no haste; a failure is something, whatever its cause. */
	if (!finding || (low && (finding->rule != FINDING_OOM || finding_ended_well(finding))) ||
	    (!suggestion && (!oom || !oom->remedies_count)))
		return;
	out = verdict_sentence(verdict);
	if (oom && oom->remedies_count) {
		report_append_oom_remedies(out, where, oom);
		string_append_text(out, suggestion ? " " : "");
	}
	if (suggestion)
		string_append_format(out, "What to do%s: %s",
				     unsure ? " (the cause is of low confidence)" : "", suggestion);
	stacks = report_finding_lacks_stacks(where, finding);
	if (suggestion && stacks)
		string_append_format(out, " To see where in the code, record with --stacks=%s.",
				     stacks);
}

static void append_site(struct string *out, const struct report_recording *where,
			const struct finding *finding)
{
	size_t i;

	for (i = 0; i < where->findings_count; i++) {
		const struct report_finding *numbered = &where->findings[i];
		struct string site = { 0 };

		if (numbered->finding != finding || !numbered->stack)
			continue;
		finding_words_site(&site, where, numbered);
		if (site.length && site.bytes[0] >= 'a' && site.bytes[0] <= 'z')
			site.bytes[0] -= 'a' - 'A'; /* a sentence of its own */
		string_append_char(out, ' ');
		string_append(out, site.bytes, site.length);
		string_append_char(out, '.');
		out->failed |= site.failed;
		string_fini(&site);
	}
}

static void say_findings(struct verdict *verdict, const struct report *report)
{
	const struct report_recording *where = NULL;
	const struct finding *finding = report_gravest(report, false, &where);
	struct string *out = verdict_sentence(verdict);
	size_t count = count_findings(report);
	const struct analysis_oom *oom;

	report_append_unwritten(out, report);
	if (!finding) {
		append_nothing(out, report);
		append_note(out, report);
		append_suppressed(out, report);
		return;
	}
	oom = oom_of(where, finding);
	if (oom)
		report_append_oom_verdict(out, where, oom);
	else
		finding_words_append(out, where, finding);
	append_place(out, report, where);
	count -= append_repeats(out, where, finding);
	if (count > 1)
		string_append_format(out, "; %zu more finding%s below", count - 1,
				     count > 2 ? "s" : "");
	string_append_char(out, '.');
	append_site(out, where, finding);
	append_suppressed(out, report);
}

static const struct report_device *fullest(const struct report *report,
					   const struct report_recording **where)
{
	const struct report_device *found = NULL;
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct report_device *device = report_fullest(report->recordings[i]);

		if (!device || (found && found->peak_bytes >= device->peak_bytes))
			continue;
		found = device;
		*where = report->recordings[i];
	}
	return found;
}

/* The peak of a device includes what other processes held, so a process alone has its own. */
static void say_own_peak(struct verdict *verdict, const struct report *report)
{
	const struct report_recording *where = NULL;
	const struct space_total *most = NULL;
	const struct process *process = NULL;
	struct string *out = verdict_sentence(verdict);
	uint8_t kind = MS_SPACE_NONE, space;
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];

		for (space = 0; recording->processes_count && space < MS_SPACES_COUNT; space++) {
			const struct process *one = recording->processes[0].process;

			if (!usage_is_on_device(space) || !one->spaces[space].peak_bytes ||
			    (most && most->peak_bytes >= one->spaces[space].peak_bytes))
				continue;
			most = &one->spaces[space];
			process = one;
			where = recording;
			kind = space;
		}
	}
	if (!most) {
		string_append_text(out, "No allocation of this process on a device was recorded.");
		return;
	}
	identity_words_process(out, process);
	append_place(out, report, where);
	string_append_format(out, " held at most %s of %s memory at ",
			     string_size((char[STRING_NUMBER_BYTES]){ 0 }, most->peak_bytes),
			     probe_space_name(kind));
	report_append_time(out, where, most->peak_ts_ns);
	string_append_format(out, "; at the end it was %s.",
			     string_size((char[STRING_NUMBER_BYTES]){ 0 },
					 report_held(process, kind).bytes));
}

static bool have_ended(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (!recording->processes[i].process->exited)
			return false;
	return recording->processes_count;
}

static void append_left(struct string *out, const struct report_recording *recording)
{
	const uint64_t left = report_left_bytes(recording), grown = report_grown_bytes(recording);

	if (left)
		string_append_format(out, " (%s had not been freed", REPORT_SIZE(left));
	if (left && grown && grown < left)
		string_append_text(out, ", that growth included");
	string_append_text(out, left ? ")" : "");
}

#define NOT_NAMED "a device that no recorded call has named"
#define RAN_BEFORE \
	" (a process was running before; its next call like cuCtxGetDevice would name it)"

static void say_peak(struct verdict *verdict, const struct report *report)
{
	const struct report_recording *where = NULL;
	const struct report_device *device = fullest(report, &where);
	struct string *out = verdict_sentence(verdict);
	char peak[STRING_NUMBER_BYTES], live[STRING_NUMBER_BYTES];

	if (!device || (!device->peak_bytes && !device->live_bytes)) {
		report_append_no_device_memory(out, report->recordings, report->count);
		return;
	}
	string_append_text(out, "Most was held on ");
	string_append_text(out, device->device >= 0 ? "device " : NOT_NAMED);
	if (device->device >= 0)
		report_device_append_label(out, where, device);
	else if (report_unknown(where).was_running)
		string_append_text(out, RAN_BEFORE);
	append_place(out, report, where);
	string_append_format(out, ": %s at ", string_size(peak, device->peak_bytes));
	report_append_time(out, where, device->peak_ts_ns);
	string_append_format(out, "; at the end it was %s", string_size(live, device->live_bytes));
	if (!device->live_bytes && have_ended(where)) {
		string_append_text(out, ", as all processes had ended");
		append_left(out, where);
	}
	if (where->processes_count) {
		string_append_text(out, "; the process with the highest peak is ");
		identity_words_process(out, where->processes[0].process);
	}
	string_append_char(out, '.');
}

bool report_append_not_captured(struct string *out, const struct report_recording *recording,
				const char *before)
{
	bool any = false;
	enum ms_op op;

	for (op = 0; op < MS_OPS_COUNT; op++) {
		if (!report_not_captured(&recording->coverage, op))
			continue;
		string_append_format(out, "%s%s%s", any ? ", " : before, probe_op_name(op),
				     op == MS_OP_LAUNCH && recording->coverage.graph_launches ?
					     " (except graphs)" :
					     "");
		any = true;
	}
	return any;
}

/* Of the first recording that has any. */
static void say_errors(struct verdict *verdict, const struct report *report)
{
	size_t i;

	for (i = 0; i < report->count; i++)
		if (report->recordings[i]->state->host.xids_count) {
			report_xids_append(verdict_sentence(verdict), report->recordings[i]);
			return;
		}
}

void report_verdict(struct verdict *verdict, const struct report *report)
{
	*verdict = (struct verdict){ 0 };
	say_findings(verdict, report);
	say_remedy(verdict, report);
	report_outage_say(verdict, report);
	say_errors(verdict, report);
	if (report_selects(&report->options))
		say_own_peak(verdict, report);
	else
		say_peak(verdict, report);
	report_append_exactness(verdict_sentence(verdict), report);
}
