// SPDX-License-Identifier: BSD-2-Clause
/*
 * Web configurations: the YAML that is understood, what is refused, and passwords.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/web_auth.h"
#include "agent/web_config.h"
#include "agent/web_tls.h"
#include "agent/web_yaml.h"
#include "folder.h"

/* ---- YAML ------------------------------------------------------------------------------------ */

static const char *note(void *context, const struct web_yaml_value *value)
{
	char *out = context;

	sprintf(out + strlen(out), "%u %s/%s/%s=%s;", value->line, value->names[0], value->names[1],
		value->names[2], value->text ? value->text : "-");
	return !strcmp(value->names[0], "bad") ? "bad" : NULL;
}

static void lines_are_names_and_values(void **unused)
{
	char text[] = "---\n# remark\na:\n  b: x y  # remark\n  \"c d\" : 'it''s'\n"
		      "  e:\n    f: \"q\\\"\\\\\"\n  g: a#b:c\r\n\nh: i",
	     out[512] = "";
	unsigned int line;

	(void)unused;
	assert_null(web_yaml_read(text, note, out, &line));
	assert_string_equal(out, "3 a//=-;4 a/b/=x y;5 a/c d/=it's;6 a/e/=-;7 a/e/f=q\"\\;"
				 "8 a/g/=a#b:c;10 h//=i;");
}

static void other_yaml_is_refused(void **unused)
{
	static const struct {
		const char *text;
		unsigned int line;
	} wrong[] = {
		{ "a: [x]", 1 },
		{ "a: {b: c}", 1 },
		{ "a:\n  - b", 2 },
		{ "a: |\n  b", 1 },
		{ "a: &x b", 1 },
		{ "a: b\n  c: d", 2 },
		{ "  a: b", 1 },
		{ "a", 1 },
		{ "a: 'b", 1 },
		{ "a: \"\\n\"", 1 },
		{ "a: 'b' c", 1 },
		{ "a:\n  b: c\n d: e", 3 },
		{ "\ta: b", 1 },
		{ "a:\n\tb: c", 2 },
		{ ": b", 1 },
		{ "a:\n b:\n  c:\n   d: e", 4 },
		{ "x: y\nbad: z\na: [", 2 },
		{ "a:b", 1 },
	};
	char text[64], out[512];
	unsigned int line;
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(text, sizeof(text), "%s", wrong[i].text);
		*out = '\0';
		if (!web_yaml_read(text, note, out, &line))
			fail_msg("%s: %s", wrong[i].text, out);
		assert_int_equal(line, wrong[i].line);
	}
}

static void any_bytes_are_read(void **unused)
{
	static const char some[] = "ab: '\"\\\n#\t-{[\r";
	char text[64], out[2048];
	unsigned int line;
	uint32_t i, j, random = 1;

	(void)unused;
	for (i = 0; i < 200000; i++) {
		for (j = 0; j < i % 48; j++) {
			random = random * 1103515245 + 12345;
			text[j] = some[(random >> 16) % (sizeof(some) - 1)];
		}
		text[j] = '\0';
		*out = '\0';
		web_yaml_read(text, note, out, &line);
	}
}

/* ---- the configuration ----------------------------------------------------------------------- */

#define HASH "$2b$04$abcdefghijklmnopqrstuuqAbMP4ohoWlEMsfMGP0t0S/3Lq1sY2W"
#define PAIR "  cert_file: c.pem\n  key_file: k.pem\n"

static int read_text(struct web_config *config, const char *text)
{
	folder_put("web.yml", text);
	return web_config_read(config, "./web.yml");
}

