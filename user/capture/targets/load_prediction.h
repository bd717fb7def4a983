/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that a process is going to map, as far as that can be known: its program and the
 * libraries that this is linked with, and the CUDA driver, which the runtime and many programs load
 * by name. A probe that is in the file before it is mapped misses no call.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_LOAD_PREDICTION_H
#define MEMSCOPE_CAPTURE_TARGETS_LOAD_PREDICTION_H

#include <sys/types.h>

/*
 * Calls `visit` for the driver library that the process would load and, if `program` is not NULL,
 * for that file and what it is linked with. `program` is a path in the process's root, or a name to
 * look up in its PATH. Returns the first non-zero result of `visit`, or 0.
 */
int load_prediction_each(pid_t pid, const char *program,
			 int (*visit)(int fd, const char *path, void *context), void *context);

#endif /* MEMSCOPE_CAPTURE_TARGETS_LOAD_PREDICTION_H */
