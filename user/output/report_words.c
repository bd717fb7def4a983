// SPDX-License-Identifier: BSD-2-Clause
#include "output/report_words.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "output/field.h"

typedef unsigned long long ull; /* for printf: uint64_t is unsigned long here, not everywhere */

const char *report_confidence_name(enum finding_confidence confidence)
{
	switch (confidence) {
	case FINDING_LOW:
		return "low";
	case FINDING_MEDIUM:
		return "medium";
	case FINDING_HIGH:
		return "high";
	}
	return "low";
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
	}
	return "count";
}

const char *report_topic_name(enum finding_topic topic)
{
	switch (topic) {
	case FINDING_TOPIC_LEAK:
		return "leak";
	case FINDING_TOPIC_OOM:
		return "out-of-memory";
	case FINDING_TOPIC_CHURN:
		return "churn";
	case FINDING_TOPIC_COPIES:
		return "copies";
	case FINDING_TOPIC_BOTTLENECK:
		return "bottleneck";
	case FINDING_TOPICS_COUNT:
		break;
	}
	return "";
}

void report_append_time(struct string *out, const struct report_recording *recording,
			uint64_t ts_ns)
{
	const struct report_coverage *coverage = &recording->coverage;
	uint64_t wall_ns = ts_ns + coverage->wall_offset_ns;
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm parts;
	char text[32];

	if (coverage->wall_known && gmtime_r(&seconds, &parts) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts)) {
		string_append_format(out, "%s.%03uZ", text,
				     (unsigned int)(wall_ns % 1000000000 / 1000000));
		return;
	}
	if (ts_ns < coverage->first_ts_ns)
		string_append_format(out, "-%.3f s", (coverage->first_ts_ns - ts_ns) / 1e9);
	else
		string_append_format(out, "+%.3f s", (ts_ns - coverage->first_ts_ns) / 1e9);
}

void report_append_process(struct string *out, uint32_t pid, const char comm[MS_COMM_BYTES])
{
	if (*comm)
		field_append_safe(out, comm, strnlen(comm, MS_COMM_BYTES));
	else
		string_append_text(out, "process");
	string_append_format(out, " (%u)", pid);
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
	}
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static struct string *sentence(struct report_verdict *verdict)
{
	return &verdict->sentences[verdict->count++];
}

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

/* Out of memory is what people call for, then leaks; the list is by topic already. */
static const struct finding *gravest(const struct report *report,
				     const struct report_recording **where)
{
	const struct finding *found = NULL;
	size_t i, j;

	for (i = 0; i < report->count; i++) {
		for (j = 0; j < report->recordings[i]->findings_count; j++) {
			const struct finding *finding = report->recordings[i]->findings[j].finding;

			if (found && (found->rule == FINDING_OOM || finding->rule != FINDING_OOM))
				continue;
			found = finding;
			*where = report->recordings[i];
		}
	}
	return found;
}

static size_t count_findings(const struct report *report)
{
	size_t count = 0, i;

	for (i = 0; i < report->count; i++)
		count += report->recordings[i]->findings_count;
	return count;
}

static void append_oom(struct string *out, const struct report_recording *recording,
		       const struct analysis_oom *oom)
{
	char size[STRING_NUMBER_BYTES];

	string_append_format(out, "%s of ",
			     oom->requested_known ? string_size(size, oom->requested_bytes) :
						    "An allocation");
	report_append_process(out, oom->pid, oom->comm);
	string_append_text(out, " could not be had at ");
	report_append_time(out, recording, oom->ts_ns);
	if (!oom->processes_count)
		return;
	string_append_text(out, ", when ");
	report_append_process(out, oom->processes[0].pid, oom->processes[0].comm);
	string_append_format(out, " held %s", string_size(size, oom->processes[0].live.bytes));
	if (oom->kinds_count)
		string_append_format(out, ", most of all from %s",
				     probe_at(oom->kinds[0].row)->symbol);
}

static void append_finding(struct string *out, const struct finding *finding)
{
	bool leaks = finding_topic_of(finding->rule) == FINDING_TOPIC_LEAK;
	char size[STRING_NUMBER_BYTES];

	report_append_process(out, finding->pid, finding->comm);
	if (leaks)
		string_append_format(out, " leaves %s behind", string_size(size, finding->bytes));
	string_append_format(out, "%s%s", leaks ? " (" : ": ", finding_rule_name(finding->rule));
	if (finding->row != MS_NO_ROW)
		string_append_format(out, ", %s", probe_at(finding->row)->symbol);
	if (!leaks && finding->bytes)
		string_append_format(out, ", %s", string_size(size, finding->bytes));
	string_append_format(out, "%s%s confidence%s", leaks ? "; " : ", with ",
			     report_confidence_name(finding->confidence), leaks ? ")" : "");
}