static void all_that_can_be_set(void **unused)
{
	char priorities[WEB_TLS_PRIORITIES_BYTES];
	struct web_config config;

	(void)unused;
	folder_put("c.pem", "-----BEGIN CERTIFICATE-----\n");
	folder_put("k.pem", "-----BEGIN PRIVATE KEY-----\n");
	assert_int_equal(read_text(&config,
				   "tls_server_config:\n" PAIR
				   "  client_auth_type: \"RequireAndVerifyClientCert\"\n"
				   "  client_ca_file: c.pem\n  min_version: TLS13\n"
				   "  prefer_server_cipher_suites: false\n"
				   "http_server_config:\n  http2: true\n  headers:\n"
				   "    Strict-Transport-Security: max-age=1\n"
				   "basic_auth_users:\n  bob: " HASH "\n  \"eve x\": " HASH "\n"),
			 0);
	assert_int_equal(config.client, WEB_CLIENT_VERIFY);
	assert_int_equal(config.least, WEB_TLS_1_3);
	assert_int_equal(config.users_count, 2);
	assert_string_equal(config.users[1].name, "eve x");
	assert_string_equal(config.users[1].value, HASH);
	assert_string_equal(config.headers[0].value, "max-age=1");
	assert_string_equal(config.key, "-----BEGIN PRIVATE KEY-----\n");
	assert_string_equal(web_tls_priorities(priorities, &config),
			    "NORMAL:-VERS-ALL:+VERS-TLS1.3");
	web_config_fini(&config);
	assert_int_equal(read_text(&config, ""), 0);
	assert_null(config.certificate);
	assert_string_equal(web_tls_priorities(priorities, &config),
			    "NORMAL:-VERS-ALL:%SERVER_PRECEDENCE:+VERS-TLS1.2:+VERS-TLS1.3");
	web_config_fini(&config);
}

static void what_is_refused(void **unused)
{
	static const char *const wrong[] = {
		"tls_server_config:\n  cert_file: c.pem\n",
		"tls_server_config:\n  cert_file: nowhere.pem\n  key_file: k.pem\n",
		"tls_server_config:\n  cert_file: web.yml\n  key_file: k.pem\n",
		"tls_server_config:\n" PAIR "  client_auth_type: RequireAndVerifyClientCert\n",
		"tls_server_config:\n" PAIR "  client_auth_type: Sometimes\n",
		"tls_server_config:\n" PAIR "  client_ca_file: c.pem\n",
		"tls_server_config:\n" PAIR "  min_version: TLS13\n  max_version: TLS12\n",
		"tls_server_config:\n" PAIR "  min_version: SSL30\n",
		"tls_server_config:\n" PAIR "  cipher_suites: x\n",
		"tls_server_config: x\n",
		"tls_server_config:\n  cert_file:\n    x: y\n",
		"http_server_config:\n  http2: maybe\n",
		"http_server_config:\n  headers:\n    Content-Type: x\n",
		"http_server_config:\n  headers: x\n",
		"http_server_config:\n  x: y\n",
		"basic_auth_users:\n  bob: secret\n",
		"basic_auth_users:\n  bob:\n",
		"basic_auth_users:\n  'b:b': " HASH "\n",
		"basic_auth_users:\n  bob: " HASH "\n  bob: " HASH "\n",
		"basic_auth_users:\n  bob: $2b$14$abcdefghijklmnopqrstuuqAbMP4ohoWlEMsfMGP0t0S/3Lq1sY2W\n",
		"basic_auth_users:\n  bob: $2x$04$abcdefghijklmnopqrstuuqAbMP4ohoWlEMsfMGP0t0S/3Lq1sY2W\n",
		"rate_limit:\n  x: y\n",
	};
	struct web_config config;
	size_t i;

	(void)unused;
	folder_put("c.pem", "-----BEGIN CERTIFICATE-----\n");
	folder_put("k.pem", "-----BEGIN PRIVATE KEY-----\n");
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (!read_text(&config, wrong[i]))
			fail_msg("taken: %s", wrong[i]);
		web_config_fini(&config);
	}
}

/* ---- passwords ------------------------------------------------------------------------------- */

/* The hash of "bob:secret" and so on, as if by bcrypt. */
static unsigned int hashed;

static char *hash(const char *phrase, const char *setting, struct crypt_data *data)
{
	static char out[64];

	(void)data;
	hashed++;
	snprintf(out, sizeof(out), "%.3s%s", setting, phrase);
	return out;
}

#define PEER 7
#define SECOND_NS UINT64_C(1000000000)

