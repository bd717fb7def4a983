/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages between the capture and the process that serves clients, over a pair of sockets. The
 * server sends questions. The capture sends answers, each with a descriptor, and its state.
 */
#ifndef MEMSCOPE_AGENT_CHANNEL_H
#define MEMSCOPE_AGENT_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/request.h"

#define CHANNEL_REASON_BYTES 256

/* What the server has done so far. */
struct channel_server {
	uint64_t answered[6]; /* by hundreds of the status: [2] is 2xx */
	uint64_t refused;     /* connections beyond the limits */
	uint64_t connections; /* open */
	uint64_t cpu_ns;
	uint64_t resident_bytes;
	uint64_t pid;
};

/* What the process that pushes metrics has done so far; a batch is what one interval has. */
struct channel_push {
	uint64_t sent;     /* batches */
	uint64_t refused;  /* by the collector, for good */
	uint64_t dropped;  /* because the queue was full */
	uint64_t missed;   /* not made in time by the capture */
	uint64_t failures; /* attempts that will be made again */
	uint64_t rejected; /* data points of batches that were sent */
	uint64_t damaged;  /* found to be so in the file of the queue, and lost */
	uint64_t unsaved;  /* that this file did not take: kept in memory */
	uint64_t restored; /* batches of earlier processes that it had when this one began */
	uint64_t queued, queued_bytes;
	uint64_t sent_ns; /* when the last one was sent, since 1970; 0: never */
	uint64_t cpu_ns;
	uint64_t resident_bytes;
};

struct channel_question {
	uint64_t number; /* 0: there is none; it says what the process has done */
	bool is_hello;   /* without a number: the process works from now on */
	struct request request;
	struct channel_server server;
	struct channel_push push;
};

/* The capture's state, sent once a second and when it changes. */
struct channel_status {
	bool ready;
	char reason[CHANNEL_REASON_BYTES]; /* why it is not ready, or a remark */
};

enum channel_type {
	CHANNEL_ANSWER,
	CHANNEL_STATUS,
	CHANNEL_RENEW, /* begin anew, with configurations as they are now */
	CHANNEL_LAST,  /* as an answer, without a question: the agent ends */
};

struct channel_message {
	uint32_t type;   /* enum channel_type */
	uint32_t status; /* of an answer: as in HTTP; only with 200 there is a descriptor */
	uint64_t number; /* of the question */
	uint64_t bytes;
	struct channel_status state;
};

/* The ends: `*capture` and `*server`. Returns 0 or -errno. */
int channel_open(int *capture, int *server);

/*
 * These never wait; all messages of a kind have the same size. Each returns 0 or -errno: -EAGAIN
 * if there is no message, or no room for one; -EPIPE if the other end is closed. `passed_fd` is -1
 * if there is no descriptor. The caller owns a descriptor that it has received.
 */
int channel_send(int fd, const void *message, size_t size, int passed_fd);
int channel_receive(int fd, void *message, size_t size, int *passed_fd);
int channel_ask(int fd, const struct channel_question *question);
int channel_take_question(int fd, struct channel_question *question);
int channel_say(int fd, const struct channel_message *message, int passed_fd);
int channel_take_message(int fd, struct channel_message *message, int *passed_fd);

#endif /* MEMSCOPE_AGENT_CHANNEL_H */
