// SPDX-License-Identifier: BSD-2-Clause
#include "agent/http_clients.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "agent/request.h"
#include "base/clock.h"

#define GROUPS 1024 /* of a peer: further ones are not looked at */

struct http_client *http_clients_add(struct http_clients *clients, int fd, uint32_t uid)
{
	struct http_client *client = calloc(1, sizeof(*client));

	if (!client) {
		clients->dropped++;
		return NULL;
	}
	*client = (struct http_client){ .next = clients->first, .fd = fd, .uid = uid };
	http_clients_allow(client, HTTP_CLIENTS_REQUEST_NS);
	clients->first = client;
	clients->count++;
	return client;
}

void http_clients_remove(struct http_clients *clients, struct http_client *client)
{
	struct http_client **at = &clients->first;

	while (*at && *at != client)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = client->next;
	clients->count--;
	free(client);
}

void http_clients_allow(struct http_client *client, uint64_t ns)
{
	client->due_ns = clock_monotonic_ns() + ns;
}

void http_clients_drop_late(struct http_clients *clients, uint64_t now_ns)
{
	struct http_client *client;

	for (client = clients->first; client; client = client->next) {
		if (now_ns < client->due_ns)
			continue;
		shutdown(client->fd, SHUT_RDWR);
		client->due_ns = UINT64_MAX;
		clients->dropped++;
	}
}

static bool is_member(int fd, const struct ucred *peer, gid_t group)
{
	gid_t groups[GROUPS];
	socklen_t bytes = sizeof(groups);
	size_t i;

	if (peer->gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes))
		return false;
	for (i = 0; i < bytes / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

uint32_t http_clients_peer(int fd, gid_t group)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t bytes = sizeof(peer);

	/* The peer is unknown: this is no user, so it sees no process. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) || peer.uid == (uid_t)-1)
		return REQUEST_EVERYBODY - 1;
	if (!peer.uid || (group != (gid_t)-1 && is_member(fd, &peer, group)))
		return REQUEST_EVERYBODY;
	return peer.uid;
}
