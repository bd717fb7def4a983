// SPDX-License-Identifier: BSD-2-Clause
#include "store/report_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "event/losses.h"
#include "pipeline.h"
#include "store/dump_file.h"
#include "store/replay.h"
#include "store/report_marks.h"
#include "store/report_places.h"

#define UNUSABLE_TOLD 10 /* recordings of which nothing can be said */

/* The reading of one recording; the report points into its state. */
struct report_run {
	struct sink sink; /* first: the pipeline hands copies over */
	struct pipeline pipeline;
	struct report_recording *recording; /* once its description is known */
	struct report_reader *reader;
	struct replay *replay;
	uint64_t anchors, lost; /* so far */
	uint64_t last_ts_ns;    /* of the recording, if a time that is asked for rests on it */
	bool being_written;     /* by its recorder, when the reading began */
	bool followed;          /* the reader's sink was told of the state it begins with */
};

/* ---- whom the reader tells ------------------------------------------------------------------- */

static int follow_gap(struct report_run *run, uint64_t ts_ns)
{
	struct sink *sink = run->reader->sink;
	bool first = !run->followed;

	run->followed = true;
	return sink && sink->gap ? sink->gap(sink, ts_ns, first) : 0;
}

static int take_begin(struct sink *sink)
{
	struct report_run *run = (struct report_run *)sink;

	return follow_gap(run, run->pipeline.from_ns);
}

/* Whether the reader's sink is told of it. */
static bool is_about(const struct report_run *run, const struct event *event,
		     const struct change *change)
{
	return run->reader->sink && (event->subject == EVENT_OF_MACHINE ||
				     report_wants(&run->reader->report.options, change->process));
}

static int take_call(struct sink *own, const struct event *event, const struct change *change)
{
	struct report_run *run = (struct report_run *)own;
	struct sink *sink = run->reader->sink;
	int err = report_recording_event(run->recording, event, change);

	return err || !is_about(run, event, change) || !sink->call ?
		       err :
		       sink->call(sink, event, change);
}

static int take_process(struct sink *own, const struct event *event, const struct change *change)
{
	struct report_run *run = (struct report_run *)own;
	struct sink *sink = run->reader->sink;
	int err = report_recording_event(run->recording, event, change);

	return err || !is_about(run, event, change) || !sink->process ?
		       err :
		       sink->process(sink, event, change);
}

static int take_identity(struct sink *own, const struct event *event, const struct change *change)
{
	report_recording_identity(((struct report_run *)own)->recording, event, change);
	return 0;
}

static int take_sample(struct sink *own, const struct event *event, const struct change *change)
{
	struct report_run *run = (struct report_run *)own;
	struct sink *sink = run->reader->sink;

	if (report_recording_sample(run->recording, event, change))
		return -ENOMEM;
	if (event->header->type == MS_TYPE_MARKER &&
	    report_wants(&run->reader->report.options, change->process))
		phases_event(&run->recording->phases, event, change);
	return is_about(run, event, change) && sink->sample ? sink->sample(sink, event, change) : 0;
}

static size_t count_bytes(const struct sink *sink)
{
	const struct report_run *run = (const struct report_run *)sink;

	return run->recording ? report_recording_bytes(run->recording) : 0;
}

static void run_free(struct report_run *run)
{
	if (!run)
		return;
	replay_free(run->replay);
	report_recording_free(run->recording);
	state_fini(&run->pipeline.state);
	free(run);
}

static struct report_run *run_new(struct report_reader *reader)
{
	struct report_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->reader = reader;
	run->sink.begin = take_begin;
	run->sink.call = take_call;
	run->sink.process = take_process;
	run->sink.identity = take_identity;
	run->sink.sample = take_sample;
	run->sink.bytes = count_bytes;
	pipeline_add_sink(&run->pipeline, &run->sink);
	run->pipeline.filter.ops = ~0u;
	run->pipeline.shows_sums = true;
	run->replay = replay_new(&run->pipeline, &reader->limits);
	if (run->replay)
		replay_name(run->replay, reader->namer);
	if (run->replay && !state_follow_usage(&run->pipeline.state))
		return run;
	run_free(run);
	return NULL;
}

/* ---- the recording's description ------------------------------------------------------------- */

