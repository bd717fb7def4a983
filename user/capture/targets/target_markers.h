/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The markers of a process: which of its files have marker functions, and the probes in them. A
 * part of struct target.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_TARGET_MARKERS_H
#define MEMSCOPE_CAPTURE_TARGETS_TARGET_MARKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "capture/attach/attachment.h"

struct target_markers {
	struct attachment *attachments; /* one for each file */
	size_t count, capacity;
};

/*
 * Call it when the process has mapped the library, or is about to; `fd` is its file. If it cannot
 * attach, it logs that, and the file's markers are not seen. The account of the process does not
 * need them.
 */
void target_markers_add(struct target_markers *markers, struct programs *programs,
			struct detacher *detacher, pid_t pid, const struct library *library,
			int fd);

/* Call it when the process has executed a program. Its probes are gone then. */
void target_markers_executed(struct target_markers *markers, bool by_first_thread);

void target_markers_close(struct target_markers *markers);

#endif /* MEMSCOPE_CAPTURE_TARGETS_TARGET_MARKERS_H */
