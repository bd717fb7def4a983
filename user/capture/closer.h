/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closes links. The kernel takes tens of milliseconds for each, in which the capture must not stand
 * still: the next process may have begun. And it must not be killed half-way (capture/helper.h).
 */
#ifndef MEMSCOPE_CAPTURE_CLOSER_H
#define MEMSCOPE_CAPTURE_CLOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct closer;

/* Returns NULL, logged, if there can be none. */
struct closer *closer_open(void);

/*
 * Takes the descriptors, to close them in this order; those of several calls are closed at the same
 * time. Without memory, or a closer (which may be NULL), they are closed at once.
 */
void closer_add(struct closer *closer, const int *fds, size_t count);

/* Hands over what the helper had no room for when it was added. To be called now and then. */
void closer_flush(struct closer *closer);

/* Waits until all are closed, but not longer than that. Returns whether it knows that they are. */
bool closer_wait(struct closer *closer, int timeout_ms);

/* Returns when all are closed. */
void closer_close(struct closer *closer);

uint64_t closer_cpu_ns(const struct closer *closer);

#endif /* MEMSCOPE_CAPTURE_CLOSER_H */
