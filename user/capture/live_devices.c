// SPDX-License-Identifier: BSD-2-Clause
/*
 * What NVML says while it is captured: asked at the beginning, every few seconds, when a call has
 * been refused memory or the caller wants it, and at the end. NVML may take long, or not answer at
 * all: nothing waits for it, except the end, and that not for long. After a failure it is asked
 * again, but less and less often.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "capture/live_internal.h"
#include "capture/records/nvml_records.h"
#include "capture/records/records.h"
#include "host/nvml_limits.h"

#define LAST_MS 200          /* what the end waits for */
#define HANGS_NS 30000000000 /* an answer that takes longer does not come */
#define PAUSE_PERIODS 6      /* until it is asked again after it has failed, at first, */
#define MOST_DOUBLINGS 3     /* and then twice as many each time, up to 48 */
#define OOM_NS 1000000000    /* between two that a refusal asks for */
#define OUT_OF_MEMORY 2      /* CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation */

static int on_answer(void *context, uint64_t data);
static void ask(struct live *live);

static int feed_processes(struct live *live, uint64_t ts_ns)
{
	const struct nvml_snapshot *snapshot = live->snapshot;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < snapshot->processes_count; i++) {
		const struct nvml_process *process = &snapshot->processes[i];
		const struct target *target = targets_find(&live->targets, (pid_t)process->pid);
		struct ms_held record;

		if (!target || !process->has_used)
			continue;
		record = nvml_record_held(snapshot, process, target->start_ns, ts_ns);
		err = live_feed(live, &record, sizeof(record));
	}
	return err;
}

/* Whether what it does not say is not so. */
static bool is_whole(const struct nvml_snapshot *snapshot)
{
	return snapshot->state == NVML_READY && !snapshot->cut && !snapshot->hangs &&
	       !*snapshot->problem;
}

/* What cgroups may use, where the driver counts that and not the kernel. */
static int feed_limits(struct live *live, uint64_t ts_ns)
{
	const struct targets *targets = &live->targets;
	struct dmem_table cgroups = { .count = 0 };
	size_t i, place;

	for (i = 0; !live->limits && i < targets->count && !live->err; i++) {
		struct target *target = targets->targets[i];

		place = nvml_limits_add(&cgroups, live->snapshot, (uint32_t)target->pid);
		if (place != DMEM_NONE)
			live_limits_feed(live, &cgroups.cgroups[place], target, ts_ns);
		else if (is_whole(live->snapshot))
			live_limits_feed(live, NULL, target, ts_ns);
	}
	dmem_table_fini(&cgroups);
	return live->err;
}

static int feed_device(struct live *live, struct ms_device *record)
{
	struct live_devices_told *told = &live->devices_told;

	if (record->known & MS_DEVICE_MEMORY && record->uuid[0] &&
	    !memory_grow(&told->uuids, &told->capacity, told->count + 1, sizeof(*told->uuids)))
		memcpy(told->uuids[told->count++], record->uuid, sizeof(record->uuid));
	return live_feed(live, record, sizeof(*record));
}

static bool is_listed(const struct nvml_snapshot *snapshot, const char uuid[MS_UUID_BYTES])
{
	uint32_t i;

	for (i = 0; i < snapshot->devices_count; i++)
		if (!strncmp(snapshot->devices[i].uuid, uuid, MS_UUID_BYTES))
			return true;
	return false;
}

/* Of a device that NVML does not list any more, what it said before is not so any more. */
static int feed_missing(struct live *live, const struct live_devices_told *before, uint64_t ts_ns)
{
	struct ms_device record = {
		.event = { .ts_ns = ts_ns, .type = MS_TYPE_DEVICE, .size = sizeof(record) }
	};
	size_t i;

	for (i = 0; i < before->count && !live->err; i++) {
		memcpy(record.uuid, before->uuids[i], sizeof(record.uuid));
		if (!is_listed(live->snapshot, record.uuid))
			live_feed(live, &record, sizeof(record));
	}
	return live->err;
}

