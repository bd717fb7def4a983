// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/attachment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "capture/attach/attachment_bulk.h"
#include "capture/attach/link.h"
#include "capture/attach/placement.h"
#include "capture/attach/programs.h"
#include "elf/elf_code.h"
#include "elf/syscall_tail.h"
#include "event/probe.h"

static int keep(struct attachment *attachment, int fd)
{
	if (fd < 0)
		return fd;
	if (memory_grow(&attachment->fds, &attachment->capacity, attachment->count + 1,
			sizeof(*attachment->fds))) {
		close(fd);
		return -ENOMEM;
	}
	attachment->fds[attachment->count++] = fd;
	return 0;
}

/*
 * At the points that were chosen for it alone: where the stack pointer has moved, the kernel would
 * put its return address into the function's own data.
 */
static int attach_returns(struct attachment *attachment, const struct programs *programs,
			  const struct link_site *site)
{
	uint64_t *offsets = calloc(site->count, 2 * sizeof(*offsets));
	uint64_t *cookies = offsets + site->count;
	struct link_site wanted = *site;
	uint32_t i;
	int err = 0;

	if (!offsets)
		return -ENOMEM;
	wanted.offsets = offsets;
	wanted.cookies = cookies;
	wanted.count = 0;
	for (i = 0; i < site->count; i++) {
		if (!placement_wants_return(programs_wants(programs),
					    MS_COOKIE_ROW(site->cookies[i])))
			continue;
		offsets[wanted.count] = site->offsets[i];
		cookies[wanted.count++] = site->cookies[i];
	}
	if (wanted.count)
		err = keep(attachment, programs_link(programs, PROGRAM_RETURN, &wanted, true));
	free(offsets);
	return err;
}

static struct link_site part_of(const struct link_site *site, uint32_t first, uint32_t count)
{
	struct link_site part = *site;

	part.offsets += first;
	part.cookies += first;
	if (part.counters)
		part.counters += first;
	part.count = count;
	return part;
}

/*
 * Returns before entries: an entry without its return would be a call that never ends. The return
 * of the first function of all has a link of its own: see attach_all().
 */
static int attach_pair(struct attachment *attachment, const struct programs *programs,
		       const struct link_site *site)
{
	const uint32_t alone = attachment->count ? 0 : 1;
	const struct link_site first = part_of(site, 0, alone);
	const struct link_site others = part_of(site, alone, site->count - alone);
	int err = 0;

	if (first.count)
		err = attach_returns(attachment, programs, &first);
	if (!err && others.count)
		err = attach_returns(attachment, programs, &others);
	return err ? err : keep(attachment, programs_link(programs, PROGRAM_ENTRY, site, false));
}

static int attach(struct attachment *attachment, const struct programs *programs,
		  const struct link_site *site)
{
	size_t before = attachment->count;
	int err;

	if (programs_strategy(programs) == STRATEGY_SESSION) {
		err = keep(attachment, programs_link(programs, PROGRAM_SESSION, site, false));
	} else {
		err = attach_pair(attachment, programs, site);
	}
	if (!err) {
		attachment->functions += site->count;
	} else {
		detacher_release(attachment->detacher, 0, attachment->fds + before,
				 attachment->count - before);
		attachment->count = before;
	}
	return err;
}

/* The kernel's own ENOTSUPP, of instructions that uprobes refuse; user space has no name for it. */
#define KERNEL_ENOTSUPP 524

#define REFUSED_NAMED 5 /* of functions that cannot be probed; of more it is said how many */

static void note_unseen(struct attachment *attachment, uint32_t row)
{
	if (probe_at(row)->layer == MS_LAYER_DRIVER)
		attachment->driver_unseen |= 1u << probe_at(row)->spec.kind;
}

static void note_refused(struct attachment *attachment, uint64_t cookie, int err)
{
	note_unseen(attachment, MS_COOKIE_ROW(cookie));
	if (!memory_grow(&attachment->refused, &attachment->refused_capacity,
			 attachment->refused_count + 1, sizeof(*attachment->refused)))
		attachment->refused[attachment->refused_count++] = MS_COOKIE_ROW(cookie);
	log_message(attachment->refused_count > REFUSED_NAMED ? LOG_DEBUG : LOG_WARNING,
		    "%s: cannot attach to %s: %s; its calls will not be seen",
		    attachment->library->name, probe_at(MS_COOKIE_ROW(cookie))->symbol,
		    err == -KERNEL_ENOTSUPP ? "the kernel does not probe such code" :
					      strerror(-err));
}

