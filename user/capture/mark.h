/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function of our own program, and where in the file it is: memscope-bpf mark calls it, and other
 * runs of the same program, which capture, have a probe at it. So nothing has to be sent, and
 * nothing listens that somebody could talk to.
 */
#ifndef MEMSCOPE_CAPTURE_MARK_H
#define MEMSCOPE_CAPTURE_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"

/* How many captures have a probe at it now, of this file. */
unsigned int mark_listeners(void);

/* START and END of a range, or INSTANT; `pid` 0: of all processes that are traced. */
void mark(enum ms_marker_action action, pid_t pid, const char *name);

/* The number by which the range of that name is known: not 0. */
uint64_t mark_range(const char *name);

/* Offsets in the file: of the function, and of the counter of its probes. False: not found. */
struct mark_place {
	uint64_t function, counter;
};

bool mark_place_find(struct mark_place *place);

#endif /* MEMSCOPE_CAPTURE_MARK_H */
