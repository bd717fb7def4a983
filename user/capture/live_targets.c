// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who is traced, and what becomes of it when processes fork, execute programs, map files and exit.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/live_internal.h"
#include "capture/records/records.h"
#include "capture/targets/scope.h"

/* ---- records --------------------------------------------------------------------------------- */

/* What was launched before handles changed their meaning. */
static int feed_launches(struct live *live, const struct ms_event *event)
{
	if (!live->launch_counts || live->err ||
	    (event->type != MS_TYPE_NAME && event->type != MS_TYPE_EXEC &&
	     event->type != MS_TYPE_EXIT))
		return live->err;
	live->err = launch_counts_before(live->launch_counts, event, live_feed_counted, live);
	return live->err;
}

int live_feed_visible(struct live *live, const struct ms_event *after)
{
	struct target *target = targets_find(&live->targets, (pid_t)after->pid);
	struct ms_visible record = record_visible(&live->identities.whos, after);

	if (target && target->start_ns == after->start_ns)
		target->view_known = !record_visible_is_unknown(&record);
	return live_feed(live, &record, sizeof(record));
}

static int feed_unread(struct live *live, struct target *target)
{
	struct ms_unread record;

	if (!target->unread || target->unread_said)
		return 0;
	target->unread_said = true;
	record = record_unread(target);
	return live_feed(live, &record, sizeof(record));
}

/* What it asked the driver's kernel part for, before that was seen. */
static int feed_missed_objects(struct live *live, struct target *target)
{
	struct ms_object record;

	if (!target->ioctl.missed_ns || target->ioctl.missed_said)
		return 0;
	target->ioctl.missed_said = true;
	record = record_objects(target, MS_OBJECT_MISSED, target->ioctl.missed_ns);
	return live_feed(live, &record, sizeof(record));
}

/* Once for each: which libraries cannot be opened, or export functions that are not known. */
static int feed_libraries(struct live *live, struct target *target)
{
	struct ms_newer record;
	int err = feed_unread(live, target);
	size_t i;

	if (!err)
		err = feed_missed_objects(live, target);

	for (i = 0; !err && i < target->count; i++) {
		struct attachment *attachment = &target->attachments[i];

		if (attachment->new_said || !attachment->library || !attachment->library->new.count)
			continue;
		attachment->new_said = true;
		record = record_newer(target, &attachment->library->new);
		err = live_feed(live, &record, sizeof(record));
	}
	return err;
}

int live_feed_attach(struct live *live, struct target *target)
{
	struct ms_process record = record_attach(target);
	int err = live_feed_identity(live, &record.event);

	if (target->attach_flags & MS_ATTACH_RUNNING)
		kernel_names_add(live->kernel_names, target->pid, target->start_ns);
	if (!err)
		err = live_feed(live, &record, sizeof(record));
	if (!err)
		err = live_feed_visible(live, &record.event);
	return err ? err : feed_libraries(live, target);
}

static int feed_name(struct live *live, const struct ms_name *name)
{
	const struct target *target = targets_find(&live->targets, name->event.pid);
	struct record_name whole;
	const struct ms_name *best = name;

	if (target && target->start_ns == name->event.start_ns)
		best = record_name(name, &whole);
	/* Then the memory that was read may be another process's, with the same pid. */
	if (best != name && target_is_gone(target))
		best = name;
	kernel_names_said(live->kernel_names, best);
	return live_feed(live, (void *)best, best->event.size);
}

/* ---- targets --------------------------------------------------------------------------------- */

/* What a process will be called once it has executed the program. */
static void set_comm(struct target *target, const char *program)
{
	const char *slash = strrchr(program, '/');

	snprintf(target->comm, sizeof(target->comm), "%s", slash ? slash + 1 : program);
}

/* One that is forked has the driver mapped where its parent has it, and gives no notice of that. */
bool live_follows(const struct live *live)
{
	return live->options.follow || scope_is_open(&live->options.scope);
}

static void look_for_python(struct live *live, const struct target *target)
{
	if (live->options.stack_ops && live->options.stack_kinds & 1u << MS_FRAME_PYTHON)
		pythons_look(&live->pythons, live->programs,
			     &(struct pythons_process){ .pid = target->pid,
							.start_ns = target->start_ns,
							.comm = target->comm });
}

/*
 * Since before the capture. What it calls in another millisecond is worth less than lines of Python
 * in the stacks of its first calls; of a new process, each call is worth more.
 */
static bool runs_for_long(const struct live_newcomer *newcomer)
{
	return !newcomer->began_ns && !newcomer->mapped_ns && !newcomer->is_unheard;
}

