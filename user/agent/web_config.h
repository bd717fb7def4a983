/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may ask over an address, and how: TLS, clients' certificates, passwords. The file is that of
 * Prometheus' exporters (exporter-toolkit, "web configuration"), so that one file does for all.
 */
#ifndef MEMSCOPE_AGENT_WEB_CONFIG_H
#define MEMSCOPE_AGENT_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define WEB_CONFIG_USERS 64
#define WEB_CONFIG_HEADERS 8

enum web_config_client {
	WEB_CLIENT_NONE,
	WEB_CLIENT_REQUEST,
	WEB_CLIENT_REQUIRE,
	WEB_CLIENT_VERIFY_IF_GIVEN,
	WEB_CLIENT_VERIFY,
};

enum web_config_version { WEB_TLS_1_0, WEB_TLS_1_1, WEB_TLS_1_2, WEB_TLS_1_3 };

/* A name, and what it stands for. */
struct web_config_pair {
	char *name, *value;
};

struct web_config {
	char *certificate, *key, *authority; /* PEM; without the first, there is no TLS */
	enum web_config_client client;
	enum web_config_version least, most;
	bool client_order;                              /* the client's order of ciphers counts */
	struct web_config_pair users[WEB_CONFIG_USERS]; /* with bcrypt's hashes */
	size_t users_count;
	struct web_config_pair headers[WEB_CONFIG_HEADERS]; /* of all answers */
	size_t headers_count;
};

/*
 * Reads it, and the files that it names, relative to its own directory. Of YAML, it takes names and
 * values on lines of their own. Returns 0 or -errno, logged with the line. Afterwards, in either
 * case, web_config_fini() overwrites what is secret.
 */
int web_config_read(struct web_config *config, const char *path);

void web_config_fini(struct web_config *config);

#endif /* MEMSCOPE_AGENT_WEB_CONFIG_H */
