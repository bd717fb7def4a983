/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process beside the capture that does one thing, and a small parent of it that starts it again
 * when it ends. If the capture itself started it again, it would keep a copy of all that the
 * capture knew by then.
 */
#ifndef MEMSCOPE_AGENT_KEEPER_H
#define MEMSCOPE_AGENT_KEEPER_H

#include <stddef.h>
#include <sys/types.h>

/* What `serve` returns. */
enum keeper_end {
	KEEPER_AGENT_GONE, /* there is nothing more to do */
	KEEPER_AGAIN,      /* it is to be started again, and has not failed */
	KEEPER_FAILED,     /* it has to be started again */
	KEEPER_CANNOT,     /* the same; if it happens at once, the capture has to know */
};

struct keeper {
	const char *name;        /* of the process: at most 15 bytes */
	const char *parent_name; /* of its parent */
	const char *task;        /* "serves clients" */
	const int *fds;          /* which descriptors it keeps; of the others, it has only stderr */
	size_t fds_count;
	enum keeper_end (*serve)(void *context);
	void *context;
};

/*
 * How many seconds the parent waits before it starts the process anew, which has ended so many
 * times before it had run for a minute.
 */
unsigned int keeper_pause_s(unsigned int failures);

/*
 * Call it before there are threads. Returns the pid of the parent, which ends with the capture, or
 * with the process if that returns KEEPER_AGENT_GONE; or -errno, logged.
 */
pid_t keeper_start(const struct keeper *keeper);

#endif /* MEMSCOPE_AGENT_KEEPER_H */
