// SPDX-License-Identifier: BSD-2-Clause
/*
 * A web configuration, which an administrator writes or copies: the input is the file. The files
 * that it names are those that end with ".pem".
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/web_config.h"
#include "base/log.h"
#include "base/trusted_file.h"
#include "fuzz.h"

static const uint8_t *input;
static size_t input_size;

static int copy(const void *bytes, size_t size, size_t most, char **text)
{
	*text = NULL;
	if (size > most || memchr(bytes, 0, size))
		return -EINVAL;
	*text = calloc(1, most + 1);
	if (!*text)
		return -ENOMEM;
	memcpy(*text, bytes, size);
	return 0;
}

/* Instead of those that read files: an input names any. */
int trusted_file_read(const char *path, size_t most, char **text)
{
	static const char pem[] = "-----BEGIN CERTIFICATE-----\n";
	const size_t length = strlen(path);

	if (!strcmp(path, "/etc/web.yml"))
		return copy(input, input_size, most, text);
	*text = NULL;
	if (length > 8 && !strcmp(path + length - 8, "none.pem"))
		return copy("", 0, most, text);
	if (length > 4 && !strcmp(path + length - 4, ".pem"))
		return copy(pem, sizeof(pem) - 1, most, text);
	return -ENOENT;
}

void trusted_file_forget(char *text)
{
	free(text);
}

static void ignore(void *context, const char *line)
{
	(void)context;
	(void)line;
}

static void check_users(const struct web_config *config)
{
	size_t i, j;

	fuzz_check(config->users_count <= WEB_CONFIG_USERS);
	for (i = 0; i < config->users_count; i++) {
		fuzz_check(*config->users[i].name && !strchr(config->users[i].name, ':'));
		fuzz_check(strlen(config->users[i].value) == 60);
		fuzz_check(!strncmp(config->users[i].value, "$2", 2));
		for (j = 0; j < i; j++)
			fuzz_check(strcmp(config->users[i].name, config->users[j].name) != 0);
	}
}

/* What comes into answers as it is. */
static void check_headers(const struct web_config *config)
{
	size_t i;

	fuzz_check(config->headers_count <= WEB_CONFIG_HEADERS);
	for (i = 0; i < config->headers_count; i++)
		fuzz_check(!strpbrk(config->headers[i].value, "\r\n"));
}

static void check_tls(const struct web_config *config)
{
	const bool verifies =
		config->client == WEB_CLIENT_VERIFY || config->client == WEB_CLIENT_VERIFY_IF_GIVEN;

	fuzz_check(config->client <= WEB_CLIENT_VERIFY);
	fuzz_check(config->least <= config->most && config->most <= WEB_TLS_1_3);
	fuzz_check(!config->certificate == !config->key);
	fuzz_check(verifies == (config->authority != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct web_config config;

	input = bytes;
	input_size = size;
	log_divert(ignore, NULL);
	if (!web_config_read(&config, "/etc/web.yml")) {
		check_users(&config);
		check_headers(&config);
		check_tls(&config);
	}
	web_config_fini(&config);
	return 0;
}
