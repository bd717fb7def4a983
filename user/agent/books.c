// SPDX-License-Identifier: BSD-2-Clause
#include "agent/books.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/request.h"
#include "base/clock.h"
#include "event/losses.h"
#include "ledger/devices_of_now.h"
#include "ledger/process.h"
#include "report/report_devices.h"

#define TOLD_MOST 1000 /* less than report_devices.c takes */
#define PEAKS_MORE 1000

struct books {
	struct sink sink; /* first: the pipeline hands copies over */
	struct pipeline *pipeline;
	struct report_recording *recording;
	struct openmetrics *series; /* of processes that have ended */
	uint64_t start_ns;
	uint64_t began_ns; /* the same, CLOCK_BOOTTIME */
	struct map peaks;  /* number of a process -> the most that it held on devices at a time */
	size_t hidden;     /* live processes that this report leaves out */
};

/* Of a process whose end was not seen, too, until there are many. */
static int forget_peaks(struct books *books)
{
	const struct state *state = &books->pipeline->state;
	struct map kept = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < state->processes_count; i++) {
		const uint64_t number = state->processes[i]->number;
		const uint64_t *peak = map_get(&books->peaks, number);

		if (peak && !state->processes[i]->exited)
			err = map_set(&kept, number, *peak);
	}
	map_fini(err ? &kept : &books->peaks);
	if (!err)
		books->peaks = kept;
	return err;
}

static int follow_peak(struct books *books, const struct process *process)
{
	const uint64_t live_bytes = process_on_devices_bytes(process);
	uint64_t *peak = map_get(&books->peaks, process->number);
	int err = 0;

	if (process->exited)
		return 0;
	if (peak) {
		*peak = live_bytes > *peak ? live_bytes : *peak;
		return 0;
	}
	if (books->peaks.count > 2 * books->pipeline->state.processes_count + PEAKS_MORE)
		err = forget_peaks(books);
	return err ? err : map_set(&books->peaks, process->number, live_bytes);
}

static int take_process(struct sink *sink, const struct event *event, const struct change *change)
{
	struct books *books = (struct books *)sink;
	const struct process *process = change->process;

	if (event->header->type == MS_TYPE_EXIT && !change->repeated)
		openmetrics_add_ended(books->series, books->recording, process);
	if (process->exited)
		map_remove(&books->peaks, process->number);
	return 0;
}

static int take_call(struct sink *sink, const struct event *event, const struct change *change)
{
	struct books *books = (struct books *)sink;

	if ((change->has_allocation || change->has_amounts) && follow_peak(books, change->process))
		books->recording->incomplete = true;
	if (event->probe->spec.action != MS_ACTION_DEVICE_INFO)
		return 0;
	/* Of processes that have ended long ago, too: for the living there has to be room. */
	if (books->recording->told_count == TOLD_MOST) {
		books->recording->told_count = 0;
		map_fini(&books->recording->told_places);
	}
	report_devices_told(books->recording, event, change);
	return 0;
}

static int describe(struct report_coverage *coverage, const struct books_options *options)
{
	coverage->host = strdup(options->host);
	coverage->kernel = strdup(options->kernel);
	coverage->machine = strdup(options->hardware);
	coverage->version = strdup(MEMSCOPE_VERSION);
	coverage->targets = strdup("all");
	coverage->wall_known = true;
	coverage->captured_ops = options->captured_ops;
	coverage->copies_summed = options->copies_summed;
	coverage->launches_summed = options->launches_summed;
	coverage->graph_launches = true;
	coverage->has_beginning = true;
	coverage->goes_on = true;
	coverage->missed_known = true;
	return coverage->host && coverage->kernel && coverage->machine && coverage->version &&
			       coverage->targets ?
		       0 :
		       -ENOMEM;
}

struct books *books_new(struct pipeline *pipeline, const struct books_options *options)
{
	const struct report_options report = { .device = -1, .sums = true };
	const struct openmetrics_options series = { .label_pid = options->label_pid,
						    .live = true,
						    .most = options->most_series };
	struct analysis_options thresholds = analysis_defaults();
	struct books *books = calloc(1, sizeof(*books));

	if (!books)
		return NULL;
	thresholds.captured_ops = options->captured_ops;
	books->pipeline = pipeline;
	books->start_ns = clock_monotonic_ns();
	books->began_ns = books->start_ns + clock_boottime_offset_ns();
	books->recording = report_recording_new(&pipeline->state, &report, &thresholds);
	books->series = openmetrics_new(&series);
	if (!books->recording || !books->series || describe(&books->recording->coverage, options)) {
		books_free(books);
		return NULL;
	}
	books->sink.process = take_process;
	books->sink.call = take_call;
	pipeline_add_sink(pipeline, &books->sink);
	return books;
}

