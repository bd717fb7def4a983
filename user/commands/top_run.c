// SPDX-License-Identifier: BSD-2-Clause
#include "commands/top_run.h"

#include <errno.h>

#include "base/clock.h"
#include "commands/command.h"
#include "commands/top_output.h"
#include "ledger/devices_of_now.h"
#include "pipeline.h"

#define NVML_LEAST_NS 1000000000ull /* between two questions */
#define FIRST_NS 100000000ull       /* a screen is not empty for longer */
#define MOST_PART 10                /* of the time: the inverse */

struct run {
	struct top_run_settings *settings;
	struct pipeline pipeline;
	struct live *live;
	struct top_output output;
	uint64_t next_ns; /* when the next look is due; 0: never */
};

/* ---- a look ---------------------------------------------------------------------------------- */

static int count(struct run *run)
{
	struct ms_counters counters;
	int err = live_counters(run->live, &counters);

	if (!err)
		run->output.status.losses = losses_of(&counters);
	run->output.status.missed = live_missed(run->live);
	return err;
}

static int show(struct run *run, uint64_t now_ns)
{
	int err = count(run);

	if (!err)
		err = top_output_look(&run->output, now_ns, now_ns);
	if (top_output_is_done(&run->output))
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
	if (top_output_is_paused(&run->output))
		return 0;
	devices_of_now_settle(&run->pipeline.state);
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
	if (err || !run->next_ns || now_ns < run->next_ns || top_output_is_done(&run->output))
		return err;
	return show_when_due(run, now_ns);
}

static int open_capture(struct run *run)
{
	struct top_run_settings *settings = run->settings;
	struct live_options options = capture_options_live(&settings->capture, false);

	options.count_launches = true;
	options.marks = false; /* it shows none */
	options.count_ns = settings->delay_ns / 2;
	options.devices_ns =
		settings->delay_ns < NVML_LEAST_NS ? NVML_LEAST_NS : settings->delay_ns;
	options.feed = feed;
	options.flush = flush;
	options.context = run;
	return live_open(&run->live, &options);
}

static void end(void *context)
{
	live_end(((struct run *)context)->live);
}

static int prepare(struct run *run)
{
	const uint64_t now_ns = clock_monotonic_ns();
	const struct top_run_settings *settings = run->settings;

	top_output_init(&run->output, settings, now_ns);
	pipeline_add_sink(&run->pipeline, &run->output.top.sink);
	run->pipeline.filter.ops = UINT32_MAX;
	run->output.status.launches = !settings->no_launches;
	run->output.status.stacks = settings->capture.stack_ops;
	run->next_ns = now_ns + (settings->batch ? settings->delay_ns : FIRST_NS);
	return top_output_open(&run->output, live_loop(run->live), end, NULL, run);
}

/* What ended since the last look is written, unless so many looks were asked for. */
static int finish(struct run *run)
{
	if (run->settings->batch && !top_output_is_done(&run->output))
		return show(run, live_end_ns(run->live));
	return count(run);
}

static int capture(struct run *run)
{
	int err = live_run(run->live), stop_err;

	/* What comes now is of no look but the last; and signals are no longer read. */
	run->next_ns = 0;
	top_output_leave_terminal(&run->output);
	if (err == -ECHILD)
		return err;
	stop_err = live_stop(run->live);
	if (!err)
		err = stop_err;
	if (!err)
		err = finish(run);
	return err ? err :
		     capture_options_tell_blindness(&run->settings->capture, run->live,
						    &run->output.status.losses);
}

int top_run(struct top_run_settings *settings)
{
	struct run run = { .settings = settings };
	int err, command_code = -1, close_err;

	settings->batch |= !top_display_is_possible();
	settings->capture.terminal_is_taken = !settings->batch;
	err = state_follow_usage(&run.pipeline.state);
	if (!err)
		err = open_capture(&run);
	if (!err)
		err = prepare(&run);
	if (!err) {
		err = capture(&run);
		command_code = live_wait_command(run.live);
	}
	close_err = top_output_close(&run.output);
	if (!err)
		err = close_err;
	live_close(run.live);
	state_fini(&run.pipeline.state);
	return capture_options_exit_code(&settings->capture, err, &run.output.status.losses,
					 command_code);
}
