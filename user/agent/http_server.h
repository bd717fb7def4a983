/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that serves the agent's clients over HTTP. It has no privilege, no memory or files of
 * the capture, and gets what it serves over the channel. If it ends, its parent, a small process
 * that does nothing else, starts it again. Limits bound what clients can cost: their number, the
 * time of a request and of an answer, and the answers that are kept.
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
		bool is_unix; /* clients see their own processes only */
	} listeners[HTTP_SERVER_LISTENERS];
	size_t listeners_count;
	int channel;                 /* the server's end */
	const char *web_config_path; /* of the others: for web_config_read(); NULL: none */
	bool has_group;              /* its members see all processes, as root does: */
	gid_t group;
};

/*
 * Starts both processes. Call it before there are threads, and before the capture opens anything.
 * The children have copies of the descriptors; the caller closes its own. Returns the PID of the
 * parent or -errno, logged: -ENOENT if the library is not there.
 */
pid_t http_server_start(const struct http_server_options *options);

#endif /* MEMSCOPE_AGENT_HTTP_SERVER_H */
