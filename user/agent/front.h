/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the capture has to do with the agent's clients: it starts the processes that serve them, and
 * has a broker that answers their questions.
 */
#ifndef MEMSCOPE_AGENT_FRONT_H
#define MEMSCOPE_AGENT_FRONT_H

#include "agent/http_server.h"
#include "agent/served.h"

struct front {
	struct http_server_options server; /* the front closes the listeners */
	struct served served;
};

/* Afterwards, it can be closed, whether it has been opened or not. */
void front_init(struct front *front);

/*
 * Starts the process for clients, and waits until it serves. Call it before there are threads, with
 * the listeners and the group set in front->server. Returns 0 or -errno, logged.
 */
int front_open(struct front *front);

/* From now on, the broker's callbacks answer questions. The caller has set them. */
int front_start(struct front *front, struct loop *loop);

/* Sends the capture's state to the server: call it once a second. */
void front_say(struct front *front, const struct channel_status *status);

/* Clients are served anew, with the files of --web-config as they are now. */
void front_renew(struct front *front);

void front_close(struct front *front);

#endif /* MEMSCOPE_AGENT_FRONT_H */
