/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notice of every executable file mapping, in all processes: the kernel's PERF_RECORD_MMAP2 records
 * of a dummy event per CPU. They cost nothing but in mmap(2) of code, and come at once. Records of
 * new names say what a process was called that is gone when it is looked at.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_MAPPINGS_H
#define MEMSCOPE_CAPTURE_TARGETS_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "host/proc.h"

struct mappings;

/* Returns 0 or -errno; nothing is logged. */
int mappings_open(struct mappings **mappings);
void mappings_close(struct mappings *mappings);

/* Calls `fn` when something has been mapped. Returns 0 or -errno. */
int mappings_watch(struct mappings *mappings, struct loop *loop, loop_fn *fn, void *context);

/* When it was made, CLOCK_MONOTONIC, and the process' name then, or "": it is not known. */
struct mappings_moment {
	uint64_t mapped_ns;
	const char *comm;
};

/* What the caller that asked for notice does about a new mapping. */
struct mappings_visitor {
	/*
	 * Called as soon as the kernel's record is read, while the process is still there if it can
	 * be: must be quick. What it returns goes to visit(). NULL: 0 does.
	 */
	bool (*note)(pid_t pid, const struct proc_mapping *mapping, void *context);
	/* May take its time. */
	void (*visit)(pid_t pid, const struct proc_mapping *mapping,
		      const struct mappings_moment *moment, bool noted, void *context);
	void *context;
};

/*
 * Reads what the kernel has written and visits it in order, for at most about `budget_ns` (0: all
 * of it). Returns how many records had no room, in the kernel or here (then processes must be
 * searched again), or -errno.
 */
int mappings_drain(struct mappings *mappings, const struct mappings_visitor *visitor,
		   uint64_t budget_ns);

/* Whether any have been read and not yet visited. */
bool mappings_wait(const struct mappings *mappings);

/* Whether it works here: 0 or -errno. */
int mappings_probe(void);

#endif /* MEMSCOPE_CAPTURE_TARGETS_MAPPINGS_H */
