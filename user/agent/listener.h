/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the agent is asked: an address and a port, or a socket in a directory.
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
 * "127.0.0.1:9750", "[::1]:9750", "unix:/run/memscope-bpf/query": numbers, no names. Returns 0 or
 * -EINVAL.
 */
int listener_parse(struct listener_address *address, const char *text);

/*
 * Opens it; a socket in a directory that no process listens on any more is replaced, and everybody
 * may connect to it: whom he may ask about is decided later. Messages name the option and what it
 * says. Returns the descriptor or -errno, logged.
 */
int listener_open(const struct listener_address *address, const char *option, const char *text);

/* A socket in a directory, which listener_open() has made, goes. */
void listener_remove(const struct listener_address *address);

#endif /* MEMSCOPE_AGENT_LISTENER_H */
