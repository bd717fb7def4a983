/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closes links. The kernel takes tens of milliseconds for each, in which the capture must not stand
 * still: the next process may have begun. And it must not be killed half-way
 * (capture/attach/helper.h). So another process has copies of all links, from the beginning: the
 * last copies, when this process has closed its own or has been killed, and closes many at a time.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_DETACHER_H
#define MEMSCOPE_CAPTURE_ATTACH_DETACHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct detacher;

/* How the descriptors of a set are closed. */
enum detacher_way {
	DETACHER_AT_ONCE, /* they wait for the same grace periods */
	/*
	 * One after the other, and one set at a time: single uprobes. The kernel removes one at a
	 * time anyway, and a program that attaches waits for the same lock.
	 */
	DETACHER_IN_TURN,
};

/* Returns NULL, logged, if there can be none. */
struct detacher *detacher_open(enum detacher_way way);

/*
 * Gives it copies of descriptors that are to be closed together, the first one when all others are
 * (placement_init() says why).
 * Returns the number that detacher_release() wants; 0: it has none of them, as without memory, or
 * without a detacher (which may be NULL).
 */
uint32_t detacher_hold(struct detacher *detacher, const int *fds, size_t count);

/* Has them closed, and closes those of this process: at once, and slowly if there are no copies. */
void detacher_release(struct detacher *detacher, uint32_t set, const int *fds, size_t count);

/* Says again what there was no room for when it was said. To be called now and then. */
void detacher_flush(struct detacher *detacher);

/*
 * Waits until all are closed, but not longer than that. Returns 0, -ETIMEDOUT, or another -errno if
 * the other process has been killed: then the kernel closes what it had.
 */
int detacher_wait(struct detacher *detacher, int timeout_ms);

/* Returns when all are closed. */
void detacher_close(struct detacher *detacher);

uint64_t detacher_cpu_ns(const struct detacher *detacher);

#endif /* MEMSCOPE_CAPTURE_ATTACH_DETACHER_H */
