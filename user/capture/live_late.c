// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that had mapped the driver before it had probes: what they held by then is not known.
 * How that is avoided with an open scope, and what is said of those with which it was not.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/attach/file_probes.h"
#include "capture/live_internal.h"
#include "capture/targets/known_libraries.h"
#include "capture/targets/scope.h"

#define KEEP_NS 10000000000ull        /* until what could not be kept is tried again, at first */
#define KEEP_MOST_NS 3600000000000ull /* twice as long each time, up to this */

/* Of a file in which a process was late. */
enum { SAID = 1, NOT_KEPT };

void live_expect(struct live *live)
{
	/* What this program would load itself: others may be about to. */
	targets_expect(&live->targets, getpid());
	/* The same outside of the container that it is in, perhaps. */
	targets_expect(&live->targets, 1);
	if (live->options.known_libraries && live->targets.file_probes)
		known_libraries_each(live->options.known_libraries, targets_expect_file,
				     &live->targets);
}

/* With an open scope most are started elsewhere, where no environment of ours comes to. */
static bool may_have_our_environment(const struct live *live, const struct target *target)
{
	struct proc_info info;

	return !scope_is_open(&live->options.scope) ||
	       (!proc_read(target->pid, &info) && targets_find(&live->targets, info.parent));
}

const char *live_late_cure(struct live *live)
{
	if (live->cure_said)
		return "";
	live->cure_said = true;
	return "; if a script sets LD_LIBRARY_PATH, write that before memscope-bpf, too (sudo env"
	       " LD_LIBRARY_PATH=... memscope-bpf ...)";
}

/* Who was started here, or by one who is traced, should be seen from its first call on. */
static void warn_if_late(struct live *live, const struct target *target)
{
	const struct live_options *options = &live->options;
	size_t i;

	for (i = 0; i < options->pids_count; i++)
		if (options->pids[i] == target->pid)
			return;
	if (live->late_said || (!options->follow && !options->command))
		return;
	live->late_said = true;
	log_warning("process %d (%s) had CUDA loaded before it was attached to: its first calls are"
		    " missing%s",
		    target->pid, target->comm,
		    may_have_our_environment(live, target) ? live_late_cure(live) : "");
}

bool live_announce_if_late(struct live *live, struct target *target, uint64_t since_ns,
			   uint64_t began_ns, uint32_t flags)
{
	if (!target_was_late(&live->targets, target, since_ns, &target->late_in))
		return false;
	log_debug("process %d (%s) had mapped the driver before it was attached to", target->pid,
		  target->comm);
	warn_if_late(live, target);
	target->attach_flags = flags;
	target->attached_ns = began_ns;
	target->announced_ns = clock_monotonic_ns();
	live_asks_begin(live, target);
	live_feed_attach(live, target);
	return true;
}

/* Whether it is the first time. */
static bool is_news(struct live *live, const struct library *library, bool in_all)
{
	const bool said = in_all ? map_get(&live->late_files, (uintptr_t)library) != NULL :
				   live->late_alone_said;

	if (in_all)
		map_set(&live->late_files, (uintptr_t)library, SAID);
	else
		live->late_alone_said = true;
	return !said;
}

/*
 * So that after the next start, the first process is seen from its first call, too. Returns whether
 * that is done, or cannot be.
 */
static bool keep(const struct live *live, const struct library *library, bool again)
{
	const char *list = live->options.known_libraries;
	const int err =
		list ? known_libraries_add(list, library->path, library->dev, library->inode) : 0;

	if (err == -ESTALE || err == -ENOENT)
		log_debug("%s is in another mount namespace: it is not kept for the next start",
			  library->path);
	else if (err == -EXDEV)
		log_debug("%s is behind a mount that is not local: it is not kept for the next"
			  " start",
			  library->path);
	else if (err && !again)
		log_warning("%s: cannot note that processes use %s: %s; until it can, the first of"
			    " them may be attached to late again after the next start",
			    list, library->path, strerror(-err));
	else if (!err && again)
		log_info("%s: it is noted now that processes use %s", list, library->path);
	return !err || err == -ESTALE || err == -ENOENT || err == -EXDEV;
}

/* The disk was full, perhaps. No process is late in the file again that would be a reason to. */
void live_late_keep(struct live *live, bool last)
{
	const uint64_t now_ns = clock_monotonic_ns();
	struct map *files = &live->late_files;
	bool all = true;
	size_t i;

	if (!live->keep_wait_ns || (!last && now_ns < live->keep_ns))
		return;
	for (i = 0; i < files->capacity; i++) {
		if (!map_is_used(files, i) || files->slots[i].value != NOT_KEPT)
			continue;
		if (keep(live, (const struct library *)(uintptr_t)map_key_at(files, i), true))
			files->slots[i].value = SAID;
		else
			all = false;
	}
	live->keep_wait_ns *= 2;
	if (live->keep_wait_ns > KEEP_MOST_NS)
		live->keep_wait_ns = KEEP_MOST_NS;
	if (all)
		live->keep_wait_ns = 0;
	live->keep_ns = now_ns + live->keep_wait_ns;
}

static void keep_first(struct live *live, const struct library *library)
{
	if (keep(live, library, false) ||
	    map_set(&live->late_files, (uintptr_t)library, NOT_KEPT) || live->keep_wait_ns)
		return;
	live->keep_wait_ns = KEEP_NS;
	live->keep_ns = clock_monotonic_ns() + KEEP_NS;
}

void live_say_late(struct live *live, const struct target *target)
{
	const struct library *library = target->late_in;
	bool in_all;

	if (!library || !scope_is_open(&live->options.scope) ||
	    target->attach_flags != MS_ATTACH_RUNNING)
		return;
	in_all = file_probes_find(live->targets.file_probes, library);
	if (!is_news(live, library, in_all))
		return;
	if (in_all)
		keep_first(live, library);
	log_info("process %d (%s) had loaded %s before this file had probes: what it held by then"
		 " is not known; %s",
		 target->pid, target->comm, library->path,
		 in_all ? "processes that begin from now on are seen from their first call" :
			  "this can be so again, because the file gets its probes in each process"
			  " alone (this is said once)");
}
