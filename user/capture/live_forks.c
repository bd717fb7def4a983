// SPDX-License-Identifier: BSD-2-Clause
/*
 * Children of traced processes that are not traced and have the driver where their parents have it.
 * A child is looked at some time after its fork: by then most that only execute another program
 * have done so. Nothing says whether such a child calls CUDA, as it has no probes.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/string.h"
#include "capture/live_internal.h"
#include "capture/targets/untraced_children.h"

#define LOOK_NS 500000000
#define YOUNG_NS 100000000 /* at the end, when it can be waited for no longer */
#define MAX_LOOKS 16       /* at a time: each reads all mappings of a process */

/* It may have been counted, when it had the driver for itself. */
static bool is_told(const struct live *live, pid_t pid)
{
	size_t i;

	for (i = 0; i < live->untraced_count; i++)
		if (live->untraced[i] == pid)
			return true;
	return targets_find(&live->targets, pid);
}

static struct untraced_forks_parent *parent_of(struct live_forks *forks, uint32_t pid)
{
	struct untraced_forks *found = &forks->found;
	size_t i;

	for (i = 0; i < found->count; i++)
		if (found->parents[i].pid == pid)
			return &found->parents[i];
	if (found->count == UNTRACED_FORKS_PARENTS)
		return NULL;
	found->parents[found->count] = (struct untraced_forks_parent){ .pid = pid };
	return &found->parents[found->count++];
}

/* Returns false if it is not one: nothing was spent on it. */
static bool look_at(struct live *live, const struct live_fork *fork)
{
	struct untraced_forks_parent *parent;
	struct proc_info info;

	if (is_told(live, fork->child) || proc_read(fork->child, &info) || info.zombie ||
	    info.start_ns != fork->start_ns)
		return false;
	if (!untraced_children_inherits(fork->child, fork->parent))
		return true;
	parent = parent_of(&live->forks, (uint32_t)fork->parent);
	if (!parent)
		return true;
	parent->count++;
	if (parent->children_count < UNTRACED_FORKS_PIDS)
		parent->children[parent->children_count++] = (uint32_t)fork->child;
	return true;
}

/* The first ones are the oldest. */
static void look(struct live *live, uint64_t before_ns, int looks)
{
	struct live_forks *forks = &live->forks;
	size_t i;

	for (i = 0; i < forks->count && forks->waiting[i].ts_ns <= before_ns && looks; i++)
		looks -= look_at(live, &forks->waiting[i]);
	forks->count -= i;
	memmove(forks->waiting, forks->waiting + i, forks->count * sizeof(*forks->waiting));
}

static int on_look(void *context, uint64_t data)
{
	struct live *live = context;

	(void)data;
	look(live, clock_monotonic_ns() - LOOK_NS, MAX_LOOKS);
	if (!live->forks.count) {
		loop_remove(live->loop, live->forks.timer);
		live->forks.timer = NULL;
	}
	return 0;
}

void live_forks_add(struct live *live, const struct ms_process *fork)
{
	struct live_forks *forks = &live->forks;

	/* There are so many that those which are looked at will do. */
	if (live->stopping || forks->count == LIVE_FORKS)
		return;
	forks->waiting[forks->count++] = (struct live_fork){
		.parent = (pid_t)fork->event.pid,
		.child = (pid_t)fork->child_pid,
		.start_ns = fork->child_start_ns,
		.ts_ns = fork->event.ts_ns,
	};
	if (!forks->timer)
		loop_add_timer(live->loop, LOOK_NS, LOOK_NS, on_look, live, 0, &forks->timer);
}

const struct untraced_forks *live_untraced_forks(struct live *live)
{
	look(live, clock_monotonic_ns() - YOUNG_NS, LIVE_FORKS);
	return &live->forks.found;
}
