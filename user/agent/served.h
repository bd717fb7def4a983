/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process beside the capture that asks it for documents, and the broker that answers it: the
 * process that serves clients, and the one that pushes metrics.
 */
#ifndef MEMSCOPE_AGENT_SERVED_H
#define MEMSCOPE_AGENT_SERVED_H

#include "agent/broker.h"

struct served {
	struct broker broker; /* its callbacks are the caller's */
	const char *task;     /* "serves clients" */
	const char *gone;     /* what is no more if it has ended for good, for people */
	pid_t child;
	int child_fd; /* a pidfd */
	struct loop_source *child_source;
};

/* Afterwards, it can be closed, whether it has been opened or not. */
void served_init(struct served *served);

/*
 * Starts the process with `start`, which gets an end of the channel, and waits until it says that
 * it works. Call it before there are threads. Returns 0 or -errno, logged.
 */
int served_open(struct served *served, pid_t (*start)(void *context, int channel), void *context);

/*
 * From now on, the broker's callbacks answer questions. If the process and its parent end, so does
 * loop_run(): started from the capture as it is by now, they would share its memory and its maps of
 * the kernel side with clients.
 */
int served_start(struct served *served, struct loop *loop);

void served_close(struct served *served);

#endif /* MEMSCOPE_AGENT_SERVED_H */
