/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's history: batches of what is traced (agent/history_sampler.h), handed to the process
 * that writes them (agent/history_writer.h). The agent goes on without it if it fails.
 */
#ifndef MEMSCOPE_AGENT_HISTORY_FEED_H
#define MEMSCOPE_AGENT_HISTORY_FEED_H

#include "agent/history_sampler.h"
#include "agent/history_writer.h"
#include "pipeline.h"

struct history_feed {
	char directory[4096];
	char path[4200]; /* of the database; "": there is none */
	struct history_writer writer;
	struct history_sampler *sampler; /* NULL: there is no history */
};

struct history_feed_options {
	const char *state_directory; /* it exists */
	uint64_t most_bytes;         /* 0: there is to be no history */
	uint64_t kept_seconds;
};

/* Starts the process. Call it before there are threads. Returns 0 or -errno, logged. */
int history_feed_open(struct history_feed *feed, const struct history_feed_options *options);

/* Samples the pipeline from now on. `boot` is the machine's boot id. Returns 0 or -ENOMEM. */
int history_feed_begin(struct history_feed *feed, struct pipeline *pipeline, const char *boot);
int history_feed_start(struct history_feed *feed, struct loop *loop);

/* Writes the interval that is open, at the end of the capture, and waits until it is on disk. */
void history_feed_finish(struct history_feed *feed, uint64_t now_ns);
void history_feed_close(struct history_feed *feed);

#endif /* MEMSCOPE_AGENT_HISTORY_FEED_H */
