/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe in ioctl() of a target's C library, by which it is seen what the process asks NVIDIA's
 * kernel driver for.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_TARGET_IOCTL_H
#define MEMSCOPE_CAPTURE_TARGETS_TARGET_IOCTL_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/attach/attachment.h"
#include "host/nvidia_files.h"

struct target;
struct targets;

struct target_ioctl {
	int libc_fd;                  /* its C library, while there is nothing to trace; or -1 */
	const struct library *libc;   /* NULL: none was found */
	struct attachment attachment; /* `fds` is NULL if there is none */
	/*
	 * By then it had files of the driver open, and what it had asked the driver for was not
	 * seen. CLOCK_MONOTONIC; 0: nothing was missed.
	 */
	uint64_t missed_ns;
	bool missed_said;
	bool asked;                /* the driver for objects, which it may still have */
	uint64_t looked_ns;        /* the round in which its files were looked for */
	struct nvidia_files files; /* those that it had then */
	struct nvidia_files had;   /* the last ones */
};

void target_ioctl_init(struct target_ioctl *ioctl);
void target_ioctl_close(struct target_ioctl *ioctl);

/* It executed a program at `ts_ns`; all probes are gone if that was not its first thread. */
void target_ioctl_executed(struct target_ioctl *ioctl, bool by_first_thread, uint64_t ts_ns);

/* A file that it has mapped, or will: the first one that exports ioctl() is its C library. */
void target_ioctl_note(struct target_ioctl *ioctl, const struct library *library, int fd);

/*
 * Whether it had asked for objects, and has closed all files of the driver since. The driver ends
 * them with the last descriptor of the open file: not if a child or another target may have one.
 * `round_ns` is the same for all targets that are looked at one after the other.
 */
bool target_ioctl_closed(const struct targets *targets, struct target *target, uint64_t round_ns);

/*
 * Attaches, once the C library is known and the process has CUDA; at once if somebody has named the
 * process or it is the command: so it is in time if CUDA is loaded later.
 */
void target_ioctl_attach(struct targets *targets, struct target *target);

#endif /* MEMSCOPE_CAPTURE_TARGETS_TARGET_IOCTL_H */
