/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process beside the capture that does one thing, and a small parent of it that starts it again
 * when it ends. If the capture itself started it again, it would keep a copy of all that the
 * capture knew by then. So if the parent ends, the capture ends, too, for a service manager to
 * start the agent again.
 */
#ifndef MEMSCOPE_AGENT_KEEPER_H
#define MEMSCOPE_AGENT_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What `serve` returns: the process exits with it. */
enum keeper_end {
	KEEPER_AGENT_GONE = 0, /* there is nothing more to do */
	KEEPER_FAILED = 1,     /* it has to be started again */
	KEEPER_CANNOT = 2,     /* the same; if it happens at once, the capture has to know */
	KEEPER_AGAIN = 75,     /* of those with `renews`: start it again, it has not failed */
};

struct keeper {
	const char *name;        /* of the process: at most 15 bytes */
	const char *parent_name; /* of its parent */
	const char *task;        /* "serves clients" */
	const int *fds;          /* which descriptors it keeps; of the others, it has only stderr */
	size_t fds_count;
	enum keeper_end (*serve)(void *context);
	void *context;
	bool renews; /* it may end to be started again, without a pause */
};

/* Whether a process that has ended like that (wait()) is to be started again as one that works. */
bool keeper_is_renewal(const struct keeper *keeper, int status);

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
