// SPDX-License-Identifier: BSD-2-Clause
/*
 * What clients of the agent ask for: paths, methods, and in which form they want it.
 */
#include "unit.h"

#include <string.h>

#include "agent/request.h"

static unsigned int parse(struct request *request, const char *path)
{
	return request_parse(request, "GET", path, NULL);
}

static void paths_are_documents(void **unused)
{
	struct request request;

	(void)unused;
	assert_int_equal(parse(&request, "/metrics"), 200);
	assert_int_equal(request.document, REQUEST_METRICS);
	assert_int_equal(request.form, REQUEST_PLAIN);
	assert_int_equal(parse(&request, "/api/v1/who"), 200);
	assert_int_equal(request.document, REQUEST_WHO);
	assert_int_equal(parse(&request, "/api/v1/processes/4711"), 200);
	assert_int_equal(request.document, REQUEST_PROCESS);
	assert_int_equal(request.pid, 4711);
	assert_int_equal(parse(&request, "/"), 200);
	assert_int_equal(request.document, REQUEST_PAGE);
	assert_int_equal(parse(&request, "/page.js"), 200);
	assert_false(request_is_of_ledger(&request));
}

static void other_paths_are_not_found(void **unused)
{
	static const char *const paths[] = {
		"",
		"//",
		"/metrics/",
		"/Metrics",
		"/metrics\n",
		"/api/v1/processes/",
		"/api/v1/processes/0",
		"/api/v1/processes/-1",
		"/api/v1/processes/1x",
		"/api/v1/processes/99999999999999999999",
		"/../etc/passwd",
	};
	struct request request;
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		assert_int_equal(parse(&request, paths[i]), 404);
}

static void only_reading_is_allowed(void **unused)
{
	struct request request;

	(void)unused;
	assert_int_equal(request_parse(&request, "HEAD", "/health", NULL), 200);
	assert_int_equal(request_parse(&request, "POST", "/health", NULL), 405);
	assert_int_equal(request_parse(&request, "get", "/health", NULL), 405);
	assert_int_equal(request_parse(&request, "POST", "/none", NULL), 404);
}

static void form_is_negotiated(void **unused)
{
	static const struct {
		const char *accept;
		bool open;
	} cases[] = {
		{ "*/*", false },
		{ "text/plain", false },
		{ "application/openmetrics-text", true },
		{ "application/openmetrics-text; version=1.0.0", true },
		{ "application/openmetrics-text; version=2.0.0", false },
		/* Prometheus 2.42 */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		  "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  true },
		/* Prometheus 2.55 */
		{ "application/openmetrics-text;version=1.0.0;q=0.5,"
		  "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;"
		  "q=0.3,*/*;q=0.2",
		  true },
		{ "application/openmetrics-text;q=0.2, text/plain;q=0.9", false },
		{ "application/openmetrics-text;q=0", false },
		{ "APPLICATION/OpenMetrics-Text;Q=0.9,text/plain;q=0.8", true },
		{ ",;,q=,;;;==,application/openmetrics-text;;q=,text", true },
		{ "application/openmetrics-texts", false },
		{ "", false },
	};
	struct request request;
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(request_parse(&request, "GET", "/metrics", cases[i].accept), 200);
		assert_int_equal(request.form == REQUEST_OPENMETRICS, cases[i].open);
	}
	assert_int_equal(
		request_parse(&request, "GET", "/api/v1/who", "application/openmetrics-text"), 200);
	assert_int_equal(request.form, REQUEST_PLAIN);
}

/* Of a header of any length, with no end but its own. */
static void long_headers_are_bounded(void **unused)
{
	static char accept[100001];

	(void)unused;
	memset(accept, ',', sizeof(accept) - 1);
	assert_false(request_accepts_openmetrics(accept));
	memset(accept, ';', sizeof(accept) - 1);
	assert_false(request_accepts_openmetrics(accept));
}

static void same_requests_share_an_answer(void **unused)
{
	struct request a, b;

	(void)unused;
	parse(&a, "/api/v1/processes/1");
	parse(&b, "/api/v1/processes/1");
	assert_true(request_is_same(&a, &b));
	b.uid = 1000;
	assert_false(request_is_same(&a, &b));
	parse(&b, "/api/v1/processes/2");
	assert_false(request_is_same(&a, &b));
}

static void arguments_are_of_the_history(void **unused)
{
	struct request a, b;

	(void)unused;
	assert_int_equal(parse(&a, "/api/v1/history"), 200);
	assert_int_equal(a.document, REQUEST_HISTORY);
	assert_true(request_is_of_ledger(&a));
	b = a;
	assert_int_equal(request_take(&b, "by", "device"), 200);
	assert_false(request_is_same(&a, &b));
	assert_int_equal(request_take(&a, "by", "device"), 200);
	assert_int_equal(request_take(&a, "from", "-1h"), 200);
	assert_false(request_is_same(&a, &b));
	assert_int_equal(request_take(&b, "from", "-60m"), 200);
	assert_true(request_is_same(&a, &b));
	assert_int_equal(request_take(&a, "to", "2026-11-21T15:04"), 200);
	assert_false(request_is_same(&a, &b));
	assert_int_equal(request_take(&a, "by", "colour"), 400);
	assert_int_equal(request_take(&a, "from", "never"), 400);
	assert_int_equal(request_take(&a, "to", ""), 400);
	/* There are no others, and an answer without them would be one to another question. */
	assert_int_equal(request_take(&a, "form", "-1h"), 400);
	assert_int_equal(request_take(&a, "", ""), 400);
	assert_int_equal(parse(&a, "/api/v1/who"), 200);
	assert_int_equal(request_take(&a, "user", "nobody"), 400);
	assert_int_equal(request_take(&a, "from", "-1h"), 400);
	assert_int_equal(parse(&a, "/api/v1/processes/1"), 200);
	assert_int_equal(request_take(&a, "by", "user"), 400);
	/* `go tool pprof` adds one. */
	assert_int_equal(parse(&a, "/debug/pprof/gpu_heap"), 200);
	assert_int_equal(request_take(&a, "seconds", "5"), 200);
	/* What collects metrics may. */
	assert_int_equal(parse(&a, "/metrics"), 200);
	assert_int_equal(parse(&b, "/metrics"), 200);
	assert_int_equal(request_take(&a, "from", "never"), 200);
	assert_true(request_is_same(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_documents),
		cmocka_unit_test(other_paths_are_not_found),
		cmocka_unit_test(only_reading_is_allowed),
		cmocka_unit_test(form_is_negotiated),
		cmocka_unit_test(long_headers_are_bounded),
		cmocka_unit_test(same_requests_share_an_answer),
		cmocka_unit_test(arguments_are_of_the_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
