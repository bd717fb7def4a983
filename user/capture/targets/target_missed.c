// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who called functions, perhaps, before these had probes. Of what a process has mapped now, that
 * can be seen. Of processes that had ended, or executed another program, before anything was
 * noticed, it is told by the times of the kernel's records of what they mapped, which come whatever
 * has become of them.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/targets/files.h"
#include "capture/attach/file_probes.h"
#include "capture/attach/programs.h"
#include "capture/targets/target.h"

static struct target_probes probes_of(const struct target *target)
{
	struct target_probes probes = { .announced_ns = target->announced_ns };
	size_t i;

	for (i = 0; i < target->count && i < TARGET_PROBED_MOST; i++)
		probes.probed[probes.count++] =
			(struct target_probed){ target->attachments[i].library,
						attachment_since(&target->attachments[i]) };
	return probes;
}

static bool wants(const struct targets *targets, const struct library *library, enum ms_layer layer)
{
	return placement_wants_of(programs_wants(targets->programs), library, layer);
}

/* Whether another library, the driver, has probes, which see all that this one has done. */
static bool is_seen_below(const struct targets *targets, const struct target_probes *probes,
			  const struct library *library)
{
	size_t i;

	for (i = 0; i < probes->count; i++)
		if (wants(targets, probes->probed[i].library, MS_LAYER_DRIVER))
			return !wants(targets, library, MS_LAYER_DRIVER);
	return file_probes_has_driver(targets->file_probes) &&
	       !wants(targets, library, MS_LAYER_DRIVER);
}

static bool may_have_called(const struct targets *targets, const struct target_probes *probes,
			    const struct library *library, uint64_t mapped_ns)
{
	const struct attachment *shared = file_probes_find(targets->file_probes, library);
	size_t i;

	if (mapped_ns <= probes->announced_ns || is_seen_below(targets, probes, library))
		return false;
	if (!wants(targets, library, MS_LAYER_DRIVER) && !wants(targets, library, MS_LAYER_RUNTIME))
		return false;
	for (i = 0; i < probes->count; i++)
		if (probes->probed[i].library == library)
			return probes->probed[i].since_ns > mapped_ns;
	return !shared || shared->attached_ns > mapped_ns;
}

/*
 * Of a process that has it no more. NULL: it has no functions of the table, as far as is known.
 * From the next process on it has probes, if it can have them in all (and tracing goes on).
 */
static const struct library *find_library(struct targets *targets,
					  const struct proc_mapping *mapping, bool last)
{
	const struct library *library = library_find(&targets->cache, mapping);
	int fd;

	if (library || mapping->path[0] != '/')
		return library;
	fd = file_open_here(mapping);
	if (fd < 0)
		return NULL;
	if (library_load(&targets->cache, fd, mapping->path, &library) || !library->points_count)
		library = NULL;
	if (library && !last)
		file_probes_of(targets->file_probes, library, fd);
	close(fd);
	return library;
}

/* ---- what is mapped now ---------------------------------------------------------------------- */

struct lateness {
	const struct targets *targets;
	const struct target *target;
	struct target_probes probes;
	uint64_t since_ns;
	const struct library *library; /* the first that is */
};

/* What counts of probes in all processes is whether they were there when this one began. */
static uint64_t beginning(const struct lateness *lateness, const struct attachment *attachment)
{
	const uint64_t began_ns = lateness->target->began_ns;

	return attachment->shared && began_ns > lateness->since_ns ? began_ns : lateness->since_ns;
}

static bool is_late(const struct lateness *lateness, const struct attachment *attachment)
{
	/* What has no functions to probe is attached to anew, in vain, with each program. */
	if (lateness->since_ns && !attachment->functions)
		return false;
	return attachment_since(attachment) > beginning(lateness, attachment) &&
	       !is_seen_below(lateness->targets, &lateness->probes, attachment->library);
}

static int find_late(const struct proc_mapping *mapping, void *context)
{
	struct lateness *lateness = context;
	const struct target *target = lateness->target;
	size_t i;

	for (i = 0; i < target->count && !lateness->library; i++)
		if (library_is_mapped(target->attachments[i].library, mapping) &&
		    is_late(lateness, &target->attachments[i]))
			lateness->library = target->attachments[i].library;
	return lateness->library != NULL;
}

bool target_was_late(const struct targets *targets, const struct target *target, uint64_t since_ns,
		     const struct library **library)
{
	struct lateness lateness = { targets, target, probes_of(target), since_ns, NULL };
	bool any = false;
	int found;
	size_t i;

	*library = NULL;
	for (i = 0; i < target->count; i++)
		any |= is_late(&lateness, &target->attachments[i]);
	if (!any)
		return false;
	found = proc_each_mapping(target->pid, find_late, &lateness);
	*library = lateness.library;
	return found && found != -ESRCH;
}