/* `*text` stays NULL if the recording does not say. */
static int take_text(const struct report_run *run, const char *name, char **text)
{
	const char *found = replay_text(run->replay, name);

	if (!found || !*found)
		return 0;
	*text = strdup(found);
	return *text ? 0 : -ENOMEM;
}

/* In CLOCK_MONOTONIC of the recording's host; 0: not asked for. */
static uint64_t moment_of(const struct report_run *run, const struct report_time *time,
			  const struct report_coverage *coverage)
{
	const struct report_time_frame frame = {
		.first_ns = coverage->account.first_ts_ns,
		.last_ns = run->last_ts_ns,
		.wall_offset_ns = coverage->wall_offset_ns,
	};

	return report_time_moment(time, &frame);
}

/* "alloc,free,copy": by name, since their numbers may change. */
static uint32_t ops_of(const struct report_run *run)
{
	const char *at = replay_text(run->replay, "ops");
	uint32_t ops = 0, op;

	if (!at)
		return UINT32_MAX;
	for (; *at; at += strcspn(at, ","), at += *at == ',')
		for (op = 0; op < MS_OPS_COUNT; op++)
			if (strlen(probe_op_name(op)) == strcspn(at, ",") &&
			    !strncmp(at, probe_op_name(op), strcspn(at, ",")))
				ops |= 1u << op;
	return ops;
}

static bool has_detail(const struct report_run *run, const char *name, const char *detail)
{
	const char *text = replay_text(run->replay, name);

	return text && !strcmp(text, detail);
}

static int describe(const struct report_run *run, struct report_coverage *coverage)
{
	int err = take_text(run, "host", &coverage->host);

	if (!err)
		err = take_text(run, "kernel", &coverage->kernel);
	if (!err)
		err = take_text(run, "machine", &coverage->machine);
	if (!err)
		err = take_text(run, "version", &coverage->version);
	if (!err)
		err = take_text(run, "targets", &coverage->targets);
	coverage->wall_known = replay_text(run->replay, "realtime_offset_ns");
	coverage->wall_offset_ns = replay_number(run->replay, "realtime_offset_ns", 0);
	coverage->boot_known = replay_text(run->replay, "boottime_offset_ns");
	coverage->boot_offset_ns = replay_number(run->replay, "boottime_offset_ns", 0);
	coverage->captured_ops = ops_of(run);
	coverage->copies_summed = has_detail(run, "copies", "summary");
	coverage->launches_summed = has_detail(run, "launches", "summary");
	coverage->graph_launches = !report_not_captured(coverage, MS_OP_LAUNCH) ||
				   has_detail(run, "graph_launches", "all");
	coverage->runtime_alone = has_detail(run, "layers", "runtime");
	coverage->account = *replay_account(run->replay);
	coverage->from_ns = moment_of(run, &run->reader->from, coverage);
	coverage->until_ns = moment_of(run, &run->reader->until, coverage);
	return err;
}

/* The first block of a segment says what this is, and comes before all events. */
static int begin(struct report_run *run, bool has_beginning)
{
	const struct report_reader *reader = run->reader;
	struct analysis_options thresholds = reader->thresholds;
	struct report_coverage coverage = { 0 };
	int err = describe(run, &coverage);

	coverage.has_beginning = has_beginning;
	thresholds.captured_ops = coverage.captured_ops;
	thresholds.window_a_ns = moment_of(run, &reader->window[0], &coverage);
	thresholds.window_b_ns = moment_of(run, &reader->window[1], &coverage);
	thresholds.window_c_ns = moment_of(run, &reader->window[2], &coverage);
	if (!err)
		run->recording = report_recording_new(&run->pipeline.state, &reader->report.options,
						      &thresholds);
	if (!run->recording) {
		report_coverage_fini(&coverage);
		return -ENOMEM;
	}
	run->recording->coverage = coverage;
	run->pipeline.from_ns = coverage.from_ns;
	run->pipeline.until_ns = coverage.until_ns;
	timeline_begin(&run->recording->timeline, report_begin_ns(run->recording));
	if (!reader->sink)
		return err;
	reader->sink->recording = run->recording;
	reader->sink->state = &run->pipeline.state;
	return reader->sink->begin ? reader->sink->begin(reader->sink) : err;
}

/* ---- its blocks ------------------------------------------------------------------------------ */