/* No call of it is recorded before all probes are in place. */
static int attach(struct live *live, const struct live_newcomer *newcomer, struct target *target,
		  uint32_t flags)
{
	int err = programs_shut_target(live->programs, target->pid, flags);

	if (err)
		return err;
	err = target_attach(&live->targets, target, newcomer->program);
	if (!err && runs_for_long(newcomer))
		look_for_python(live, target);
	live_asks_begin(live, target);
	programs_open_target(live->programs, target->pid, flags);
	target_opened(target);
	if (!err)
		log_debug("process %d: its calls are recorded", target->pid);
	/* A call is worth more than the rest of its stack. */
	stack_taker_look(live->stacks, target->pid);
	return err;
}

/*
 * If the kernel side has forgotten it already, it has seen its end, and its calls until then. Who
 * it was is in the rings, too, and is fed as long as it is a target.
 */
static void give_up(struct live *live, const struct live_newcomer *newcomer, struct target *target)
{
	const pid_t pid = target->pid;
	const uint64_t start_ns = target->start_ns;

	if (programs_set_target(live->programs, pid, 0) == -ENOENT && newcomer->is_unheard) {
		live_feed_attach(live, target);
		live_drain_all(live);
	}
	if (live_is_target(live, pid, start_ns))
		targets_remove(&live->targets, targets_find(&live->targets, pid));
}

int live_add_target(struct live *live, const struct live_newcomer *newcomer, struct target **result)
{
	uint32_t flags = MS_TARGET_TRACED | (live_follows(live) ? MS_TARGET_FOLLOW : 0);
	const pid_t pid = newcomer->pid;
	const bool has_called =
		newcomer->has_called || programs_knows_stranger(live->programs, pid);
	struct target *target;
	int err = targets_add(&live->targets, pid, newcomer->level, &target);

	if (err)
		return err;
	if (newcomer->began_ns)
		target->began_ns = newcomer->began_ns;
	else if (newcomer->mapped_ns)
		target_mapped_first(target, newcomer->mapped_ns);
	flags |= live_who_flags(live, target);
	target->attached_ns = clock_monotonic_ns();
	target->named = newcomer->named;
	if (newcomer->program)
		set_comm(target, newcomer->program);
	err = live_watch_exit(live, target);
	if (!err)
		err = attach(live, newcomer, target, flags);
	if (err == -ESRCH)
		log_message(newcomer->level, "process %d ended while it was being attached to",
			    pid);
	if (err) {
		give_up(live, newcomer, target);
		return err;
	}
	if (!runs_for_long(newcomer))
		look_for_python(live, target);
	if (has_called || target_was_late(&live->targets, target, 0, &target->late_in)) {
		target->attach_flags = has_called ? MS_ATTACH_RUNNING : newcomer->if_late;
		target->announced_ns = target->attach_flags ? clock_monotonic_ns() : 0;
	}
	*result = target;
	return 0;
}

/* Whether a followed child has the pid of a target that is gone. */
static bool is_used_again(const struct live *live, const struct target *gone)
{
	struct proc_info info;

	return live_follows(live) && !proc_read(gone->pid, &info) &&
	       info.start_ns != gone->start_ns;
}

static void let_go(struct live *live, struct target *target)
{
	kernel_names_remove(live->kernel_names, target->pid);
	stack_taker_forget(live->stacks, target->pid);
	targets_remove(&live->targets, target);
}

void live_let_go_denied(struct live *live, struct target *target)
{
	live_asks_end(live, target);
	pythons_forget(&live->pythons, target->pid);
	live_show_ended(live, target->pid, target->start_ns);
	let_go(live, target);
}

void live_deny_targets(struct live *live)
{
	size_t i;

	for (i = live->targets.count; i-- > 0;) {
		struct target *target = live->targets.targets[i];

		if (live_denies(live, target->pid, target->start_ns))
			live_let_go_denied(live, target);
	}
}

static void forget(struct live *live, struct target *target, const int *status)
{
	struct ms_process exit = record_exit(target, status ? *status : (int)MS_EXIT_UNKNOWN);
	bool unnoticed = false;

	/* The kernel side has removed it, unless it was added when it had died already. */
	if (!is_used_again(live, target))
		unnoticed =
			!programs_set_target(live->programs, target->pid, 0) && !target->exit_seen;
	if ((status || unnoticed) && !feed_launches(live, &exit.event))
		live_feed(live, &exit, sizeof(exit));
	let_go(live, target);
}

bool live_is_target(const struct live *live, pid_t pid, uint64_t start_ns)
{
	const struct target *target = targets_find(&live->targets, pid);

	return target && target->start_ns == start_ns;
}

struct target *live_living(struct live *live, pid_t pid)
{
	struct target *target = targets_find(&live->targets, pid);
	bool waited_for = live->spawned && !live->command_done && pid == live->spawn.pid;

