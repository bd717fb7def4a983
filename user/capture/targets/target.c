// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "capture/targets/files.h"
#include "capture/targets/load_prediction.h"
#include "capture/attach/file_probes.h"
#include "capture/attach/programs.h"
#include "event/probe.h"

/* ---- the list -------------------------------------------------------------------------------- */

void target_executed(struct target *target, const struct ms_process *execution)
{
	const bool by_first_thread = !execution->value;
	size_t i = target->count;

	memcpy(target->comm, execution->comm, sizeof(target->comm));
	target_markers_executed(&target->markers, by_first_thread);
	target_ioctl_executed(&target->ioctl, by_first_thread, execution->event.ts_ns);
	while (i--) {
		struct attachment *attachment = &target->attachments[i];

		if ((by_first_thread || attachment->shared) && attachment->functions) {
			attachment_executed(attachment);
			continue;
		}
		attachment_close(attachment);
		*attachment = target->attachments[--target->count];
	}
}

static void report(struct target *target, uint64_t until_ns)
{
	size_t i;

	for (i = 0; i < target->count; i++)
		attachment_report(&target->attachments[i], target->pid, until_ns);
}

struct target_asks_site target_asks_site(const struct targets *targets, const struct target *target)
{
	return (struct target_asks_site){ .programs = targets->programs,
					  .detacher = targets->detacher,
					  .pid = target->pid };
}

static void target_free(struct targets *targets, struct target *target)
{
	const struct target_asks_site site = target_asks_site(targets, target);

	report(target, UINT64_MAX);
	target_asks_close(&target->asks, &site);
	/* Before what is called less often: see placement_init(). */
	target_tensors_close(&target->tensors);
	target_markers_close(&target->markers);
	while (target->count)
		attachment_close(&target->attachments[--target->count]);
	target_ioctl_close(&target->ioctl);
	free(target->attachments);
	free(target->unread);
	string_fini(&target->identity);
	loop_remove(targets->loop, target->exit_source);
	if (target->pidfd >= 0)
		close(target->pidfd);
	free(target);
}

void targets_fini(struct targets *targets)
{
	while (targets->count)
		target_free(targets, targets->targets[--targets->count]);
	free(targets->targets);
	library_cache_fini(&targets->cache);
	targets->targets = NULL;
	targets->capacity = 0;
}

void targets_report(struct targets *targets, uint64_t until_ns)
{
	size_t i;

	for (i = 0; i < targets->count; i++)
		report(targets->targets[i], until_ns);
}

struct target *targets_find(const struct targets *targets, pid_t pid)
{
	size_t i;

	for (i = 0; i < targets->count; i++)
		if (targets->targets[i]->pid == pid)
			return targets->targets[i];
	return NULL;
}

bool target_pidfd_has_ended(int pidfd)
{
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0;
}

bool target_is_gone(const struct target *target)
{
	return target_pidfd_has_ended(target->pidfd);
}

bool target_has_probes(const struct target *target)
{
	size_t i;

	for (i = 0; i < target->count; i++)
		if (target->attachments[i].functions)
			return true;
	return false;
}

static int check_process(const struct proc_info *info, enum log_level level)
{
	if (info->tgid != info->pid)
		log_message(level, "%d is a thread of process %d: use -p %d", info->pid, info->tgid,
			    info->tgid);
	else if (info->kernel_thread)
		log_message(level, "process %d (%s) is a kernel thread: it runs no CUDA code",
			    info->pid, info->comm);
	else if (info->zombie)
		log_message(level, "process %d (%s) has exited already (it is a zombie)", info->pid,
			    info->comm);
	else
		return 0;
	return -ESRCH;
}

