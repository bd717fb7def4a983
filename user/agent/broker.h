/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The capture's side of the channel. For each question, it forks a child, which answers from its
 * copy-on-write copy of the ledger. So the capture never waits until an answer is made or read.
 * There is one child at a time, and its time and the size of its answer are limited.
 */
#ifndef MEMSCOPE_AGENT_BROKER_H
#define MEMSCOPE_AGENT_BROKER_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/channel.h"
#include "base/loop.h"

struct broker_counts {
	uint64_t answers; /* begun */
	uint64_t failed;  /* of them */
	uint64_t cpu_ns;  /* of the children */
};

void broker_counts_add(struct broker_counts *to, const struct broker_counts *counts);

struct broker {
	struct loop *loop;
	int fd; /* of the channel */
	/*
	 * prepare: called in the capture, before the child is made; made: after that (NULL: not
	 * wanted). answer: called in the child; writes the answer to `fd`, and returns an HTTP
	 * status or -errno.
	 */
	void (*prepare)(void *context, const struct channel_question *question);
	void (*made)(void *context);
	int (*answer)(void *context, const struct channel_question *question, int fd);
	/* Called in the capture for each message of the process's, first. NULL: not wanted. */
	void (*note)(void *note_context, const struct channel_question *question);
	void *context, *note_context;

	struct loop_source *source; /* of questions; NULL while a child is there */
	struct loop_source *child_source;
	pid_t child;
	int child_fd; /* a pidfd */
	struct broker_counts counts;
	struct channel_server server; /* as the last question said */
	uint64_t servers;  /* how often a server has reported that it serves, after the first */
	uint64_t renewals; /* of these reports, so many are expected, and will not be counted */
};

/* The caller has set the callbacks, the loop and `fd`. Returns 0 or -errno. */
int broker_start(struct broker *broker);

/* Ends a child that is still there, which has not failed thereby. */
void broker_stop(struct broker *broker);

/*
 * The first stops it, and begins to send the document without a question, as CHANNEL_LAST. The
 * second waits for that until `end_ns` of CLOCK_MONOTONIC; without the first, it does nothing.
 */
void broker_begin_last(struct broker *broker, uint32_t document);
void broker_finish_last(struct broker *broker, uint64_t end_ns);

#endif /* MEMSCOPE_AGENT_BROKER_H */
