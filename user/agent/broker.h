/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The capture's side of the channel. A question is answered by a child that has the ledger as it
 * was when the question was taken, copy on write: the capture itself never waits for an answer to
 * be made or read. One child at a time; it has seconds, and so many bytes, or is given up.
 */
#ifndef MEMSCOPE_AGENT_BROKER_H
#define MEMSCOPE_AGENT_BROKER_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/channel.h"
#include "base/loop.h"

struct broker_counts {
	uint64_t answers; /* that were begun */
	uint64_t failed;  /* of them */
	uint64_t cpu_ns;  /* of the children */
};

struct broker {
	struct loop *loop;
	int fd; /* of the channel */
	/*
	 * Before the child is made, in the capture. In the child: writes the answer to `fd` and
	 * returns an HTTP status, or -errno.
	 */
	void (*prepare)(void *context, const struct channel_question *question);
	int (*answer)(void *context, const struct channel_question *question, int fd);
	void *context;

	struct loop_source *source; /* of questions; NULL while a child is there */
	struct loop_source *child_source;
	pid_t child;
	int child_fd; /* a pidfd */
	struct broker_counts counts;
	struct channel_server server; /* as the last question said */
	uint64_t servers;             /* that have said that they serve, after the first */
};

/* The callbacks, the loop and `fd` are set. Returns 0 or -errno. */
int broker_start(struct broker *broker);

/* Ends a child that is still there. */
void broker_stop(struct broker *broker);

#endif /* MEMSCOPE_AGENT_BROKER_H */
