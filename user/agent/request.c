// SPDX-License-Identifier: BSD-2-Clause
#include "agent/request.h"

#include <string.h>
#include <strings.h>

#include "base/string.h"
#include "render/history.h"

#define PROCESSES "/api/v1/processes/"
#define ACCEPT_MOST 4096 /* of a header, so much is looked at */

static const struct {
	const char *path, *type;
} documents[REQUEST_DOCUMENTS] = {
	[REQUEST_METRICS] = { "/metrics", "text/plain; version=0.0.4; charset=utf-8" },
	[REQUEST_WHO] = { "/api/v1/who", "application/json" },
	[REQUEST_PROCESS] = { NULL, "application/json" },
	[REQUEST_PPROF] = { "/debug/pprof/gpu_heap", "application/octet-stream" },
	[REQUEST_HISTORY] = { "/api/v1/history", "application/json" },
	[REQUEST_OTLP] = { NULL, "application/x-protobuf" },
	[REQUEST_REMOTE_WRITE] = { NULL, "application/x-protobuf" },
	[REQUEST_PAGE] = { "/", "text/html; charset=utf-8" },
	[REQUEST_STYLE] = { "/page.css", "text/css; charset=utf-8" },
	[REQUEST_SCRIPT] = { "/page.js", "text/javascript; charset=utf-8" },
	[REQUEST_HEALTH] = { "/health", "text/plain; charset=utf-8" },
	[REQUEST_READY] = { "/ready", "text/plain; charset=utf-8" },
};

/* ---- which document -------------------------------------------------------------------------- */

static bool is_process(struct request *request, const char *path)
{
	uint64_t pid;

	if (strncmp(path, PROCESSES, sizeof(PROCESSES) - 1) != 0 ||
	    string_parse_u64(path + sizeof(PROCESSES) - 1, 1, INT32_MAX, &pid))
		return false;
	request->document = REQUEST_PROCESS;
	request->pid = (uint32_t)pid;
	return true;
}

static bool find(struct request *request, const char *path)
{
	uint32_t i;

	for (i = 0; i < REQUEST_DOCUMENTS; i++) {
		if (!documents[i].path || strcmp(path, documents[i].path) != 0)
			continue;
		request->document = i;
		return true;
	}
	return is_process(request, path);
}

unsigned int request_parse(struct request *request, const char *method, const char *path,
			   const char *accept)
{
	*request = (struct request){ .uid = REQUEST_EVERYBODY };
	if (!find(request, path))
		return 404;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return 405;
	if (request->document == REQUEST_METRICS && accept && request_accepts_openmetrics(accept))
		request->form = REQUEST_OPENMETRICS;
	return 200;
}

static unsigned int take_by(struct request *request, const char *value)
{
	uint32_t by;

	for (by = 0; history_by_name(by); by++)
		if (!strcmp(value, history_by_name(by))) {
			request->by = by;
			return 200;
		}
	return 400;
}

/* Metrics and profiles are fetched by programs that add arguments of their own. */
static bool takes_any(const struct request *request)
{
	return request->document != REQUEST_HISTORY && request->document != REQUEST_WHO &&
	       request->document != REQUEST_PROCESS;
}

unsigned int request_take(struct request *request, const char *name, const char *value)
{
	struct report_time *time = !strcmp(name, "from") ? &request->from :
				   !strcmp(name, "to")   ? &request->to :
							   NULL;

	if (takes_any(request))
		return 200;
	if (request->document != REQUEST_HISTORY)
		return 400;
	if (!strcmp(name, "by"))
		return take_by(request, value);
	return !time || report_time_parse(time, value) ? 400 : 200;
}

static bool is_same_time(const struct report_time *a, const struct report_time *b)
{
	return a->kind == b->kind && a->ns == b->ns;
}

bool request_is_same(const struct request *a, const struct request *b)
{
	return a->document == b->document && a->form == b->form && a->pid == b->pid &&
	       a->uid == b->uid && a->by == b->by && is_same_time(&a->from, &b->from) &&
	       is_same_time(&a->to, &b->to);
}

bool request_is_of_ledger(const struct request *request)
{
	return request->document < REQUEST_PAGE;
}

bool request_is_of_sums(const struct request *request)
{
	return request->document != REQUEST_PROCESS && request->document != REQUEST_PPROF;
}

const char *request_content_type(const struct request *request)
{
	if (request->form == REQUEST_OPENMETRICS)
		return "application/openmetrics-text; version=1.0.0; charset=utf-8";
	return documents[request->document].type;
}

/* ---- in which form --------------------------------------------------------------------------- */

/* "0.75" -> 750, as far as it is one; else 1000. */
static unsigned int quality_of(const char *text, size_t length)
{
	unsigned int quality = 0, digit = 100;
	size_t i;

	if (!length || (text[0] != '0' && text[0] != '1'))
		return 1000;
	quality = text[0] == '1' ? 1000 : 0;
	for (i = 2; i < length && text[1] == '.' && digit; i++, digit /= 10)
		if (text[i] >= '0' && text[i] <= '9')
			quality += (unsigned int)(text[i] - '0') * digit;
	return quality > 1000 ? 1000 : quality;
}

/* The part behind the next ';', without spaces around it; false: there is none. */
static bool next_parameter(const char **at, const char *end, const char **part, size_t *length)
{
	const char *from = memchr(*at, ';', (size_t)(end - *at)), *to;

	if (!from)
		return false;
	from++;
	to = memchr(from, ';', (size_t)(end - from));
	*at = to = to ? to : end;
	while (from < to && (*from == ' ' || *from == '\t'))
		from++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	*part = from;
	*length = (size_t)(to - from);
	return true;
}

static bool is_text(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && !strncasecmp(text, word, length);
}

/* What one media range says of OpenMetrics 1.0, or of text: its quality; 0: it is another one. */
static void take_range(const char *range, const char *end, unsigned int *open, unsigned int *text)
{
	const char *type_end = memchr(range, ';', (size_t)(end - range)), *at = range, *part;
	size_t length, type_length;
	unsigned int quality = 1000;
	bool other_version = false;

	type_end = type_end ? type_end : end;
	while (range < type_end && (*range == ' ' || *range == '\t'))
		range++;
	while (type_end > range && (type_end[-1] == ' ' || type_end[-1] == '\t'))
		type_end--;
	type_length = (size_t)(type_end - range);
	while (next_parameter(&at, end, &part, &length)) {
		if (length > 2 && !strncasecmp(part, "q=", 2))
			quality = quality_of(part + 2, length - 2);
		else if (length > 8 && !strncasecmp(part, "version=", 8))
			other_version = !is_text(part + 8, length - 8, "1.0.0");
	}
	if (is_text(range, type_length, "application/openmetrics-text") && !other_version) {
		*open = quality > *open ? quality : *open;
	} else if (is_text(range, type_length, "text/plain") ||
		   is_text(range, type_length, "text/*") || is_text(range, type_length, "*/*")) {
		*text = quality > *text ? quality : *text;
	}
}

bool request_accepts_openmetrics(const char *accept)
{
	const char *const end = accept + strnlen(accept, ACCEPT_MOST);
	unsigned int open = 0, text = 0;

	while (accept < end) {
		const char *comma = memchr(accept, ',', (size_t)(end - accept));

		comma = comma ? comma : end;
		take_range(accept, comma, &open, &text);
		accept = comma < end ? comma + 1 : end;
	}
	return open && open >= text;
}
