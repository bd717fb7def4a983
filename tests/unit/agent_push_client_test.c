// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files that say who the agent is when it pushes metrics.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/push_client.h"
#include "folder.h"

static void headers_and_certificates(void **unused)
{
	struct push_client client;
	char text[512];

	(void)unused;
	folder_put("ca.pem", "-----BEGIN CERTIFICATE-----\n");
	folder_put("key.pem", "-----BEGIN PRIVATE KEY-----\n");
	snprintf(text, sizeof(text),
		 "# mine\n\n header = Authorization: Bearer a=b \nheader=X-Scope-OrgID:\tteam\r\n"
		 "ca-file = %s/ca.pem\ncert-file = %s/ca.pem\nkey-file = %s/key.pem",
		 folder, folder, folder);
	folder_put("client", text);
	assert_int_equal(push_client_read(&client, "client"), 0);
	assert_int_equal(client.headers_count, 2);
	assert_string_equal(client.headers[0], "Authorization: Bearer a=b");
	assert_string_equal(client.headers[1], "X-Scope-OrgID:\tteam");
	assert_string_equal(client.authority, "-----BEGIN CERTIFICATE-----\n");
	assert_string_equal(client.key, "-----BEGIN PRIVATE KEY-----\n");
	push_client_fini(&client);
	assert_int_equal(client.headers_count, 0);
	assert_null(client.key);
	push_client_fini(&client);
}

static void what_is_refused(void **unused)
{
	static const char *const wrong[] = {
		"nonsense",
		"x = y",
		"header = no colon",
		"header = : x",
		"header = A:",
		"header = A B: x",
		"header = A: x\x01y",
		"header = Content-Length: 5",
		"header = transfer-encoding: chunked",
		"header = Host: other",
		"ca-file = relative.pem",
		"ca-file = /nowhere/ca.pem",
		"ca-file = /dev/null",
	};
	struct push_client client;
	char text[512] = "";
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		folder_put("client", wrong[i]);
		assert_int_not_equal(push_client_read(&client, "client"), 0);
		push_client_fini(&client);
	}
	for (i = 0; i < 17; i++)
		strcat(text, "header = A: b\n");
	folder_put("client", text);
	assert_int_equal(push_client_read(&client, "client"), -EINVAL);
	push_client_fini(&client);
	/* A certificate is of no use without its key. */
	folder_put("ca.pem", "-----BEGIN CERTIFICATE-----\n");
	snprintf(text, sizeof(text), "cert-file = %s/ca.pem\n", folder);
	folder_put("client", text);
	assert_int_equal(push_client_read(&client, "client"), -EINVAL);
	push_client_fini(&client);
	snprintf(text, sizeof(text), "ca-file = %s/ca.pem\n", folder);
	folder_put("client", text);
	assert_int_equal(push_client_read(&client, "client"), 0);
	push_client_fini(&client);
	chmod("ca.pem", 0666);
	assert_int_equal(push_client_read(&client, "client"), -EPERM);
	push_client_fini(&client);
	assert_int_equal(push_client_read(&client, "absent"), -ENOENT);
	push_client_fini(&client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(headers_and_certificates),
		folder_test(what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
