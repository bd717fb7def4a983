// SPDX-License-Identifier: BSD-2-Clause
/*
 * One JSON object per line and event, as `trace --json` writes them, and lines for what a recording
 * has besides (docs/event.schema.json).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "export/export.h"
#include "event/losses.h"
#include "render/json.h"
#include "render/report_json.h"

struct ndjson {
	struct sink sink;
	struct sink *json_sink;
	struct writer *writer;
	const struct report_recording *recording;
	uint64_t shown; /* calls */
};

/* ---- lines ----------------------------------------------------------------------------------- */

static struct json line_begin(const struct ndjson *export, const char *type)
{
	struct json json = { .out = &export->writer->text };

	json_open(&json, '{');
	json_put_text(&json, "schema", JSON_EVENT_SCHEMA);
	json_put_text(&json, "type", type);
	return json;
}

static int line_end(const struct ndjson *export, struct json *json)
{
	json_close(json, '}');
	return writer_end_line(export->writer);
}

static int take_begin(struct sink *sink)
{
	const struct report_recording *recording = sink->recording;
	struct ndjson *export = (struct ndjson *)sink;
	const struct report_coverage *coverage = &recording->coverage;
	struct json json = line_begin(export, "recording");

	export->recording = recording;
	export->shown = 0;
	json_name(&json, "recording");
	json_hex(&json, coverage->account.recording);
	json_put_text(&json, "host", coverage->host);
	json_put_text(&json, "kernel", coverage->kernel);
	json_put_text(&json, "machine", coverage->machine);
	json_put_text(&json, "recorded_by", coverage->version);
	json_put_text(&json, "targets", coverage->targets);
	json_put_if(&json, "wall_offset_ns", coverage->wall_known, coverage->wall_offset_ns);
	export->json_sink->state = recording->state;
	json_sink_set_wall(export->json_sink, coverage->wall_known, coverage->wall_offset_ns);
	return line_end(export, &json);
}

static int take_call(struct sink *sink, const struct event *event, const struct change *change)
{
	struct ndjson *export = (struct ndjson *)sink;

	export->shown += event->count;
	return export->json_sink->call(export->json_sink, event, change);
}

static int take_process(struct sink *sink, const struct event *event, const struct change *change)
{
	struct ndjson *export = (struct ndjson *)sink;

	return export->json_sink->process(export->json_sink, event, change);
}

static int take_sample(struct sink *sink, const struct event *event, const struct change *change)
{
	struct ndjson *export = (struct ndjson *)sink;

	return export->json_sink->sample(export->json_sink, event, change);
}

static void put_time(const struct ndjson *export, struct json *json, uint64_t ts_ns)
{
	const struct report_coverage *coverage = &export->recording->coverage;

	json_put_u64(json, "ts_ns", ts_ns);
	json_put_if(json, "wall_ns", coverage->wall_known, ts_ns + coverage->wall_offset_ns);
}

static void put_live(struct json *json, const struct process *process)
{
	struct amount live[MS_SPACES_COUNT];
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		live[space] = (struct amount){ .count = process->spaces[space].live_count,
					       .bytes = process->spaces[space].live_bytes };
	json_open(json, '{');
	json_put_u64(json, "pid", process->pid);
	json_put_text(json, "comm", process->comm);
	json_name(json, "live");
	json_amounts(json, live);
	json_close(json, '}');
}

static int take_gap(struct sink *sink, uint64_t ts_ns, bool first)
{
	const struct ndjson *export = (const struct ndjson *)sink;
	const struct state *state = export->recording->state;
	const struct report_options *options = &export->recording->options;
	struct json json = line_begin(export, "gap");
	size_t i;

	put_time(export, &json, ts_ns);
	json_put_bool(&json, "first", first);
	json_name(&json, "processes");
	json_open(&json, '[');
	for (i = 0; i < state->processes_count; i++)
		if (report_wants(options, state->processes[i]) && !state->processes[i]->exited)
			put_live(&json, state->processes[i]);
	json_close(&json, ']');
	return line_end(export, &json);
}

