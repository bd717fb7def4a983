/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passwords of clients (RFC 7617, "Basic"), compared with hashes of bcrypt's. A comparison takes a
 * twentieth of a second and more, in which no other client is answered: so few are made in a
 * second, and right passwords are remembered.
 */
#ifndef MEMSCOPE_AGENT_WEB_AUTH_H
#define MEMSCOPE_AGENT_WEB_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/web_config.h"

#define WEB_AUTH_REMEMBERED 16
#define WEB_AUTH_TEXT_BYTES 512

struct crypt_data;

struct web_auth {
	const struct web_config *config;
	char *(*crypt)(const char *phrase, const char *setting, struct crypt_data *data);
	struct crypt_data *data;
	/* "name:password" that were right, the newest instead of the oldest. */
	char remembered[WEB_AUTH_REMEMBERED][WEB_AUTH_TEXT_BYTES];
	unsigned int next;
	uint64_t full_ns; /* when as many comparisons as ever may be made again */
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

/* `header` is the request's (Authorization), or NULL. */
enum web_auth_result web_auth_check(struct web_auth *auth, const char *header, uint64_t now_ns);

#endif /* MEMSCOPE_AGENT_WEB_AUTH_H */
