/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the capture has to do with pushing metrics: it starts the process that does so, answers it,
 * and knows what has become of each interval's batch.
 */
#ifndef MEMSCOPE_AGENT_PUSH_FEED_H
#define MEMSCOPE_AGENT_PUSH_FEED_H

#include "agent/push_process.h"
#include "agent/served.h"

struct push_feed_counts {
	struct channel_push now; /* sums since the agent began */
	uint64_t lost;           /* batches that a process had when it ended */
	uint64_t restarts;
};

struct push_feed {
	struct push_options options; /* url NULL: nothing is pushed */
	struct served served;
	struct channel_push earlier; /* of the processes before the one that is there */
	struct push_feed_counts counts;
};

/* Afterwards, it can be closed, whether it has been opened or not. */
void push_feed_init(struct push_feed *push);

/*
 * Starts it. Call it before there are threads; the caller has set the options, and the callbacks
 * of the broker that make answers. Returns 0 or -errno, logged.
 */
int push_feed_open(struct push_feed *push);

/* From now on, there are batches. Returns 0 or -errno. */
int push_feed_start(struct push_feed *push, struct loop *loop);

void push_feed_close(struct push_feed *push);

#endif /* MEMSCOPE_AGENT_PUSH_FEED_H */
