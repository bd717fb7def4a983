// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that were not named, but that the scope includes: which are let in, and which the
 * policy denies, or were not asked for. Nothing of these is handed over. The kernel side, which
 * lets processes in by their first calls, is told not to.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/live_internal.h"
#include "capture/records/records.h"
#include "capture/targets/scope.h"
#include "event/identity.h"

#define ADMIT_DRAIN_NS 10000000
#define ANSWER_NS 100000000

/* ---- the policy ------------------------------------------------------------------------------ */

static bool is_denied_now(const struct live *live, pid_t pid, uint64_t start_ns)
{
	const uint64_t *denied = map_get(&live->denied, (uint64_t)pid);

	return denied && live_denied_began(*denied) == start_ns;
}

bool live_is_denied(const struct live *live, pid_t pid)
{
	return map_get(&live->denied, (uint64_t)pid);
}

size_t live_denied(const struct live *live)
{
	return live->denied.count;
}

static uint64_t hash_of(const char *comm)
{
	uint64_t hash = 0;

	while (*comm)
		hash = map_hash(map_secret(), hash ^ (unsigned char)*comm++);
	return hash;
}

static void forget_denied(struct live *live, pid_t pid)
{
	map_remove(&live->denied, (uint64_t)pid);
	map_remove(&live->denied_as, (uint64_t)pid);
}

static void deny(struct live *live, pid_t pid, uint64_t start_ns)
{
	struct proc_info info;

	if (map_set(&live->denied, (uint64_t)pid, start_ns << LIVE_DENIED_FLAG_BITS))
		log_warning("not enough memory: process %d is denied, and may be recorded", pid);
	programs_set_target(live->programs, pid, MS_TARGET_DENIED);
	/* Its end would not be noticed any more, and another process get its pid. */
	if (proc_read(pid, &info) || info.zombie || info.start_ns != start_ns)
		programs_set_target(live->programs, pid, 0);
	else
		map_set(&live->denied_as, (uint64_t)pid, hash_of(info.comm));
}

static int ask_policy(struct live *live, pid_t pid, uint64_t start_ns, bool *denied)
{
	const struct policy_asked asked = { .pid = pid,
					    .start_ns = start_ns,
					    .whos = &live->identities.whos,
					    .users = &live->identities.users,
					    .names = live->identities.names };

	return policy_ask(live->options.scope.policy, &asked, denied);
}

/* Whether it is none of those who were asked for: by what its identity would say in a recording. */
static int ask_selection(struct live *live, pid_t pid, uint64_t start_ns,
			 const struct process_selection *selection, bool *denied)
{
	const struct ms_event event = { .ts_ns = clock_monotonic_ns(),
					.pid = (uint32_t)pid,
					.start_ns = start_ns };
	const struct ms_who *who = whos_find(&live->identities.whos, pid, start_ns);
	const struct ms_identity *record = identity_record_make(&live->identities, &event);
	struct identity identity;
	struct proc_info info;
	char comm[MS_COMM_BYTES] = "";

	if (!record)
		return -ENOMEM;
	if (!record->length || identity_parse(record->texts, record->length, &identity))
		return -ESRCH;
	if (!proc_read(pid, &info) && info.start_ns == start_ns)
		memcpy(comm, info.comm, sizeof(info.comm));
	else if (who)
		snprintf(comm, sizeof(comm), "%.*s", MS_COMM_BYTES - 1, who->comm);
	*denied = !process_selection_fits(selection, &identity, comm, comm);
	return 0;
}

static int ask(struct live *live, pid_t pid, uint64_t start_ns, bool selects, bool *denied)
{
	int err = 0;

	*denied = false;
	if (live->options.scope.policy)
		err = ask_policy(live, pid, start_ns, denied);
	if (!err && !*denied && selects)
		err = ask_selection(live, pid, start_ns, live->options.scope.selection, denied);
	return err;
}

