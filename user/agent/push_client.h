/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who the agent says it is when it pushes metrics, and whom it trusts: headers, a certificate with
 * its key, and authorities. They are in a file with lines "name = value".
 */
#ifndef MEMSCOPE_AGENT_PUSH_CLIENT_H
#define MEMSCOPE_AGENT_PUSH_CLIENT_H

#include <stddef.h>

#define PUSH_CLIENT_HEADERS 16

struct push_client {
	char *headers[PUSH_CLIENT_HEADERS]; /* "Name: value" */
	size_t headers_count;
	char *authority, *certificate, *key; /* PEM; NULL: none */
};

/*
 * Reads it, and the files that it names. Returns 0 or -errno, logged with the line. Afterwards, in
 * either case, push_client_fini() overwrites what is secret.
 */
int push_client_read(struct push_client *client, const char *path);

void push_client_fini(struct push_client *client);

#endif /* MEMSCOPE_AGENT_PUSH_CLIENT_H */
