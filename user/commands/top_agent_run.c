// SPDX-License-Identifier: BSD-2-Clause
#include "commands/top_agent_run.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/log.h"
#include "commands/command.h"
#include "commands/live_choice.h"
#include "commands/requirements.h"
#include "commands/top_output.h"
#include "top/top_agent.h"
#include "top/top_remote.h"
#include "top/top_remote_sites.h"

#define SAMPLE_NS 1000000000ull

struct run {
	struct top_run_settings *settings;
	struct loop *loop;
	struct top_output output;
	struct top_remote remote;
	struct string answer;
	sigset_t mask; /* of signals, before */
};

/* ---- asking ---------------------------------------------------------------------------------- */

/* An agent that does not answer is said once, and asked again: it may be about to be restarted. */
static int ask(struct run *run)
{
	size_t body;
	int err = top_agent_ask(run->settings->agent, TOP_AGENT_WHO, &run->answer, &body);

	if (err == -ESRCH) /* it has no such path: it is no agent */
		err = -EPROTO;
	if (!err)
		err = top_remote_take(&run->remote, run->answer.bytes + body,
				      run->answer.length - body, &run->output.status);
	if (err && !run->output.status.stale)
		top_agent_tell(run->settings->agent, err);
	run->output.status.stale = err;
	return err;
}

/* One that has just ended is not there any more at the next look. */
static int get_sites(void *context, const struct process *process)
{
	struct run *run = context;
	struct top_status *status = &run->output.status;
	struct string path = { 0 };
	size_t body;
	int err;

	if (top_remote_sites_are_known(&run->remote, process))
		return 0;
	top_remote_sites_asked(&run->remote, process);
	top_remote_sites_path(&path, process);
	err = path.failed ? -ENOMEM :
			    top_agent_ask(run->settings->agent, path.bytes, &run->answer, &body);
	string_fini(&path);
	if (!err)
		err = top_remote_sites_take(&run->remote, process, run->answer.bytes + body,
					    run->answer.length - body, status);
	if (err && err != -ESRCH)
		top_agent_tell(run->settings->agent, err);
	status->sites_missing = err;
	return err == -ENOMEM ? err : 0;
}

static int look(struct run *run)
{
	const uint64_t at_ns = run->remote.at_ns ? run->remote.at_ns : run->output.top.at_ns;
	int err = top_output_look(&run->output, at_ns, clock_monotonic_ns());

	if (top_output_is_done(&run->output))
		loop_stop(run->loop);
	return err;
}

static int on_time(void *context, uint64_t data)
{
	struct run *run = context;

	(void)data;
	if (top_output_is_paused(&run->output))
		return 0;
	return ask(run) == -ENOMEM ? -ENOMEM : look(run);
}

static int on_sample(void *context, uint64_t data)
{
	struct sink *sink = &((struct run *)context)->output.top.sink;

	(void)data;
	return sink->tick(sink, clock_monotonic_ns());
}

/* ---- running --------------------------------------------------------------------------------- */

static void end(void *context)
{
	loop_stop(((struct run *)context)->loop);
}

static int on_signal(void *context, const struct signalfd_siginfo *info)
{
	(void)info;
	end(context);
	return 0;
}

static int open_sources(struct run *run)
{
	const uint64_t delay_ns = run->settings->delay_ns;
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	err = loop_add_signals(run->loop, &signals, on_signal, run, NULL);
	if (!err)
		err = loop_add_timer(run->loop, delay_ns, delay_ns, on_time, run, 0, NULL);
	if (!err)
		err = loop_add_timer(run->loop, SAMPLE_NS, SAMPLE_NS, on_sample, run, 0, NULL);
	return err;
}

/* The first answer is where growth and rates begin. */
static int watch(struct run *run)
{
	int err = loop_open(&run->loop);

	if (!err)
		err = open_sources(run);
	if (!err)
		err = top_output_open(&run->output, run->loop, end, get_sites, run);
	if (!err)
		err = loop_run(run->loop);
	top_output_leave_terminal(&run->output);
	return err;
}

/*
 * If the agent shows none of those that are asked for: a user that this machine does not have is
 * misspelt. Names of containers and pods may be known to the agent alone, once one of their
 * processes uses CUDA.
 */
static int check_selection(const struct run *run)
{
	const struct process_selection *selection = &run->settings->selection;
	const struct process_selection user = { .user = selection->user };
	const struct state *state = &run->remote.state;
	int code;
	size_t i;

	for (i = 0; i < state->processes_count; i++)
		if (process_selection_has(selection, state->processes[i]))
			return EXIT_OK;
	code = selection->user ? live_choice_check(&user, &run->settings->capture.names) : EXIT_OK;
	if (code == EXIT_OK && (selection->container || selection->pod || selection->namespace))
		log_warning("the agent has no process of this %s now; memscope-bpf top --agent"
			    " without it shows which it has",
			    selection->container ? "container" :
			    selection->pod       ? "pod" :
						   "namespace");
	return code;
}

int top_agent_run(struct top_run_settings *settings)
{
	struct run run = { .settings = settings };
	int err, close_err, code = EXIT_OK;

	settings->batch |= !top_display_is_possible();
	sigprocmask(SIG_BLOCK, NULL, &run.mask);
	signal(SIGPIPE, SIG_IGN);
	top_output_init(&run.output, settings, clock_monotonic_ns());
	run.output.top.sink.state = &run.remote.state;
	run.output.top.told_peaks = &run.remote.peaks;
	run.output.status.launches = run.output.status.remote = true;
	err = ask(&run);
	/* What comes before the first answer is no interval. */
	run.output.top.at_ns = run.remote.at_ns;
	if (!err)
		code = check_selection(&run);
	if (!err && code == EXIT_OK)
		err = top_look(&run.output.top, run.remote.at_ns);
	if (!err && code == EXIT_OK)
		err = watch(&run);
	close_err = top_output_close(&run.output);
	if (!err)
		err = close_err;
	loop_close(run.loop);
	sigprocmask(SIG_SETMASK, &run.mask, NULL);
	top_remote_fini(&run.remote);
	string_fini(&run.answer);
	return err ? exit_code_of(err) : code;
}