bool live_has_left(struct live *live, const struct target *target)
{
	const struct scope *scope = &live->options.scope;
	struct process_selection places;
	bool denied;

	if (!scope_includes(scope, target->pid))
		return true;
	if (!scope->selection)
		return false;
	/* It may have become another user, or have another name. */
	places = *scope->selection;
	places.user = places.comm = NULL;
	return !ask_selection(live, target->pid, target->start_ns, &places, &denied) && denied;
}

static bool is_answer(const struct live_answer *answer, pid_t pid, const struct proc_info *info,
		      uint64_t now_ns)
{
	return answer->pid == pid && answer->asked.start_ns == info->start_ns &&
	       !strcmp(answer->asked.comm, info->comm) && now_ns - answer->ts_ns < ANSWER_NS;
}

/* Without any consequence for the process: it may become another user, or another program. */
static bool would_deny(pid_t pid, void *context)
{
	struct live *live = context;
	struct live_answer *answer = &live->answers[(size_t)pid % LIVE_ANSWERS];
	const struct scope *scope = &live->options.scope;
	const uint64_t now_ns = clock_monotonic_ns();
	struct proc_info info;
	bool denied;

	if ((!scope->policy && !scope->selection) || proc_read(pid, &info))
		return false;
	if (is_denied_now(live, pid, info.start_ns))
		return true;
	if (is_answer(answer, pid, &info, now_ns))
		return answer->denied;
	denied = !ask(live, pid, info.start_ns, scope->selection, &denied) && denied;
	*answer = (struct live_answer){ info, pid, now_ns, denied };
	return denied;
}

bool live_may_open(const struct live *live, const struct proc_mapping *mapping)
{
	return (!live->options.scope.policy && !live->options.scope.selection) ||
	       scope_knows(&live->targets, mapping);
}

bool live_denies_name(const struct live *live, const char *comm)
{
	const struct policy *policy = live->options.scope.policy;

	return policy && *comm && policy_denies_name(policy, comm);
}

/*
 * What has ended before it could be looked at is not handed over either, but counted as missed,
 * unless its name says that it is denied. `followed`: it is a target, or the child of one, which -f
 * follows whoever it is; `comm`: its name, or "".
 */
static bool denies(struct live *live, pid_t pid, uint64_t start_ns, bool followed, const char *comm)
{
	const struct scope *scope = &live->options.scope;
	const bool selects = scope->selection && !(followed && live->options.follow);
	bool denied;
	int err;

	if (is_denied_now(live, pid, start_ns))
		return true;
	err = ask(live, pid, start_ns, selects, &denied);
	if (err && !live_denies_name(live, comm))
		live->targets.missed++;
	if (!err && !denied)
		return false;
	if (!err)
		log_debug("process %d is not traced: it is denied, or not one that was asked for",
			  pid);
	deny(live, pid, start_ns);
	return true;
}

bool live_denies(struct live *live, pid_t pid, uint64_t start_ns)
{
	return denies(live, pid, start_ns, false, "");
}

bool live_denies_admitted(struct live *live, const struct ms_process *admission)
{
	return denies(live, (pid_t)admission->event.pid, admission->event.start_ns, false,
		      admission->comm);
}

bool live_denies_child(struct live *live, pid_t pid, uint64_t start_ns)
{
	return denies(live, pid, start_ns, true, "");
}

/* It executes a program. Returns whether it is denied from now on. */
bool live_denies_program(struct live *live, const struct target *target)
{
	const pid_t pid = target->pid;
	const uint64_t start_ns = target->start_ns;

	if (!denies(live, pid, start_ns, true, ""))
		return false;
	map_set(&live->denied, (uint64_t)pid,
		start_ns << LIVE_DENIED_FLAG_BITS | LIVE_DENIED_WAS_TARGET);
	return true;
}

void live_show_ended(struct live *live, pid_t pid, uint64_t start_ns)
{
	map_set(&live->denied, (uint64_t)pid,
		start_ns << LIVE_DENIED_FLAG_BITS | LIVE_DENIED_SHOWN_ENDED);
	live_feed_exit(live, pid, start_ns);
}

