/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of code that a process has generated at run time, from the file that it writes for
 * Linux perf: perf-PID.map in its own /tmp. Only a file that belongs to the process's user, and
 * that no other user can write, is read.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_JIT_NAMES_H
#define MEMSCOPE_CAPTURE_STACKS_JIT_NAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "symbols/perf_map.h"

/* A zeroed one has not looked yet. */
struct jit_names {
	struct perf_map map;
	uint64_t file_bytes; /* when it was read */
	uint64_t looked_ns;
};

/*
 * Reads what there is, so that it is known when the process is gone; not more than once a second.
 */
void jit_names_look(struct jit_names *names, pid_t pid);

/*
 * The name of the function, and how far in it the address is; NULL: not known. The file is read
 * when it has grown, at most once a second. Valid until the next call.
 */
const char *jit_names_find(struct jit_names *names, pid_t pid, uint64_t address, uint32_t *offset);
void jit_names_fini(struct jit_names *names);

#endif /* MEMSCOPE_CAPTURE_STACKS_JIT_NAMES_H */