static void say_findings(struct report_verdict *verdict, const struct report *report)
{
	const struct report_recording *where = NULL;
	const struct finding *finding = gravest(report, &where);
	struct string *out = sentence(verdict);
	size_t count = count_findings(report);

	if (!finding) {
		string_append_text(out, "Nothing wrong was found: no leak, no allocation that"
					" failed for want of memory, no churn, no bottleneck.");
		return;
	}
	if (finding->rule == FINDING_OOM && where->ooms_count)
		append_oom(out, where, where->ooms[0]);
	else
		append_finding(out, finding);
	append_place(out, report, where);
	if (count > 1)
		string_append_format(out, "; %zu more finding%s below", count - 1,
				     count > 2 ? "s" : "");
	string_append_char(out, '.');
}

static const struct report_device *fullest(const struct report *report,
					   const struct report_recording **where)
{
	const struct report_device *found = NULL;
	size_t i, j;

	for (i = 0; i < report->count; i++) {
		for (j = 0; j < report->recordings[i]->devices_count; j++) {
			const struct report_device *device = &report->recordings[i]->devices[j];

			if (found && found->peak_bytes >= device->peak_bytes)
				continue;
			found = device;
			*where = report->recordings[i];
		}
	}
	return found;
}

static void say_peak(struct report_verdict *verdict, const struct report *report)
{
	const struct report_recording *where = NULL;
	const struct report_device *device = fullest(report, &where);
	struct string *out = sentence(verdict);
	char peak[STRING_NUMBER_BYTES], live[STRING_NUMBER_BYTES];

	if (!device || !device->peak_bytes) {
		string_append_text(out, "No allocation on a device was recorded.");
		return;
	}
	if (device->device >= 0)
		string_append_format(out, "Most was held on device %d", device->device);
	else
		string_append_text(out, "Most was held on a device that is not known");
	append_place(out, report, where);
	string_append_format(out, ": %s at ", string_size(peak, device->peak_bytes));
	report_append_time(out, where, device->peak_ts_ns);
	string_append_format(out, "; at the end it was %s", string_size(live, device->live_bytes));
	if (where->processes_count) {
		string_append_text(out, "; the process with the highest peak is ");
		report_append_process(out, where->processes[0].process->pid,
				      where->processes[0].process->comm);
	}
	string_append_char(out, '.');
}

static void say_losses(struct report_verdict *verdict, const struct report *report)
{
	uint64_t lost = 0, missing = 0, damaged = 0;
	struct string *out = sentence(verdict);
	size_t interrupted = 0, inexact = 0, i;
	char count[STRING_NUMBER_BYTES];

	for (i = 0; i < report->count; i++) {
		const struct report_coverage *coverage = &report->recordings[i]->coverage;

		lost += report_lost(coverage);
		missing += coverage->missing_blocks;
		damaged += coverage->damaged_places;
		interrupted += !coverage->has_end;
		inexact += report_is_inexact(report->recordings[i]);
	}
	if (!lost && !missing && !damaged && !interrupted && !inexact) {
		string_append_text(out, "Nothing was lost: the numbers are exact.");
		return;
	}
	string_append_text(out, lost || missing || damaged ? "The recording lacks something:" :
							     "Of note:");
	if (lost)
		string_append_format(out, " %s records were lost,", string_count(count, lost));
	if (missing || damaged)
		string_append_format(out, " %llu blocks are missing and %llu places damaged,",
				     (ull)missing, (ull)damaged);
	if (interrupted)
		string_append_text(out, " it was not ended properly, so the last moments are"
					" missing,");
	string_append_text(out, inexact ? " and what is live and the peaks are not exact." :
					  " but no allocation or free is known to be missing.");
}

void report_verdict_make(struct report_verdict *verdict, const struct report *report)
{
	*verdict = (struct report_verdict){ 0 };
	say_findings(verdict, report);
	say_peak(verdict, report);
	say_losses(verdict, report);
}

void report_verdict_fini(struct report_verdict *verdict)
{
	size_t i;

	for (i = 0; i < REPORT_VERDICT_MAX; i++)
		string_fini(&verdict->sentences[i]);
}
