// SPDX-License-Identifier: BSD-2-Clause
/*
 * How much memory of devices the cgroups of the traced processes use and may use, while they are
 * captured: looked at soon after a process is attached to, every few seconds, and when a call has
 * been refused memory. Where the kernel counts none, nothing is looked at: live_devices.c has what
 * NVML says of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/live_internal.h"
#include "host/dmem.h"

#define ROOT ""
#define TICK_NS 1000000000
#define PROCESSES_MAX 256     /* of a tick */
#define REFUSED_NS 1000000000 /* between two looks that a refusal asks for */
#define SOON_NS 1

struct limits_look {
	struct dmem_table cgroups; /* of a tick */
	size_t next; /* target that the next tick begins with, so that all have a turn */
	uint64_t refused_ns;
	pid_t pid; /* of the process that was refused memory */
	uint64_t start_ns;
	struct dmem dmem; /* of it */
};

static struct ms_limit record_of(const struct dmem *dmem, const struct dmem_region *region)
{
	struct ms_limit record = { .event = { .type = MS_TYPE_LIMIT, .size = sizeof(record) },
				   .limit_path_bytes = (uint32_t)region->limit_path_bytes,
				   .used_bytes = region->used_bytes,
				   .guaranteed_bytes = region->guaranteed_bytes,
				   .limit_bytes = region->limit_bytes,
				   .limit_used_bytes = region->limit_used_bytes,
				   .capacity_bytes = region->capacity_bytes,
				   .device_used_bytes = region->device_used_bytes };

	if (region->known & DMEM_GUARANTEED)
		record.known |= MS_LIMIT_GUARANTEED;
	if (region->known & DMEM_LIMIT)
		record.known |= MS_LIMIT_MEMORY;
	if (region->known & DMEM_DEVICE)
		record.known |= MS_LIMIT_DEVICE;
	if (record.limit_path_bytes >= MS_LIMIT_PATH_BYTES)
		record.limit_path_bytes = MS_LIMIT_PATH_BYTES - 1;
	snprintf(record.region, sizeof(record.region), "%s", region->name);
	memcpy(record.path, dmem->path, strnlen(dmem->path, sizeof(record.path) - 1));
	return record;
}

/* A process, as it was at a time. */
struct limited {
	pid_t pid;
	uint64_t start_ns, ts_ns;
};

static void feed_record(struct live *live, struct ms_limit *record, const struct limited *limited)
{
	record->event.ts_ns = limited->ts_ns;
	record->event.pid = record->event.tid = (uint32_t)limited->pid;
	record->event.start_ns = limited->start_ns;
	live_feed(live, record, sizeof(*record));
}

/* Those that say something. Returns whether there are any. */
static bool feed_regions(struct live *live, const struct dmem *dmem, const struct limited *limited)
{
	bool said = false;
	size_t i;

	for (i = 0; i < dmem->count && !live->err; i++) {
		struct ms_limit record = record_of(dmem, &dmem->regions[i]);

		if (!record.used_bytes && !(record.known & MS_LIMIT_MEMORY))
			continue;
		feed_record(live, &record, limited);
		said = true;
	}
	return said;
}

/* What was said before would count for ever if nothing took its place. */
int live_limits_feed(struct live *live, const struct dmem *dmem, struct target *target,
		     uint64_t ts_ns)
{
	const struct limited limited = { target->pid, target->start_ns, ts_ns };
	const bool said = dmem && feed_regions(live, dmem, &limited);
	struct ms_limit nothing = { .event = { .type = MS_TYPE_LIMIT, .size = sizeof(nothing) } };

	if (target->limits_said && !said && !live->err)
		feed_record(live, &nothing, &limited);
	target->limits_said = said;
	return live->err;
}

static void look_at(struct live *live, struct target *target, uint64_t now_ns)
{
	struct dmem_table *cgroups = &live->limits->cgroups;
	size_t place;

	if (target->limits_ns && now_ns - target->limits_ns < live->options.devices_ns)
		return;
	target->limits_ns = now_ns;
	place = dmem_table_add(cgroups, ROOT, target->pid);
	/* One that has just ended says nothing more; its pid may be another's. */
	if (!target_is_gone(target))
		live_limits_feed(live, place == DMEM_NONE ? NULL : &cgroups->cgroups[place], target,
				 now_ns);
}

static int on_time(void *context, uint64_t data)
{
	struct live *live = context;
	const struct targets *targets = &live->targets;
	uint64_t now_ns;
	size_t i, looked = 0;

	(void)data;
	live_drain(live); /* what came before it */
	now_ns = live->drained_ns;
	for (i = 0; i < targets->count && looked < PROCESSES_MAX && !live->err; i++) {
		struct target *target = targets->targets[live->limits->next++ % targets->count];

		look_at(live, target, now_ns);
		looked += target->limits_ns == now_ns;
	}
	dmem_table_fini(&live->limits->cgroups);
	return live->err;
}

/* What has been read of is older. */
static int on_refusal(void *context, uint64_t data)
{
	struct live *live = context;
	const struct limits_look *look = live->limits;
	const struct limited limited = { look->pid, look->start_ns, live->drained_ns };
	struct target *target = targets_find(&live->targets, look->pid);

	(void)data;
	if (target && target->start_ns == look->start_ns)
		return live_limits_feed(live, &look->dmem, target, live->drained_ns);
	/* It has ended since. */
	feed_regions(live, &look->dmem, &limited);
	return live->err;
}

void live_limits_see(struct live *live, const struct ms_call *call)
{
	struct limits_look *look = live->limits;
	uint64_t now_ns;

	if (!look || !(call->known & MS_KNOWN_RESULT) || call->result != MS_CUDA_OUT_OF_MEMORY)
		return;
	now_ns = clock_monotonic_ns();
	if (now_ns - look->refused_ns < REFUSED_NS)
		return;
	/* Also if it then finds nothing: that takes as long. */
	look->refused_ns = now_ns;
	if (!dmem_read(ROOT, (pid_t)call->event.pid, &look->dmem))
		return;
	look->pid = (pid_t)call->event.pid;
	look->start_ns = call->event.start_ns;
	loop_set_timer(live->limits_soon, SOON_NS, 0);
}

int live_limits_open(struct live *live)
{
	const uint64_t tick_ns =
		live->options.devices_ns < TICK_NS ? live->options.devices_ns : TICK_NS;
	int err;

	if (!tick_ns || !dmem_is_counted(ROOT))
		return 0;
	live->limits = calloc(1, sizeof(*live->limits));
	if (!live->limits)
		return -ENOMEM;
	err = loop_add_timer(live->loop, SOON_NS, tick_ns, on_time, live, 0, &live->limits_timer);
	return err ? err :
		     loop_add_timer(live->loop, 0, 0, on_refusal, live, 0, &live->limits_soon);
}

void live_limits_close(struct live *live)
{
	loop_remove(live->loop, live->limits_timer);
	loop_remove(live->loop, live->limits_soon);
	live->limits_timer = live->limits_soon = NULL;
	if (live->limits)
		dmem_table_fini(&live->limits->cgroups);
	free(live->limits);
	live->limits = NULL;
}
