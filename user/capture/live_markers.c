// SPDX-License-Identifier: BSD-2-Clause
/*
 * Markers that come from a function of ours. Those of NVTX 3, if they are wanted: the command that
 * is started loads our library (user/inject/nvtx.c), since a variable in its environment says so.
 * The first marker comes as soon as that is loaded. Only those of targets are recorded.
 *
 * And what memscope-bpf mark says. Root may mark every process, and so may the user who runs the
 * capture; others may mark processes of their own. The kernel side has left out what comes from
 * other PID namespaces, where users are others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/attach/link.h"
#include "capture/injected.h"
#include "capture/live_internal.h"
#include "capture/mark.h"

#define INJECTION "NVTX_INJECTION64_PATH"

static int open_nvtx(struct live *live)
{
	const int row = live->options.markers ? marker_rows_injected(live->options.markers) : -1;
	const struct injected_library library = { .option = "--markers=inject",
						  .name = "libmemscope-nvtx.so",
						  .function = MARKER_ROWS_INJECTED,
						  .program = PROGRAM_MARKER,
						  .cookie = row < 0 ? 0 : MS_COOKIE(row, 0) };

	if (row < 0)
		return 0;
	live->nvtx_fd = injected_attach(live->programs, &library, live->nvtx_library);
	return live->nvtx_fd < 0 ? live->nvtx_fd : 0;
}

/* Without it, markers from outside are missing, and nothing else. */
static void open_marks(struct live *live)
{
	const uint64_t cookie = MS_COOKIE(MS_MARKER_ROW_COMMAND, 0);
	struct mark_place place;
	char path[64];
	struct link_site site = { .path = path, .cookies = &cookie, .count = 1 };

	if (!live->options.marks)
		return;
	if (!mark_place_find(&place)) {
		log_warning("memscope-bpf mark is not heard: this program is built in another way");
		return;
	}
	/* A helper may attach, and is another program. */
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)getpid());
	site.offsets = &place.function;
	site.counters = &place.counter;
	live->marks_fd = programs_link(live->programs, PROGRAM_MARKER, &site, false);
	if (live->marks_fd < 0)
		log_warning("memscope-bpf mark is not heard: %s", strerror(-live->marks_fd));
}

int live_markers_open(struct live *live)
{
	const int err = open_nvtx(live);

	if (!err)
		open_marks(live);
	return err;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void live_markers_close(struct live *live)
{
	close_one(&live->nvtx_fd);
	close_one(&live->marks_fd);
}

/* ---- NVTX ------------------------------------------------------------------------------------ */

/* There can be only one such library, and what has set the variable was first. */
void live_markers_begin_environment(struct live *live)
{
	const char *other = getenv(INJECTION);

	if (live->nvtx_fd < 0)
		return;
	if (other && *other) {
		log_warning(INJECTION " is already set, to %s: another tool reads the markers, and"
				      " --markers=inject does nothing. Unset it first",
			    other);
		return;
	}
	setenv(INJECTION, live->nvtx_library, true);
	live->nvtx_environment = true;
}

void live_markers_end_environment(struct live *live)
{
	if (live->nvtx_environment)
		unsetenv(INJECTION);
}

bool live_saw_marker(const struct live *live, size_t row)
{
	return live->targets.markers_found[row];
}

/* ---- memscope-bpf mark ----------------------------------------------------------------------- */

static bool may_mark(uint64_t uid, const struct target *target)
{
	char path[32];
	struct stat process;

	if (!uid || uid == getuid())
		return true;
	snprintf(path, sizeof(path), "/proc/%d", (int)target->pid);
	return !stat(path, &process) && process.st_uid == uid;
}

static int feed(struct live *live, const struct ms_marker *marker, const struct target *target)
{
	struct {
		struct ms_marker marker;
		char name[MS_MARKER_NAME_BYTES];
	} record = { 0 };

	memcpy(&record, marker, marker->event.size);
	record.marker.event.pid = (uint32_t)target->pid;
	record.marker.event.tid = 0; /* no thread of it has said so */
	record.marker.event.start_ns = target->start_ns;
	record.marker.domain = record.marker.sp = 0;
	if (marker->action == MS_MARKER_START || marker->action == MS_MARKER_END)
		record.marker.id = mark_range(marker->name);
	return live_feed(live, &record, marker->event.size);
}

static bool is_valid(const struct ms_marker *marker)
{
	return (marker->action == MS_MARKER_START || marker->action == MS_MARKER_END ||
		marker->action == MS_MARKER_INSTANT) &&
	       marker->length > 1 && marker->length <= MS_MARKER_NAME_BYTES &&
	       marker->event.size == sizeof(*marker) + marker->length &&
	       !marker->name[marker->length - 1];
}

int live_markers_take(struct live *live, const struct ms_marker *marker)
{
	bool taken = false;
	size_t i;
	int err = 0;

	if (!is_valid(marker))
		return 0;
	for (i = 0; !err && i < live->targets.count; i++) {
		const struct target *target = live->targets.targets[i];

		if (target->exit_seen ||
		    (marker->domain && marker->domain != (uint64_t)target->pid) ||
		    !may_mark(marker->sp, target))
			continue;
		taken = true;
		err = feed(live, marker, target);
	}
	if (!taken && !live->marks_refused) {
		live->marks_refused = true;
		log_warning("user %u marked something, but may mark none of the traced processes",
			    (unsigned int)marker->sp);
	}
	return err;
}
