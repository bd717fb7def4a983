// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_json.h"

#include <string.h>

#include "event/losses.h"
#include "render/json_process.h"
#include "render/report_words.h"

/* ---- common ---------------------------------------------------------------------------------- */

void report_json_device(struct json *json, int32_t device)
{
	json_put_if(json, "device", device >= 0, (uint64_t)device);
}

void report_json_comm(struct json *json, const char comm[MS_COMM_BYTES])
{
	json_name(json, "comm");
	json_text(json, comm, strnlen(comm, MS_COMM_BYTES));
}

void report_json_name(struct json *json, const char *name)
{
	json_put_text(json, "name", *name ? name : NULL);
}

void report_json_allocation(struct json *json, const struct allocation *allocation, uint64_t now_ns)
{
	json_process_allocation(json, allocation);
	json_put_text(json, "api", probe_at(allocation->row)->symbol);
	json_put_u64(json, "ts_ns", allocation->ts_ns);
	json_put_u64(json, "age_ns", report_age_ns(allocation, now_ns));
}

static void put_time(struct json *json, const char *name, const struct report_recording *recording,
		     uint64_t ts_ns)
{
	struct string text = { 0 };

	json_name(json, name);
	if (recording->coverage.wall_known) {
		report_append_time(&text, recording, ts_ns);
		json_text(json, text.bytes, text.length);
	} else {
		json_null(json);
	}
	json->out->failed |= text.failed;
	string_fini(&text);
}

/* ---- coverage -------------------------------------------------------------------------------- */

static void put_files(struct json *json, const struct report_coverage *coverage)
{
	size_t i;

	json_name(json, "files");
	json_open(json, '[');
	for (i = 0; i < coverage->files_count; i++)
		json_text(json, coverage->files[i], strlen(coverage->files[i]));
	json_close(json, ']');
}

static void put_not_captured(struct json *json, const struct report_coverage *coverage)
{
	uint32_t op;

	json_name(json, "not_captured");
	json_open(json, '[');
	for (op = 0; op < MS_OPS_COUNT; op++)
		if (report_not_captured(coverage, op))
			json_text(json, probe_op_name(op), strlen(probe_op_name(op)));
	json_close(json, ']');
}