	if (!target || waited_for || !target_is_gone(target))
		return target;
	forget(live, target, NULL);
	return NULL;
}

/* The same outside of the rings' records, the last of which may have yet to be read. */
static struct target *living_now(struct live *live, pid_t pid)
{
	struct target *target = targets_find(&live->targets, pid);

	if (target && target_is_gone(target))
		live_drain_all(live);
	return live_living(live, pid);
}

void live_forget(struct live *live, pid_t pid, const int *status)
{
	struct target *target = targets_find(&live->targets, pid);

	/* It may have been noticed before, and the pid be another one's. */
	if (target && target_is_gone(target))
		forget(live, target, status);
}

/* Before anything was known of it. */
static void child_gone(struct live *live, const struct ms_process *fork)
{
	targets_add_ended(&live->targets, (pid_t)fork->child_pid, NULL);
	live_child_gone(live, fork);
}

/*
 * A child of a followed process: it has been running since it was forked, and may be gone before it
 * can be looked at. It has not got its parent's memory on the GPU.
 */
static void follow_child(struct live *live, const struct ms_process *fork)
{
	const pid_t pid = fork->child_pid;
	struct target *target;
	struct proc_info info;
	int err;

	if (live_is_target(live, pid, fork->child_start_ns) || live_living(live, pid))
		return;
	err = proc_read(pid, &info);
	if (err == -ESRCH || (!err && (info.zombie || info.start_ns != fork->child_start_ns)))
		child_gone(live, fork);
	if (err || info.zombie || info.start_ns != fork->child_start_ns)
		return;
	/* It can be started in another cgroup (CLONE_INTO_CGROUP). */
	if (!live->options.follow && !scope_includes(&live->options.scope, pid)) {
		programs_set_target(live->programs, pid, 0);
		return;
	}
	if (live_denies_child(live, pid, fork->child_start_ns))
		return;
	err = live_add_target(live,
			      &(struct live_newcomer){ .pid = pid,
						       .began_ns = fork->event.ts_ns,
						       .if_late = MS_ATTACH_BEGUN,
						       .level = LOG_DEBUG },
			      &target);
	if (!err)
		live_feed_attach(live, target);
	else if (err == -ESRCH)
		live_child_gone(live, fork);
	else
		log_warning("process %d, a child of a traced one, is not traced: %s", pid,
			    strerror(-err));
}

static void process_changed(struct live *live, const struct ms_process *process)
{
	struct target *target = targets_find(&live->targets, process->event.pid);
	const uint64_t now_ns = clock_monotonic_ns();

	if (process->event.type == MS_TYPE_FORK && !live_follows(live))
		live_forks_add(live, process);
	else if (process->event.type == MS_TYPE_FORK && !live->stopping)
		follow_child(live, process);
	else if (process->event.type == MS_TYPE_FORK)
		child_gone(live, process);
	if (!target && process->event.type != MS_TYPE_FORK)
		targets_unseen_changed(&live->targets, process->event.pid,
				       process->event.type == MS_TYPE_EXEC);
	if (!target && process->event.type == MS_TYPE_EXEC)
		live_feed_visible(live, &process->event);
	if (!target || target->start_ns != process->event.start_ns)
		return;
	if (process->event.type == MS_TYPE_EXIT) {
		target->exit_seen = true;
		pythons_forget(&live->pythons, target->pid);
		target_warn_trapped(target, process->value);
	}
	if (process->event.type != MS_TYPE_EXEC || live->stopping)
		return;
	if (live_denies_program(live, target)) {
		live_asks_end(live, target);
		pythons_forget(&live->pythons, target->pid);
		let_go(live, target);
		return;
	}
	kernel_names_remove(live->kernel_names, target->pid);
	live_feed_visible(live, &process->event);
	/* Probes are attached to the first thread; if another one executes, they are gone. */
	target_executed(target, process);
	live_asks_end(live, target);
	target_attach(&live->targets, target, NULL);
	pythons_forget(&live->pythons, target->pid);
	look_for_python(live, target);
	stack_taker_executed(live->stacks, target->pid, process->event.ts_ns);
	live_announce_if_late(live, target, process->event.ts_ns, now_ns,
			      MS_ATTACH_RUNNING | MS_ATTACH_BEGUN);
	feed_missed_objects(live, target);
}

static void note_asked(struct live *live, const struct ms_event *event)
{
	struct target *target;

	if (event->type != MS_TYPE_OBJECT && event->type != MS_TYPE_RANGE)
		return;
	target = targets_find(&live->targets, (pid_t)event->pid);
	if (target && target->start_ns == event->start_ns)
		target->ioctl.asked = true;
	live_driver_files_see(live, event);
}

