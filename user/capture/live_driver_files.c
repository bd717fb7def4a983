// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files of NVIDIA's driver by which traced processes made clients. What was made by one ends when
 * the last process that has it closes it. No ioctl says so: whether they are open still is looked
 * for as often as NVML has answered, but for no more than a hundredth of the time.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/attach/open_files.h"
#include "capture/live_internal.h"
#include "capture/records/records.h"
#include "host/proc.h"

#define MOST_FILES 65536
#define PART_OF_TIME 100

void live_driver_files_see(struct live *live, const struct ms_object *object)
{
	struct live_driver_files *files = &live->driver_files;

	if (files->unknown || object->action != MS_OBJECT_ALLOC || object->status ||
	    !object->file ||
	    !(object->class_number <= MS_NV_ROOT_NON_PRIV ||
	      object->class_number == MS_NV_ROOT_CLIENT))
		return;
	/* One that finds no place ends with its process. */
	if (files->makers.count < MOST_FILES)
		map_set(&files->makers, object->file, object->event.pid);
}

bool live_driver_files_has(const struct live *live, pid_t pid)
{
	const struct map *makers = &live->driver_files.makers;
	size_t slot;

	for (slot = 0; slot < makers->capacity; slot++)
		if (map_is_used(makers, slot) && makers->slots[slot].value == (uint64_t)pid)
			return true;
	return false;
}

static int is_control(const struct proc_mapping *mapping, void *context)
{
	(void)context;
	return strstr(mapping->path, "nvidiactl") != NULL;
}

/* A file that is mapped stays open; which one it is cannot be told. */
static bool may_be_mapped(pid_t pid)
{
	return proc_each_mapping(pid, is_control, NULL) > 0;
}

/* All that goes by the file ends. */
static int feed(struct live *live, const struct target *target, uint32_t file, uint64_t ts_ns)
{
	struct ms_object record = record_objects(target, MS_OBJECT_CLOSED, ts_ns);

	record.file = file;
	log_debug("process %d: a file of the driver is closed", target->pid);
	return live_feed(live, &record, sizeof(record));
}

static int end_closed(struct live *live, const struct map *open, uint64_t ts_ns)
{
	struct map *makers = &live->driver_files.makers;
	size_t slot = 0;

	while (!live->err && slot < makers->capacity) {
		const struct target *target;
		const uint64_t *has_it;
		uint64_t file;
		pid_t pid;

		if (!map_is_used(makers, slot)) {
			slot++;
			continue;
		}
		file = map_key_at(makers, slot);
		pid = (pid_t)makers->slots[slot].value;
		target = targets_find(&live->targets, pid);
		has_it = map_get(open, file);
		/* Others may have made clients by it as well; who has it now stands for all. */
		if (!target && has_it)
			makers->slots[slot].value = *has_it;
		if (has_it || (target && may_be_mapped(pid))) {
			slot++;
			continue;
		}
		if (target)
			feed(live, target, (uint32_t)file, ts_ns);
		map_remove(makers, file); /* another one may lie there now */
	}
	return live->err;
}

void live_driver_files_forget(struct live *live)
{
	live->driver_files.unknown = true;
	map_fini(&live->driver_files.makers);
}

int live_driver_files_look(struct live *live)
{
	struct live_driver_files *files = &live->driver_files;
	const uint64_t now_ns = clock_monotonic_ns();
	struct map open = { 0 };
	uint64_t took_ns;
	int err;

	if (!files->makers.count || now_ns < files->next_ns)
		return 0;
	err = open_files_read(live->programs, &open);
	took_ns = clock_monotonic_ns() - now_ns;
	files->next_ns = now_ns + PART_OF_TIME * took_ns;
	log_debug("%zu files of the driver are open, %llu us", open.count,
		  (unsigned long long)took_ns / 1000);
	if (err) {
		log_debug("which files are open cannot be seen: %s", strerror(-err));
		live_driver_files_forget(live);
	} else {
		end_closed(live, &open, now_ns);
	}
	map_fini(&open);
	return live->err;
}