/* At the end, NVML is not waited for: what it has not said yet is so nevertheless. */
static int feed_snapshot(struct live *live, bool at_end)
{
	const struct nvml_snapshot *snapshot = live->snapshot;
	const uint64_t ts_ns = clock_monotonic_ns();
	struct live_devices_told before = live->devices_told;
	uint32_t i;

	live->devices_told = (struct live_devices_told){ 0 };
	for (i = 0; !live->err && i < snapshot->devices_count; i++) {
		struct ms_device record = nvml_record_device(snapshot, i, ts_ns);

		feed_device(live, &record);
	}
	if (!at_end)
		feed_missing(live, &before, ts_ns);
	free(before.uuids);
	if (!live->err)
		feed_processes(live, ts_ns);
	return live->err ? live->err : feed_limits(live, ts_ns);
}

/* Of one by whose files something was made it is said for each of them when they are closed. */
static bool has_closed(const struct live *live, struct target *target, uint64_t now_ns)
{
	return !live_driver_files_has(live, target->pid) &&
	       target_ioctl_closed(&live->targets, target, now_ns);
}

static bool any_has_closed(const struct live *live)
{
	const struct targets *targets = &live->targets;
	const uint64_t now_ns = clock_monotonic_ns();
	size_t i;

	for (i = 0; i < targets->count; i++)
		if (has_closed(live, targets->targets[i], now_ns))
			return true;
	return false;
}

/*
 * Who has closed the driver's files and goes on holds nothing any more, and has made no ioctl that
 * says so. Looked for as often as NVML is asked, whose numbers are held against what is held. They
 * were closed before they were looked for; what is asked for meanwhile is later.
 */
static int feed_closed(struct live *live)
{
	const struct targets *targets = &live->targets;
	uint64_t now_ns;
	size_t i;

	if (live_driver_files_look(live) || !any_has_closed(live))
		return live->err;
	live_drain(live); /* what was asked for before */
	now_ns = clock_monotonic_ns();
	for (i = 0; i < targets->count && !live->err; i++) {
		struct target *target = targets->targets[i];
		struct ms_object record;

		if (!has_closed(live, target, now_ns))
			continue;
		target->ioctl.asked = false;
		record = record_objects(target, MS_OBJECT_CLOSED, live->drained_ns);
		live_feed(live, &record, sizeof(record));
	}
	return live->err;
}

/* ---- while it does not answer ---------------------------------------------------------------- */

/* It may have failed because the driver is loaded later, or anew. */
static uint64_t pause_ns(const struct live *live)
{
	const uint32_t doublings = live->devices_failures - 1;

	return live->options.devices_ns * PAUSE_PERIODS
	       << (doublings < MOST_DOUBLINGS ? doublings : MOST_DOUBLINGS);
}

/* Where it has answered before, who relies on its numbers has to know. */
static void pause_asking(struct live *live, bool at_end)
{
	const char *problem =
		live->snapshot->problem[0] ? live->snapshot->problem : "there is none";
	const bool news = live->devices_answered && !live->devices_failures && !at_end;

	live->devices_failures++;
	live->devices_again_ns = clock_monotonic_ns() + pause_ns(live);
	loop_remove(live->loop, live->devices_source);
	live->devices_source = NULL;
	nvml_leave(live->nvml);
	if (news)
		log_warning("NVML does not answer any more: %s. Until it does, what devices have"
			    " in use, and who else holds it, is not known. Look for errors of the"
			    " GPU (dmesg | grep -E 'NVRM|Xid'). NVML is asked again from time to"
			    " time%s",
			    problem, live->snapshot->hangs ? ", once that call has returned" : "");
	else
		log_debug("NVML is asked again in %llu ms: %s",
			  (unsigned long long)pause_ns(live) / 1000000, problem);
}

