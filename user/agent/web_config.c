// SPDX-License-Identifier: BSD-2-Clause
#include "agent/web_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/web_yaml.h"
#include "base/log.h"
#include "base/trusted_file.h"

#define FILE_MOST 65536
#define PEM_MOST (1u << 20)
/* A hash of cost 12 takes a quarter of a second, in which no other client is answered. */
#define COST_MOST 12
#define BCRYPT_BYTES 60

struct reading {
	struct web_config *config;
	const char *path;
	bool has_tls;
};

/* ---- values ---------------------------------------------------------------------------------- */

/* All of them fit into a byte. */
static const char *find_word(const char *const *words, size_t count, const char *text,
			     unsigned int *found)
{
	for (*found = 0; *found < count; ++*found)
		if (!strcmp(words[*found], text))
			return NULL;
	return "this value is not one of those that the documentation of web configurations has";
}

#define FIND(words, text, found) find_word(words, sizeof(words) / sizeof(*(words)), text, found)

static const char *take_bool(bool *value, const char *text)
{
	static const char *const words[] = { "false", "true" };
	unsigned int found;
	const char *wrong = FIND(words, text, &found);

	*value = found == 1;
	return wrong;
}

static const char *take_client(struct web_config *config, const char *text)
{
	static const char *const words[] = { "NoClientCert", "RequestClientCert",
					     "RequireAnyClientCert", "VerifyClientCertIfGiven",
					     "RequireAndVerifyClientCert" };
	unsigned int found;
	const char *wrong = FIND(words, text, &found);

	config->client = found;
	return wrong;
}

static const char *take_version(enum web_config_version *version, const char *text)
{
	static const char *const words[] = { "TLS10", "TLS11", "TLS12", "TLS13" };
	unsigned int found;
	const char *wrong = FIND(words, text, &found);

	*version = found;
	return wrong;
}

/* The reader of the file logs what is wrong with it. */
static const char *take_pem(const struct reading *reading, char **pem, const char *text)
{
	const char *slash = strrchr(reading->path, '/');
	const int directory = slash && *text != '/' ? (int)(slash - reading->path + 1) : 0;
	char path[4096];

	if (snprintf(path, sizeof(path), "%.*s%s", directory, reading->path, text) >=
	    (int)sizeof(path))
		return "the path is too long";
	trusted_file_forget(*pem);
	if (trusted_file_read(path, PEM_MOST, pem))
		return "this file cannot be used";
	return strstr(*pem, "-----BEGIN ") ? NULL : "this file has nothing in PEM (-----BEGIN ...)";
}

static const char *take_pair(struct web_config_pair *pairs, size_t *count, size_t most,
			     const char *name, const char *value)
{
	size_t i;

	for (i = 0; i < *count; i++)
		if (!strcmp(pairs[i].name, name))
			return "this name is already there";
	if (*count == most)
		return "there are too many of them";
	pairs[*count] = (struct web_config_pair){ strdup(name), strdup(value) };
	if (!pairs[*count].name || !pairs[*count].value) {
		free(pairs[*count].name);
		free(pairs[*count].value);
		return "not enough memory";
	}
	++*count;
	return NULL;
}

/* ---- sections -------------------------------------------------------------------------------- */

static const char *take_tls(struct reading *reading, const char *name, const char *text)
{
	struct web_config *config = reading->config;
	bool server_order;
	const char *wrong;

	reading->has_tls = true;
	if (!strcmp(name, "cert_file"))
		return take_pem(reading, &config->certificate, text);
	if (!strcmp(name, "key_file"))
		return take_pem(reading, &config->key, text);
	if (!strcmp(name, "client_ca_file"))
		return take_pem(reading, &config->authority, text);
	if (!strcmp(name, "client_auth_type"))
		return take_client(config, text);
	if (!strcmp(name, "min_version"))
		return take_version(&config->least, text);
	if (!strcmp(name, "max_version"))
		return take_version(&config->most, text);
	if (strcmp(name, "prefer_server_cipher_suites") != 0)
		return "of tls_server_config, cert_file, key_file, client_ca_file, client_auth_type,"
		       " min_version, max_version and prefer_server_cipher_suites are understood";
	wrong = take_bool(&server_order, text);
	config->client_order = !server_order;
	return wrong;
}