/* First a handle on the process, then its description: so the two are of one process. */
static int open_process(pid_t pid, enum log_level level, struct proc_info *info)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0), open_err = errno;
	int err = proc_read(pid, info);

	if (err == -ESRCH)
		log_message(level, "there is no process %d", pid);
	else if (err)
		log_message(level, "cannot read /proc/%d: %s", pid, strerror(-err));
	else
		err = check_process(info, level);
	if (!err && pidfd < 0) {
		err = -open_err;
		log_message(level, "cannot watch process %d: %s", pid, strerror(open_err));
	}
	if (err && pidfd >= 0)
		close(pidfd);
	return err ? err : pidfd;
}

int targets_add(struct targets *targets, pid_t pid, enum log_level level, struct target **result)
{
	struct target *target = calloc(1, sizeof(*target));
	struct proc_info info;
	int err;

	if (!target)
		return -ENOMEM;
	target_ioctl_init(&target->ioctl);
	target->pidfd = open_process(pid, level, &info);
	err = target->pidfd < 0 ? target->pidfd : 0;
	if (!err)
		err = memory_grow(&targets->targets, &targets->capacity, targets->count + 1,
				  sizeof(*targets->targets));
	if (err == -ESRCH)
		targets_add_ended(targets, pid, NULL);
	if (err) {
		target_free(targets, target);
		return err;
	}
	target->pid = pid;
	target->start_ns = info.start_ns;
	target->began_ns = info.start_ns - clock_boottime_offset_ns();
	memcpy(target->comm, info.comm, sizeof(target->comm));
	memcpy(target->titled, info.comm, sizeof(target->titled));
	targets->targets[targets->count++] = target;
	*result = target;
	return 0;
}

void targets_remove(struct targets *targets, struct target *target)
{
	size_t i;

	targets->missed += target->missed;
	targets_add_ended(targets, target->pid, target);
	for (i = 0; targets->targets[i] != target; i++)
		;
	targets->targets[i] = targets->targets[--targets->count];
	target_free(targets, target);
}

/* ---- attaching to one file ------------------------------------------------------------------- */

static struct attachment *find_attachment(const struct target *target,
					  const struct library *library)
{
	size_t i;

	for (i = 0; i < target->count; i++)
		if (target->attachments[i].library == library)
			return &target->attachments[i];
	return NULL;
}

/* What the drivers show that have probes in the process. */
static uint32_t below(const struct target *target)
{
	struct driver_view view = { 0 };
	size_t i;

	for (i = 0; i < target->count; i++)
		attachment_add_view(&target->attachments[i], &view);
	return driver_view_below(&view);
}

/* The first time, or again, after an attachment that failed. `fd` is the library's file. */
static int attach_library(struct targets *targets, struct target *target,
			  struct attachment *attachment, const struct library *library, int fd)
{
	char path[64];
	const struct attachment_site site = {
		.path = path,
		.library = library,
		.pid = target->pid,
		.below = below(target),
		.file = file_probes_before(targets->file_probes, library),
		.again = attachment->library,
	};
	const struct attachment *shared = file_probes_of(targets->file_probes, library, fd);
	int err;

