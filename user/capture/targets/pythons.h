/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Python interpreters of the targets: tells the kernel side where they keep their frames, and
 * keeps what is known of their code objects.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_PYTHONS_H
#define MEMSCOPE_CAPTURE_TARGETS_PYTHONS_H

#include <sys/types.h>

#include "capture/attach/programs.h"
#include "symbols/python_codes.h"
#include "symbols/python_runtime.h"

/* A zeroed one knows none. */
struct pythons {
	struct python_files files;
	struct python_codes codes;
	struct map found; /* pid -> what was found in the process */
};

void pythons_fini(struct pythons *pythons);

/* A process, and what a warning calls it. */
struct pythons_process {
	pid_t pid;
	uint64_t start_ns;
	const char *comm;
};

/*
 * Looks for an interpreter in the process, unless one is known; to be called when it may have
 * mapped one.
 */
void pythons_look(struct pythons *pythons, struct programs *programs,
		  const struct pythons_process *process);

/* Takes in what the kernel side says of a code object. */
void pythons_take(struct pythons *pythons, const struct ms_python_code *record, size_t length);

/* The process has ended or executed another program: the kernel side has forgotten it by itself. */
void pythons_forget(struct pythons *pythons, pid_t pid);

/*
 * The code object of a frame of kind MS_FRAME_PYTHON in a stack of that process, or NULL. Valid
 * until the next call.
 */
const struct python_code *pythons_code(const struct pythons *pythons, const struct ms_event *event,
				       const struct ms_stack_frame *frame);

/* Whether a frame is one that the interpreter has put in (python_code_is_own()). */
bool pythons_hide(const struct pythons *pythons, const struct ms_event *event,
		  const struct ms_stack_frame *frame);

#endif /* MEMSCOPE_CAPTURE_TARGETS_PYTHONS_H */
