// SPDX-License-Identifier: BSD-2-Clause
/*
 * Capturing less of calls, while the capture goes on, so that it costs the programs less.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/attach/attachment_bulk.h"
#include "capture/live_internal.h"

#define REMOVED_NS 10000000000ull
#define REMOVED_WAIT_MS 20

void live_look(struct live *live)
{
	live->counted_ns = 0;
	live_drain(live);
}

bool live_can_set_entries(const struct live *live)
{
	return live->options.governed && programs_strategy(live->programs) == STRATEGY_SESSION;
}

bool live_can_set_bulk(const struct live *live)
{
	return programs_apart(live->programs);
}

int live_set_entries(struct live *live, pid_t pid, uint64_t start_ns, bool entries)
{
	if (!live_is_target(live, pid, start_ns))
		return -ENOENT;
	return programs_set_flag(live->programs, pid, MS_TARGET_ENTRIES, entries);
}

int live_set_stackless(struct live *live, pid_t pid, uint64_t start_ns, bool stackless)
{
	if (!live_is_target(live, pid, start_ns))
		return -ENOENT;
	return programs_set_flag(live->programs, pid, MS_TARGET_STACKLESS, stackless);
}

static bool has_changed(const struct attachment *attachment, pid_t pid)
{
	const struct library *library = attachment->library;
	enum placement_code *code = calloc(library->points_count, sizeof(*code));
	bool changed = !code;
	size_t i;

	if (code && !placement_look(&attachment->wants, library, pid, code))
		for (i = 0; i < library->points_count; i++)
			changed |= code[i] == PLACEMENT_CHANGED;
	free(code);
	return changed;
}

/* Since the probes were removed, an inline hook may have come there: returns whose. */
static pid_t changed_by(const struct attachment *attachment, void *context)
{
	const struct live *live = context;
	size_t i, j;

	for (i = 0; i < live->targets.count; i++) {
		const struct target *target = live->targets.targets[i];

		for (j = 0; j < target->count; j++)
			if (target->attachments[j].shared == attachment &&
			    has_changed(attachment, target->pid))
				return target->pid;
	}
	return 0;
}

/*
 * Two probes on a function would record each call twice. After that time, those that are still
 * being removed are others.
 */
static bool is_being_removed(const struct live *live)
{
	return clock_monotonic_ns() - live->bulk_removed_ns < REMOVED_NS &&
	       detacher_wait(live->targets.detacher, REMOVED_WAIT_MS) == -ETIMEDOUT;
}

int live_set_bulk(struct live *live, bool wanted)
{
	int err = 0;
	size_t i, j;

	if (!live_can_set_bulk(live) || live->stopping)
		return 0;
	if (wanted && is_being_removed(live))
		return -EAGAIN;
	if (!wanted)
		live->bulk_removed_ns = clock_monotonic_ns();
	programs_set_bulk(live->programs, wanted);
	err = file_probes_set_bulk(live->targets.file_probes, changed_by, live);
	for (i = 0; i < live->targets.count; i++) {
		struct target *target = live->targets.targets[i];

		for (j = 0; j < target->count; j++) {
			int one_err = attachment_bulk_set(&target->attachments[j], live->programs);

			err = one_err && one_err != -ESRCH ? one_err : err;
		}
	}
	return err;
}

static bool misses_bulk(const struct live *live, const struct target *target)
{
	size_t i;

	for (i = 0; i < target->count; i++) {
		const struct attachment *attachment = &target->attachments[i];

		if (attachment->shared)
			attachment = attachment->shared;
		if (attachment_bulk_is_missing(attachment, live->programs))
			return true;
	}
	return false;
}

bool live_misses_bulk(const struct live *live, pid_t pid, uint64_t start_ns)
{
	const struct target *target = targets_find(&live->targets, pid);

	return target && target->start_ns == start_ns && misses_bulk(live, target);
}
