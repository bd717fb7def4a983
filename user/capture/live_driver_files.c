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

#define PART_OF_TIME 100
#define RETRY_NS 1000000000ull /* after a failure; twice as long after each further one */
#define MOST_DOUBLINGS 6

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

/* Of one that finds no place it is noticed when its process has closed all. */
static void note(struct live_driver_files *files, uint32_t file, uint32_t pid, bool uvm)
{
	if (!file || file_makers_note(&files->makers, file, (pid_t)pid, uvm) || files->full_said)
		return;
	files->full_said = true;
	log_warning("process %u uses very many files of NVIDIA's driver: what it holds is not exact"
		    " if it closes some of them and keeps others",
		    pid);
}

void live_driver_files_see(struct live *live, const struct ms_event *event)
{
	struct live_driver_files *files = &live->driver_files;
	const struct ms_object *object = (const struct ms_object *)event;
	const struct ms_range *range = (const struct ms_range *)event;

	if (files->ended || feature_is_masked(live->options.features, FEATURE_OPEN_FILES))
		return;
	if (event->type == MS_TYPE_OBJECT && makes_client(object))
		note(files, object->file, event->pid, false);
	else if (event->type == MS_TYPE_RANGE && makes_range(range))
		note(files, range->file, event->pid, true);
}

bool live_driver_files_has(const struct live *live, pid_t pid)
{
	const struct live_driver_files *files = &live->driver_files;

	return !files->failures && file_makers_has(&files->makers, pid);
}

/* ---- what a look asks and tells -------------------------------------------------------------- */

static bool is_traced(pid_t pid, void *context)
{
	const struct live *live = context;

	return targets_find(&live->targets, pid);
}

static int is_of_name(const struct proc_mapping *mapping, void *name)
{
	return strstr(mapping->path, name) != NULL;
}

static bool maps(pid_t pid, bool of_uvm, void *context)
{
	static char control[] = "nvidiactl", uvm[] = "nvidia-uvm";

	(void)context;
	return proc_each_mapping(pid, is_of_name, of_uvm ? uvm : control) > 0;
}

/* All that goes by the file ends. */
static int feed(pid_t pid, uint32_t file, void *context)
{
	struct live *live = context;
	struct ms_object record = record_objects(targets_find(&live->targets, pid),
						 MS_OBJECT_CLOSED, live->drained_ns);

	record.file = file;
	log_debug("process %d: a file of the driver is closed", pid);
	return live_feed(live, &record, sizeof(record));
}

void live_driver_files_forget(struct live *live)
{
	live->driver_files.ended = true;
	file_makers_fini(&live->driver_files.makers);
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

/*
 * Which are open. A walk over descriptors is no picture of one moment: a file that goes to another
 * descriptor meanwhile (dup2, SCM_RIGHTS) may be at neither. What is missing is looked for twice.
 */
static int read_open(struct live_driver_files *files, struct map *open)
{
	const int err = open_files_read(&files->open, open);

	if (err || !file_makers_any_closed(&files->makers, open))
		return err;
	return open_files_read(&files->open, open);
}

/* Returns how long it took, without what is done for others. */
static uint64_t end_closed(struct live *live, const struct map *open)
{
	const struct file_makers_visitor visitor = { is_traced, maps, feed, live };
	struct live_driver_files *files = &live->driver_files;
	uint64_t began_ns;

	/* Ranges of processes that have ended take places, too. */
	if (!file_makers_any_closed(&files->makers, open) &&
	    files->makers.by_file.count < FILE_MAKERS_MOST / 2)
		return 0;
	/* What was asked for by one before it was closed may still lie in the rings. */
	live_drain(live);
	began_ns = clock_monotonic_ns();
	if (!live->err)
		file_makers_end_closed(&files->makers, open, &visitor);
	return clock_monotonic_ns() - began_ns;
}

int live_driver_files_look(struct live *live)
{
	struct live_driver_files *files = &live->driver_files;
	uint64_t now_ns = clock_monotonic_ns(), took_ns;
	struct map open = { 0 };
	int err;

	if (!files->makers.by_file.count || now_ns < files->next_ns)
		return 0;
	files->makers.look++;
	err = open_files_load(&files->open, live->programs);
	now_ns = clock_monotonic_ns(); /* it is loaded once, but looked at often */
	if (!err)
		err = read_open(files, &open);
	took_ns = clock_monotonic_ns() - now_ns;
	log_debug("%zu files of the driver are open, %llu us", open.count,
		  (unsigned long long)took_ns / 1000);
	if (err) {
		note_failure(files, err, now_ns);
	} else {
		files->failures = 0;
		took_ns += end_closed(live, &open);
		files->next_ns = clock_monotonic_ns() + PART_OF_TIME * took_ns;
	}
	map_fini(&open);
	return live->err;
}
