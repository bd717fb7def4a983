// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/target_ioctl.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/targets/target.h"
#include "elf/syscall_tail.h"
#include "host/nvidia_files.h"
#include "host/proc.h"

void target_ioctl_init(struct target_ioctl *ioctl)
{
	*ioctl = (struct target_ioctl){ .libc_fd = -1 };
}

static void close_libc(struct target_ioctl *ioctl)
{
	if (ioctl->libc_fd >= 0)
		close(ioctl->libc_fd);
	ioctl->libc_fd = -1;
}

void target_ioctl_close(struct target_ioctl *ioctl)
{
	if (ioctl->attachment.fds)
		attachment_close(&ioctl->attachment);
	close_libc(ioctl);
}

void target_ioctl_executed(struct target_ioctl *ioctl, bool by_first_thread, uint64_t ts_ns)
{
	/* It may have been attached to before this was heard of. */
	ioctl->missed_said = false;
	if (ioctl->missed_ns < ts_ns)
		ioctl->missed_ns = 0;
	if (by_first_thread && ioctl->attachment.fds)
		return;
	target_ioctl_close(ioctl);
	target_ioctl_init(ioctl);
}

void target_ioctl_note(struct target_ioctl *ioctl, const struct library *library, int fd)
{
	if (!library->ioctl_offset || ioctl->libc)
		return;
	ioctl->libc = library;
	ioctl->libc_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Whether CUDA's driver has had its probes in all processes since before this one began. */
static bool is_seen_in_files(const struct target *target)
{
	size_t i;

	for (i = 0; i < target->count; i++) {
		const struct attachment *shared = target->attachments[i].shared;

		if (shared && shared->sees_ioctls && shared->attached_ns <= target->began_ns)
			return true;
	}
	return false;
}

/*
 * Without a file of the driver's it can have asked for nothing, and has nothing left. Returns 1, 0,
 * or -errno: that cannot be seen.
 */
static int has_files(const struct target *target)
{
	const struct nvidia_majors majors = nvidia_majors_read();
	struct nvidia_files files;

	const int err = nvidia_files_scan(target->pid, &majors, &files);

	return err ? err : nvidia_files_any(&files);
}

#define CODE_BYTES 160 /* that are looked at for the system call */

/* Whether the library's ioctl() has a place behind its system call for a probe. */
static bool find_tail(const struct target_ioctl *ioctl, struct syscall_tail *tail)
{
	uint8_t code[CODE_BYTES];
	const ssize_t bytes =
		pread(ioctl->libc_fd, code, sizeof(code), (off_t)ioctl->libc->ioctl_offset);

	return bytes > 0 && syscall_tail_find(code, (size_t)bytes, tail);
}

void target_ioctl_attach(struct targets *targets, struct target *target)
{
	struct target_ioctl *ioctl = &target->ioctl;
	char path[64];
	struct syscall_tail tail;
	struct attachment_site site = { .path = path, .library = ioctl->libc, .pid = target->pid };

	if (ioctl->libc_fd < 0 || !(target->named || target_has_probes(target)))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ioctl->libc_fd);
	site.tail = find_tail(ioctl, &tail) ? &tail : NULL;
	attachment_open_ioctl(&ioctl->attachment, targets->programs, &site, targets->detacher);
	close_libc(ioctl);
	if (ioctl->attachment.fds)
		log_debug("process %d: its ioctls are seen", target->pid);
	if (!is_seen_in_files(target) && has_files(target) > 0)
		ioctl->missed_ns = clock_monotonic_ns();
}

/* Looks for its files, once in a round. Returns as has_files(). */
static int look(struct target *target, uint64_t round_ns)
{
	const struct nvidia_majors majors = nvidia_majors_read();
	struct target_ioctl *ioctl = &target->ioctl;
	int err;

	if (ioctl->looked_ns == round_ns)
		return nvidia_files_any(&ioctl->files);
	err = nvidia_files_scan(target->pid, &majors, &ioctl->files);
	if (err) {
		ioctl->files = (struct nvidia_files){ 0 };
		return err;
	}
	ioctl->looked_ns = round_ns;
	if (!nvidia_files_any(&ioctl->files))
		return 0;
	ioctl->had = ioctl->files;
	return 1;
}

#define MOST_CHILDREN 256 /* that are looked at; if there are more, one may have the file */

struct sharing {
	const struct nvidia_files *had;
	struct nvidia_majors majors;
	size_t children;
};

/* Children of it may have the file, too, which it has closed itself since. */
static int visit_child(pid_t pid, void *context)
{
	struct sharing *sharing = context;
	struct nvidia_files files;

	if (++sharing->children > MOST_CHILDREN)
		return 1;
	if (!nvidia_files_scan(pid, &sharing->majors, &files) &&
	    nvidia_files_may_share(sharing->had, &files))
		return 1;
	return proc_each_child(pid, visit_child, sharing) > 0;
}

static bool is_shared(const struct targets *targets, const struct target *target, uint64_t round_ns)
{
	struct sharing sharing = { &target->ioctl.had, nvidia_majors_read(), 0 };
	size_t i;

	for (i = 0; i < targets->count; i++) {
		struct target *other = targets->targets[i];

		if (other != target && look(other, round_ns) > 0 &&
		    nvidia_files_may_share(&target->ioctl.had, &other->ioctl.files))
			return true;
	}
	return proc_each_child(target->pid, visit_child, &sharing) > 0;
}

bool target_ioctl_closed(const struct targets *targets, struct target *target, uint64_t round_ns)
{
	return target->ioctl.asked && !look(target, round_ns) &&
	       !is_shared(targets, target, round_ns);
}
