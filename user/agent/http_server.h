/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that serves the agent's clients, over HTTP: it has no privilege and nothing of the
 * capture's, and gets what it serves over the channel. If it ends, its parent, a small process of
 * the same kind, starts it again. What clients may cost is bounded: their number, the time that a
 * request and an answer may take, and the answers that are kept.
 */
#ifndef MEMSCOPE_AGENT_HTTP_SERVER_H
#define MEMSCOPE_AGENT_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HTTP_SERVER_LISTENERS 2

struct http_server_options {
	struct {
		int fd;
		bool is_unix; /* whose clients see their own processes */
	} listeners[HTTP_SERVER_LISTENERS];
	size_t listeners_count;
	int channel;    /* the server's end */
	bool has_group; /* whose members see all processes, as root does: */
	gid_t group;
};

/*
 * Starts both: before there are threads, and before the capture has anything open. The descriptors
 * become the children's; the caller closes its own. Returns the pid of the parent or -errno,
 * logged: -ENOENT if the library is not there.
 */
pid_t http_server_start(const struct http_server_options *options);

#endif /* MEMSCOPE_AGENT_HTTP_SERVER_H */
