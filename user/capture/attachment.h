/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches the BPF programs to the functions of a library, in one process.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACHMENT_H
#define MEMSCOPE_CAPTURE_ATTACHMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/closer.h"
#include "capture/library.h"
#include "capture/programs.h"

/* What is attached to one library in one process. */
struct attachment {
	const struct library *library;
	int *fds;
	size_t count, capacity;
	size_t functions;      /* that have a probe */
	size_t refused;        /* that the kernel did not let have one */
	bool seen;             /* by attachment_mapped() */
	struct closer *closer; /* is to detach, whatever happens to this process; may be NULL */
	uint32_t held;         /* by the closer: see closer_hold() */
};

/*
 * Attaches to the library's functions, in one process. `path` must lead to the library's file.
 * Returns 0 if at least one function got its probe, or none was to get one: none is wanted, or the
 * process has changed them all; those that could not are logged. -ESRCH if the process is gone. On
 * failure nothing stays attached, and there is nothing to close.
 */
int attachment_open(struct attachment *attachment, struct programs *programs, const char *path,
		    const struct library *library, pid_t pid, struct closer *closer);

/*
 * The process has the library mapped. If it had not when this was attached, the kernel has put the
 * probes in meanwhile, and has said nothing of those that it could not: this does, once.
 */
void attachment_mapped(struct attachment *attachment, const struct programs *programs, pid_t pid);

/* Detaches, later: closer_wait(). If there is no closer (NULL): at once. */
void attachment_close(struct attachment *attachment);

#endif /* MEMSCOPE_CAPTURE_ATTACHMENT_H */
