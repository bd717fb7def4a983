/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the Python interpreter of a process: the mapped file that defines _PyRuntime, its version,
 * and with them the address of the runtime and where its fields lie. The process and its files are
 * not trusted: what is found is at worst wrong, and then names of frames are.
 */
#ifndef MEMSCOPE_SYMBOLS_PYTHON_RUNTIME_H
#define MEMSCOPE_SYMBOLS_PYTHON_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "abi.h"

/* What is known of files: many processes map the same ones. A zeroed one is empty. */
struct python_files {
	struct python_file *files;
	size_t count, capacity;
};

void python_files_fini(struct python_files *files);

/*
 * Whether a file of that name may bring an interpreter: the caller looks again when a process maps
 * one.
 */
bool python_runtime_is_candidate(const char *path);

/*
 * Returns 0; -ENOENT if the process has no interpreter mapped; -EOPNOTSUPP if it is of a version,
 * or built in a way, that is not supported: then `python->version` is what is known of it (0:
 * nothing); or another -errno (-ESRCH: the process is gone).
 */
int python_runtime_find(struct python_files *files, pid_t pid, struct ms_python *python);

#endif /* MEMSCOPE_SYMBOLS_PYTHON_RUNTIME_H */
