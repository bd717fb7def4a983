// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who the traced processes are: what can be read of them, and what the kernel side has said, as
 * some have ended before they are looked at.
 */
#include "capture/live_internal.h"

uint32_t live_who_flags(const struct live *live, const struct target *target)
{
	return live_follows(live) &&
			       !whos_find(&live->identities.whos, target->pid, target->start_ns) ?
		       MS_TARGET_UNSAID :
		       0;
}

int live_feed_identity(struct live *live, const struct ms_event *next)
{
	struct ms_identity *record = identity_record_make(&live->identities, next);
	struct target *target = targets_find(&live->targets, (pid_t)next->pid);

	if (!record)
		return 0;
	if (target && target->start_ns == next->start_ns)
		target->identified = record->length && live->identities.facts.is_whole;
	return live_feed(live, record, record->event.size);
}

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
