/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closes descriptors by ending. A process that is killed (SIGKILL) while it closes the last copy of
 * a link leaves breakpoints behind; what the kernel closes when a process ends cannot be cut short,
 * but it closes one after the other. So a process for each set of descriptors ends with it.
 */
#ifndef MEMSCOPE_CAPTURE_ENDING_H
#define MEMSCOPE_CAPTURE_ENDING_H

#include <stddef.h>

struct ending_set {
	const int *fds; /* in ascending order; the first one is to be closed when all others are */
	size_t count;
};

/*
 * The calling process has the only copies of these sets' descriptors, none above `highest` and none
 * in use by another thread, and must end (_exit) as soon as this returns: then all are closed, at
 * the same time. Whichever of the processes is killed meanwhile, nothing is left behind.
 */
void ending_prepare(const struct ending_set *sets, size_t count, int highest);

#endif /* MEMSCOPE_CAPTURE_ENDING_H */
