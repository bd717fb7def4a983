// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that are moved from one cgroup to another: who they are is recorded anew. While those
 * of one cgroup are traced, or of one container, pod or namespace, one that is moved there is
 * traced from then on, as one that was running. One that leaves stays a target, so that what
 * becomes of its memory is seen, and is told of. A policy is asked again: who it denies now is a
 * target no more.
 */
#include "base/log.h"
#include "base/string.h"
#include "capture/live_internal.h"
#include "capture/targets/scope.h"

/* Whether targets were chosen by where they are. */
static bool chooses_places(const struct live *live)
{
	const struct process_selection *selection = live->options.scope.selection;

	return live->options.scope.cgroup ||
	       (selection && (selection->cgroup || selection->container || selection->pod ||
			      selection->namespace));
}

void live_moves_open(struct live *live)
{
	const struct policy *policy = live->options.scope.policy;

	programs_want_all_moves(live->programs,
				chooses_places(live) || (policy && policy_is_about_places(policy)));
}

int live_moves_take(struct live *live, const struct ms_event *move)
{
	struct live_moves *moves = &live->moves;

	/* To attach to it, the rings may have to be read, which is being done now. */
	if (moves->count < LIVE_MOVES)
		moves->waiting[moves->count++] = (struct live_move){ .pid = (pid_t)move->pid,
								     .start_ns = move->start_ns,
								     .ts_ns = move->ts_ns };
	else
		moves->any = true;
	return live->err;
}

bool live_move_waits(const struct live *live, pid_t pid)
{
	const struct live_moves *moves = &live->moves;
	size_t i;

	for (i = 0; i < moves->count; i++)
		if (moves->waiting[i].pid == pid)
			return chooses_places(live);
	return moves->any && chooses_places(live);
}

/*
 * The kernel side can let it in before it says that it was moved there. What its first call shows
 * of a process that has only begun, it does not of this one.
 */
static void look_whether_moved_first(struct live *live, const struct live_move *move)
{
	struct target *target = targets_find(&live->targets, move->pid);

	if (!target || target->start_ns != move->start_ns || !chooses_places(live) ||
	    target->attach_flags != (MS_ATTACH_RUNNING | MS_ATTACH_BEGUN) ||
	    move->ts_ns > target->attached_ns || target_is_gone(target))
		return;
	target->attach_flags = MS_ATTACH_RUNNING;
	live_feed_attach(live, target);
}

/* Returns whether it is a target no more. */
static bool is_denied_there(struct live *live, struct target *target)
{
	if (!live->options.scope.policy || target->named || target_is_gone(target) ||
	    !live_denies(live, target->pid, target->start_ns))
		return false;
	log_info("process %d (%s) has been moved to where it is denied: it is traced no more, and"
		 " shown as ended",
		 target->pid, target->comm);
	live->moves.moved.denied++;
	live_let_go_denied(live, target);
	return true;
}

/* With -f, children are traced in whichever cgroup they are. */
static void look_whether_left(struct live *live, struct target *target)
{
	if (!chooses_places(live) || target->left || target->named || live->options.follow ||
	    !live_has_left(live, target) || target_is_gone(target))
		return;
	log_debug("process %d (%s) has left what was chosen: it is traced on", target->pid,
		  target->comm);
	target->left = true;
	cgroup_leavers_add(&live->moves.left, (uint32_t)target->pid);
}

static void look_at_target(struct live *live, struct target *target)
{
	if (is_denied_there(live, target))
		return;
	look_whether_left(live, target);
	live_renew_identity(live, target);
}

static void look_at(struct live *live, pid_t pid)
{
	struct target *target = targets_find(&live->targets, pid);

	if (target)
		look_at_target(live, target);
	else if (!live->stopping)
		live_search_moved(live, pid);
}

static void look_at_all(struct live *live)
{
	size_t i;

	for (i = live->targets.count; i-- > 0;)
		look_at_target(live, live->targets.targets[i]);
	if (!live->stopping)
		live_search_all_moved(live);
}

void live_moves_look(struct live *live)
{
	const uint32_t lost = programs_lost_moves(live->programs);
	struct live_moves *moves = &live->moves;

	/* Others may be moved meanwhile. */
	while (moves->count) {
		const struct live_move move = moves->waiting[--moves->count];

		look_whether_moved_first(live, &move);
		look_at(live, move.pid);
	}
	if (!moves->any && moves->lost == lost)
		return;
	moves->any = false;
	moves->lost = lost;
	look_at_all(live);
}

struct live_moved live_moved(const struct live *live)
{
	return live->moves.moved;
}

const struct cgroup_leavers *live_cgroup_leavers(const struct live *live)
{
	return chooses_places(live) ? &live->moves.left : NULL;
}

#define PIDS_SAID 16

static bool is_left_out(struct live *live, pid_t pid, uint64_t value)
{
	const struct policy_asked asked = { .pid = pid,
					    .start_ns = live_denied_began(value),
					    .whos = &live->identities.whos,
					    .users = &live->identities.users,
					    .names = live->identities.names };
	const struct policy *policy = live->options.scope.policy;
	bool denied = false;

	return value & LIVE_DENIED_SHOWN_ENDED &&
	       (!policy || (!policy_ask(policy, &asked, &denied) && !denied));
}

void live_say_left_out(struct live *live)
{
	struct string pids = { 0 };
	size_t count = 0, i;

	for (i = 0; i < live->denied.capacity; i++) {
		if (!map_is_used(&live->denied, i) ||
		    !is_left_out(live, (pid_t)map_key_at(&live->denied, i),
				 live->denied.slots[i].value))
			continue;
		if (count++ < PIDS_SAID)
			string_append_format(&pids, "%s%d", count > 1 ? ", " : "",
					     (int)map_key_at(&live->denied, i));
	}
	if (count)
		log_warning("processes that were denied while they were traced, and are not denied"
			    " any more: %zu (%.*s%s); they stay untraced until the agent, or the"
			    " process itself, is started again",
			    count, (int)pids.length, pids.length ? pids.bytes : "",
			    count > PIDS_SAID ? ", ..." : "");
	string_fini(&pids);
}
