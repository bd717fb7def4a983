// SPDX-License-Identifier: BSD-2-Clause
#include "agent/web_tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

#define LIBRARY "libgnutls.so.30"
#define CHECK_SECONDS 10

/* Numbers of gnutls/gnutls.h, which never change. */
enum { CERT_REQUEST = 1, CERT_REQUIRE };
enum { NO_CERTIFICATE_FOUND = -49 };
enum { IS_PEM = 1 /* GNUTLS_X509_FMT_PEM */ };
enum { KEY_PURPOSE = 2 /* GNUTLS_DT_KEY_PURPOSE_OID */ };

#define CLIENT_PURPOSE "1.3.6.1.5.5.7.3.2"

/* struct gnutls_typed_vdata_st */
struct known {
	int type;
	const char *bytes;
	unsigned int length;
};

/* gnutls_datum_t */
struct datum {
	const char *bytes;
	unsigned int length;
};

/* GnuTLS's callback has no context. */
static struct {
	void (*request)(void *session, int kind);
	void (*set_verification)(void *session, int (*verify)(void *session));
	int (*verify_peers)(void *session, struct known *known, unsigned int count,
			    unsigned int *status);
} functions;

char *web_tls_priorities(char out[WEB_TLS_PRIORITIES_BYTES], const struct web_config *config)
{
	static const char *const versions[] = { "+VERS-TLS1.0", "+VERS-TLS1.1", "+VERS-TLS1.2",
						"+VERS-TLS1.3" };
	enum web_config_version version;
	int length = snprintf(out, WEB_TLS_PRIORITIES_BYTES, "NORMAL:-VERS-ALL%s",
			      config->client_order ? "" : ":%SERVER_PRECEDENCE");

	for (version = config->least; version <= config->most; version++)
		length += snprintf(out + length, WEB_TLS_PRIORITIES_BYTES - (size_t)length, ":%s",
				   versions[version]);
	return out;
}

/* ---- what is checked before it is used ------------------------------------------------------- */

static struct datum datum_of(const char *text)
{
	return (struct datum){ text, text ? (unsigned int)strlen(text) : 0 };
}

/* In the child. Returns whether something is wrong, which has been logged. */
static bool is_wrong(const struct web_config *config, const char *path)
{
	const struct datum certificate = datum_of(config->certificate);
	const struct datum key = datum_of(config->key), authority = datum_of(config->authority);
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *credentials;
	int (*allocate)(void **) = NULL;
	int (*set_key)(void *, const struct datum *, const struct datum *, int) = NULL;
	int (*set_trust)(void *, const struct datum *, int) = NULL;
	const char *(*print)(int) = NULL;
	int err;

	if (handle) {
		*(void **)&allocate = dlsym(handle, "gnutls_certificate_allocate_credentials");
		*(void **)&set_key = dlsym(handle, "gnutls_certificate_set_x509_key_mem");
		*(void **)&set_trust = dlsym(handle, "gnutls_certificate_set_x509_trust_mem");
		*(void **)&print = dlsym(handle, "gnutls_strerror");
	}
	if (!allocate || !set_key || !set_trust || !print || allocate(&credentials))
		return false;
	err = set_key(credentials, &certificate, &key, IS_PEM);
	if (err < 0) {
		log_error("%s: cannot serve with cert_file and key_file: %s", path, print(err));
		return true;
	}
	err = config->authority ? set_trust(credentials, &authority, IS_PEM) : 1;
	if (err <= 0)
		log_error("%s: client_ca_file: %s", path, err ? print(err) : "no certificate");
	return err <= 0;
}

int web_tls_check(const struct web_config *config, const char *path)
{
	int status = 0;
	pid_t child;

	if (!config->certificate)
		return 0;
	child = fork();
	if (!child) {
		signal(SIGALRM, SIG_DFL);
		alarm(CHECK_SECONDS);
		_exit(is_wrong(config, path));
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1 ? -EINVAL : 0;
}

/* ---- certificates of clients ----------------------------------------------------------------- */

int web_tls_init(const struct web_config *config)
{
	void *handle;

	if (config->client == WEB_CLIENT_NONE)
		return 0;
	handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (handle) {
		*(void **)&functions.request =
			dlsym(handle, "gnutls_certificate_server_set_request");
		*(void **)&functions.set_verification =
			dlsym(handle, "gnutls_session_set_verify_function");
		*(void **)&functions.verify_peers =
			dlsym(handle, "gnutls_certificate_verify_peers");
	}
	if (functions.request && functions.set_verification && functions.verify_peers)
		return 0;
	log_error("cannot ask clients for certificates: " LIBRARY ": %s", dlerror());
	return -ENOENT;
}

/* Anything but 0 ends the handshake. */
static int verify(void *session)
{
	struct known known = { KEY_PURPOSE, CLIENT_PURPOSE, 0 };
	unsigned int status = 1;

	return functions.verify_peers(session, &known, 1, &status) || status ? -1 : 0;
}

static int verify_if_given(void *session)
{
	struct known known = { KEY_PURPOSE, CLIENT_PURPOSE, 0 };
	unsigned int status = 1;
	const int err = functions.verify_peers(session, &known, 1, &status);

	return err == NO_CERTIFICATE_FOUND ? 0 : err || status ? -1 : 0;
}

bool web_tls_ask_client(void *session, enum web_config_client client)
{
	const bool requires = client == WEB_CLIENT_REQUIRE || client == WEB_CLIENT_VERIFY;

	if (client == WEB_CLIENT_NONE)
		return true;
	if (!session)
		return false;
	functions.request(session, requires ? CERT_REQUIRE : CERT_REQUEST);
	if (client == WEB_CLIENT_VERIFY)
		functions.set_verification(session, verify);
	if (client == WEB_CLIENT_VERIFY_IF_GIVEN)
		functions.set_verification(session, verify_if_given);
	return true;
}
