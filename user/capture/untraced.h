/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descendants of traced processes that use CUDA and are not traced: nobody asked for them, but what
 * they allocate is on the same GPUs, and is missing from the account.
 */
#ifndef MEMSCOPE_CAPTURE_UNTRACED_H
#define MEMSCOPE_CAPTURE_UNTRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "capture/target.h"

/* Whether a process, which is no target, is one now that it has mapped that file. */
bool untraced_uses_cuda(const struct targets *targets, pid_t pid,
			const struct proc_mapping *mapping);

/*
 * Those that do so already, except forks that have the driver from their parent alone: most of
 * these (a data loader's) never call it. Returns how many there are; `pids` are the first `max` of
 * them. 0 as well where the kernel does not list children (CONFIG_PROC_CHILDREN).
 */
size_t untraced_find(const struct targets *targets, pid_t *pids, size_t max);

#endif /* MEMSCOPE_CAPTURE_UNTRACED_H */