static void passwords_are_compared(void **unused)
{
	struct web_config config = { .users = { { "bob", "$2bsecret" }, { "eve", "$2ba:b" } },
				     .users_count = 2 };
	struct web_auth auth = { .config = &config, .crypt = hash };
	const uint64_t now = 100 * SECOND_NS;

	(void)unused;
	assert_int_equal(web_auth_check(&auth, PEER, NULL, now), WEB_AUTH_WRONG);
	assert_int_equal(web_auth_check(&auth, PEER, "Bearer Ym9iOnNlY3JldA==", now),
			 WEB_AUTH_WRONG);
	assert_int_equal(web_auth_check(&auth, PEER, "Basic Ym9iOnNlY3J*", now), WEB_AUTH_WRONG);
	assert_int_equal(web_auth_check(&auth, PEER, "Basic Ym9i", now), WEB_AUTH_WRONG); /* bob */
	assert_int_equal(web_auth_check(&auth, PEER, "Basic ", now), WEB_AUTH_WRONG);
	assert_int_equal(hashed, 0);
	assert_int_equal(web_auth_check(&auth, PEER, "Basic Ym9iOnNlY3JldA==", now),
			 WEB_AUTH_RIGHT);
	assert_int_equal(web_auth_check(&auth, PEER, "bAsIc  Ym9iOnNlY3JldA== ", now),
			 WEB_AUTH_RIGHT);
	assert_int_equal(hashed, 1); /* it is remembered */
	/* eve:a:b has a colon in its password; eve:secret is bob's. */
	assert_int_equal(web_auth_check(&auth, PEER, "Basic ZXZlOmE6Yg==", now), WEB_AUTH_RIGHT);
	assert_int_equal(web_auth_check(&auth, PEER, "Basic ZXZlOnNlY3JldA==", now),
			 WEB_AUTH_WRONG);
	/* nobody:secret is no one's, and takes as long. */
	hashed = 0;
	assert_int_equal(web_auth_check(&auth, PEER, "Basic bm9ib2R5OnNlY3JldA==", now),
			 WEB_AUTH_WRONG);
	assert_int_equal(hashed, 1);
	config.users_count = 0;
	assert_int_equal(web_auth_check(&auth, PEER, NULL, now), WEB_AUTH_RIGHT);
}

/* A peer may try three wrong ones, and then one in four seconds; all six, and then one a second. */
static void many_wrong_ones_have_to_wait(void **unused)
{
	struct web_config config = { .users = { { "bob", "$2bsecret" }, { "eve", "$2ba:b" } },
				     .users_count = 2 };
	struct web_auth auth = { .config = &config, .crypt = hash };
	uint64_t now = 100 * SECOND_NS;
	unsigned int i;

	(void)unused;
	for (i = 0; web_auth_check(&auth, 1, "Basic eDp5", now) == WEB_AUTH_WRONG; i++)
		assert_true(i < 3);
	assert_int_equal(i, 3);
	assert_int_equal(web_auth_check(&auth, 1, "Basic eDp5", now), WEB_AUTH_LATER);
	assert_int_equal(web_auth_check(&auth, 1, "Basic eDp5", now + 3 * SECOND_NS),
			 WEB_AUTH_LATER);
	/* Another peer is heard, and is known from then on. */
	assert_int_equal(web_auth_check(&auth, 2, "Basic Ym9iOnNlY3JldA==", now), WEB_AUTH_RIGHT);
	assert_int_equal(web_auth_check(&auth, 1, "Basic Ym9iOnNlY3JldA==", now), WEB_AUTH_RIGHT);
	/* While one tries as often as it may, there is always room for others. */
	for (i = 0; i < 100; i++, now += SECOND_NS) {
		web_auth_check(&auth, 1, "Basic eDp5", now);
		if (i % 4 == 3)
			assert_int_equal(web_auth_check(&auth, 2, "Basic eDp5", now),
					 WEB_AUTH_WRONG);
	}
	/* Many peers together have six, and then one in a second. */
	now += 100 * SECOND_NS;
	for (i = 0; web_auth_check(&auth, 100 + i, "Basic eDp5", now) == WEB_AUTH_WRONG; i++)
		assert_true(i < 6);
	assert_int_equal(i, 6);
	assert_int_equal(web_auth_check(&auth, 50, "Basic eDp5", now + SECOND_NS), WEB_AUTH_WRONG);
	assert_int_equal(web_auth_check(&auth, 51, "Basic eDp5", now + SECOND_NS), WEB_AUTH_LATER);
	/* Further peers do not make one forgotten that has used up what it has. */
	now += 100 * SECOND_NS;
	for (i = 0; i < 3; i++)
		web_auth_check(&auth, 1, "Basic eDp5", now);
	for (i = 0; i < 100; i++)
		web_auth_check(&auth, 200 + i, "Basic eDp5", now);
	assert_int_equal(web_auth_check(&auth, 1, "Basic eDp5", now + 3 * SECOND_NS),
			 WEB_AUTH_LATER);
	assert_int_equal(web_auth_check(&auth, 1, "Basic eDp5", now + 4 * SECOND_NS),
			 WEB_AUTH_WRONG);
}

