/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The allocators of frameworks in a process: which of its files have such functions, and the probes
 * in them. A part of struct target.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_TARGET_TENSORS_H
#define MEMSCOPE_CAPTURE_TARGETS_TARGET_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "capture/attach/attachment.h"

#define TARGET_TENSORS 4 /* files; further ones are not probed */

struct target_tensors {
	struct {
		const struct library *library;
		int fd;                       /* of its file, until it is attached to; or -1 */
		struct attachment attachment; /* `fds` is NULL if it could not be */
	} files[TARGET_TENSORS];
	size_t count;
};

/*
 * The process has mapped the library, whose file `fd` is. Returns false if it has allocators, and
 * the process has too many such libraries.
 */
bool target_tensors_note(struct target_tensors *tensors, const struct library *library, int fd);

/*
 * Attaches to what was noted: once the process has CUDA, too. What it cannot attach to is not seen.
 */
void target_tensors_attach(struct target_tensors *tensors, struct programs *programs,
			   struct detacher *detacher, pid_t pid);

void target_tensors_close(struct target_tensors *tensors);

#endif /* MEMSCOPE_CAPTURE_TARGETS_TARGET_TENSORS_H */