/* Whether what has failed would fail for each function. */
static bool fails_for_each(int err)
{
	return err == -ESRCH || programs_is_for_want(err);
}

/*
 * If not all at once, then in halves, and these in halves, in order, until it is known which
 * functions are in the way: with few links, since each takes its time to be closed. Returns 0 or
 * -errno: some are not attached to, which is logged, or it fails for each.
 */
static int attach_halves(struct attachment *attachment, const struct programs *programs,
			 const struct link_site *site)
{
	const uint32_t half = site->count / 2;
	const struct link_site first = part_of(site, 0, half);
	const struct link_site second = part_of(site, half, site->count - half);
	int err = attach(attachment, programs, site);
	int second_err;

	if (!err || fails_for_each(err))
		return err;
	if (site->count == 1) {
		note_refused(attachment, *site->cookies, err);
		return err;
	}
	log_debug("%s: cannot attach to %u functions at once: %s", attachment->library->name,
		  site->count, strerror(-err));
	err = attach_halves(attachment, programs, &first);
	if (fails_for_each(err))
		return err;
	second_err = attach_halves(attachment, programs, &second);
	return second_err ? second_err : err;
}

/* One by one: the way of single uprobes. Returns as attach_halves() does. */
static int attach_each(struct attachment *attachment, const struct programs *programs,
		       const struct link_site *site)
{
	int err = 0, one_err;
	uint32_t i;

	for (i = 0; i < site->count && !fails_for_each(err); i++) {
		const struct link_site one = part_of(site, i, 1);

		one_err = attach_halves(attachment, programs, &one);
		err = one_err ? one_err : err;
	}
	return err;
}

/*
 * When a process ends that has them, the kernel closes the highest descriptors first, and then
 * gives up the perf events behind their links in the opposite order. So the link that is to go last
 * has to be the first of these: it is open a second time.
 */
static int keep_first_again(struct attachment *attachment)
{
	int highest = attachment->fds[attachment->count - 1];
	int again = fcntl(attachment->fds[0], F_DUPFD_CLOEXEC, highest + 1);

	return again < 0 ? 0 : keep(attachment, again);
}

/*
 * The first function is the last to go (see placement_init()): its link is closed when all others
 * are. For each link that is closed the kernel takes the time of another grace period, so that a
 * link of its return, as attach_pair() makes, has to do if there is one. Returns as attach_halves()
 * does.
 */
static int attach_in_order(struct attachment *attachment, const struct programs *programs,
			   const struct link_site *site)
{
	const struct link_site last_to_go = part_of(site, 0, 1);
	const struct link_site others = part_of(site, 1, site->count - 1);
	int err, others_err = 0;

	if (programs_strategy(programs) == STRATEGY_SINGLE)
		return attach_each(attachment, programs, site);
	if (programs_strategy(programs) == STRATEGY_MULTI &&
	    placement_wants_return(programs_wants(programs), MS_COOKIE_ROW(*site->cookies)))
		return attach_halves(attachment, programs, site);
	err = attach_halves(attachment, programs, &last_to_go);
	if (!fails_for_each(err) && others.count)
		others_err = attach_halves(attachment, programs, &others);
	return others_err ? others_err : err;
}

/* Returns 0 if any function got its probe, or none was to get one. */
static int attach_all(struct attachment *attachment, const struct programs *programs,
		      const struct link_site *site)
{
	int err;

	if (!site->count)
		return 0;
	log_debug("%s: probes %s first, to be the last to go", attachment->library->name,
		  probe_at(MS_COOKIE_ROW(*site->cookies))->symbol);
	err = attach_in_order(attachment, programs, site);
	if (fails_for_each(err) || !attachment->functions)
		return err;
	return programs_strategy(programs) == STRATEGY_SINGLE ? keep_first_again(attachment) : 0;
}

static void warn_refused(const struct attachment *attachment)
{
	if (attachment->refused_count > REFUSED_NAMED)
		log_warning("%s: cannot attach to %zu more functions", attachment->library->name,
			    attachment->refused_count - REFUSED_NAMED);
}