/* However many users there are, each is compared once, even if all come from one address. */
static void each_user_is_remembered(void **unused)
{
	static char names[WEB_CONFIG_USERS][2];
	struct web_config config = { .users_count = WEB_CONFIG_USERS };
	static struct web_auth auth;
	char header[] = "Basic ??p4";
	unsigned int i, round;

	(void)unused;
	auth = (struct web_auth){ .config = &config, .crypt = hash };
	hashed = 0;
	for (i = 0; i < WEB_CONFIG_USERS; i++) {
		names[i][0] = (char)(0x40 + i);
		config.users[i] = (struct web_config_pair){ names[i], "$2bx" };
	}
	for (round = 0; round < 2; round++)
		for (i = 0; i < WEB_CONFIG_USERS; i++) {
			/* "C:x", where C is 0x40 + i, in base64 */
			static const char digits[] =
				"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
			const unsigned int bits = (0x40 + i) << 16 | ':' << 8 | 'x';

			snprintf(header, sizeof(header), "Basic %c%c%c%c", digits[bits >> 18],
				 digits[bits >> 12 & 63], digits[bits >> 6 & 63],
				 digits[bits & 63]);
			assert_int_equal(web_auth_check(&auth, PEER, header, SECOND_NS),
					 WEB_AUTH_RIGHT);
		}
	assert_int_equal(hashed, WEB_CONFIG_USERS);
}

static uint64_t peer_of(const char *text)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		return web_auth_peer((struct sockaddr *)&four);
	assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
	return web_auth_peer((struct sockaddr *)&six);
}

static void peers_are_addresses_or_networks(void **unused)
{
	(void)unused;
	assert_int_equal(web_auth_peer(NULL), 0);
	assert_int_not_equal(peer_of("10.0.0.1"), peer_of("10.0.0.2"));
	assert_int_equal(peer_of("10.0.0.1"), peer_of("::ffff:10.0.0.1"));
	assert_int_equal(peer_of("2001:db8::1"), peer_of("2001:db8::2"));
	assert_int_not_equal(peer_of("2001:db8::1"), peer_of("2001:db8:0:1::1"));
	assert_int_not_equal(peer_of("::1"), peer_of("127.0.0.1"));
}

static void long_headers_are_none(void **unused)
{
	struct web_config config = { .users = { { "a", "b" } }, .users_count = 1 };
	struct web_auth auth = { .config = &config, .crypt = hash };
	char header[1500] = "Basic ";

	(void)unused;
	/* "a:aaa...": 511 bytes are the most. */
	memset(header + 6, 0, sizeof(header) - 6);
	strcpy(header + 6, "YTph");
	while (strlen(header) < 6 + 680)
		strcat(header, "YWFh");
	hashed = 0;
	assert_int_equal(web_auth_check(&auth, PEER, header, 1), WEB_AUTH_WRONG);
	assert_int_equal(hashed, 1);
	strcat(header, "YWFh");
	assert_int_equal(web_auth_check(&auth, PEER, header, 1), WEB_AUTH_WRONG);
	assert_int_equal(hashed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_names_and_values),
		cmocka_unit_test(other_yaml_is_refused),
		cmocka_unit_test(any_bytes_are_read),
		folder_test(all_that_can_be_set),
		folder_test(what_is_refused),
		cmocka_unit_test(passwords_are_compared),
		cmocka_unit_test(many_wrong_ones_have_to_wait),
		cmocka_unit_test(each_user_is_remembered),
		cmocka_unit_test(peers_are_addresses_or_networks),
		cmocka_unit_test(long_headers_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
