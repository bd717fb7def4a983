// SPDX-License-Identifier: BSD-2-Clause
/*
 * Children of traced processes that are not traced and have the driver where their parents have it.
 * A child is looked at some time after its fork: by then those that only execute another program
 * have done so. Nothing says whether such a child calls CUDA, as it has no probes.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/string.h"
#include "capture/live_internal.h"
#include "capture/targets/untraced_children.h"

#define LOOK_NS 100000000ull  /* between looks, while any child waits for one */
#define OLD_NS 250000000ull   /* a child is, when it is looked at */
#define YOUNG_NS 100000000ull /* the same at the end, when it can be waited for no longer */
#define MAX_LOOKS 8           /* at a time: each reads all mappings of a process */

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

static void count_child(struct live *live, const struct live_fork *fork)
{
	struct untraced_forks_parent *parent = parent_of(&live->forks, (uint32_t)fork->parent);

	if (!parent)
		return;
	parent->count++;
	if (parent->children_count < UNTRACED_FORKS_PIDS)
		parent->children[parent->children_count++] = (uint32_t)fork->child;
}

static bool is_there(const struct live_fork *fork)
{
	struct proc_info info;

	return !proc_read(fork->child, &info) && !info.zombie && info.start_ns == fork->start_ns;
}

/*
 * A child that has the driver is looked at once more, as a busy machine may have kept it from
 * executing a program. Returns whether there is no more to look at.
 */
static bool look_at(struct live *live, struct live_fork *fork, bool last)
{
	const bool there = is_there(fork);

	if (is_told(live, fork->child) || (!there && !fork->inherits))
		return true;
	if (there && !untraced_children_inherits(fork->child, fork->parent))
		return true;
	if (!there || fork->inherits || last) {
		count_child(live, fork);
		return true;
	}
	fork->inherits = true;
	return false;
}

static bool is_due(const struct live_fork *fork, uint64_t now_ns, bool last)
{
	uint64_t wait_ns = fork->inherits ? 2 * OLD_NS : OLD_NS;

	if (last)
		wait_ns = YOUNG_NS;
	return now_ns - fork->ts_ns >= wait_ns;
}

/* A few at a time, as each takes reading the mappings of a process. */
static void look(struct live *live, uint64_t now_ns, bool last)
{
	struct live_forks *forks = &live->forks;
	size_t kept = 0, looks = 0, i;

	for (i = 0; i < forks->count; i++) {
		struct live_fork fork = forks->waiting[i];
		const bool due = is_due(&fork, now_ns, last) && (last || looks < MAX_LOOKS);

		looks += due;
		if (!due || !look_at(live, &fork, last))
			forks->waiting[kept++] = fork;
	}
	forks->count = kept;
}

static int on_look(void *context, uint64_t data)
{
	struct live *live = context;

	(void)data;
	look(live, clock_monotonic_ns(), false);
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
	look(live, clock_monotonic_ns(), true);
	return &live->forks.found;
}