static void warn_changed(const struct placement *placement, const struct library *library,
			 pid_t pid)
{
	if (placement->changed)
		log_warning(
			"%s: process %d has changed the code of %zu functions (for example %s), as"
			" inline hooks do; they are not probed, so their calls will not be seen",
			library->name, pid, placement->changed,
			probe_at(placement->changed_row)->symbol);
}

/* Why: elf/elf_code.h. */
static void warn_go(const struct library *library, pid_t pid)
{
	if (pid)
		log_warning("%s: process %d is " ELF_CODE_GO_WARNING, library->name, pid);
	else
		log_warning("%s is " ELF_CODE_GO_WARNING, library->name);
}

static struct placement_wants wants_at(const struct programs *programs, uint32_t below)
{
	struct placement_wants wants = *programs_wants(programs);

	wants.below = below;
	return wants;
}

static struct placement_wants wants_of(const struct placement_wants *wants, uint32_t kinds)
{
	struct placement_wants part = *wants;

	part.ops &= kinds;
	return part;
}

/* Those of `kinds` alone. */
static int open_part(struct attachment *attachment, struct programs *programs,
		     const struct attachment_site *site, struct detacher *detacher, uint32_t kinds)
{
	const struct library *library = site->library;
	const struct placement_wants wants = wants_at(programs, site->below);
	const struct placement_wants part = wants_of(&wants, kinds);
	struct placement placement;
	int err = placement_init(&placement, &part, library, site->pid);
	const struct link_site link_site = { .path = site->path,
					     .offsets = placement.offsets,
					     .cookies = placement.cookies,
					     .count = placement.count,
					     .pid = site->pid };
	size_t i;

	*attachment = (struct attachment){ .library = library,
					   .wants = wants,
					   .driver_unseen = placement.changed_driver,
					   .detacher = detacher };
	for (i = 0; i < placement.count; i++)
		placement.cookies[i] = MS_COOKIE_OF_FILE(placement.cookies[i], site->file);
	if (!err)
		err = attach_all(attachment, programs, &link_site);
	warn_refused(attachment);
	if (!err)
		warn_changed(&placement, library, site->pid);
	if (!err && library->go && attachment->functions && programs_wants(programs)->return_ops)
		warn_go(library, site->pid);
	placement_fini(&placement);
	if (!err) {
		attachment->held = detacher_hold(detacher, attachment->fds, attachment->count);
		return 0;
	}
	if (err != -ESRCH)
		log_message(site->again ? LOG_DEBUG : LOG_ERROR, "%s: cannot attach: %s",
			    library->name, strerror(-err));
	attachment_close(attachment);
	*attachment =
		(struct attachment){ .library = library, .may_pass = programs_is_for_want(err) };
	return err;
}

int attachment_open(struct attachment *attachment, struct programs *programs,
		    const struct attachment_site *site, struct detacher *detacher)
{
	const uint32_t apart = site->kinds ? 0 : programs_apart(programs);
	int err =
		open_part(attachment, programs, site, detacher, site->kinds ? site->kinds : ~apart);

	if (!err && apart)
		err = attachment_bulk_open(attachment, programs, site, detacher);
	return err;
}

void attachment_share(struct attachment *attachment, const struct attachment *shared)
{
	*attachment = (struct attachment){ .library = shared->library,
					   .wants = shared->wants,
					   .driver_unseen = shared->driver_unseen,
					   .functions = shared->functions,
					   .shared = shared };
}

/* All of it is the detacher's, too, or nothing of it stays. Returns `err`, of attaching. */
static int hold_or_close(struct attachment *attachment, int err)
{
	if (err)
		attachment_close(attachment);
	else
		attachment->held =
			detacher_hold(attachment->detacher, attachment->fds, attachment->count);
	return err;
}

