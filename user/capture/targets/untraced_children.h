/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descendants of traced processes that use CUDA and are not traced: the user did not ask for them,
 * but what they allocate is on the same GPUs, and is missing from the account.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_UNTRACED_CHILDREN_H
#define MEMSCOPE_CAPTURE_TARGETS_UNTRACED_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "capture/targets/target.h"

/* Whether a process, which is no target, is one now that it has mapped that file. */
bool untraced_children_uses_cuda(const struct targets *targets, pid_t pid,
				 const struct proc_mapping *mapping);

/*
 * Whether the child has the driver, where its parent has it: one that has executed a program has it
 * elsewhere. Any place will do if the parent is gone.
 */
bool untraced_children_inherits(pid_t child, pid_t parent);

/*
 * Those that use it already, of processes that are about to be traced. A fork that has the driver
 * where its parent has it is left out: most of these (a data loader's) have it from there and never
 * call it. Returns how many there are; `found` are the first `max` of them. 0 as well where the
 * kernel does not list children (CONFIG_PROC_CHILDREN).
 */
size_t untraced_children_find(const pid_t *pids, size_t count, pid_t *found, size_t max);

#endif /* MEMSCOPE_CAPTURE_TARGETS_UNTRACED_CHILDREN_H */
