// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who the traced processes are: what can be read of them, and what the kernel side has said, as
 * some have ended before they are looked at.
 */
#include <string.h>

#include "base/clock.h"
#include "capture/live_internal.h"
#include "host/proc.h"

#define TITLES_NS 1000000000
#define TITLES_MOST 64 /* targets that are asked at a time */

uint32_t live_who_flags(const struct live *live, const struct target *target)
{
	return live_follows(live) &&
			       !whos_find(&live->identities.whos, target->pid, target->start_ns) ?
		       MS_TARGET_UNSAID :
		       0;
}

static void remember(struct target *target, const struct ms_identity *record)
{
	string_clear(&target->identity);
	string_append(&target->identity, record->texts, record->length);
}

static bool is_remembered(const struct target *target, const struct ms_identity *record)
{
	return !target->identity.failed && target->identity.length == record->length &&
	       !memcmp(target->identity.bytes, record->texts, record->length);
}

/* `target`: of which it is; NULL: of none. */
static struct ms_identity *make(struct live *live, const struct ms_event *next,
				struct target *target)
{
	struct ms_identity *record;

	live->identities.title = target ? &target->title : NULL;
	record = identity_record_make(&live->identities, next);
	live->identities.title = NULL;
	return record;
}

int live_feed_identity(struct live *live, const struct ms_event *next)
{
	struct target *target = targets_find(&live->targets, (pid_t)next->pid);
	struct ms_identity *record;

	if (target && target->start_ns != next->start_ns)
		target = NULL;
	/* Another program has titles of its own. */
	if (target && next->type == MS_TYPE_EXEC)
		target->title = (struct title){ 0 };
	record = make(live, next, target);
	if (!record)
		return 0;
	if (target) {
		target->identified = record->length && live->identities.facts.is_whole;
		remember(target, record);
	}
	return live_feed(live, record, record->event.size);
}

int live_renew_identity(struct live *live, struct target *target)
{
	const struct ms_event now = { .ts_ns = clock_monotonic_ns(),
				      .pid = (uint32_t)target->pid,
				      .start_ns = target->start_ns };
	struct identity before = { 0 };
	struct ms_identity *record;

	if (identity_parse(target->identity.bytes, target->identity.length, &before))
		before = (struct identity){ 0 };
	live->identities.before = &before;
	record = make(live, &now, target);
	live->identities.before = NULL;
	/* What is ending has lost its cgroup. */
	if (!record || !record->length || !live->identities.facts.is_whole ||
	    target_is_gone(target))
		return live->err;
	if (is_remembered(target, record))
		return live->err;
	remember(target, record);
	return live_feed(live, record, record->event.size);
}

/* ---- titles ---------------------------------------------------------------------------------- */

/*
 * A program that sets its title names its first thread, too. To read that waits for nothing, which
 * to read the title does where the process hangs in the kernel.
 */
static int look_at_title(struct live *live, struct target *target)
{
	struct proc_info info;

	if (proc_read(target->pid, &info) || info.start_ns != target->start_ns ||
	    !strncmp(info.comm, target->titled, sizeof(info.comm)))
		return live->err;
	memcpy(target->titled, info.comm, sizeof(info.comm));
	return live_renew_identity(live, target);
}

static int on_time(void *context, uint64_t data)
{
	struct live *live = context;
	const struct targets *targets = &live->targets;
	size_t i;

	(void)data;
	for (i = 0; !live->stopping && i < targets->count && i < TITLES_MOST; i++)
		if (look_at_title(live, targets->targets[live->titles_turn++ % targets->count]))
			break;
	return live->err;
}

int live_titles_open(struct live *live)
{
	return loop_add_timer(live->loop, TITLES_NS, TITLES_NS, on_time, live, 0,
			      &live->titles_timer);
}

void live_titles_close(struct live *live)
{
	loop_remove(live->loop, live->titles_timer);
	live->titles_timer = NULL;
}

/* ---- what the kernel side says --------------------------------------------------------------- */

int live_take_who(struct live *live, const struct ms_who *record, size_t length)
{
	const struct target *target = targets_find(&live->targets, (pid_t)record->event.pid);
	int err = live->err;

	whos_keep(&live->identities.whos, record, length);
	if (!target || target->start_ns != record->event.start_ns)
		return err;
	if (!target->identified)
		err = live_feed_identity(live, &record->event);
	if (!err && !target->view_known)
		err = live_feed_visible(live, &record->event);
	return err;
}
