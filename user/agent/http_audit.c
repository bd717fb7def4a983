// SPDX-License-Identifier: BSD-2-Clause
#include "agent/http_audit.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/log.h"

#define AGAIN_NS 60000000000ull

/* Whether it has been said lately; it has been from now on. */
static bool is_known(struct http_audit *audit, uint32_t client, const struct request *request,
		     uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < HTTP_AUDIT_KEPT; i++)
		if (audit->lately[i].said_ns && audit->lately[i].client == client &&
		    audit->lately[i].document == request->document &&
		    audit->lately[i].pid == request->pid)
			break;
	if (i < HTTP_AUDIT_KEPT && now_ns - audit->lately[i].said_ns < AGAIN_NS)
		return true;
	if (i == HTTP_AUDIT_KEPT)
		i = audit->next++ % HTTP_AUDIT_KEPT;
	audit->lately[i].client = client;
	audit->lately[i].document = request->document;
	audit->lately[i].pid = request->pid;
	audit->lately[i].said_ns = now_ns;
	return false;
}

void http_audit_note(struct http_audit *audit, int fd, const struct request *request,
		     const char *path, uint64_t now_ns)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
		return;
	if (!is_known(audit, (uint32_t)peer.pid, request, now_ns))
		log_info("asked over the socket about all users' processes: %s, by process %d of"
			 " user %u",
			 path, peer.pid, peer.uid);
}
