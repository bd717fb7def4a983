// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_client.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/trusted_file.h"

#define FILE_MOST 65536
#define PEM_MOST (1u << 20) /* all authorities of a distribution have a quarter of that */

static bool is_token(char c)
{
	return isalnum((unsigned char)c) || strchr("!#$%&'*+-.^_`|~", c);
}

/* What belongs to the body and the connection is not for it to say. */
static bool is_ours(const char *header)
{
	static const char *const ours[] = {
		"content-",    "transfer-", "host:",
		"connection:", "expect:",   "x-prometheus-remote-write-"
	};
	size_t i;

	for (i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (!strncasecmp(header, ours[i], strlen(ours[i])))
			return true;
	return false;
}

static const char *take_header(struct push_client *client, const char *value)
{
	const char *at = value;

	while (*at && is_token(*at))
		at++;
	if (at == value || *at != ':' || !at[1 + strspn(at + 1, " \t")])
		return "a header is like Authorization: Bearer TOKEN";
	for (; *at; at++)
		if ((unsigned char)*at < ' ' && *at != '\t')
			return "a header has no control characters";
	if (is_ours(value))
		return "this header is the protocol's";
	if (client->headers_count == PUSH_CLIENT_HEADERS)
		return "there are at most 16 headers";
	client->headers[client->headers_count] = strdup(value);
	if (!client->headers[client->headers_count])
		return "not enough memory";
	client->headers_count++;
	return NULL;
}

/* Returns 0 or -errno, logged. */
static int take_pem(char **pem, const char *place, const char *path)
{
	int err;

	if (*pem) {
		log_error("%s: this is already set", place);
		return -EINVAL;
	}
	if (*path != '/') {
		log_error("%s: \"%s\" is not an absolute path", place, path);
		return -EINVAL;
	}
	err = trusted_file_read(path, PEM_MOST, pem);
	if (!err && !strstr(*pem, "-----BEGIN ")) {
		log_error("%s: %s has nothing in PEM (-----BEGIN ...)", place, path);
		err = -EINVAL;
	}
	return err;
}

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static int take_line(struct push_client *client, const char *place, char *line)
{
	char *value = strchr(line, '=');
	const char *name, *wrong;

	if (!value) {
		log_error("%s: this is not \"name = value\"", place);
		return -EINVAL;
	}
	*value++ = '\0';
	name = trim(line);
	value = trim(value);
	if (!strcmp(name, "ca-file"))
		return take_pem(&client->authority, place, value);
	if (!strcmp(name, "cert-file"))
		return take_pem(&client->certificate, place, value);
	if (!strcmp(name, "key-file"))
		return take_pem(&client->key, place, value);
	wrong = strcmp(name, "header") != 0 ? "a name is header, ca-file, cert-file or key-file" :
					      take_header(client, value);
	if (wrong)
		log_error("%s: %s", place, wrong);
	return wrong ? -EINVAL : 0;
}

int push_client_read(struct push_client *client, const char *path)
{
	char *text, *at, *next, place[4096];
	unsigned int line;
	int err = trusted_file_read(path, FILE_MOST, &text);

	*client = (struct push_client){ 0 };
	for (at = text, line = 1; !err && at; at = next, line++) {
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		at = trim(at);
		snprintf(place, sizeof(place), "%s:%u", path, line);
		if (*at && *at != '#')
			err = take_line(client, place, at);
	}
	if (!err && !client->certificate != !client->key) {
		log_error("%s: cert-file and key-file belong together", path);
		err = -EINVAL;
	}
	if (text)
		explicit_bzero(text, FILE_MOST); /* lines have been ended by bytes 0 */
	trusted_file_forget(text);
	return err;
}

void push_client_fini(struct push_client *client)
{
	while (client->headers_count)
		trusted_file_forget(client->headers[--client->headers_count]);
	trusted_file_forget(client->authority);
	trusted_file_forget(client->certificate);
	trusted_file_forget(client->key);
	*client = (struct push_client){ 0 };
}