int attachment_open_ioctl(struct attachment *attachment, struct programs *programs,
			  const struct attachment_site *site, struct detacher *detacher)
{
	const bool session = programs_strategy(programs) == STRATEGY_SESSION;
	const struct syscall_tail *tail = site->tail;
	const uint64_t cookie = tail ? tail->saved : MS_COOKIE_OF_FILE(0ull, site->file);
	const uint64_t offset = !site->pid ? site->library->ioctl_stub_offset :
				tail       ? site->library->ioctl_offset + tail->jump :
					     site->library->ioctl_offset;
	const struct link_site link_site = { .path = site->path,
					     .offsets = &offset,
					     .cookies = &cookie,
					     .count = 1,
					     .pid = site->pid };
	int err = 0;

	*attachment = (struct attachment){ .library = site->library, .detacher = detacher };
	/* The return first: an entry whose return is not seen would be taken for the next one's. */
	if (!session && !tail)
		err = keep(attachment,
			   programs_link(programs, PROGRAM_IOCTL_RETURN, &link_site, true));
	if (!err)
		err = keep(attachment, programs_link(programs,
						     tail    ? PROGRAM_IOCTL_TAIL :
						     session ? PROGRAM_IOCTL_SESSION :
							       PROGRAM_IOCTL_ENTRY,
						     &link_site, false));
	if (err)
		log_debug("%s: cannot attach to ioctl of %s %d: %s", site->library->name,
			  site->pid ? "process" : "all processes, file",
			  site->pid ? site->pid : (int)site->file, strerror(-err));
	return hold_or_close(attachment, err);
}

/* For a program that is attached to entries or to returns alone. */
static int attach_alone(struct attachment *attachment, const struct programs *programs,
			enum program program, const struct link_site *site, bool on_return)
{
	const bool single = programs_strategy(programs) == STRATEGY_SINGLE;
	uint32_t i;
	int err = 0;

	for (i = 0; i < site->count && !err; i += single ? 1 : site->count) {
		const struct link_site part = part_of(site, i, single ? 1 : site->count);

		err = keep(attachment, programs_link(programs, program, &part, on_return));
	}
	return err;
}

/* Those that the process has changed are not probed. */
static void find_changed(const struct library *library, pid_t pid, bool *changed)
{
	size_t i;

	placement_find_changed(library, library->frameworks, library->frameworks_count, pid,
			       changed);
	for (i = 0; i < library->frameworks_count; i++)
		if (changed[i])
			log_warning("%s: process %d has changed the code of %s, as inline hooks do;"
				    " it is not probed, so its calls will not be seen",
				    library->name, pid,
				    framework_symbol(library->frameworks[i].row));
}

/* Of a framework's functions, all, or those whose results are wanted. */
static int attach_framework(struct attachment *attachment, const struct programs *programs,
			    const struct attachment_site *at, const bool *changed, bool on_return)
{
	const struct library *library = at->library;
	uint64_t offsets[FRAMEWORK_ROWS_COUNT], cookies[FRAMEWORK_ROWS_COUNT];
	struct link_site site = {
		.path = at->path, .offsets = offsets, .cookies = cookies, .pid = at->pid
	};
	size_t i;

	for (i = 0; i < library->frameworks_count; i++) {
		const struct library_point *point = &library->frameworks[i];

		if (changed[i] || (on_return && !framework_row_returns(point->row)))
			continue;
		offsets[site.count] = point->file_offset + point->prologue.entry.offset;
		cookies[site.count++] = MS_COOKIE(point->row, point->prologue.entry.stack_bytes);
	}
	return attach_alone(attachment, programs,
			    on_return ? PROGRAM_TENSOR_RETURN : PROGRAM_TENSOR, &site, on_return);
}

/* Returns first: a request that is under way then has had no entry, and is left alone. */
int attachment_open_framework(struct attachment *attachment, struct programs *programs,
			      const struct attachment_site *site, struct detacher *detacher)
{
	bool changed[FRAMEWORK_ROWS_COUNT];
	int err;

	*attachment = (struct attachment){ .library = site->library, .detacher = detacher };
	find_changed(site->library, site->pid, changed);
	err = attach_framework(attachment, programs, site, changed, true);
	if (!err)
		err = attach_framework(attachment, programs, site, changed, false);
	if (err)
		log_debug("%s: cannot attach to the allocator of process %d: %s",
			  site->library->name, site->pid, strerror(-err));
	return hold_or_close(attachment, err);
}

