// SPDX-License-Identifier: BSD-2-Clause
/*
 * Web configurations: the YAML that is understood, what is refused, and passwords.
 */
#include "unit.h"

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

static void passwords_are_compared(void **unused)
{
	struct web_config config = { .users = { { "bob", "$2bsecret" }, { "eve", "$2ba:b" } },
				     .users_count = 2 };
	struct web_auth auth = { .config = &config, .crypt = hash };
	const uint64_t second = 1000000000, now = 100 * second;
	unsigned int i;

	(void)unused;
	assert_int_equal(web_auth_check(&auth, NULL, now), WEB_AUTH_WRONG);
	assert_int_equal(web_auth_check(&auth, "Bearer Ym9iOnNlY3JldA==", now), WEB_AUTH_WRONG);
	assert_int_equal(web_auth_check(&auth, "Basic Ym9iOnNlY3J*", now), WEB_AUTH_WRONG);
	assert_int_equal(web_auth_check(&auth, "Basic Ym9i", now), WEB_AUTH_WRONG); /* bob */
	assert_int_equal(web_auth_check(&auth, "Basic ", now), WEB_AUTH_WRONG);
	assert_int_equal(hashed, 0);
	assert_int_equal(web_auth_check(&auth, "Basic Ym9iOnNlY3JldA==", now), WEB_AUTH_RIGHT);
	assert_int_equal(web_auth_check(&auth, "bAsIc  Ym9iOnNlY3JldA== ", now), WEB_AUTH_RIGHT);
	assert_int_equal(hashed, 1); /* it is remembered */
	/* eve:a:b has a colon in its password; eve:secret is bob's. */
	assert_int_equal(web_auth_check(&auth, "Basic ZXZlOmE6Yg==", now), WEB_AUTH_RIGHT);
	assert_int_equal(web_auth_check(&auth, "Basic ZXZlOnNlY3JldA==", now), WEB_AUTH_WRONG);
	/* nobody:secret is no one's, and takes as long. */
	hashed = 0;
	assert_int_equal(web_auth_check(&auth, "Basic bm9ib2R5OnNlY3JldA==", now), WEB_AUTH_WRONG);
	assert_int_equal(hashed, 1);
	/* Who tries many has to wait; who is known has not. */
	for (i = 0; web_auth_check(&auth, "Basic eDp5", now) != WEB_AUTH_LATER; i++)
		assert_true(i < 8);
	assert_int_equal(i, 4);
	assert_int_equal(web_auth_check(&auth, "Basic Ym9iOnNlY3JldA==", now), WEB_AUTH_RIGHT);
	assert_int_equal(web_auth_check(&auth, "Basic eDp5", now + second / 2), WEB_AUTH_WRONG);
	assert_int_equal(web_auth_check(&auth, "Basic eDp5", now + second / 2), WEB_AUTH_LATER);
	config.users_count = 0;
	assert_int_equal(web_auth_check(&auth, NULL, now), WEB_AUTH_RIGHT);
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
	assert_int_equal(web_auth_check(&auth, header, 1), WEB_AUTH_WRONG);
	assert_int_equal(hashed, 1);
	strcat(header, "YWFh");
	assert_int_equal(web_auth_check(&auth, header, 1), WEB_AUTH_WRONG);
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
		cmocka_unit_test(long_headers_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