void live_feed_exit(struct live *live, pid_t pid, uint64_t start_ns)
{
	const struct target target = { .pid = pid, .start_ns = start_ns };
	struct ms_process exit = record_exit(&target, (int)MS_EXIT_UNKNOWN);

	live_feed(live, &exit, sizeof(exit));
}

/*
 * It was denied until `began_ns` (0: until now), and is a target from now on. If that is not
 * possible, it is seen to end.
 */
static void trace_again(struct live *live, pid_t pid, uint64_t start_ns, uint64_t began_ns)
{
	const struct live_newcomer newcomer = { .pid = pid,
						.began_ns = began_ns,
						.if_late = MS_ATTACH_RUNNING | MS_ATTACH_BEGUN,
						.level = LOG_DEBUG };
	struct target *target;

	if (live_add_target(live, &newcomer, &target)) {
		live_feed_exit(live, pid, start_ns);
		return;
	}
	/* What it holds is not known, even where calls of others have been recorded. */
	if (!began_ns)
		target->attach_flags |= MS_ATTACH_RUNNING;
	live_feed_attach(live, target);
}

/* It was denied, or elsewhere, and may have called by now, which was not recorded. */
static void trace_moved(struct live *live, pid_t pid)
{
	const struct live_newcomer newcomer = { .pid = pid,
						.if_late = MS_ATTACH_RUNNING,
						.level = LOG_DEBUG,
						.has_called = true,
						.is_unheard = true };
	struct target *target;
	int err;

	/* From its first call on, it is let in. */
	if (!scope_uses(&live->options.scope, &live->targets, pid)) {
		programs_set_target(live->programs, pid, 0);
		return;
	}
	err = live_add_target(live, &newcomer, &target);
	if (!err)
		live_feed_attach(live, target);
	else if (err != -ESRCH)
		log_warning("process %d is not traced: %s", pid, strerror(-err));
}

static void denied_executed(struct live *live, const struct ms_event *event)
{
	const uint64_t before = *map_get(&live->denied, event->pid);
	const pid_t pid = (pid_t)event->pid;

	forget_denied(live, pid);
	if (before & LIVE_DENIED_SHOWN_ENDED || live_denies(live, pid, event->start_ns)) {
		map_set(&live->denied, event->pid, before);
		return;
	}
	/* From its next call on, it is let in. Who has seen it before waits for its end, too. */
	programs_set_target(live->programs, pid, 0);
	if (live->stopping)
		return;
	if (before & LIVE_DENIED_WAS_TARGET)
		trace_again(live, pid, event->start_ns, event->ts_ns);
	else
		trace_moved(live, pid);
}

/* The kernel side may have let the child in, like its parent before that was denied. */
static void denied_forked(struct live *live, const struct ms_process *fork)
{
	const pid_t child = (pid_t)fork->child_pid;

	/* From its own first call on, it is let in. */
	if (!live_denies(live, child, fork->child_start_ns))
		programs_set_target(live->programs, child, 0);
}

static void count_dropped(struct live *live, const struct ms_event *event)
{
	if (event->type == MS_TYPE_CALLS)
		live->dropped += ((const struct ms_calls *)event)->count;
	else
		live->dropped += event->type == MS_TYPE_CALL || event->type == MS_TYPE_LAUNCH;
}

uint64_t live_dropped(const struct live *live)
{
	return live->dropped;
}

bool live_drops(struct live *live, const struct ms_event *event)
{
	uint64_t was_target;

	if (!live->denied.count || !is_denied_now(live, (pid_t)event->pid, event->start_ns))
		return false;
	count_dropped(live, event);
	was_target = *map_get(&live->denied, event->pid) & LIVE_DENIED_WAS_TARGET;
	if (event->type == MS_TYPE_FORK)
		denied_forked(live, (const struct ms_process *)event);
	if (event->type == MS_TYPE_EXEC)
		denied_executed(live, event);
	if (event->type != MS_TYPE_EXIT)
		return true;
	forget_denied(live, (pid_t)event->pid);
	return !was_target;
}