/* Those at entries or at returns that the process has not changed. */
static int attach_markers(struct attachment *attachment, const struct programs *programs,
			  const struct attachment_site *site, bool on_return)
{
	const struct library *library = site->library;
	struct library_point functions[LIBRARY_MARKERS];
	uint64_t offsets[LIBRARY_MARKERS], cookies[LIBRARY_MARKERS], counters[LIBRARY_MARKERS];
	bool changed[LIBRARY_MARKERS];
	struct link_site link_site = {
		.path = site->path, .offsets = offsets, .cookies = cookies, .pid = site->pid
	};
	size_t i;

	link_site.counters = counters;
	for (i = 0; i < library->markers_count; i++)
		functions[i] = library->markers[i].point;
	placement_find_changed(library, functions, library->markers_count, site->pid, changed);
	for (i = 0; i < library->markers_count; i++) {
		const struct library_marker *marker = &library->markers[i];

		if (marker->on_return != on_return || changed[i])
			continue;
		offsets[link_site.count] = marker->point.file_offset;
		counters[link_site.count] = marker->counter_offset;
		cookies[link_site.count++] = MS_COOKIE(marker->point.row, 0);
	}
	return attach_alone(attachment, programs, PROGRAM_MARKER, &link_site, on_return);
}

/* Returns first: what begins has an end then. */
int attachment_open_markers(struct attachment *attachment, struct programs *programs,
			    const struct attachment_site *site, struct detacher *detacher)
{
	int err;

	*attachment = (struct attachment){ .library = site->library, .detacher = detacher };
	err = attach_markers(attachment, programs, site, true);
	if (!err)
		err = attach_markers(attachment, programs, site, false);
	if (err)
		log_message(err == -ESRCH ? LOG_DEBUG : LOG_WARNING,
			    "%s: cannot attach to the markers of process %d: %s; they will not be"
			    " seen",
			    site->library->name, site->pid, strerror(-err));
	return hold_or_close(attachment, err);
}

static bool is_refused(const struct attachment *attachment, uint32_t row)
{
	size_t i;

	if (attachment->shared)
		attachment = attachment->shared;
	if (attachment->bulk && attachment_bulk_has(attachment->bulk, row))
		return !attachment_bulk_probes(attachment->bulk)->functions ||
		       is_refused(attachment_bulk_probes(attachment->bulk), row);
	for (i = 0; i < attachment->refused_count; i++)
		if (attachment->refused[i] == row)
			return true;
	return false;
}

static void note_seen(struct attachment *attachment, uint32_t row, enum placement_code code)
{
	attachment->seen |= code != PLACEMENT_UNKNOWN;
	if (code == PLACEMENT_PLAIN && !is_refused(attachment, row)) {
		note_unseen(attachment, row);
		attachment->plain++;
		attachment->plain_row = row;
	}
}

void attachment_mapped(struct attachment *attachment, pid_t pid)
{
	const struct library *library = attachment->library;
	enum placement_code *code;
	size_t i = library->points_count;

	if (attachment->seen || !attachment->functions)
		return;
	attachment->seen_ns = clock_monotonic_ns();
	code = calloc(library->points_count, sizeof(*code));
	if (code && !placement_look(&attachment->wants, library, pid, code))
		while (i--)
			note_seen(attachment, library->points[i].row, code[i]);
	free(code);
}

void attachment_report(struct attachment *attachment, pid_t pid, uint64_t until_ns)
{
	if (!attachment->plain || attachment->seen_ns > until_ns)
		return;
	log_warning("%s: the kernel has put no probe into %zu functions of process %d (for example"
		    " %s); their calls will not be seen",
		    attachment->library->name, attachment->plain, pid,
		    probe_at(attachment->plain_row)->symbol);
	attachment->plain = 0;
}

void attachment_executed(struct attachment *attachment)
{
	attachment->seen = false;
	attachment->plain = 0;
}

void attachment_add_view(const struct attachment *attachment, struct driver_view *view)
{
	const struct library *library = attachment->library;
	size_t i;

	if (!attachment->functions || !(attachment->wants.layers >> MS_LAYER_DRIVER & 1))
		return;
	for (i = 0; i < library->points_count; i++) {
		const struct probe *probe = probe_at(library->points[i].row);

		if (probe->layer == MS_LAYER_DRIVER)
			view->seen |= 1u << probe->spec.kind;
	}
	view->unseen |= attachment->driver_unseen;
}

void attachment_close(struct attachment *attachment)
{
	attachment_bulk_close(attachment->bulk);
	if (!attachment->shared)
		detacher_release(attachment->detacher, attachment->held, attachment->fds,
				 attachment->count);
	free(attachment->fds);
	free(attachment->refused);
	*attachment = (struct attachment){ 0 };
}