/* From here on, the state is another one than the events led to. */
static int take_anchor(struct report_run *run, uint64_t ts_ns)
{
	const uint64_t from_ns = run->recording->coverage.from_ns;

	if (replay_account(run->replay)->anchors_used == run->anchors)
		return 0;
	if (run->anchors && from_ns && run->pipeline.begun) {
		run->pipeline.begun = false; /* totals begin anew: the anchor's are of all times */
		run->pipeline.from_ns = ts_ns;
	}
	report_recording_gap(run->recording, ts_ns > from_ns ? ts_ns : from_ns, !run->anchors);
	run->anchors = replay_account(run->replay)->anchors_used;
	/* Not before the time that is asked for. */
	return run->pipeline.from_ns && !run->pipeline.begun ? 0 : follow_gap(run, ts_ns);
}

static int take_losses(struct report_run *run, uint64_t ts_ns)
{
	struct sink *sink = run->reader->sink;
	const struct losses losses = losses_of(&run->pipeline.recorded);
	const uint64_t lost = losses_count(&losses), before = run->lost;

	run->lost = lost;
	if (lost <= before || (run->pipeline.from_ns && !run->pipeline.begun))
		return 0;
	timeline_lost(&run->recording->timeline, ts_ns, lost - before);
	return sink && sink->lost ? sink->lost(sink, ts_ns, lost - before) : 0;
}

static int count_read(struct report_reader *reader, const struct dump_item *item)
{
	reader->bytes += item->bytes;
	return reader->progress ? reader->progress(reader->progress_context, reader->bytes) : 0;
}

static int take_item(void *context, const struct dump_item *item)
{
	struct report_run *run = context;
	const uint64_t until_ns = run->pipeline.until_ns;
	int err = count_read(run->reader, item);

	if (err)
		return err;
	if (!run->recording && item->kind == DUMP_BLOCK && item->header.type != BLOCK_SEGMENT)
		return replay_item(run->replay, item); /* what it is about was lost */
	err = replay_item(run->replay, item);
	if (!err && !run->recording && item->kind == DUMP_BLOCK)
		err = begin(run, !item->header.sequence);
	if (err == -ENOMEM)
		log_error("not enough memory to read the recording");
	if (err || !run->recording || item->kind != DUMP_BLOCK)
		return err;
	err = take_anchor(run, item->header.first_ts_ns);
	if (!err && (!until_ns || item->header.last_ts_ns <= until_ns))
		err = take_losses(run, item->header.last_ts_ns);
	return err;
}

/* ---- its end --------------------------------------------------------------------------------- */

static int name_files(struct report_coverage *coverage, const struct dump_set_recording *recording)
{
	size_t i;

	coverage->files = calloc(recording->count, sizeof(*coverage->files));
	if (!coverage->files)
		return -ENOMEM;
	for (i = 0; i < recording->count; i++) {
		coverage->files[i] = strdup(recording->files[i].path);
		if (!coverage->files[i])
			return -ENOMEM;
		coverage->files_count++;
	}
	return 0;
}

static int finish(struct report_run *run, const struct dump_set_recording *recording)
{
	struct report_coverage *coverage = &run->recording->coverage;
	int err = 0;

	coverage->account = *replay_account(run->replay);
	coverage->account.refused += run->pipeline.refused;
	coverage->counters = run->pipeline.recorded;
	coverage->being_written = run->being_written && !coverage->account.has_end;
	/* The rest of the last block is about to be written. */
	coverage->account.cut_short &= !coverage->being_written;
	/* Nothing happened after it: totals are of an empty time, not of what was before. */
	if (run->pipeline.from_ns && !run->pipeline.begun) {
		state_restart(&run->pipeline.state, report_end_ns(run->recording));
		memset(&coverage->counters, 0, sizeof(coverage->counters));
		err = follow_gap(run, report_end_ns(run->recording));
	}
	if (coverage->from_ns)
		report_recording_gap(run->recording, report_begin_ns(run->recording), true);
	coverage->unwritten_blocks = replay_end_number(run->replay, "unwritten_blocks", 0);
	coverage->unwritten_records = replay_end_number(run->replay, "unwritten_records", 0);
	coverage->missed_processes = replay_end_number(run->replay, "missed_processes", 0);
	coverage->missed_known = replay_end_text(run->replay, "missed_processes");
	coverage->untraced = replay_end_number(run->replay, "untraced_descendants", 0);
	coverage->untraced_known = replay_end_text(run->replay, "untraced_descendants");
	coverage->forks_known = replay_end_text(run->replay, "untraced_forks");
	untraced_forks_parse(&coverage->forks, replay_end_text(run->replay, "untraced_forks"));
	coverage->leavers_known = replay_end_text(run->replay, "left_cgroup");
	cgroup_leavers_parse(&coverage->leavers, replay_end_text(run->replay, "left_cgroup"));
	if (replay_end_text(run->replay, "reason"))
		coverage->reason = strdup(replay_end_text(run->replay, "reason"));
	run->recording->incomplete |= replay_end_text(run->replay, "reason") && !coverage->reason;
	coverage->failed_pid = (uint32_t)replay_end_number(run->replay, "failed_pid", 0);
	coverage->failed_ns = replay_end_number(run->replay, "failed_ns", 0);
	if (!err)
		err = name_files(coverage, recording);
	return err ? err : report_recording_finish(run->recording);
}

