// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_json.h"

#include <string.h>

#include "render/diff_words.h"
#include "render/json.h"
#include "render/json_process.h"
#include "render/json_writer.h"
#include "render/report_json.h"
#include "render/report_words.h"

static void put_string(struct json *json, const char *name, struct string *text)
{
	json_name(json, name);
	json_text(json, text->bytes, text->length);
	json->out->failed |= text->failed;
	string_fini(text);
}

static void put_time(struct json *json, const char *name, const struct report_recording *recording,
		     uint64_t ts_ns)
{
	struct string text = { 0 };

	if (recording->coverage.wall_known) {
		report_append_time(&text, recording, ts_ns);
		put_string(json, name, &text);
	} else {
		json_put_text(json, name, NULL);
	}
}

static void put_verdict(struct json *json, const struct diff *diff)
{
	struct verdict verdict;

	diff_verdict(&verdict, diff);
	verdict_json(json, &verdict);
	verdict_fini(&verdict);
}

static void put_options(struct json *json, const struct diff *diff)
{
	json_put_text(json, "per", diff_basis_name(diff->options.basis));
	report_json_thresholds(json, diff_threshold_at, &diff->options);
}

/* ---- sides ----------------------------------------------------------------------------------- */

static void put_recording(struct json *json, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	size_t i;

	json_open(json, '{');
	json_name(json, "recording");
	json_hex(json, coverage->account.recording);
	json_name(json, "files");
	json_open(json, '[');
	for (i = 0; i < coverage->files_count; i++)
		json_text(json, coverage->files[i], strlen(coverage->files[i]));
	json_close(json, ']');
	json_put_text(json, "host", coverage->host);
	json_put_text(json, "targets", coverage->targets);
	json_put_text(json, "recorded_by", coverage->version);
	put_time(json, "begin", recording, report_begin_ns(recording));
	json_put_u64(json, "length_ns", report_end_ns(recording) - report_begin_ns(recording));
	json_put_u64(json, "events", coverage->account.calls);
	json_put_u64(json, "lost_records", report_lost(coverage));
	json_put_bool(json, "has_losses", report_has_losses(recording));
	json_put_bool(json, "live_is_exact", !report_is_inexact(recording));
	json_put_if(json, "missed_processes", coverage->missed_known, coverage->missed_processes);
	json_put_if(json, "untraced_descendants", coverage->untraced_known, coverage->untraced);
	json_untraced_forks(json, coverage->forks_known ? &coverage->forks : NULL);
	json_close(json, '}');
}

static void put_side(struct json *json, const char *name, const struct report *side)
{
	size_t i;

	json_name(json, name);
	json_open(json, '{');
	json_put_u64(json, "unusable_files", side->refused);
	json_put_bool(json, "has_losses", diff_has_losses(side));
	json_put_bool(json, "live_is_exact", !diff_is_inexact(side));
	json_name(json, "recordings");
	json_open(json, '[');
	for (i = 0; i < side->count; i++)
		put_recording(json, side->recordings[i]);
	json_close(json, ']');
	json_close(json, '}');
}

/* ---- processes ------------------------------------------------------------------------------- */

static void put_rates(struct json *json, const struct diff_process *side)
{
	enum diff_rate rate;

	json_name(json, "rates");
	json_open(json, '{');
	for (rate = 0; rate < DIFF_RATES_COUNT; rate++)
		json_put_u64(json, diff_rate_name(rate), diff_rate_of(side, rate));
	json_close(json, '}');
}

static void put_process(struct json *json, const char *name, const struct diff_process *side)
{
	json_name(json, name);
	if (!side->process) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_name(json, "recording");
	json_hex(json, side->recording->coverage.account.recording);
	json_put_text(json, "host", side->recording->coverage.host);
	json_put_if(json, "pid", side->shown, side->process->pid);
	json_put_if(json, "start_ns", side->shown, side->process->start_ns);
	report_json_comm(json, side->process->comm);
	json_put_bool(json, "exited", side->process->exited);
	json_process_exit(json, side->shown && side->process->exited ? side->process->exit_status :
								       MS_EXIT_UNKNOWN);
	json_put_u64(json, "length_ns", side->length_ns);
	put_rates(json, side);
	json_close(json, '}');
}

