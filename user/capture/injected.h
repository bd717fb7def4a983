/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library of ours (user/inject) that a command loads because its environment says so, and which
 * calls a function of its own with what it has to say. The probe is at the entry of that function,
 * in the file and not in a process: no process has the file that was not started with that
 * environment. What the environment says is left to the caller.
 */
#ifndef MEMSCOPE_CAPTURE_INJECTED_H
#define MEMSCOPE_CAPTURE_INJECTED_H

#include <limits.h>
#include <stdint.h>

#include "capture/attach/programs.h"

struct injected_library {
	const char *option;   /* that asks for it, as messages name it */
	const char *name;     /* of the file */
	const char *function; /* that is probed */
	enum program program;
	uint64_t cookie;
};

/*
 * Finds the library beside this program, or where it is installed, and attaches to it. Returns a
 * descriptor, whose closing detaches it, or -errno, logged. `path` is where the library is, then.
 */
int injected_attach(const struct programs *programs, const struct injected_library *library,
		    char path[PATH_MAX]);

#endif /* MEMSCOPE_CAPTURE_INJECTED_H */