static int keep(struct report_reader *reader, struct report_run *run)
{
	struct report_run **runs;
	struct report_recording **recordings;

	runs = reallocarray(reader->runs, reader->runs_count + 1, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	reader->runs = runs;
	recordings = reallocarray(reader->report.recordings, reader->report.count + 1,
				  sizeof(*recordings));
	if (!recordings)
		return -ENOMEM;
	reader->report.recordings = recordings;
	recordings[reader->report.count++] = run->recording;
	runs[reader->runs_count++] = run;
	replay_close(run->replay, sizeof(*run) + pipeline_bytes(&run->pipeline));
	replay_free(run->replay);
	run->replay = NULL;
	return 0;
}

static void refuse(struct report_reader *reader, const struct dump_set_recording *recording,
		   enum log_level level, const char *why)
{
	reader->report.refused += recording->count;
	/* One file can have many. */
	if (reader->unusable++ < UNUSABLE_TOLD)
		log_message(level, "%s: %s", recording->files[0].path, why);
	else if (reader->unusable == UNUSABLE_TOLD + 1)
		log_message(level, "there are more recordings that cannot be used");
}

/* Whether a time that is asked for rests on when the recording ends. */
static bool needs_end(const struct report_reader *reader)
{
	bool needed = report_time_needs_end(&reader->from) || report_time_needs_end(&reader->until);
	size_t i;

	for (i = 0; i < sizeof(reader->window) / sizeof(*reader->window); i++)
		needed |= report_time_needs_end(&reader->window[i]);
	return needed;
}

static int go_on(void *context)
{
	const struct report_reader *reader = context;

	return reader->progress ? reader->progress(reader->progress_context, reader->bytes) : 0;
}

/* A recording of several that lacks one of the marks is left out. */
static int find_marks(struct report_reader *reader, struct dump_set *set, size_t recording,
		      struct string *why)
{
	struct report_marks marks = {
		.options = &reader->report.options, .go_on = go_on, .context = reader, .why = why
	};
	size_t count = 0;

	if (reader->from.kind == REPORT_TIME_MARK)
		marks.times[count++] = &reader->from;
	if (reader->until.kind == REPORT_TIME_MARK)
		marks.times[count++] = &reader->until;
	return count ? report_marks_find(&marks, set, recording, &reader->limits) : 0;
}

static int read_one(struct report_reader *reader, struct dump_set *set, size_t recording);

/* The same reading of all of a recording, whatever part of it is asked for. */
static int read_whole(const struct report_reader *reader, struct report_reader *whole,
		      struct dump_set *set, size_t recording)
{
	const bool quiet = set->quiet;
	int err;

	whole->thresholds = reader->thresholds;
	whole->progress = reader->progress;
	whole->progress_context = reader->progress_context;
	whole->report.options = reader->report.options;
	whole->report.options.looks_ahead = true;
	whole->limits = reader->limits;
	whole->unusable = UNUSABLE_TOLD + 1;
	/* What is wrong with its files is said when they are read for the report. */
	set->quiet = set->peeks = true;
	err = read_one(whole, set, recording);
	set->quiet = quiet;
	set->peeks = false;
	return err;
}

/* When memory ran out, and when most was held. A recording of several without it is left out. */
static int find_places(struct report_reader *reader, struct dump_set *set, size_t recording,
		       struct string *why)
{
	struct report_reader whole = { 0 };
	const char *path = set->recordings[recording].files[0].path;
	int err;

	if (!report_places_is(&reader->from) && !report_places_is(&reader->until))
		return 0;
	err = read_whole(reader, &whole, set, recording);
	/* What cannot be used is told of when it is read for the report. */
	if (!err && whole.report.count) {
		err = report_places_set(&reader->from, whole.report.recordings[0], path, why);
		if (!err)
			err = report_places_set(&reader->until, whole.report.recordings[0], path,
						why);
	}
	report_reader_fini(&whole);
	return err;
}

static int ignore(void *context, const struct dump_item *item)
{
	(void)context;
	(void)item;
	return 0;
}

/* Whether there are other recordings than this: those in the same file are looked for, too. */
static bool has_others(struct dump_set *set, size_t recording)
{
	const bool quiet = set->quiet;

	set->quiet = true;
	if (set->count == 1)
		dump_set_read(set, recording, ignore, NULL);
	set->quiet = quiet;
	return set->count > 1;
}

static bool is_being_written(const struct dump_set_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->count; i++)
		if (dump_file_is_written(recording->files[i].path))
			return true;
	return false;
}

