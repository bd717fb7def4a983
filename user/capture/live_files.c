// SPDX-License-Identifier: BSD-2-Clause
/*
 * Probes in files: when there are any, what becomes of the processes that the kernel side has let
 * in because of them, and when they are given up.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/live_internal.h"
#include "capture/targets/scope.h"

/* A call of a process that is not traced costs it about a microsecond: a hundredth of a CPU. */
#define BYSTANDERS_A_SECOND 20000
#define BYSTANDERS_NS 1000000000

bool live_wants_files(struct live *live, enum strategy strategy)
{
	const struct scope *scope = &live->options.scope;

	if (live->options.in_processes || !live_follows(live))
		return false;
	if (scope->all)
		return true;
	/* Only a session decides at each entry whether the return is probed, too. */
	if (strategy != STRATEGY_SESSION && !live->options.entries_only)
		return false;
	if (!scope->cgroup)
		return true;
	live->cgroup_fd = scope_open_cgroup(scope);
	if (live->cgroup_fd < 0)
		log_debug("the kernel cannot tell who is in the cgroup (%s): attaching in each"
			  " process",
			  live->cgroup_fd == -EXDEV ? "there is another one of that path" :
						      strerror(-live->cgroup_fd));
	return live->cgroup_fd >= 0;
}

void live_close_files(struct live *live)
{
	file_probes_close(live->targets.file_probes);
	live->targets.file_probes = NULL;
}

/* ---- giving up ------------------------------------------------------------------------------- */

/* Those who had the library's probes get their own, if `again`, or have missed calls. */
static void lose(struct live *live, const struct library *library, bool again)
{
	struct targets *targets = &live->targets;
	size_t i;

	for (i = 0; i < targets->count; i++) {
		const uint64_t now_ns = clock_monotonic_ns();
		struct target *target = targets->targets[i];

		/* Its own probes in the file, which may be about to have other code. */
		if (!again && target_asks_of(&target->asks, library))
			live_asks_end(live, target);
		if (!target_lost_shared(target, library))
			continue;
		if (!again) {
			target->missed |= target->mapped;
			continue;
		}
		target_attach(targets, target, NULL);
		live_announce_if_late(live, target, now_ns, now_ns, MS_ATTACH_RUNNING);
	}
}

void live_leave_written(struct live *live)
{
	const struct library *library;

	while ((library = file_probes_give_up(live->targets.file_probes))) {
		log_warning("%s is about to be overwritten: its probes are removed, and its calls"
			    " are no longer seen",
			    library->path);
		lose(live, library, false);
	}
	file_probes_look(live->targets.file_probes);
}

void live_look_at_bystanders(struct live *live)
{
	const uint64_t now_ns = clock_monotonic_ns();
	const uint64_t ns = now_ns - live->bystanders_ns;
	const struct library *library;
	struct ms_counters counters;
	uint64_t calls;

	if (!live->targets.file_probes || live->stopping || ns < BYSTANDERS_NS ||
	    programs_counters(live->programs, &counters))
		return;
	calls = counters.bystanders - live->bystanders;
	live->bystanders_ns = now_ns;
	if (calls && !live->bystanders)
		log_info("processes that are not traced call probed functions, and each call takes"
			 " about a microsecond longer%s%s",
			 live->options.beside ? "; " : "",
			 live->options.beside ? live->options.beside : "");
	live->bystanders = counters.bystanders;
	if (calls / (ns / BYSTANDERS_NS) <= BYSTANDERS_A_SECOND)
		return;
	log_warning("processes that are not traced make more than %d calls a second of probed"
		    " functions: from now on only traced processes have probes, and the first calls"
		    " of new processes may be missed",
		    BYSTANDERS_A_SECOND);
	while ((library = file_probes_replace(live->targets.file_probes)))
		lose(live, library, true);
	while (file_probes_give_up(live->targets.file_probes))
		;
}

/* ---- who was let in -------------------------------------------------------------------------- */

/* For a process that is gone: what the kernel side says of it is all that there is. */
static int feed_gone(struct live *live, struct ms_process *record)
{
	record->event.type = MS_TYPE_ATTACH;
	record->child_start_ns = 0;
	record->child_pid = 0;
	live_feed_identity(live, &record->event);
	live_feed(live, record, sizeof(*record));
	return live_feed_visible(live, &record->event);
}

int live_admitted(struct live *live, const struct ms_process *admission)
{
	const pid_t pid = (pid_t)admission->event.pid;
	const struct live_newcomer newcomer = {
		.pid = pid,
		.began_ns = admission->child_start_ns,
		.if_late = MS_ATTACH_RUNNING | (live_move_waits(live, pid) ? 0 : MS_ATTACH_BEGUN),
		.level = LOG_DEBUG,
		.has_called = admission->child_pid,
	};
	const struct attachment *attachment;
	struct ms_process gone = *admission;
	struct target *target;
	int err = -ESRCH;

	/* Even if it has ended: its calls, and its end, are behind this record in the rings. */
	if (live_is_target(live, newcomer.pid, admission->event.start_ns))
		return live->err;
	if (live_denies_admitted(live, admission))
		return live->err;
	if (!live_living(live, newcomer.pid) && !live->stopping)
		err = live_add_target(live, &newcomer, &target);
	if (!err)
		return live_feed_attach(live, target);
	/* As far as its files have probes, it is traced for all that. */
	if (err != -ESRCH) {
		log_warning("cannot inspect process %d: %s; its calls may be missing", newcomer.pid,
			    strerror(-err));
		programs_set_target(live->programs, newcomer.pid,
				    MS_TARGET_TRACED | MS_TARGET_FOLLOW);
		live->targets.missed++;
	}
	attachment = file_probes_at(live->targets.file_probes, admission->value);
	gone.value =
		attachment && attachment->attached_ns <= newcomer.began_ns ? 0 : newcomer.if_late;
	if (newcomer.has_called)
		gone.value = MS_ATTACH_RUNNING;
	return feed_gone(live, &gone);
}

/* Whether all that the child has from its parent has probes in every process, since before. */
static bool has_all_in_files(const struct live *live, const struct ms_process *fork)
{
	const struct target *parent = targets_find(&live->targets, (pid_t)fork->event.pid);
	size_t i;

	if (!parent)
		return live->targets.file_probes;
	for (i = 0; i < parent->count; i++)
		if (parent->attachments[i].functions &&
		    (!parent->attachments[i].shared ||
		     attachment_since(&parent->attachments[i]) > fork->event.ts_ns))
			return false;
	return true;
}

static void note_unseen(struct live *live, const struct ms_process *fork)
{
	const pid_t pid = (pid_t)fork->child_pid, parent = (pid_t)fork->event.pid;
	const struct target *target = targets_find(&live->targets, parent);

	if (has_all_in_files(live, fork))
		return;
	if (!target || target->mapped)
		targets_unseen(&live->targets, pid);
	else
		targets_unseen_perhaps(&live->targets, pid, parent, fork->event.ts_ns);
}

void live_child_gone(struct live *live, const struct ms_process *fork)
{
	struct ms_process child = *fork;

	note_unseen(live, fork);
	child.event.pid = child.event.tid = fork->child_pid;
	child.event.start_ns = fork->child_start_ns;
	child.value = 0;
	feed_gone(live, &child);
}
