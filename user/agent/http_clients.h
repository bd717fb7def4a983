/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections of the agent's server. Each has a time by which the client has to have sent a request
 * or taken an answer, so that a client that sends a byte now and then does not stay for ever.
 */
#ifndef MEMSCOPE_AGENT_HTTP_CLIENTS_H
#define MEMSCOPE_AGENT_HTTP_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Nanoseconds for the first request, for the next one, and for taking an answer. */
#define HTTP_CLIENTS_REQUEST_NS 10000000000ull
#define HTTP_CLIENTS_KEPT_NS 30000000000ull
#define HTTP_CLIENTS_ANSWER_NS 30000000000ull

struct MHD_Connection;

struct http_client {
	struct http_client *next;
	int fd;
	uint64_t due_ns;                   /* CLOCK_MONOTONIC */
	uint32_t uid;                      /* whose processes it may see: as in struct request */
	bool is_unix;                      /* it is known who it is */
	bool waits;                        /* for an answer of the capture: */
	struct MHD_Connection *connection; /* then this is the library's connection */
};

struct http_clients {
	struct http_client *first;
	uint64_t count;
	uint64_t dropped; /* because they took too long, or there was no memory */
};

/* NULL without memory. */
struct http_client *http_clients_add(struct http_clients *clients, int fd, uint32_t uid);
void http_clients_remove(struct http_clients *clients, struct http_client *client);

/* The client has `ns` from now on. */
void http_clients_allow(struct http_client *client, uint64_t ns);

/* Shuts down the connections whose time is over. */
void http_clients_drop_late(struct http_clients *clients, uint64_t now_ns);

/*
 * Whose processes the other end of a Unix socket may see: REQUEST_EVERYBODY if it is root or in the
 * group (-1: there is no group), otherwise its own user.
 */
uint32_t http_clients_peer(int fd, gid_t group);

#endif /* MEMSCOPE_AGENT_HTTP_CLIENTS_H */