static int take_lost(struct sink *sink, uint64_t ts_ns, uint64_t count)
{
	const struct ndjson *export = (const struct ndjson *)sink;
	struct json json = line_begin(export, "lost");

	put_time(export, &json, ts_ns);
	json_put_u64(&json, "count", count);
	return line_end(export, &json);
}

/* ---- the summary ----------------------------------------------------------------------------- */

/* A state of nothing but the processes that are reported. Shares all with the real one. */
static int select_processes(const struct report_recording *recording, struct state *selected)
{
	const struct state *state = recording->state;
	size_t i;

	*selected = (struct state){ 0 };
	selected->processes = calloc(state->processes_count + 1, sizeof(*selected->processes));
	if (!selected->processes)
		return -ENOMEM;
	for (i = 0; i < state->processes_count; i++)
		if (report_wants(&recording->options, state->processes[i]))
			selected->processes[selected->processes_count++] = state->processes[i];
	if (!report_selects(&recording->options)) {
		selected->more = state->more;
		selected->more_count = state->more_count;
	}
	return 0;
}

/* Calls of other processes are not counted anywhere: what is seen is what is shown or lost. */
static void count_calls(const struct ndjson *export, struct summary *summary)
{
	summary->losses = losses_of(&summary->counters);
	summary->shown = export->shown;
	summary->losses.seen = summary->shown + summary->losses.calls;
}

static int take_end(struct sink *sink, const struct summary *none)
{
	const struct ndjson *export = (const struct ndjson *)sink;
	const struct report_recording *recording = export->recording;
	struct state selected;
	struct summary summary = {
		.state = &selected,
		.start_ns = report_begin_ns(recording),
		.end_ns = report_end_ns(recording),
		.counters = recording->coverage.counters,
		.missed_processes = recording->coverage.missed_processes,
		.missed_known = recording->coverage.missed_known,
		.untraced = recording->coverage.untraced,
		.untraced_known = recording->coverage.untraced_known,
		.forks = recording->coverage.forks_known ? &recording->coverage.forks : NULL,
		.leavers = recording->coverage.leavers_known ? &recording->coverage.leavers : NULL,
		.captured_ops = recording->coverage.captured_ops,
		.refused = recording->coverage.account.refused,
	};
	struct json json;
	int err = select_processes(recording, &selected);

	(void)none;
	if (err)
		return err;
	count_calls(export, &summary);
	json = line_begin(export, "summary");
	json_summary(&json, &summary);
	json_name(&json, "coverage");
	json_open(&json, '{');
	report_json_coverage(&json, recording);
	json_close(&json, '}');
	free(selected.processes);
	return line_end(export, &json);
}

/* ---------------------------------------------------------------------------------------------- */

static void free_ndjson(struct sink *sink)
{
	struct ndjson *export = (struct ndjson *)sink;

	json_sink_free(export->json_sink);
	free(export);
}

static struct sink *begin_ndjson(const struct export_options *options)
{
	struct ndjson *export = calloc(1, sizeof(*export));

	if (export)
		export->json_sink = json_sink_new(options->writer, true);
	if (export && export->json_sink) {
		export->writer = options->writer;
		export->sink = (struct sink){ .begin = take_begin,
					      .call = take_call,
					      .process = take_process,
					      .sample = take_sample,
					      .gap = take_gap,
					      .lost = take_lost,
					      .end = take_end };
		return &export->sink;
	}
	log_error("not enough memory");
	free(export);
	return NULL;
}

static int finish_ndjson(struct sink *sink, const struct report *report)
{
	(void)sink;
	(void)report;
	return 0;
}

const struct exporter export_ndjson = {
	.name = "ndjson",
	.endings = ".ndjson .jsonl",
	.summary =
		"a JSON object per line and event, as trace --json writes them, for jq and scripts",
	.begin = begin_ndjson,
	.finish = finish_ndjson,
	.free = free_ndjson,
};
