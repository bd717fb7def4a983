// SPDX-License-Identifier: BSD-2-Clause
#include "agent/web_auth.h"

#include <crypt.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"

#define LIBRARY "libcrypt.so.1"
/* Comparisons: so many at once, then one after each so many nanoseconds. */
#define COMPARISONS 8
#define PER_COMPARISON_NS 500000000ull

int web_auth_init(struct web_auth *auth, const struct web_config *config)
{
	void *handle;

	*auth = (struct web_auth){ .config = config };
	if (!config->users_count)
		return 0;
	handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (handle)
		*(void **)&auth->crypt = dlsym(handle, "crypt_r");
	if (!auth->crypt) {
		log_error("cannot load " LIBRARY ": %s; install libcrypt1 (Debian, Ubuntu), which"
			  " compares passwords",
			  dlerror());
		return -ENOENT;
	}
	auth->data = calloc(1, sizeof(*auth->data));
	return auth->data ? 0 : -ENOMEM;
}

/* ---- the header ------------------------------------------------------------------------------ */

static int digit_of(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Base64 (RFC 4648) of a text. Returns false if it is none, or does not fit. */
static bool decode(char out[WEB_AUTH_TEXT_BYTES], const char *at)
{
	uint32_t bits = 0, count = 0;
	size_t length = 0;

	for (; digit_of(*at) >= 0; at++) {
		bits = bits << 6 | (uint32_t)digit_of(*at);
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		out[length] = (char)(bits >> count);
		if (!out[length] || length == WEB_AUTH_TEXT_BYTES - 1)
			return false;
		length++;
	}
	memset(out + length, 0, WEB_AUTH_TEXT_BYTES - length);
	at += strspn(at, "=");
	return !at[strspn(at, " ")];
}

static bool read_header(char out[WEB_AUTH_TEXT_BYTES], const char *header)
{
	if (!header || strncasecmp(header, "Basic ", 6) != 0)
		return false;
	header += 6;
	return decode(out, header + strspn(header, " ")) && strchr(out, ':');
}

/* ---- comparisons ----------------------------------------------------------------------------- */

/* Takes as long wherever they differ. */
static bool is_same(const char *a, const char *b, size_t bytes)
{
	unsigned char different = 0;
	size_t i;

	for (i = 0; i < bytes; i++)
		different |= (unsigned char)(a[i] ^ b[i]);
	return !different;
}

static bool is_remembered(const struct web_auth *auth, const char text[WEB_AUTH_TEXT_BYTES])
{
	bool found = false;
	size_t i;

	for (i = 0; i < WEB_AUTH_REMEMBERED; i++)
		found |= is_same(auth->remembered[i], text, WEB_AUTH_TEXT_BYTES);
	return found;
}

static bool may_compare(struct web_auth *auth, uint64_t now_ns)
{
	const uint64_t from_ns = auth->full_ns > now_ns ? auth->full_ns : now_ns;

	if (from_ns + PER_COMPARISON_NS - now_ns > COMPARISONS * PER_COMPARISON_NS)
		return false;
	auth->full_ns = from_ns + PER_COMPARISON_NS;
	return true;
}

/* Who is not known is compared, too: the time does not tell which users there are. */
static bool is_right(struct web_auth *auth, const char *name, const char *password)
{
	const struct web_config_pair *user = &auth->config->users[0];
	bool known = false;
	const char *hash;
	size_t i;

	for (i = 0; i < auth->config->users_count; i++)
		if (!strcmp(auth->config->users[i].name, name)) {
			user = &auth->config->users[i];
			known = true;
		}
	hash = auth->crypt(password, user->value, auth->data);
	return hash && strlen(hash) == strlen(user->value) &&
	       is_same(hash, user->value, strlen(hash)) && known;
}

enum web_auth_result web_auth_check(struct web_auth *auth, const char *header, uint64_t now_ns)
{
	char text[WEB_AUTH_TEXT_BYTES], name[WEB_AUTH_TEXT_BYTES];
	bool right;

	if (!auth->config->users_count)
		return WEB_AUTH_RIGHT;
	if (!read_header(text, header))
		return WEB_AUTH_WRONG;
	if (is_remembered(auth, text))
		return WEB_AUTH_RIGHT;
	if (!may_compare(auth, now_ns))
		return WEB_AUTH_LATER;
	memcpy(name, text, sizeof(name));
	*strchr(name, ':') = '\0';
	right = is_right(auth, name, strchr(text, ':') + 1);
	if (right)
		memcpy(auth->remembered[auth->next++ % WEB_AUTH_REMEMBERED], text, sizeof(text));
	explicit_bzero(text, sizeof(text));
	return right ? WEB_AUTH_RIGHT : WEB_AUTH_WRONG;
}