/*
 * Returns 0; -ECANCELED: this one of several recordings is left out, which is no error; or -errno,
 * logged.
 */
static int find_times(struct report_reader *reader, struct dump_set *set, size_t recording)
{
	struct string why = { 0 };
	int err = find_marks(reader, set, recording, &why);
	bool others;

	if (!err)
		err = find_places(reader, set, recording, &why);
	others = err == -ESRCH && has_others(set, recording);
	if (err == -ESRCH && reader->unusable < UNUSABLE_TOLD)
		log_message(others ? LOG_WARNING : LOG_ERROR, "%s: %.*s",
			    set->recordings[recording].files[0].path, (int)why.length,
			    why.length ? why.bytes : "");
	string_fini(&why);
	if (!others)
		return err;
	reader->without++;
	refuse(reader, &set->recordings[recording], LOG_WARNING, "it is left out");
	return -ECANCELED;
}

static int read_one(struct report_reader *reader, struct dump_set *set, size_t recording)
{
	struct report_run *run = run_new(reader);
	int err = run ? 0 : -ENOMEM;
	const char *why = NULL;

	if (!err)
		run->being_written = is_being_written(&set->recordings[recording]);
	if (!err && needs_end(reader))
		err = dump_set_last(&set->recordings[recording], &run->last_ts_ns);
	if (!err)
		err = find_times(reader, set, recording);
	if (err == -ECANCELED) {
		run_free(run);
		return 0;
	}
	if (!err)
		err = dump_set_read(set, recording, take_item, run);
	if (err == -E2BIG)
		why = "reading it would take more memory or work than any recording of its size"
		      " needs, so memscope-bpf did not write it; it is left out";
	else if (!err)
		why = replay_unusable(run->replay);
	if (why) {
		replay_close(run->replay, 0);
		refuse(reader, &set->recordings[recording], LOG_ERROR, why);
		run_free(run);
		return 0;
	}
	if (!err)
		err = finish(run, &set->recordings[recording]);
	if (!err)
		err = keep(reader, run);
	if (err)
		run_free(run);
	else if (reader->sink && reader->sink->end)
		err = reader->sink->end(reader->sink, NULL);
	return err;
}

int report_reader_read(struct report_reader *reader, struct dump_set *set)
{
	size_t files = 0, i;
	int err = 0;

	for (i = 0; i < set->count; i++)
		files += set->recordings[i].count;
	reader->limits = replay_limits_of(files);
	/* More may be found while they are read. */
	for (i = 0; !err && i < set->count; i++)
		err = read_one(reader, set, i);
	reader->report.refused += set->refused;
	report_number(&reader->report);
	return err;
}

void report_reader_fini(struct report_reader *reader)
{
	while (reader->runs_count)
		run_free(reader->runs[--reader->runs_count]);
	free(reader->runs);
	free(reader->report.recordings);
	reader->report = (struct report){ 0 };
}
