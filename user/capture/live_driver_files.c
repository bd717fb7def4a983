// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files of NVIDIA's driver by which traced processes made clients or ranges. What was made by one
 * ends when the last process that has it closes it. No ioctl says so: whether they are open still
 * is looked for as often as NVML has answered, but for no more than a hundredth of the time. If the
 * kernel refuses that, it is tried again later.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/attach/open_files.h"
#include "capture/live_internal.h"
#include "capture/records/records.h"
#include "host/proc.h"

#define MOST_FILES 65536
#define OF_UVM 0x80000000u /* with a process' number: the file is of /dev/nvidia-uvm */
#define PART_OF_TIME 100
#define RETRY_NS 1000000000ull /* after a failure; twice as long after each further one */
#define MOST_DOUBLINGS 6

static uint64_t maker_of(uint32_t look, uint32_t pid)
{
	return (uint64_t)look << 32 | pid;
}

static pid_t maker_pid(uint64_t maker)
{
	return (pid_t)((uint32_t)maker & ~OF_UVM);
}

static bool makes_client(const struct ms_object *object)
{
	return object->action == MS_OBJECT_ALLOC && !object->status &&
	       (object->class_number <= MS_NV_ROOT_NON_PRIV ||
		object->class_number == MS_NV_ROOT_CLIENT);
}

static bool makes_range(const struct ms_range *range)
{
	return (range->action == MS_RANGE_CREATE || range->action == MS_RANGE_MANAGED) &&
	       !range->status;
}

/* One that finds no place ends with its process. */
static void note(struct live_driver_files *files, uint32_t file, uint32_t pid)
{
	if (file && files->makers.count < MOST_FILES)
		map_set(&files->makers, file, maker_of(files->look, pid));
}

void live_driver_files_see(struct live *live, const struct ms_event *event)
{
	struct live_driver_files *files = &live->driver_files;
	const struct ms_object *object = (const struct ms_object *)event;
	const struct ms_range *range = (const struct ms_range *)event;

	if (files->ended || feature_is_masked(live->options.features, FEATURE_OPEN_FILES))
		return;
	if (event->type == MS_TYPE_OBJECT && makes_client(object))
		note(files, object->file, event->pid);
	else if (event->type == MS_TYPE_RANGE && makes_range(range))
		note(files, range->file, event->pid | OF_UVM);
}

bool live_driver_files_has(const struct live *live, pid_t pid)
{
	const struct live_driver_files *files = &live->driver_files;
	const struct map *makers = &files->makers;
	size_t slot;

	for (slot = 0; !files->failures && slot < makers->capacity; slot++)
		if (map_is_used(makers, slot) && maker_pid(makers->slots[slot].value) == pid)
			return true;
	return false;
}

static int is_of_name(const struct proc_mapping *mapping, void *name)
{
	return strstr(mapping->path, name) != NULL;
}

/* A file that is mapped stays open; which one of its device's it is cannot be told. */
static bool may_be_mapped(uint64_t maker)
{
	static char control[] = "nvidiactl", uvm[] = "nvidia-uvm";

	return proc_each_mapping(maker_pid(maker), is_of_name, maker & OF_UVM ? uvm : control) > 0;
}

/* All that goes by the file ends. */
static int feed(struct live *live, const struct target *target, uint32_t file, uint64_t ts_ns)
{
	struct ms_object record = record_objects(target, MS_OBJECT_CLOSED, ts_ns);

	record.file = file;
	log_debug("process %d: a file of the driver is closed", target->pid);
	return live_feed(live, &record, sizeof(record));
}

/* Whether a client was made by one that is not open. */
static bool any_closed(const struct map *makers, const struct map *open)
{
	size_t slot;

	for (slot = 0; slot < makers->capacity; slot++)
		if (map_is_used(makers, slot) && !map_get(open, map_key_at(makers, slot)))
			return true;
	return false;
}

/* One by which a client was made since that look began may have been opened since. */
static int end_closed(struct live *live, const struct map *open)
{
	struct live_driver_files *files = &live->driver_files;
	struct map *makers = &files->makers;
	size_t slot = 0;

	while (!live->err && slot < makers->capacity) {
		const struct target *target;
		const uint64_t *has_it;
		uint64_t file, maker;

		if (!map_is_used(makers, slot)) {
			slot++;
			continue;
		}
		file = map_key_at(makers, slot);
		maker = makers->slots[slot].value;
		target = targets_find(&live->targets, maker_pid(maker));
		has_it = map_get(open, file);
		/* Others may have made clients by it as well; who has it now stands for all. */
		if (!target && has_it)
			makers->slots[slot].value =
				maker_of(0, (uint32_t)*has_it | ((uint32_t)maker & OF_UVM));
		if (has_it || maker >> 32 == files->look || (target && may_be_mapped(maker))) {
			slot++;
			continue;
		}
		if (target)
			feed(live, target, (uint32_t)file, live->drained_ns);
		map_remove(makers, file); /* another one may lie there now */
	}
	return live->err;
}

void live_driver_files_forget(struct live *live)
{
	live->driver_files.ended = true;
	map_fini(&live->driver_files.makers);
	open_files_fini(&live->driver_files.open);
}

/* It is tried again, for the kernel may have had no memory. */
static void note_failure(struct live_driver_files *files, int err, uint64_t now_ns)
{
	const uint32_t doublings =
		files->failures < MOST_DOUBLINGS ? files->failures : MOST_DOUBLINGS;

	files->failures++;
	files->next_ns = now_ns + (RETRY_NS << doublings);
	log_debug("which files are open cannot be seen: %s", strerror(-err));
}

int live_driver_files_look(struct live *live)
{
	struct live_driver_files *files = &live->driver_files;
	uint64_t now_ns = clock_monotonic_ns(), took_ns;
	struct map open = { 0 };
	int err;

	if (!files->makers.count || now_ns < files->next_ns)
		return 0;
	files->look++;
	err = open_files_load(&files->open, live->programs);
	now_ns = clock_monotonic_ns(); /* it is loaded once, but looked at often */
	if (!err)
		err = open_files_read(&files->open, &open);
	took_ns = clock_monotonic_ns() - now_ns;
	files->next_ns = now_ns + PART_OF_TIME * took_ns;
	log_debug("%zu files of the driver are open, %llu us", open.count,
		  (unsigned long long)took_ns / 1000);
	if (err) {
		note_failure(files, err, now_ns);
	} else {
		files->failures = 0;
		/* What was asked for by one before it was closed may still lie in the rings. */
		if (any_closed(&files->makers, &open))
			live_drain(live);
		end_closed(live, &open);
	}
	map_fini(&open);
	return live->err;
}
