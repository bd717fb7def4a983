/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of code that a process has generated at run time, from the file that it writes for
 * Linux perf: perf-PID.map in its own /tmp. Only a file that belongs to the process's user, that no
 * other user can write, and that is not older than the program is read, and only where no program
 * of a user decides how long that takes.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_JIT_NAMES_H
#define MEMSCOPE_CAPTURE_STACKS_JIT_NAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "symbols/perf_map.h"

struct jit_names {
	struct perf_map map;
	uint64_t bytes;      /* that it takes */
	uint64_t *all_bytes; /* those of all processes */
	uint64_t since_ns;   /* CLOCK_REALTIME; 0: not known */
	uint64_t file_bytes; /* when it was read */
	uint64_t looked_ns;
};

/*
 * A program begins, whose file is not older than `since_ns`; what a zeroed one, or the program
 * before, has is forgotten. `*all_bytes`, 0 at first, lives longer, and is one for all.
 */
void jit_names_begin(struct jit_names *names, uint64_t *all_bytes, uint64_t since_ns);

/*
 * Reads what there is, so that it is known when the process is gone, if the last time was a tenth
 * of a second ago or longer, and a second more for each MiB that it had.
 */
void jit_names_look(struct jit_names *names, pid_t pid);

/*
 * The name of the function, and how far in it the address is; NULL: not known. The file is read
 * when it has grown, as often as jit_names_look() does. Valid until the next call.
 */
const char *jit_names_find(struct jit_names *names, pid_t pid, uint64_t address, uint32_t *offset);
void jit_names_fini(struct jit_names *names);

#endif /* MEMSCOPE_CAPTURE_STACKS_JIT_NAMES_H */
