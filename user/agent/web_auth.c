// SPDX-License-Identifier: BSD-2-Clause
#include "agent/web_auth.h"

#include <crypt.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/log.h"

#define LIBRARY "libcrypt.so.1"
#define SECOND_NS 1000000000ull
/* Comparisons: so many at once, then one after each so many nanoseconds. */
#define OF_ALL 6
#define OF_ALL_NS SECOND_NS
#define OF_PEER 3
#define OF_PEER_NS (4 * SECOND_NS)

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

	for (i = 0; i < auth->config->users_count; i++)
		found |= is_same(auth->remembered[i], text, WEB_AUTH_TEXT_BYTES);
	return found;
}

uint64_t web_auth_peer(const struct sockaddr *address)
{
	const struct in6_addr *six;
	uint64_t network = 0;
	uint32_t four;

	if (address && address->sa_family == AF_INET) {
		four = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
		return UINT64_C(0xffff) << 32 | four;
	}
	if (!address || address->sa_family != AF_INET6)
		return 0;
	six = &((const struct sockaddr_in6 *)address)->sin6_addr;
	if (IN6_IS_ADDR_V4MAPPED(six)) {
		memcpy(&four, &six->s6_addr[12], sizeof(four));
		return UINT64_C(0xffff) << 32 | four;
	}
	memcpy(&network, six->s6_addr, sizeof(network));
	return network;
}

/* The place of its own, or of the one that has used up the least. */
static uint64_t *find_peer(struct web_auth *auth, uint64_t peer)
{
	size_t i, least = 0;

	for (i = 0; i < WEB_AUTH_PEERS; i++) {
		if (auth->peers[i].peer == peer && auth->peers[i].full_ns)
			return &auth->peers[i].full_ns;
		if (auth->peers[i].full_ns < auth->peers[least].full_ns)
			least = i;
	}
	auth->peers[least].peer = peer;
	auth->peers[least].full_ns = 0;
	return &auth->peers[least].full_ns;
}

/* When there would be as many as ever after one more, or 0: there are none. */
static uint64_t after_one(uint64_t full_ns, uint64_t now_ns, uint64_t most, uint64_t each_ns)
{
	const uint64_t after_ns = (full_ns > now_ns ? full_ns : now_ns) + each_ns;

	return after_ns - now_ns > most * each_ns ? 0 : after_ns;
}

/* Who is not known is compared, too: the time does not tell which users there are. */
static bool is_right(struct web_auth *auth, const char *name, const char *password, size_t *user)
{
	const char *hash, *right;
	bool known = false;
	size_t i;

	*user = 0;
	for (i = 0; i < auth->config->users_count; i++)
		if (!strcmp(auth->config->users[i].name, name)) {
			*user = i;
			known = true;
		}
	right = auth->config->users[*user].value;
	hash = auth->crypt(password, right, auth->data);
	return hash && strlen(hash) == strlen(right) && is_same(hash, right, strlen(hash)) && known;
}

enum web_auth_result web_auth_check(struct web_auth *auth, uint64_t peer, const char *header,
				    uint64_t now_ns)
{
	char text[WEB_AUTH_TEXT_BYTES], name[WEB_AUTH_TEXT_BYTES];
	uint64_t *of_peer, peer_ns, all_ns;
	size_t user;
	bool right, first;

	if (!auth->config->users_count)
		return WEB_AUTH_RIGHT;
	if (!read_header(text, header))
		return WEB_AUTH_WRONG;
	if (is_remembered(auth, text))
		return WEB_AUTH_RIGHT;
	of_peer = find_peer(auth, peer);
	peer_ns = after_one(*of_peer, now_ns, OF_PEER, OF_PEER_NS);
	all_ns = after_one(auth->full_ns, now_ns, OF_ALL, OF_ALL_NS);
	if (!peer_ns || !all_ns)
		return WEB_AUTH_LATER;
	memcpy(name, text, sizeof(name));
	*strchr(name, ':') = '\0';
	right = is_right(auth, name, strchr(text, ':') + 1, &user);
	first = right && !*auth->remembered[user];
	if (right)
		memcpy(auth->remembered[user], text, sizeof(text));
	/* The first right one of each user costs it nothing: all may come at once, by one proxy. */
	if (!first) {
		*of_peer = peer_ns;
		auth->full_ns = all_ns;
	}
	explicit_bzero(text, sizeof(text));
	return right ? WEB_AUTH_RIGHT : WEB_AUTH_WRONG;
}