static void put_not_looked_for(struct json *json, const struct report_recording *recording)
{
	enum finding_rule rule;

	json_name(json, "not_looked_for");
	json_open(json, '[');
	for (rule = 0; rule < FINDING_RULES_COUNT; rule++) {
		const char *why = report_blind(recording, rule, FINDING_LOW);

		if (!why)
			continue;
		json_open(json, '{');
		json_put_text(json, "rule", finding_rule_name(rule));
		json_put_text(json, "why", why);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_lost(struct json *json, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	const struct recording_account *account = &coverage->account;
	const struct ms_counters *counters = &coverage->counters;
	const struct losses losses = losses_of(counters);
	uint32_t op;

	json_name(json, "lost");
	json_open(json, '{');
	json_put_u64(json, "records", report_lost(coverage));
	json_name(json, "by_op");
	json_open(json, '{');
	for (op = 0; op < MS_OPS_COUNT; op++)
		json_put_u64(json, probe_op_name(op), counters->lost[op]);
	json_close(json, '}');
	json_put_u64(json, "free_begins", counters->lost[MS_KIND_FREE_BEGIN]);
	json_put_u64(json, "process_records", counters->lost[MS_KIND_PROCESS]);
	json_put_u64(json, "who_records", counters->lost[MS_KIND_WHO]);
	json_put_u64(json, "untracked", losses.untracked);
	json_put_u64(json, "missing_blocks", account->missing_blocks);
	json_put_if(json, "first_missing_ts_ns", account->first_missing_ts_ns,
		    account->first_missing_ts_ns);
	json_put_u64(json, "missing_ns", account->missing_ns);
	json_put_u64(json, "damaged_places", account->damaged_places);
	json_put_u64(json, "damaged_bytes", account->damaged_bytes);
	json_put_u64(json, "unwritten_blocks", coverage->unwritten_blocks);
	json_put_u64(json, "unwritten_records", coverage->unwritten_records);
	json_put_u64(json, "refused_records", account->refused);
	json_put_u64(json, "unknown_calls", account->unknown_calls);
	json_put_u64(json, "unknown_records", account->unknown_records);
	json_put_u64(json, "unknown_blocks", account->unknown_blocks);
	json_put_u64(json, "unanchored_records", account->unanchored);
	json_put_u64(json, "uncertain_records", account->uncertain);
	json_put_if(json, "missed_processes", coverage->missed_known, coverage->missed_processes);
	json_put_if(json, "untraced_descendants", coverage->untraced_known, coverage->untraced);
	json_untraced_forks(json, coverage->forks_known ? &coverage->forks : NULL);
	json_left_cgroup(json, coverage->leavers_known ? &coverage->leavers : NULL);
	json_put_bool(json, "cut_short", account->cut_short);
	json_put_bool(json, "has_beginning", coverage->has_beginning);
	json_put_bool(json, "ended_properly", account->has_end);
	json_put_bool(json, "being_written", coverage->being_written);
	json_put_bool(json, "live_is_exact", !report_is_inexact(recording));
	json_put_bool(json, "report_is_complete", !recording->incomplete);
	json_close(json, '}');
}

void report_json_coverage(struct json *json, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;

	json_name(json, "recording");
	json_hex(json, coverage->account.recording);
	put_files(json, coverage);
	json_put_text(json, "host", coverage->host);
	json_put_text(json, "kernel", coverage->kernel);
	json_put_text(json, "machine", coverage->machine);
	json_put_text(json, "recorded_by", coverage->version);
	json_put_text(json, "targets", coverage->targets);
	json_put_text(json, "end_reason", coverage->reason);
	put_time(json, "begin", recording, report_begin_ns(recording));
	put_time(json, "end", recording, report_end_ns(recording));
	json_put_u64(json, "begin_ts_ns", report_begin_ns(recording));
	json_put_u64(json, "end_ts_ns", report_end_ns(recording));
	json_put_if(json, "wall_offset_ns", coverage->wall_known, coverage->wall_offset_ns);
	json_put_u64(json, "events", coverage->account.calls);
	json_put_u64(json, "abandoned", coverage->counters.abandoned);
	json_put_u64(json, "other_stacks", recording->state->stacks.others);
	json_put_u64(json, "blocks", coverage->account.blocks);
	json_put_u64(json, "segments", coverage->account.segments);
	put_not_captured(json, coverage);
	json_put_bool(json, "runtime_alone", coverage->runtime_alone);
	put_not_looked_for(json, recording);
	put_lost(json, recording);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_verdict(struct json *json, const struct report *report)
{
	struct verdict verdict;

	report_verdict(&verdict, report);
	verdict_json(json, &verdict);
	verdict_fini(&verdict);
}

static void put_options(struct json *json, const struct report *report)
{
	const struct report_coverage *coverage = &report->recordings[0]->coverage;
	const struct report_options *options = &report->options;
	size_t i;

	json_name(json, "options");
	json_open(json, '{');
	json_put_if(json, "pid", options->pids_count == 1, options->pids[0]);
	json_name(json, "pids");
	json_open(json, '[');
	for (i = 0; i < options->pids_count; i++)
		json_u64(json, options->pids[i]);
	json_close(json, ']');
	json_put_text(json, "user", options->selection.user);
	json_put_text(json, "cgroup", options->selection.cgroup);
	json_put_text(json, "container", options->selection.container);
	json_put_text(json, "pod", options->selection.pod);
	json_put_text(json, "namespace", options->selection.namespace);
	json_put_text(json, "comm", options->selection.comm);
	json_put_text(json, "by", process_groups_name(options->by));
	report_json_device(json, report->options.device);
	json_put_u64(json, "top", report->options.top);
	json_put_bool(json, "whole_time", !coverage->from_ns && !coverage->until_ns);
	json_close(json, '}');
}

void report_json_thresholds(struct json *json, const struct threshold *(*at)(size_t i),
			    const void *options)
{
	const struct threshold *threshold;
	size_t i;

	json_name(json, "thresholds");
	json_open(json, '[');
	for (i = 0; (threshold = at(i)); i++) {
		json_open(json, '{');
		json_put_text(json, "name", threshold->name);
		json_put_text(json, "unit", report_unit_name(threshold->unit));
		json_put_u64(json, "value", threshold_of(threshold, options));
		json_put_u64(json, "default", threshold->value);
		json_put_text(json, "what", threshold->help);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void report_json_object(struct json *json, const struct report *report)
{
	size_t i;

	json_open(json, '{');
	json_put_text(json, "schema", JSON_REPORT_SCHEMA);
	put_verdict(json, report);
	put_options(json, report);
	json_put_u64(json, "unusable_files", report->refused);
	json_name(json, "recordings");
	json_open(json, '[');
	for (i = 0; i < report->count; i++) {
		json_open(json, '{');
		report_json_coverage(json, report->recordings[i]);
		report_json_memory(json, report->recordings[i]);
		report_json_timeline(json, report->recordings[i]);
		report_json_phases(json, report->recordings[i]);
		report_json_steps(json, report->recordings[i]);
		report_json_findings(json, report->recordings[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	report_json_thresholds(json, analysis_threshold_at, &report->recordings[0]->thresholds);
	json_close(json, '}');
}

void report_json(struct string *out, const struct report *report)
{
	struct json json = { .out = out };

	report_json_object(&json, report);
	string_append_char(out, '\n');
}
