// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who is traced from the beginning: the processes that were named, those in the scope, the command;
 * and how the command ends.
 */
#include <errno.h>
#include <sys/wait.h>

#include "base/log.h"
#include "capture/live_internal.h"

#define TABLES_MS 1000 /* that a command waits at most for its call stacks to be complete */

static int start_command(struct live *live)
{
	const struct live_options *options = &live->options;
	const struct spawn_options spawn_options = {
		.mask = &live->original_mask,
		.files = &live->original_files,
		.to_stderr = options->output_is_taken,
		.no_terminal = options->terminal_is_taken,
	};
	const char *name = options->command[0];
	struct target *target;
	int err;

	live_gpu_begin_environment(live);
	live_markers_begin_environment(live);
	err = spawn_prepare(&live->spawn, options->command, &spawn_options);
	live_markers_end_environment(live);
	live_gpu_end_environment(live);
	if (err)
		return err;
	if (options->output_is_taken)
		log_info("%s: its standard output goes to standard error", name);
	live->spawned = true;
	stack_taker_expect(live->stacks, live->spawn.pid, name);
	err = live_add_target(live,
			      &(struct live_newcomer){ .pid = live->spawn.pid,
						       .program = name,
						       .level = LOG_ERROR,
						       .named = true },
			      &target);
	stack_taker_wait(live->stacks, TABLES_MS);
	return err;
}

static int attach_to_pid(struct live *live, pid_t pid)
{
	struct target *target;
	int err;

	if (targets_find(&live->targets, pid))
		return 0;
	err = live_add_target(live,
			      &(struct live_newcomer){ .pid = pid,
						       .if_late = MS_ATTACH_RUNNING,
						       .level = LOG_ERROR,
						       .named = true },
			      &target);
	if (!err && !target->mapped && !target->unread)
		log_info("process %d (%s) has no CUDA library mapped yet: waiting for one"
			 " (Ctrl-C ends)",
			 pid, target->comm);
	return err;
}

/* As strace does: with those that can be traced, if there are any. */
static int attach_to_pids(struct live *live)
{
	const struct live_options *options = &live->options;
	size_t failed = 0, i;
	int err = 0;

	for (i = 0; i < options->pids_count; i++) {
		const int own = attach_to_pid(live, options->pids[i]);

		if (own && own != -ESRCH && own != -EACCES && own != -EPERM)
			return own;
		failed += own != 0;
		err = own ? own : err;
	}
	if (failed == options->pids_count)
		return err;
	if (failed)
		log_warning("%zu of the %zu processes of -p cannot be traced; going on with the"
			    " other%s",
			    failed, options->pids_count,
			    options->pids_count - failed == 1 ? "" : "s");
	return 0;
}

int live_open_targets(struct live *live)
{
	int err;

	/* What only programs that are executed from now on need comes after the first event. */
	if (live_follows(live) || live->options.command)
		programs_learn_layout(live->programs);
	if (!scope_is_open(&live->options.scope))
		live_warn_untraced_before(live);
	file_probes_hold(live->targets.file_probes);
	err = attach_to_pids(live);
	if (!err && scope_is_open(&live->options.scope))
		err = live_open_scope(live);
	if (!err && live->options.command)
		err = start_command(live);
	file_probes_release(live->targets.file_probes);
	if (!err)
		programs_learn_layout(live->programs);
	return err;
}

int live_announce_targets(struct live *live)
{
	size_t i;

	for (i = 0; i < live->targets.count; i++)
		live_feed_attach(live, live->targets.targets[i]);
	return live->err;
}

int live_wait_command(struct live *live)
{
	if (!live->spawned)
		return -1;
	if (!live->command_done &&
	    waitpid(live->spawn.pid, &live->command_status, WNOHANG) == live->spawn.pid)
		live->command_done = true;
	if (!live->command_done && live->end_ns)
		log_info("%s is no longer traced and goes on; waiting for its exit code",
			 live->options.command[0]);
	while (!live->command_done)
		if (waitpid(live->spawn.pid, &live->command_status, 0) == live->spawn.pid ||
		    errno != EINTR)
			live->command_done = true;
	return WIFSIGNALED(live->command_status) ? 128 + WTERMSIG(live->command_status) :
						   WEXITSTATUS(live->command_status);
}
