/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notice of every executable file mapping, in all processes: the kernel's PERF_RECORD_MMAP2 records
 * of a dummy event per CPU. They cost nothing but in mmap(2) of code, and come at once.
 */
#ifndef MEMSCOPE_CAPTURE_MAPPINGS_H
#define MEMSCOPE_CAPTURE_MAPPINGS_H

#include <stdint.h>

#include "host/proc.h"

struct mappings;

/* Returns 0 or -errno; nothing is logged. */
int mappings_open(struct mappings **mappings);
void mappings_close(struct mappings *mappings);

/* Adds the descriptors that become readable to an epoll set, each with `data`. 0 or -errno. */
int mappings_watch(struct mappings *mappings, int epoll_fd, uint64_t data);

/* `mapped_ns`: when it was made, CLOCK_MONOTONIC. */
typedef void mappings_visit_fn(pid_t pid, const struct proc_mapping *mapping, uint64_t mapped_ns,
			       void *context);

/*
 * Calls `visit` for every new mapping. Returns how many records the kernel had to drop (then
 * processes must be searched again), or -errno.
 */
int mappings_drain(struct mappings *mappings, mappings_visit_fn *visit, void *context);

/* Whether it works here: 0 or -errno. */
int mappings_probe(void);

#endif /* MEMSCOPE_CAPTURE_MAPPINGS_H */
