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
	uint64_t lost;           /* batches that a process had when it ended, and only there */
	uint64_t restarts;
};

struct push_feed {
	struct push_options options; /* url NULL: nothing is pushed so */
	const char *state_directory; /* where the queue's file is */
	struct served served;
	struct channel_push earlier; /* of the processes before the one that is there */
	struct push_feed_counts counts;
};

/* One for each protocol: afterwards, they can be closed, whether they have been opened or not. */
void push_feed_init(struct push_feed pushes[PUSH_PROTOCOLS]);

/*
 * Starts those that have a URL. Call it before there are threads; the caller has set the options,
 * and the callbacks of the brokers that make answers. Returns 0 or -errno, logged.
 */
int push_feed_open(struct push_feed pushes[PUSH_PROTOCOLS]);

/* From now on, there are batches. Returns 0 or -errno. */
int push_feed_start(struct push_feed pushes[PUSH_PROTOCOLS], struct loop *loop);

/*
 * The capture has ended: sends all of them what the metrics are in the end, and waits at most ten
 * seconds in all until they have passed it on. Afterwards, they can only be closed.
 */
void push_feed_finish(struct push_feed pushes[PUSH_PROTOCOLS]);

void push_feed_close(struct push_feed pushes[PUSH_PROTOCOLS]);

#endif /* MEMSCOPE_AGENT_PUSH_FEED_H */