/* What comes out of the rings. */
int live_take(void *context, void *record, size_t length)
{
	struct ms_event *event = record;
	struct live *live = context;
	int err;

	if (event->type == MS_TYPE_WHO)
		return live_take_who(live, record, length);
	if (event->type == MS_TYPE_MOVED)
		return live_moves_take(live, event);
	/* Those of a process that is denied by now are dropped, too. */
	err = feed_launches(live, event);
	if (live_drops(live, event))
		return live->err;
	if (event->type == MS_TYPE_PYTHON_CODE) {
		pythons_take(&live->pythons, record, length);
		return err;
	}
	if (!err && event->type == MS_TYPE_ATTACH)
		return live_admitted(live, record);
	if (!err && event->type == MS_TYPE_NAME)
		return feed_name(live, record);
	if (!err && event->type == MS_TYPE_MARKER &&
	    ((struct ms_marker *)record)->source == MS_MARKER_BY_COMMAND)
		return live_markers_take(live, record);
	if (!err && event->type == MS_TYPE_STACK && live->stacks)
		return stack_taker_take(live->stacks, record);
	if (!err && event->type == MS_TYPE_EXEC)
		err = live_feed_identity(live, event);
	if (!err && event->type == MS_TYPE_LAUNCH)
		err = kernel_names_launched(live->kernel_names, record);
	if (!err)
		err = live_feed(live, record, length);
	note_asked(live, event);
	if (event->type == MS_TYPE_CALL) {
		live_devices_see(live, record);
		live_limits_see(live, record);
		live_asks_hear(live, record);
	}
	if (!err && (event->type == MS_TYPE_FORK || event->type == MS_TYPE_EXEC ||
		     event->type == MS_TYPE_EXIT))
		process_changed(live, record);
	return err;
}

bool live_note_mapped(pid_t pid, const struct proc_mapping *mapping, void *context)
{
	const struct live *live = context;

	(void)mapping;
	return scope_includes(&live->options.scope, pid) && !live_is_denied(live, pid);
}

void live_mapped(pid_t pid, const struct proc_mapping *mapping,
		 const struct mappings_moment *moment, bool in_scope, void *context)
{
	struct live *live = context;
	const uint64_t now_ns = clock_monotonic_ns(), mapped_ns = moment->mapped_ns;
	struct target *target;
	bool first;

	/* It may be a child whose fork has not been read of. */
	if (live_follows(live) && mapped_ns > live->drained_ns)
		live_drain(live);
	target = living_now(live, pid);
	first = target && !target->mapped;
	if (!target && !live_admit_mapped(live, pid, mapping, mapped_ns)) {
		in_scope &= !live_is_denied(live, pid) && live_may_open(live, mapping) &&
			    !live_denies_name(live, moment->comm);
		targets_mapped_late(&live->targets, pid, in_scope, mapping, mapped_ns, false);
		live_warn_untraced(live, pid, mapping);
	}
	if (!target)
		return;
	if (first || python_runtime_is_candidate(mapping->path))
		look_for_python(live, target);
	stack_taker_mapped(live->stacks, pid);
	if (target_mapped(&live->targets, target, mapping)) {
		if (first)
			log_debug("process %d (%s) has mapped its first CUDA library, %s", pid,
				  target->comm, mapping->path);
		if (live_announce_if_late(live, target, now_ns, now_ns, MS_ATTACH_RUNNING))
			live_say_late(live, target);
	}
	feed_libraries(live, target);
	target_mapped_late(&live->targets, target, mapping, mapped_ns, false);
}

void live_mapped_last(pid_t pid, const struct proc_mapping *mapping,
		      const struct mappings_moment *moment, bool in_scope, void *context)
{
	struct live *live = context;
	struct target *target = targets_find(&live->targets, pid);

	if (target)
		target_mapped_late(&live->targets, target, mapping, moment->mapped_ns, true);
	else
		targets_mapped_late(&live->targets, pid,
				    in_scope && !live_is_denied(live, pid) &&
					    live_may_open(live, mapping) &&
					    !live_denies_name(live, moment->comm),
				    mapping, moment->mapped_ns, true);
}

void live_search(struct live *live)
{
	size_t i;

	live_drain_all(live);
	/* Several may be removed while the rings are read. */
	for (i = live->targets.count; i > 0;
	     i = i > live->targets.count ? live->targets.count : i - 1)
		living_now(live, live->targets.targets[i - 1]->pid);
	for (i = 0; i < live->targets.count; i++) {
		struct target *target = live->targets.targets[i];
		const uint64_t now_ns = clock_monotonic_ns();

		target_attach(&live->targets, target, NULL);
		look_for_python(live, target);
		live_announce_if_late(live, target, now_ns, now_ns, MS_ATTACH_RUNNING);
	}
	live_search_scope(live);
}
