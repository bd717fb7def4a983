// SPDX-License-Identifier: BSD-2-Clause
#include "commands/top_run.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/writer.h"
#include "commands/command.h"
#include "commands/terminal.h"
#include "commands/top_display.h"
#include "pipeline.h"
#include "top/top_text.h"

#define NVML_LEAST_NS 1000000000ull /* between two questions */
#define MOST_PART 10                /* of the time: the inverse */
#define FIRST_NS 100000000ull       /* a screen is not empty for longer */

struct run {
	struct top_run_settings *settings;
	struct pipeline pipeline;
	struct live *live;
	struct top top;
	struct top_status status;
	struct writer writer;
	struct top_display *display; /* NULL: plain text */
	uint64_t next_ns;            /* when the next look is due; 0: never */
	uint64_t looks;              /* so far */
};

/* ---- a look ---------------------------------------------------------------------------------- */

static int count(struct run *run)
{
	struct ms_counters counters;
	int err = live_counters(run->live, &counters);

	if (!err)
		run->status.losses = losses_of(&counters);
	run->status.missed = live_missed(run->live);
	return err;
}

static int look(struct run *run, uint64_t now_ns)
{
	int err = count(run);

	run->status.now_ns = now_ns;
	run->status.realtime_ns = now_ns + clock_realtime_offset_ns();
	if (!err)
		err = top_look(&run->top, now_ns);
	top_sort_rows(&run->top, run->settings->sort, false);
	run->looks++;
	return err;
}

static int write_look(struct run *run)
{
	const struct document_text_options options = terminal_options(&run->writer);
	const uint64_t most = run->settings->most;
	struct document_text text;

	if (run->looks > 1)
		string_append_char(&run->writer.text, '\n');
	document_text_init(&text, &run->writer.text, most ? most : SIZE_MAX, &options);
	top_text_append(&text.document, &run->top, &run->status);
	document_text_fini(&text);
	return writer_flush(&run->writer);
}

static bool is_last(const struct run *run)
{
	return run->settings->looks && run->looks >= run->settings->looks;
}

static int show(struct run *run, uint64_t now_ns)
{
	int err = look(run, now_ns);

	if (!err)
		err = run->display ? top_display_look(run->display) : write_look(run);
	if (is_last(run))
		live_end(run->live);
	return err;
}

/* ---- running --------------------------------------------------------------------------------- */

static int feed(void *context, void *record, size_t length)
{
	return pipeline_feed(&((struct run *)context)->pipeline, record, length);
}

/* However many processes and blocks there are, looks take at most a tenth of the time. */
static int show_when_due(struct run *run, uint64_t now_ns)
{
	const uint64_t delay_ns = run->settings->delay_ns;
	uint64_t earliest_ns;
	int err;

	/* What was missed is not made up for. */
	while (run->next_ns <= now_ns)
		run->next_ns += delay_ns;
	if (run->display && top_display_is_paused(run->display))
		return 0;
	err = show(run, now_ns);
	earliest_ns = now_ns + MOST_PART * (clock_monotonic_ns() - now_ns);
	if (run->next_ns < earliest_ns)
		run->next_ns = earliest_ns;
	return err;
}

static int flush(void *context)
{
	struct run *run = context;
	const uint64_t now_ns = clock_monotonic_ns();
	int err = pipeline_flush(&run->pipeline);

	if (!err)
		err = pipeline_tick(&run->pipeline, now_ns);
	if (err || !run->next_ns || now_ns < run->next_ns || is_last(run))
		return err;
	return show_when_due(run, now_ns);
}

static int open_capture(struct run *run)
{
	struct top_run_settings *settings = run->settings;
	struct live_options options = capture_options_live(&settings->capture, false);

	options.count_launches = true;
	options.count_ns = settings->delay_ns / 2;
	options.devices_ns =
		settings->delay_ns < NVML_LEAST_NS ? NVML_LEAST_NS : settings->delay_ns;
	options.feed = feed;
	options.flush = flush;
	options.context = run;
	return live_open(&run->live, &options);
}

static int prepare(struct run *run)
{
	const uint64_t now_ns = clock_monotonic_ns();
	const struct top_run_settings *settings = run->settings;

	top_init(&run->top, now_ns);
	pipeline_add_sink(&run->pipeline, &run->top.sink);
	run->pipeline.filter.ops = UINT32_MAX;
	run->status.begin_ns = run->status.now_ns = now_ns;
	run->status.launches = !settings->no_launches;
	run->status.stacks = settings->capture.stack_ops;
	run->next_ns = now_ns + (settings->batch ? settings->delay_ns : FIRST_NS);
	if (settings->batch)
		return 0;
	return top_display_open(&run->display, &run->top, &run->status, run->live, settings->sort);
}

/* What ended since the last look is written, unless so many looks were asked for. */
static int finish(struct run *run)
{
	if (run->settings->batch && !is_last(run))
		return show(run, live_end_ns(run->live));
	return count(run);
}

static int capture(struct run *run)
{
	int err = live_run(run->live), stop_err;

	/* What comes now is of no look but the last; and signals are no longer read. */
	run->next_ns = 0;
	top_display_close(run->display);
	run->display = NULL;
	if (err == -ECHILD)
		return err;
	stop_err = live_stop(run->live);
	if (!err)
		err = stop_err;
	if (!err)
		err = finish(run);
	return err ? err :
		     capture_options_tell_blindness(&run->settings->capture, run->live,
						    &run->status.losses);
}

int top_run(struct top_run_settings *settings)
{
	struct run run = { .settings = settings, .writer.fd = -1 };
	int err = state_follow_usage(&run.pipeline.state), command_code = -1, close_err;

	settings->batch |= !top_display_is_possible();
	settings->capture.terminal_is_taken = !settings->batch;
	writer_init_stdout(&run.writer);
	if (!err)
		err = open_capture(&run);
	if (!err)
		err = prepare(&run);
	if (!err) {
		err = capture(&run);
		command_code = live_wait_command(run.live);
	}
	close_err = writer_close(&run.writer);
	if (!err)
		err = close_err;
	live_close(run.live);
	top_fini(&run.top);
	state_fini(&run.pipeline.state);
	return capture_options_exit_code(&settings->capture, err, &run.status.losses, command_code);
}
