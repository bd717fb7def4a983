/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's clients, as the capture sees them: the processes that serve them, and the broker of
 * their questions.
 */
#ifndef MEMSCOPE_AGENT_FRONT_H
#define MEMSCOPE_AGENT_FRONT_H

#include "agent/broker.h"
#include "agent/http_server.h"

struct front {
	struct http_server_options server; /* the listeners are this one's */
	struct broker broker;
	pid_t child;
	int child_fd; /* a pidfd */
	struct loop_source *child_source;
};

/*
 * Starts the process for clients and waits until it serves: before there are threads. The listeners
 * and the group are set in front->server. Returns 0 or -errno, logged.
 */
int front_open(struct front *front);

/* From now on questions are answered, by the broker's callbacks, which are set. */
int front_start(struct front *front, struct loop *loop);

/* How the capture is, once a second. */
void front_say(struct front *front, const struct channel_status *status);

void front_close(struct front *front);

#endif /* MEMSCOPE_AGENT_FRONT_H */