void books_free(struct books *books)
{
	if (!books)
		return;
	report_recording_free(books->recording);
	openmetrics_free(books->series);
	map_fini(&books->peaks);
	free(books);
}

void books_note(struct books *books, const struct books_outside *outside)
{
	struct report_coverage *coverage = &books->recording->coverage;

	coverage->counters = outside->counters;
	coverage->missed_processes = outside->missed_processes;
	coverage->unwritten_blocks = outside->unwritten_blocks;
	coverage->unwritten_records = outside->unwritten_records;
	coverage->account.calls = books->pipeline->shown;
	coverage->account.refused = books->pipeline->refused;
	coverage->account.first_ts_ns = books->start_ns;
	coverage->account.last_ts_ns = clock_monotonic_ns();
	/* Who sets the machine's clock moves what was before, too. */
	coverage->wall_offset_ns = clock_realtime_offset_ns();
}

const char *books_inexact(const struct books *books, struct books_late *late)
{
	const struct state *state = &books->pipeline->state;
	size_t i, inexact = 0;

	*late = (struct books_late){ 0 };
	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];

		if (process->exited)
			continue;
		if (process->was_running && process->start_ns < books->began_ns)
			late->ran_before++;
		else if (process->was_running)
			late->attached_late++;
		inexact += !process->was_running && process_counters_are_inexact(process->counters);
	}
	if (report_lacks_memory(&books->recording->coverage))
		return "records of allocations or frees were lost";
	if (books->pipeline->refused)
		return "records could not be decoded";
	if (books->recording->incomplete || state->usage->incomplete || books->pipeline->err)
		return "there was no memory to keep all";
	return inexact ? "not all that a process did with memory is known" : NULL;
}

void books_late_words(const struct books_late *late, char *out, size_t size)
{
	const size_t ran = late->ran_before, attached = late->attached_late;
	const char *were = attached == 1 ? " was" : "es were",
		   *they = attached == 1 ? "it" : "they";

	*out = '\0';
	if (ran && attached)
		snprintf(
			out, size,
			"%zu process%s ran before the agent, and %zu process%s attached to after %s"
			" had loaded CUDA: they may hold more than was seen",
			ran, ran == 1 ? "" : "es", attached, were, they);
	else if (ran)
		snprintf(out, size,
			 "%zu process%s ran before the agent, and may hold more than was seen", ran,
			 ran == 1 ? "" : "es");
	else if (attached)
		snprintf(
			out, size,
			"%zu process%s attached to after %s had loaded CUDA, and may hold more than"
			" was seen",
			attached, were, they);
}

static bool is_shown(const struct process *process, uint32_t uid)
{
	uint32_t owner;

	if (process->exited)
		return false;
	return uid == REQUEST_EVERYBODY ||
	       (identity_number(&process->identity.known, IDENTITY_UID, &owner) && owner == uid);
}

int books_close(struct books *books, uint32_t uid)
{
	struct report_recording *recording = books->recording;
	size_t i, kept = 0;
	int err;

	devices_of_now_settle(&books->pipeline->state);
	err = report_recording_finish(recording);
	for (i = 0; i < recording->processes_count; i++) {
		struct report_process shown = recording->processes[i];

		/* The others stay behind those, so that they are freed. */
		if (!is_shown(shown.process, uid)) {
			books->hidden += !shown.process->exited;
			continue;
		}
		recording->processes[i] = recording->processes[kept];
		recording->processes[kept++] = shown;
	}
	while (recording->processes_count > kept) {
		free(recording->processes[--recording->processes_count].largest);
		free(recording->processes[recording->processes_count].cells);
	}
	return err;
}

const struct report_recording *books_report(const struct books *books)
{
	return books->recording;
}

size_t books_hidden(const struct books *books)
{
	return books->hidden;
}

uint64_t books_peak_live(const struct books *books, const struct process *process)
{
	const uint64_t *peak = map_get(&books->peaks, process->number);
	const uint64_t live_bytes = process_on_devices_bytes(process);

	return peak && *peak > live_bytes ? *peak : live_bytes;
}

struct openmetrics *books_series(struct books *books)
{
	return books->series;
}

const struct pipeline *books_pipeline(const struct books *books)
{
	return books->pipeline;
}