static void ask_denied_again(struct live *live)
{
	struct map denied = live->denied;
	size_t i;

	live->denied = (struct map){ 0 };
	for (i = 0; i < denied.capacity; i++) {
		const pid_t pid = map_is_used(&denied, i) ? (pid_t)map_key_at(&denied, i) : 0;
		const uint64_t value = pid ? denied.slots[i].value : 0;

		if (!pid)
			continue;
		if (value & LIVE_DENIED_SHOWN_ENDED ||
		    live_denies(live, pid, live_denied_began(value))) {
			map_set(&live->denied, (uint64_t)pid, value);
			continue;
		}
		map_remove(&live->denied_as, (uint64_t)pid);
		programs_set_target(live->programs, pid, 0);
		trace_again(live, pid, live_denied_began(value), 0);
	}
	map_fini(&denied);
}

void live_set_policy(struct live *live, const struct policy *policy)
{
	live_drain_all(live);
	live->options.scope.policy = policy;
	live_moves_open(live);
	memset(live->answers, 0, sizeof(live->answers));
	ask_denied_again(live);
	live_say_left_out(live);
	if (policy)
		live_deny_targets(live);
	live_search_scope(live);
}

/* ---- who is let in --------------------------------------------------------------------------- */

/* `mapped_ns`, `is_unheard`: as in struct live_newcomer. NULL: it is not traced. */
static struct target *admit(struct live *live, pid_t pid, uint64_t mapped_ns, bool is_unheard)
{
	struct target *target;
	struct proc_info info;
	const bool may_be_denied =
		live->options.scope.policy || live->options.scope.selection || live->denied.count;
	int err = may_be_denied ? proc_read(pid, &info) : 0;

	if (err)
		return NULL;
	if (may_be_denied && live_denies(live, pid, info.start_ns)) {
		/* The kernel side has not seen it: it does not say that it has ended. */
		if (proc_read(pid, &info))
			forget_denied(live, pid);
		return NULL;
	}
	err = live_add_target(live,
			      &(struct live_newcomer){ .pid = pid,
						       .mapped_ns = mapped_ns,
						       .if_late = MS_ATTACH_RUNNING,
						       .level = LOG_DEBUG,
						       .is_unheard = is_unheard },
			      &target);
	if (err && err != -ESRCH)
		log_warning("process %d is not traced: %s", pid, strerror(-err));
	return err ? NULL : target;
}

/* Before the capture begins, which announces all targets. */
static void admit_first(pid_t pid, void *context)
{
	admit(context, pid, 0, false);
}

static void admit_later(pid_t pid, void *context);

/* Forked before its parent was a target. */
static int admit_child(pid_t pid, void *context)
{
	struct live *live = context;

	if (scope_uses(&live->options.scope, &live->targets, pid))
		admit_later(pid, live);
	return 0;
}

static void admit_and_announce(struct live *live, pid_t pid, uint64_t mapped_ns)
{
	struct target *target = admit(live, pid, mapped_ns, true);

	if (target) {
		live_feed_attach(live, target);
		live_say_late(live, target);
		proc_each_child(pid, admit_child, live);
	}
	/* There may be many, and each takes milliseconds, in which the rings fill. */
	if (clock_monotonic_ns() - live->drained_ns > ADMIT_DRAIN_NS)
		live_drain(live);
}

static void admit_later(pid_t pid, void *context)
{
	admit_and_announce(context, pid, 0);
}

bool live_admit_mapped(struct live *live, pid_t pid, const struct proc_mapping *mapping,
		       uint64_t mapped_ns)
{
	const struct scope *scope = &live->options.scope;

	if (scope_is_open(scope) && scope_wants(scope, &live->targets, pid, mapping))
		admit_and_announce(live, pid, mapped_ns);
	return targets_find(&live->targets, pid);
}

void live_search_scope(struct live *live)
{
	if (scope_is_open(&live->options.scope))
		scope_search(&live->options.scope, &live->targets, admit_later, live);
}

/*
 * It is in another cgroup or has another name, and may be denied no more. Returns whether it is
 * not. One that has been shown as ended stays denied.
 */
