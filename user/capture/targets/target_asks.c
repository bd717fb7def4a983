// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/target_asks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/* Nothing new in so many calls and so much time: what these threads have to say is known. */
#define ENOUGH_CALLS 256
#define ENOUGH_NS 1000000000ull
/* A tenth of a second of a CPU's time, or two: then it ends in any case. */
#define MOST_CALLS 200000

#define FIRST_PAUSE_NS 1000000000ull
#define MOST_PAUSE_NS (1024 * FIRST_PAUSE_NS)

bool target_asks_of(const struct target_asks *asks, const struct library *library)
{
	size_t i;

	for (i = 0; i < asks->count; i++)
		if (asks->files[i].library == library)
			return true;
	return false;
}

void target_asks_add(struct target_asks *asks, const struct library *library, int fd)
{
	if (!library->asks_count || asks->count == TARGET_ASKS_FILES ||
	    target_asks_of(asks, library))
		return;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		asks->files[asks->count++] =
			(struct target_asks_file){ .library = library, .fd = fd };
}

/* ---- listening ------------------------------------------------------------------------------- */

static void detach(struct target_asks_file *file, struct detacher *detacher)
{
	detacher_release(detacher, file->held, file->links, file->links_count);
	file->links_count = 0;
	file->held = 0;
}

static int link_program(struct target_asks_file *file, struct programs *programs,
			enum program program, const struct link_site *site)
{
	int fd = programs_link(programs, program, site, program == PROGRAM_ASK_RETURN);

	if (fd >= 0)
		file->links[file->links_count++] = fd;
	return fd < 0 ? fd : 0;
}

/* The return first: an entry whose return is not seen would be taken for a later one's. */
static int attach(struct target_asks_file *file, struct programs *programs,
		  const struct link_site *site)
{
	int err;

	if (programs_strategy(programs) == STRATEGY_SESSION)
		return link_program(file, programs, PROGRAM_ASK_SESSION, site);
	err = link_program(file, programs, PROGRAM_ASK_RETURN, site);
	return err ? err : link_program(file, programs, PROGRAM_ASK_ENTRY, site);
}

/* Those that the process has not changed, as hooks do. */
static void attach_file(struct target_asks_file *file, const struct target_asks_site *at)
{
	const struct library_point *functions = file->library->asks;
	uint64_t offsets[MS_ASK_ROWS], cookies[MS_ASK_ROWS];
	bool changed[MS_ASK_ROWS];
	char path[64];
	struct link_site site = {
		.path = path, .offsets = offsets, .cookies = cookies, .pid = at->pid
	};
	size_t i;
	int err;

	placement_find_changed(file->library, functions, file->library->asks_count, at->pid,
			       changed);
	for (i = 0; i < file->library->asks_count; i++) {
		if (changed[i])
			continue;
		offsets[site.count] = functions[i].file_offset;
		cookies[site.count++] = MS_COOKIE(functions[i].row, 0);
	}
	if (!site.count)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	err = attach(file, at->programs, &site);
	if (err) {
		log_debug("%s: cannot listen to what process %d asks: %s", file->library->name,
			  at->pid, strerror(-err));
		detach(file, at->detacher);
		return;
	}
	file->held = detacher_hold(at->detacher, file->links, file->links_count);
}

static void stop(struct target_asks *asks, const struct target_asks_site *site)
{
	const uint32_t key = site->pid;
	size_t i;

	if (!asks->listening)
		return;
	for (i = 0; i < asks->count; i++)
		detach(&asks->files[i], site->detacher);
	bpf_map_delete_elem(programs_asking_fd(site->programs), &key);
	asks->listening = false;
	asks->wanted = false;
	asks->closed_ns = clock_monotonic_ns();
	log_debug("process %d: %llu answers said where a thread is; no longer listening", site->pid,
		  (unsigned long long)asks->lessons);
}

static void listen_to(struct target_asks *asks, const struct target_asks_site *site)
{
	const struct ms_asking none = { 0 };
	const uint32_t key = site->pid;
	size_t i, links = 0;

	if (bpf_map_update_elem(programs_asking_fd(site->programs), &key, &none, BPF_ANY))
		return;
	for (i = 0; i < asks->count; i++) {
		attach_file(&asks->files[i], site);
		links += asks->files[i].links_count;
	}
	asks->listening = true;
	asks->wanted = false;
	asks->calls = asks->lessons = asks->heard = 0;
	asks->lesson_ns = clock_monotonic_ns();
	log_debug("process %d: listening to where its threads are, %zu links", site->pid, links);
}

/*
 * Without multi links each function takes a tenth of a second to detach from. And what is heard is
 * of use only if a thread that goes elsewhere is seen to do so.
 */
static bool can_listen(const struct programs *programs)
{
	const struct placement_wants *wants = programs_wants(programs);

	return programs_strategy(programs) != STRATEGY_SINGLE &&
	       wants->layers >> MS_LAYER_DRIVER & 1 && wants->ops >> MS_OP_CONTEXT & 1 &&
	       wants->return_ops >> MS_OP_CONTEXT & 1;
}

void target_asks_begin(struct target_asks *asks, const struct target_asks_site *site)
{
	if (!asks->count || asks->listening || !can_listen(site->programs))
		return;
	asks->late = true;
	asks->pause_ns = FIRST_PAUSE_NS;
	listen_to(asks, site);
}

/* Longer each time, if it was for nothing. */
static void pause_longer(struct target_asks *asks)
{
	if (asks->lessons)
		asks->pause_ns = FIRST_PAUSE_NS;
	else if (asks->pause_ns < MOST_PAUSE_NS)
		asks->pause_ns *= 2;
}

bool target_asks_look(struct target_asks *asks, const struct target_asks_site *site,
		      uint64_t now_ns)
{
	const uint32_t key = site->pid;
	struct ms_asking asking;
	bool heard;

	if (asks->late && !asks->listening && asks->wanted &&
	    now_ns - asks->closed_ns > asks->pause_ns)
		listen_to(asks, site);
	if (!asks->listening ||
	    bpf_map_lookup_elem(programs_asking_fd(site->programs), &key, &asking))
		return false;
	heard = asking.calls != asks->heard;
	asks->heard = asking.calls;
	if (asking.lessons != asks->lessons) {
		asks->lessons = asking.lessons;
		asks->calls = asking.calls;
		asks->lesson_ns = now_ns;
	}
	if (asking.calls < MOST_CALLS &&
	    (asking.calls - asks->calls < ENOUGH_CALLS || now_ns - asks->lesson_ns < ENOUGH_NS))
		return heard;
	pause_longer(asks);
	stop(asks, site);
	return false;
}

void target_asks_close(struct target_asks *asks, const struct target_asks_site *site)
{
	stop(asks, site);
	while (asks->count)
		close(asks->files[--asks->count].fd);
	*asks = (struct target_asks){ 0 };
}
