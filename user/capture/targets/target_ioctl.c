// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/target_ioctl.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/targets/target.h"
#include "host/nvidia_files.h"

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

void target_ioctl_attach(struct targets *targets, struct target *target)
{
	struct target_ioctl *ioctl = &target->ioctl;
	char path[64];
	const struct attachment_site site = { .path = path,
					      .library = ioctl->libc,
					      .pid = target->pid };

	if (ioctl->libc_fd < 0 || !(target->named || target_has_probes(target)))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ioctl->libc_fd);
	attachment_open_ioctl(&ioctl->attachment, targets->programs, &site, targets->detacher);
	close_libc(ioctl);
	if (ioctl->attachment.fds)
		log_debug("process %d: its ioctls are seen", target->pid);
	if (!is_seen_in_files(target) && has_files(target) > 0)
		ioctl->missed_ns = clock_monotonic_ns();
}

bool target_ioctl_closed(const struct target *target)
{
	return target->ioctl.asked && !has_files(target);
}