	if (shared) {
		attachment_share(attachment, shared);
		return 0;
	}
	/* The open file itself, whatever its name leads to by now and in whichever namespace. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = attachment_open(attachment, targets->programs, &site, targets->detacher);
	attachment->attached_ns = clock_monotonic_ns();
	if (!err)
		log_message(site.again ? LOG_INFO : LOG_DEBUG,
			    "%s: attached to %zu functions in process %d", library->path,
			    attachment->functions, target->pid);
	return err;
}

/* What could not be attached to is remembered, too: it is not to be logged each time. */
static int attach_new(struct targets *targets, struct target *target, const struct library *library,
		      int fd)
{
	struct attachment *attachment;
	int err = memory_grow(&target->attachments, &target->capacity, target->count + 1,
			      sizeof(*target->attachments));

	if (err)
		return err;
	attachment = &target->attachments[target->count];
	*attachment = (struct attachment){ 0 };
	err = attach_library(targets, target, attachment, library, fd);
	if (err != -ESRCH)
		target->count++;
	return err;
}

/* The first one is reported; one suffices to know that the account of the process lacks calls. */
static void note_unread(struct targets *targets, struct target *target, const struct file *file)
{
	if (target->unread)
		return;
	target->unread = strdup(file->path);
	target->unread_error = -file->fd;
	targets->unread++;
	log_warning(
		"%s is mapped in process %d (%s) and cannot be opened (%s): calls of it will not"
		" be seen. If it is on a FUSE file system, mount that with allow_root",
		file->path, target->pid, target->comm, strerror(-file->fd));
}

bool target_lost_shared(struct target *target, const struct library *library)
{
	struct attachment *attachment = find_attachment(target, library);

	if (!attachment || !attachment->shared)
		return false;
	attachment_close(attachment);
	*attachment = target->attachments[--target->count];
	return true;
}

void target_opened(struct target *target)
{
	const uint64_t now_ns = clock_monotonic_ns();
	size_t i;

	for (i = 0; i < target->count; i++)
		if (!target->attachments[i].shared)
			target->attachments[i].attached_ns = now_ns;
}

int targets_expect_file(int fd, const char *path, void *context)
{
	struct targets *targets = context;
	const struct library *library;

	if (!library_load(&targets->cache, fd, path, &library) && library->points_count)
		file_probes_of(targets->file_probes, library, fd);
	return 0;
}

void targets_expect(struct targets *targets, pid_t pid)
{
	if (targets->file_probes)
		load_prediction_each(pid, NULL, targets_expect_file, targets);
}

static void note_markers(struct targets *targets, const struct library *library)
{
	size_t i;

	for (i = 0; i < library->markers_count; i++)
		targets->markers_found[library->markers[i].point.row] = true;
}

/* Besides CUDA's functions: once these have probes. */
static void attach_others(struct targets *targets, struct target *target)
{
	target_ioctl_attach(targets, target);
	if (target_has_probes(target))
		target_tensors_attach(&target->tensors, targets->programs, targets->detacher,
				      target->pid);
}

/* Its probes would be too many. Said once: what is so in one process is so in others like it. */
static void say_missed_tensors(struct targets *targets, const struct target *target,
			       const char *path)
{
	if (targets->tensors_missed)
		return;
	targets->tensors_missed = true;
	log_warning("%s: tensors that process %d has from it will be missing, in spite of"
		    " \"exact\": only the first %d files that have allocators are probed in a"
		    " process",
		    path, target->pid, TARGET_TENSORS);
}

/* What the file is; NULL: it cannot be read, or is none. */
static const struct library *look_at(struct targets *targets, struct target *target,
				     const struct file *file)
{
	const struct library *library;
	int err;

	if (file->fd < 0) {
		note_unread(targets, target, file);
		return NULL;
	}
	err = library_load(&targets->cache, file->fd, file->path, &library);
	if (err == -ENODEV)
		return NULL; /* /dev/zero and the like */
	if (err) {
		log_warning("%s: cannot look for functions to trace: %s", file->path,
			    strerror(-err));
		return NULL;
	}
	target_ioctl_note(&target->ioctl, library, file->fd);
	note_markers(targets, library);
	target_markers_add(&target->markers, targets->programs, targets->detacher, target->pid,
			   library, file->fd);
	if (file->mapped) {
		if (targets->tensors && !target_tensors_note(&target->tensors, library, file->fd))
			say_missed_tensors(targets, target, file->path);
		target_asks_add(&target->asks, library, file->fd);
	}
	return library;
}

/* Returns whether the file has functions of the table; -ESRCH if the process is gone. */
static int attach_file(struct targets *targets, struct target *target,
		       const struct library *library, const struct file *file)
{
	struct attachment *attachment;
	int err = 0;

	if (!library->points_count) {
		attach_others(targets, target);
		return 0;
	}
	target->mapped |= file->mapped;
	targets->mapped |= file->mapped;
	attachment = find_attachment(target, library);
	if (!attachment)
		err = attach_new(targets, target, library, file->fd);
	else if (attachment->may_pass)
		err = attach_library(targets, target, attachment, library, file->fd);
	else if (file->mapped)
		attachment_mapped(attachment, target->pid);
	if (err == -ESRCH && file->mapped && !target_has_probes(target))
		target->missed = true; /* there need be no record of the mapping */
	if (err)
		return err == -ESRCH ? err : 0;
	attach_others(targets, target);
	return 1;
}

bool target_mapped(struct targets *targets, struct target *target,
		   const struct proc_mapping *mapping)
{
	struct file file = { .path = mapping->path, .mapped = true };
	const struct library *library;
	int result = 0;

	if (mapping->path[0] != '/')
		return false;
	file.fd = file_open_mapping(target->pid, mapping, targets->map_files);
	if (file.fd < 0) {
		log_debug("%s: cannot open in process %d: %s", mapping->path, target->pid,
			  strerror(-file.fd));
		if (file_is_unread(file.fd, mapping))
			note_unread(targets, target, &file);
		return false;
	}
	library = look_at(targets, target, &file);
	if (library)
		result = attach_file(targets, target, library, &file);
	close(file.fd);
	return result > 0;
}

/* ---- attaching to all of them ---------------------------------------------------------------- */

/* A file that waits: what is probed in it depends on what the others are. */
struct waiting {
	const struct library *library;
	struct file file;
};

struct scan {
	struct targets *targets;
	struct target *target;
	struct waiting *waiting;
	size_t count, capacity;
};

/* Runtimes, some of whose functions may be left to the driver, whatever is found first. */
static int put_off(struct scan *scan, const struct library *library, const struct file *file)
{
	struct waiting *waiting;
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (memory_grow(&scan->waiting, &scan->capacity, scan->count + 1, sizeof(*waiting))) {
		close(fd);
		return -ENOMEM;
	}
	waiting = &scan->waiting[scan->count++];
	*waiting =
		(struct waiting){ .library = library, .file = { fd, library->path, file->mapped } };
	return 0;
}

static int scan_file(const struct file *file, void *context)
{
	struct scan *scan = context;
	const struct library *library = look_at(scan->targets, scan->target, file);
	int result;

	if (!library)
		return 0;
	if (placement_may_spare(programs_wants(scan->targets->programs), library) &&
	    !put_off(scan, library, file))
		return 0;
	result = attach_file(scan->targets, scan->target, library, file);
	return result < 0 ? result : 0;
}

/* Returns 0, or -ESRCH: the process is gone. */
static int scan_waiting(struct scan *scan)
{
	int result = 0;
	size_t i;

	for (i = 0; i < scan->count; i++) {
		struct waiting *waiting = &scan->waiting[i];

		if (result >= 0)
			result = attach_file(scan->targets, scan->target, waiting->library,
					     &waiting->file);
		close(waiting->file.fd);
	}
	free(scan->waiting);
	return result < 0 ? result : 0;
}

int target_attach(struct targets *targets, struct target *target, const char *program)
{
	struct scan scan = { .targets = targets, .target = target };
	int err, waiting_err;

	file_probes_hold(targets->file_probes);
	err = file_each(target->pid, targets->map_files, program, scan_file, &scan);
	waiting_err = scan_waiting(&scan);
	file_probes_release(targets->file_probes);
	err = err ? err : waiting_err;
	if (err && err != -ESRCH)
		log_error("cannot read the mappings of process %d: %s%s", target->pid,
			  strerror(-err),
			  err == -EACCES ? "; it is protected from inspection (by a security"
					   " module, or because it is in another user namespace),"
					   " and cannot be traced from here; `memscope-bpf who`"
					   " lists processes that have the GPU's driver open" :
					   "");
	return err;
}

/* How that comes about: docs/cost-and-safety.md, "What can break". */
void target_warn_trapped(const struct target *target, int status)
{
	if (target_has_probes(target) && WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP)
		log_warning(
			"process %d died of SIGTRAP. A program that installs an inline hook"
			" while it is traced dies like this, because it runs a copy of a breakpoint."
			" If it has hooks, attach with -p after it has installed them",
			target->pid);
}