/* The others are always there, and stricter. */
static const char *take_header(struct web_config *config, const char *name, const char *text)
{
	static const char *const words[] = { "Strict-Transport-Security", "X-Frame-Options",
					     "X-XSS-Protection" };
	unsigned int found;

	if (FIND(words, name, &found))
		return "of headers, Strict-Transport-Security, X-Frame-Options and X-XSS-Protection can"
		       " be set; the agent sets the others itself";
	if (strpbrk(text, "\r\n"))
		return "a header has one line";
	return take_pair(config->headers, &config->headers_count, WEB_CONFIG_HEADERS, name, text);
}

static const char *take_user(struct web_config *config, const char *name, const char *hash)
{
	const size_t length = strlen(hash);
	const int cost = length == BCRYPT_BYTES ? atoi(hash + 4) : 0;

	if (!*name || strchr(name, ':'))
		return "a user's name has no colon, and is not empty";
	if (length != BCRYPT_BYTES || hash[0] != '$' || hash[1] != '2' || !strchr("aby", hash[2]) ||
	    hash[3] != '$' || hash[6] != '$' || cost < 4)
		return "a password is a hash of bcrypt's, as htpasswd -nBC 10 \"\" prints it";
	if (cost > COST_MOST)
		return "this hash would take too long: its cost is at most 12 (htpasswd -nBC 10 \"\")";
	return take_pair(config->users, &config->users_count, WEB_CONFIG_USERS, name, hash);
}

static const char *take(void *context, const struct web_yaml_value *value)
{
	struct reading *reading = context;
	const char *const *names = value->names;
	bool any;

	if (!*names[1]) {
		if (strcmp(names[0], "tls_server_config") != 0 &&
		    strcmp(names[0], "http_server_config") != 0 &&
		    strcmp(names[0], "basic_auth_users") != 0)
			return "there are only tls_server_config, http_server_config and"
			       " basic_auth_users";
		return value->text ? "names and values of this stand on the lines below it" : NULL;
	}
	if (!strcmp(names[0], "http_server_config") && !strcmp(names[1], "headers")) {
		if (!*names[2])
			return value->text ? "headers stand on the lines below it" : NULL;
		return value->text ? take_header(reading->config, names[2], value->text) : NULL;
	}
	if (!value->text || *names[2])
		return "this has a value on its line";
	if (!strcmp(names[0], "tls_server_config"))
		return take_tls(reading, names[1], value->text);
	if (!strcmp(names[0], "basic_auth_users"))
		return take_user(reading->config, names[1], value->text);
	if (strcmp(names[1], "http2") != 0)
		return "of http_server_config, http2 and headers are understood";
	return take_bool(&any, value->text); /* clients agree on HTTP/1.1 anyway */
}

/* ---- the whole of it ------------------------------------------------------------------------- */

/* What does not fit together: NULL, or what, for people. */
static const char *check(const struct web_config *config, bool has_tls)
{
	const bool verifies =
		config->client == WEB_CLIENT_VERIFY || config->client == WEB_CLIENT_VERIFY_IF_GIVEN;

	if (has_tls && (!config->certificate || !config->key))
		return "tls_server_config needs cert_file and key_file";
	if (verifies && !config->authority)
		return "client_auth_type needs client_ca_file, to verify clients by";
	if (!verifies && config->authority)
		return "client_ca_file is of no use: with this client_auth_type, no client is verified"
		       " (RequireAndVerifyClientCert)";
	if (config->least > config->most)
		return "min_version is above max_version";
	return NULL;
}

int web_config_read(struct web_config *config, const char *path)
{
	struct reading reading = { .config = config, .path = path };
	char *text;
	unsigned int line = 0;
	const char *wrong;
	int err = trusted_file_read(path, FILE_MOST, &text);

	*config = (struct web_config){ .least = WEB_TLS_1_2, .most = WEB_TLS_1_3 };
	if (err)
		return err;
	wrong = web_yaml_read(text, take, &reading, &line);
	explicit_bzero(text, FILE_MOST); /* names and values have been ended by bytes 0 */
	free(text);
	if (wrong) {
		log_error("%s:%u: %s", path, line, wrong);
		return -EINVAL;
	}
	wrong = check(config, reading.has_tls);
	if (wrong)
		log_error("%s: %s", path, wrong);
	return wrong ? -EINVAL : 0;
}

static void forget_pairs(struct web_config_pair *pairs, size_t count)
{
	while (count--) {
		free(pairs[count].name);
		trusted_file_forget(pairs[count].value);
	}
}

void web_config_fini(struct web_config *config)
{
	forget_pairs(config->users, config->users_count);
	forget_pairs(config->headers, config->headers_count);
	trusted_file_forget(config->certificate);
	trusted_file_forget(config->key);
	trusted_file_forget(config->authority);
	*config = (struct web_config){ 0 };
}
