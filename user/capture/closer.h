/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closes links of processes that are gone. The kernel takes tens of milliseconds for each, in which
 * the capture must not stand still: the next process may have begun. A thread of its own does it.
 */
#ifndef MEMSCOPE_CAPTURE_CLOSER_H
#define MEMSCOPE_CAPTURE_CLOSER_H

#include <stddef.h>

struct closer;

/* Returns 0 or -errno. */
int closer_open(struct closer **closer);

/* Takes the descriptors; closes them now if it cannot be done later. `closer` may be NULL. */
void closer_add(struct closer *closer, const int *fds, size_t count);

/* Returns when all are closed. */
void closer_close(struct closer *closer);

#endif /* MEMSCOPE_CAPTURE_CLOSER_H */
