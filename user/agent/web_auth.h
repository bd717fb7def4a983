/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passwords of clients (RFC 7617, "Basic"), compared with hashes of bcrypt's. A comparison takes a
 * twentieth of a second and more, in which no other client is answered. So right passwords are
 * remembered, and wrong ones are few: of each peer, and of all together, so that a peer that tries
 * many leaves comparisons for others.
 */
#ifndef MEMSCOPE_AGENT_WEB_AUTH_H
#define MEMSCOPE_AGENT_WEB_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/web_config.h"

#define WEB_AUTH_TEXT_BYTES 512
#define WEB_AUTH_PEERS 32 /* more than can have used up anything at a time */

struct crypt_data;
struct sockaddr;

struct web_auth {
	const struct web_config *config;
	char *(*crypt)(const char *phrase, const char *setting, struct crypt_data *data);
	struct crypt_data *data;
	/* "name:password" that was right, of each user; "": none has been. */
	char remembered[WEB_CONFIG_USERS][WEB_AUTH_TEXT_BYTES];
	/* When as many comparisons as ever may be made again, for a peer and for all together. */
	struct {
		uint64_t peer, full_ns;
	} peers[WEB_AUTH_PEERS];
	uint64_t full_ns;
};

enum web_auth_result {
	WEB_AUTH_RIGHT,
	WEB_AUTH_WRONG, /* or there is no password */
	WEB_AUTH_LATER, /* too many have been compared lately */
};

/*
 * Loads libcrypt, if there are users. `config` outlives it. Returns 0 or -errno, logged; it is
 * never ended.
 */
int web_auth_init(struct web_auth *auth, const struct web_config *config);

/* Which peer this is: an address of IPv4, or a network of IPv6 (/64), as one site has it. */
uint64_t web_auth_peer(const struct sockaddr *address);

/* `header` is the request's (Authorization), or NULL. */
enum web_auth_result web_auth_check(struct web_auth *auth, uint64_t peer, const char *header,
				    uint64_t now_ns);

#endif /* MEMSCOPE_AGENT_WEB_AUTH_H */