static bool ask_again(struct live *live, pid_t pid, uint64_t value)
{
	struct proc_info info;

	if (value & LIVE_DENIED_SHOWN_ENDED || proc_read(pid, &info) ||
	    info.start_ns != live_denied_began(value))
		return false;
	forget_denied(live, pid);
	if (live_denies(live, pid, info.start_ns)) {
		map_set(&live->denied, (uint64_t)pid, value);
		return false;
	}
	if (value & LIVE_DENIED_WAS_TARGET)
		trace_again(live, pid, info.start_ns, 0);
	else
		trace_moved(live, pid);
	return true;
}

static void ask_moved_again(struct live *live, pid_t pid, uint64_t value)
{
	if (!ask_again(live, pid, value) || !live->options.scope.policy)
		return;
	log_info("process %d has been moved to where it is not denied: it is traced from now on;"
		 " what it holds from before is not known",
		 pid);
	live->moves.moved.admitted++;
}

void live_search_moved(struct live *live, pid_t pid)
{
	const uint64_t *denied = map_get(&live->denied, (uint64_t)pid);

	live->answers[(size_t)pid % LIVE_ANSWERS] = (struct live_answer){ 0 };
	if (!scope_includes(&live->options.scope, pid))
		return;
	if (denied)
		ask_moved_again(live, pid, *denied);
	else
		admit_child(pid, live);
}

/* Calls `look` for each that is denied, which may change who is. */
static void each_denied(struct live *live, void (*look)(struct live *live, pid_t pid))
{
	struct map denied = live->denied;
	size_t i;

	live->denied = (struct map){ 0 };
	for (i = 0; i < denied.capacity; i++)
		if (map_is_used(&denied, i))
			map_set(&live->denied, map_key_at(&denied, i), denied.slots[i].value);
	/* Each may have the rings read. */
	for (i = 0; i < denied.capacity; i++)
		if (map_is_used(&denied, i) && map_get(&live->denied, map_key_at(&denied, i)))
			look(live, (pid_t)map_key_at(&denied, i));
	map_fini(&denied);
}

void live_search_all_moved(struct live *live)
{
	memset(live->answers, 0, sizeof(live->answers));
	each_denied(live, live_search_moved);
	live_search_scope(live);
}

/* Only the kernel side's records say that it has ended, and a record can be lost. */
static void look_at_denied(struct live *live, pid_t pid)
{
	const uint64_t value = *map_get(&live->denied, (uint64_t)pid);
	const uint64_t *name = map_get(&live->denied_as, (uint64_t)pid);
	struct proc_info info;

	if (!proc_read(pid, &info) && info.start_ns == live_denied_began(value)) {
		if (live->options.scope.policy && name && *name != hash_of(info.comm) &&
		    ask_again(live, pid, value))
			log_info("process %d (%s) has another name and is not denied: it is traced"
				 " from now on; what it holds from before is not known",
				 pid, info.comm);
		return;
	}
	/* Another one, which has the pid by now, has not been asked for yet. */
	forget_denied(live, pid);
	programs_set_target(live->programs, pid, 0);
	if (value & LIVE_DENIED_WAS_TARGET)
		live_feed_exit(live, pid, live_denied_began(value));
}

void live_look_at_denied(struct live *live)
{
	each_denied(live, look_at_denied);
}

int live_open_scope(struct live *live)
{
	int err;

	live->options.scope.would_deny = would_deny;
	live->options.scope.context = live;
	live_expect(live);
	err = scope_search(&live->options.scope, &live->targets, admit_first, live);
	if (err)
		log_error("cannot look for processes: %s", strerror(-err));
	else if (!live->targets.count)
		log_info("no process there has a CUDA library mapped yet: waiting for one (Ctrl-C"
			 " ends)");
	return err;
}

void live_close_scope(struct live *live)
{
	map_fini(&live->denied);
	map_fini(&live->denied_as);
	map_fini(&live->late_files);
	if (live->cgroup_fd >= 0)
		close(live->cgroup_fd);
}