/* ---- what was mapped by targets -------------------------------------------------------------- */

struct same {
	const struct library *library;
	uint64_t start;
};

static int is_same(const struct proc_mapping *mapping, void *context)
{
	const struct same *same = context;

	return mapping->start == same->start && library_is_mapped(same->library, mapping);
}

static bool is_still_mapped(pid_t pid, const struct library *library,
			    const struct proc_mapping *mapping)
{
	struct same same = { library, mapping->start };

	return proc_each_mapping(pid, is_same, &same) == 1;
}

static void judge_children(struct targets *targets, const struct library *library, pid_t parent,
			   uint64_t mapped_ns);

void target_mapped_late(struct targets *targets, struct target *target,
			const struct proc_mapping *mapping, uint64_t mapped_ns, bool last)
{
	const struct library *library = find_library(targets, mapping, last);
	const struct target_probes probes = probes_of(target);

	judge_children(targets, library, target->pid, mapped_ns);
	if (target->missed || !library || !may_have_called(targets, &probes, library, mapped_ns))
		return;
	if (!last && is_still_mapped(target->pid, library, mapping))
		return;
	targets->mapped = true;
	target->missed = true;
}

/* ---- processes that have ended --------------------------------------------------------------- */

static bool is_gone(pid_t pid)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0);
	bool gone;

	if (pidfd < 0)
		return errno == ESRCH;
	gone = target_pidfd_has_ended(pidfd);
	close(pidfd);
	return gone;
}

static struct target_ended *find_ended(struct targets *targets, pid_t pid)
{
	size_t i;

	for (i = 0; i < TARGETS_ENDED; i++)
		if (targets->ended[i].pid == pid)
			return &targets->ended[i];
	return NULL;
}

static struct target_ended *add_ended(struct targets *targets, pid_t pid)
{
	struct target_ended *ended = find_ended(targets, pid);

	if (!ended)
		ended = &targets->ended[targets->ended_count++ % TARGETS_ENDED];
	*ended = (struct target_ended){ .pid = pid };
	return ended;
}

void targets_add_ended(struct targets *targets, pid_t pid, const struct target *target)
{
	struct target_ended *ended = add_ended(targets, pid);

	if (!target)
		return;
	ended->probes = probes_of(target);
	ended->missed = target->missed;
}

void targets_mapped_late(struct targets *targets, pid_t pid, bool in_scope,
			 const struct proc_mapping *mapping, uint64_t mapped_ns, bool last)
{
	struct target_ended *ended = find_ended(targets, pid);
	const struct library *library;

	if ((!ended && !in_scope) || (!(last && in_scope) && !is_gone(pid)))
		return;
	library = find_library(targets, mapping, last);
	judge_children(targets, library, pid, mapped_ns);
	if (!library)
		return;
	if (!ended)
		ended = add_ended(targets, pid);
	targets->mapped = true;
	/* Once for each process, however much it has mapped. */
	if (ended->missed || !may_have_called(targets, &ended->probes, library, mapped_ns))
		return;
	ended->missed = true;
	targets->missed++;
}

static void miss(struct targets *targets, struct target_ended *ended)
{
	if (!ended->missed)
		targets->missed++;
	ended->missed = true;
}

/* Those that the process forked after that, and that were gone before anybody looked. */
static void judge_children(struct targets *targets, const struct library *library, pid_t parent,
			   uint64_t mapped_ns)
{
	size_t i;

	if (!library || (!wants(targets, library, MS_LAYER_DRIVER) &&
			 !wants(targets, library, MS_LAYER_RUNTIME)))
		return;
	for (i = 0; i < TARGETS_ENDED; i++) {
		struct target_ended *ended = &targets->ended[i];

		if (ended->parent != parent || ended->forked_ns <= mapped_ns)
			continue;
		ended->parent = 0;
		targets->mapped = true;
		miss(targets, ended);
	}
}

void targets_unseen(struct targets *targets, pid_t pid)
{
	struct target_ended *ended = find_ended(targets, pid);

	if (ended)
		ended->unseen = !ended->missed;
}

void targets_unseen_perhaps(struct targets *targets, pid_t pid, pid_t parent, uint64_t forked_ns)
{
	struct target_ended *ended = find_ended(targets, pid);

	if (!ended)
		return;
	ended->parent = parent;
	ended->forked_ns = forked_ns;
}

void targets_unseen_changed(struct targets *targets, pid_t pid, bool executed)
{
	struct target_ended *ended = find_ended(targets, pid);

	if (ended && executed)
		ended->parent = 0;
	if (!ended || !ended->unseen)
		return;
	ended->unseen = false;
	if (!executed)
		miss(targets, ended);
}