/* The library is loaded anew, too. */
static void ask_anew(struct live *live)
{
	if (clock_monotonic_ns() < live->devices_again_ns || nvml_renew(live->nvml))
		return;
	if (loop_add_fd(live->loop, nvml_fd(live->nvml), EPOLLIN, on_answer, live, 0,
			&live->devices_source))
		return;
	live->devices_again_ns = 0;
	ask(live);
}

static void answers_again(struct live *live)
{
	if (live->devices_failures && live->devices_answered)
		log_info("NVML answers again");
	else if (live->devices_failures)
		log_info("NVML answers now");
	live->devices_failures = 0;
	live->devices_answered = true;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Takes an answer, or what there is of it. */
static int take(struct live *live, int wait_ms)
{
	const int err = nvml_take(live->nvml, wait_ms, live->snapshot);

	if (err == -EAGAIN)
		return 0;
	live->devices_asked = false;
	log_debug("NVML: %u devices, %u processes, %llu us", live->snapshot->devices_count,
		  live->snapshot->processes_count, (unsigned long long)live->snapshot->ns / 1000);
	live_drain(live); /* what came before it */
	if (!live->err && !feed_closed(live))
		feed_snapshot(live, wait_ms != 0);
	if (err || live->snapshot->state != NVML_READY)
		pause_asking(live, wait_ms != 0);
	else
		answers_again(live);
	return live->err;
}

static int on_answer(void *context, uint64_t data)
{
	(void)data;
	return take(context, 0);
}

static void ask(struct live *live)
{
	const uint64_t now_ns = clock_monotonic_ns();

	if (!live->nvml)
		return;
	if (live->devices_again_ns) {
		ask_anew(live);
		return;
	}
	if (live->devices_asked) {
		if (now_ns - live->devices_asked_ns > HANGS_NS)
			take(live, 0);
		return;
	}
	live->devices_asked_ns = now_ns;
	live->devices_asked = !nvml_ask(live->nvml);
}

static int on_time(void *context, uint64_t data)
{
	struct live *live = context;

	(void)data;
	ask(live);
	return live->err;
}

void live_ask_devices(struct live *live)
{
	ask(live);
}

void live_devices_see(struct live *live, const struct ms_call *call)
{
	uint64_t now_ns;

	if (!live->nvml || !(call->known & MS_KNOWN_RESULT) || call->result != OUT_OF_MEMORY)
		return;
	now_ns = clock_monotonic_ns();
	if (now_ns - live->devices_refused_ns < OOM_NS)
		return;
	live->devices_refused_ns = now_ns;
	ask(live);
}

int live_devices_open(struct live *live)
{
	int err;

	if (!live->nvml)
		return 0;
	err = loop_add_fd(live->loop, nvml_fd(live->nvml), EPOLLIN, on_answer, live, 0,
			  &live->devices_source);
	if (!err)
		err = loop_add_timer(live->loop, live->options.devices_ns, live->options.devices_ns,
				     on_time, live, 0, &live->devices_timer);
	if (!err)
		ask(live);
	return err;
}

void live_devices_start(struct live *live)
{
	if (!live->options.devices_ns)
		return;
	live->snapshot = calloc(1, sizeof(*live->snapshot));
	if (!live->snapshot || nvml_open(&live->nvml))
		live->nvml = NULL;
	else
		live->options.scope.except = nvml_child(live->nvml);
}

void live_devices_end(struct live *live)
{
	if (!live->nvml || live->err)
		return;
	/* What was asked for in the middle is as good. */
	if (!live->devices_again_ns)
		ask(live);
	if (live->devices_asked)
		take(live, LAST_MS);
}

void live_devices_close(struct live *live)
{
	live_driver_files_forget(live);
	loop_remove(live->loop, live->devices_source);
	loop_remove(live->loop, live->devices_timer);
	live->devices_source = live->devices_timer = NULL;
	live->options.scope.except = NULL;
	nvml_close(live->nvml);
	live->nvml = NULL;
	free(live->snapshot);
	free(live->devices_told.uuids);
	live->snapshot = NULL;
}
