/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the agent answers: an address and a port, or a Unix socket.
 */
#ifndef MEMSCOPE_AGENT_LISTENER_H
#define MEMSCOPE_AGENT_LISTENER_H

#include <stdbool.h>
#include <sys/socket.h>

struct listener_address {
	bool is_unix;
	struct sockaddr_storage address;
	socklen_t length;
};

/*
 * "127.0.0.1:9750", "[::1]:9750", "unix:/run/memscope-bpf/query": only numbers, no names. Returns 0
 * or -EINVAL.
 */
int listener_parse(struct listener_address *address, const char *text);

/*
 * Opens it. A Unix socket on which no process listens any more is replaced. Every user may connect
 * to a Unix socket; http_clients_peer() decides later which processes it may see. Messages name the
 * option and its value (`text`). Returns the descriptor or -errno, logged.
 */
int listener_open(const struct listener_address *address, const char *option, const char *text);

/* Removes the Unix socket that listener_open() has made; does nothing for an address. */
void listener_remove(const struct listener_address *address);

/* Whether it is a Unix socket in a directory that does not exist. */
bool listener_lacks_directory(const struct listener_address *address);

#endif /* MEMSCOPE_AGENT_LISTENER_H */