static void put_ops(struct json *json, uint32_t ops)
{
	uint32_t op;

	json_name(json, "not_compared");
	json_open(json, '[');
	for (op = 0; op < MS_OPS_COUNT; op++)
		if (ops >> op & 1)
			json_text(json, probe_op_name(op), strlen(probe_op_name(op)));
	json_close(json, ']');
}

static void put_pairs(struct json *json, const struct diff *diff)
{
	size_t i;

	json_name(json, "processes");
	json_open(json, '[');
	for (i = 0; i < diff->pairs_count; i++) {
		const struct diff_pair *pair = &diff->pairs[i];

		json_open(json, '{');
		json_put_text(json, "change", diff_presence_name(pair->presence));
		json_put_bool(json, "differs", pair->differs);
		json_put_bool(json, "uncertain", pair->uncertain);
		json_put_text(json, "matched_by", diff_match_name(pair->match));
		json_put_u64(json, "alike_in_a", pair->alike_a);
		json_put_u64(json, "alike_in_b", pair->alike_b);
		json_put_text(json, "compared_per", diff_basis_name(pair->basis));
		put_ops(json, pair->not_compared);
		json_put_bool(json, "live_is_compared", !pair->no_levels);
		put_process(json, "a", &pair->a);
		put_process(json, "b", &pair->b);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Its place in "processes", or null. */
static void put_pair(struct json *json, const struct diff *diff, const struct diff_pair *pair)
{
	json_put_if(json, "process", pair, pair ? (uint64_t)(pair - diff->pairs) : 0);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_result(struct json *json, const struct diff_row *row)
{
	const struct probe *probe = probe_at(row->row);

	json_put_text(json, "api", probe->symbol);
	json_name(json, "result");
	json_i64(json, row->result);
	json_put_text(json, "result_name", probe_result_name(probe->layer, row->result));
}

static void put_keys(struct json *json, const struct diff_row *row)
{
	switch (row->dimension) {
	case DIFF_DEVICE:
		report_json_device(json, row->device);
		break;
	case DIFF_SPACE:
		json_put_text(json, "space", probe_space_name(row->space));
		break;
	case DIFF_API:
	case DIFF_SIZE:
		json_put_text(json, "api", probe_at(row->row)->symbol);
		json_put_text(json, "space", probe_space_name(row->space));
		report_json_device(json, row->device);
		if (row->dimension == DIFF_SIZE)
			json_put_u64(json, "size_class_bytes", 1ull << row->size_class);
		break;
	case DIFF_SITE:
		json_name(json, "stack");
		json_open(json, '{');
		json_stack(json, row->stacks, row->stack);
		json_close(json, '}');
		break;
	case DIFF_KERNEL:
		json_put_text(json, "kernel", row->kernel);
		break;
	case DIFF_COPY:
		json_put_text(json, "direction", diff_direction(row));
		break;
	case DIFF_CALL:
		json_put_text(json, "call", diff_call_name(row->call));
		break;
	case DIFF_FAILURE:
		put_result(json, row);
		break;
	case DIFF_MEMORY:
	case DIFF_DIMENSIONS_COUNT:
		break;
	}
}

static void put_metrics(struct json *json, const struct diff_row *row)
{
	enum diff_metric metric;

	json_name(json, "metrics");
	json_open(json, '{');
	for (metric = 0; metric < DIFF_METRICS_COUNT; metric++) {
		if (!(row->known >> metric & 1))
			continue;
		json_name(json, diff_metric_name(metric));
		json_open(json, '{');
		json_put_u64(json, "a", row->a[metric]);
		json_put_u64(json, "b", row->b[metric]);
		json_name(json, "change");
		json_i64(json, diff_change(row, metric));
		json_put_bool(json, "beyond_noise", row->beyond >> metric & 1);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void put_since(struct json *json, const struct diff_row *row)
{
	uint64_t since_ns = diff_since_ns(row);

	if (row->dimension == DIFF_SPACE)
		json_put_if(json, "since_ts_ns", since_ns, since_ns);
}

static void put_rows(struct json *json, const struct diff *diff)
{
	size_t i;

	json_put_u64(json, "rows_below_noise", diff->below_noise);
	json_put_bool(json, "devices_are_compared", !diff->devices_skipped);
	json_name(json, "rows");
	json_open(json, '[');
	for (i = 0; i < diff->rows_count; i++) {
		const struct diff_row *row = &diff->rows[i];

		json_open(json, '{');
		json_put_text(json, "dimension", diff_dimension_name(row->dimension));
		json_put_text(json, "change", diff_presence_name(row->presence));
		put_pair(json, diff, row->pair);
		put_keys(json, row);
		json_put_bool(json, "uncertain", row->uncertain);
		put_since(json, row);
		put_metrics(json, row);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* ---- findings, growth, times ----------------------------------------------------------------- */

static void put_finding(struct json *json, const struct diff *diff, const struct diff_finding *one)
{
	const struct finding *finding = one->b ? one->b : one->a;

	json_open(json, '{');
	json_put_text(json, "change", diff_presence_name(one->presence));
	put_pair(json, diff, one->pair);
	json_put_u64(json, "pid", finding->pid);
	report_json_comm(json, finding->comm);
	json_put_text(json, "rule", finding_rule_name(finding->rule));
	json_put_text(json, "api",
		      finding->row == MS_NO_ROW ? NULL : probe_at(finding->row)->symbol);
	json_put_text(json, "space",
		      finding->space == MS_SPACE_NONE ? NULL : probe_space_name(finding->space));
	report_json_device(json, finding->device);
	json_put_u64(json, "count_a", one->count_a);
	json_put_u64(json, "count_b", one->count_b);
	json_put_u64(json, "bytes_a", one->bytes_a);
	json_put_u64(json, "bytes_b", one->bytes_b);
	json_put_bool(json, "beyond_noise", one->beyond);
	json_put_bool(json, "worse", one->worse);
	json_put_bool(json, "rests_on_time", one->timed);
	json_put_bool(json, "uncertain", one->uncertain);
	json_close(json, '}');
}

static void put_findings(struct json *json, const struct diff *diff)
{
	size_t i;

	json_name(json, "findings");
	json_open(json, '[');
	for (i = 0; i < diff->findings_count; i++)
		put_finding(json, diff, &diff->findings[i]);
	json_close(json, ']');
}

static void put_growth(struct json *json, const struct diff *diff)
{
	const struct diff_growth growth = diff_growth(diff);

	json_name(json, "growth");
	if (!growth.bytes) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	put_pair(json, diff, growth.pair);
	report_json_device(json, growth.device);
	json_put_text(json, "of", growth.peak ? "peak" : "live");
	json_put_text(json, "space",
		      growth.space == MS_SPACE_NONE ? NULL : probe_space_name(growth.space));
	json_put_u64(json, "a", growth.a);
	json_put_u64(json, "b", growth.b);
	json_put_u64(json, "bytes", growth.bytes);
	json_put_bool(json, "uncertain", growth.uncertain);
	json_close(json, '}');
}

static void put_times(struct json *json, const struct diff *diff)
{
	enum diff_time which;

	json_name(json, "time_changes");
	json_open(json, '[');
	for (which = 0; which < DIFF_TIMES_COUNT; which++) {
		const struct diff_time_change change = diff_time_change(diff, which);

		if (!change.pair)
			continue;
		json_open(json, '{');
		put_pair(json, diff, change.pair);
		json_put_text(json, "of", diff_time_name(which));
		json_put_text(json, "api",
			      change.row == MS_NO_ROW ? NULL : probe_at(change.row)->symbol);
		json_put_u64(json, "a_ns", change.a_ns);
		json_put_u64(json, "b_ns", change.b_ns);
		json_put_bool(json, "uncertain", change.uncertain);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void diff_json(struct string *out, const struct diff *diff)
{
	struct json json = { .out = out };

	json_open(&json, '{');
	json_put_text(&json, "schema", JSON_DIFF_SCHEMA);
	put_verdict(&json, diff);
	put_options(&json, diff);
	put_side(&json, "a", diff->a);
	put_side(&json, "b", diff->b);
	put_growth(&json, diff);
	put_times(&json, diff);
	put_pairs(&json, diff);
	put_rows(&json, diff);
	put_findings(&json, diff);
	json_close(&json, '}');
	string_append_char(out, '\n');
}
