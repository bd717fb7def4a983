/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library of ours (user/inject) that a command loads because of a variable in its environment.
 * The library passes data to a function of its own, which has a probe at its entry. The probe is in
 * the file, not in a process: only processes that were started with this variable map the file. The
 * caller sets the variable.
 */
#ifndef MEMSCOPE_CAPTURE_INJECTED_H
#define MEMSCOPE_CAPTURE_INJECTED_H

#include <limits.h>
#include <stdint.h>

#include "capture/attach/programs.h"

struct injected_library {
	const char *option;   /* that requests it, for messages */
	const char *name;     /* of the file */
	const char *function; /* that is probed */
	enum program program;
	uint64_t cookie;
};

/*
 * Finds the library beside this program, or where it is installed, and attaches to it. Puts its
 * path into `path`. Returns a descriptor, which detaches when it is closed, or -errno, logged.
 */
int injected_attach(const struct programs *programs, const struct injected_library *library,
		    char path[PATH_MAX]);

#endif /* MEMSCOPE_CAPTURE_INJECTED_H */
