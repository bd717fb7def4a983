/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TLS of the server, which libmicrohttpd does with GnuTLS: what the library has to be told, and
 * which certificates of clients are asked for.
 */
#ifndef MEMSCOPE_AGENT_WEB_TLS_H
#define MEMSCOPE_AGENT_WEB_TLS_H

#include <stdbool.h>

#include "agent/web_config.h"

#define WEB_TLS_PRIORITIES_BYTES 128

/* How GnuTLS calls what the configuration says; returns `out`. */
char *web_tls_priorities(char out[WEB_TLS_PRIORITIES_BYTES], const struct web_config *config);

/*
 * Whether GnuTLS takes the certificates and the key of what has been read from `path`. A child
 * looks, so that the caller does not have the library. Returns 0 or -EINVAL, logged; without the
 * library, 0: then the server says so when it starts.
 */
int web_tls_check(const struct web_config *config, const char *path);

/* Loads GnuTLS, if clients have certificates. Returns 0 or -errno, logged. */
int web_tls_init(const struct web_config *config);

/*
 * A connection begins, of which this is GnuTLS's session (gnutls_session_t): it gets to know which
 * certificates are asked for. Returns false if that is not possible.
 */
bool web_tls_ask_client(void *session, enum web_config_client client);

#endif /* MEMSCOPE_AGENT_WEB_TLS_H */
