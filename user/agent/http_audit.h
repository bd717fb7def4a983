/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines in the log about who has asked over a Unix socket for what other users' processes do. A
 * client that asks for the same again and again is named once a minute.
 */
#ifndef MEMSCOPE_AGENT_HTTP_AUDIT_H
#define MEMSCOPE_AGENT_HTTP_AUDIT_H

#include "agent/request.h"

#define HTTP_AUDIT_KEPT 64

/* A zeroed one knows no client. */
struct http_audit {
	struct {
		uint32_t client, document, pid;
		uint64_t said_ns;
	} lately[HTTP_AUDIT_KEPT];
	unsigned int next;
};

/* `fd` is the client's; `path` is that of a request that has been understood. */
void http_audit_note(struct http_audit *audit, int fd, const struct request *request,
		     const char *path, uint64_t now_ns);

#endif /* MEMSCOPE_AGENT_HTTP_AUDIT_H */
