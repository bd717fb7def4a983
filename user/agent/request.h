/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a client of the agent asks for: which document, in which form. Pure.
 */
#ifndef MEMSCOPE_AGENT_REQUEST_H
#define MEMSCOPE_AGENT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/report_time.h"

/* The documents before REQUEST_PAGE are made from the ledger or the history. */
enum request_document {
	REQUEST_METRICS,
	REQUEST_WHO,
	REQUEST_PROCESS,
	REQUEST_PPROF,
	REQUEST_HISTORY,
	REQUEST_OTLP, /* no client can ask for it, nor for the next one */
	REQUEST_REMOTE_WRITE,
	REQUEST_PAGE,
	REQUEST_STYLE,
	REQUEST_SCRIPT,
	REQUEST_HEALTH,
	REQUEST_READY,
	REQUEST_DOCUMENTS,
};

enum request_form {
	REQUEST_PLAIN,       /* the document's only form */
	REQUEST_OPENMETRICS, /* instead of Prometheus' text format */
};

/* What a client is told that asks for something else. */
#define REQUEST_PATHS \
	"there is no such path, process or history; there are /, /metrics, /api/v1/who, /api/v1/processes/PID," \
	" /api/v1/history, /debug/pprof/gpu_heap, /health and /ready\n"

#define REQUEST_ARGUMENTS \
	"/api/v1/history takes from and to, like -1h, yesterday or 2026-11-21T15:04, and by, which is" \
	" process, pod, container, user, job or device; from is earlier than to. The other documents of" \
	" /api/v1 take no arguments\n"

#define REQUEST_EVERYBODY UINT32_MAX

struct request {
	uint32_t document; /* enum request_document */
	uint32_t form;     /* enum request_form */
	uint32_t pid;      /* of REQUEST_PROCESS; else 0 */
	uint32_t uid;      /* whose processes may be seen; REQUEST_EVERYBODY: all */
	/* Of REQUEST_HISTORY; else 0: */
	uint32_t by; /* enum history_by */
	struct report_time from, to;
};

/*
 * Finds the document; `accept` is the header's value or NULL. The caller sets `uid`. Returns an
 * HTTP status: 200, 404, or 405: something else than GET or HEAD.
 */
unsigned int request_parse(struct request *request, const char *method, const char *path,
			   const char *accept);

/*
 * Takes what stands behind the "?" of a path. Returns an HTTP status: 200, or 400 if it cannot be
 * understood, or if a document of /api/v1 has no such argument.
 */
unsigned int request_take(struct request *request, const char *name, const char *value);

/* Whether both have the same answer. */
bool request_is_same(const struct request *a, const struct request *b);

bool request_is_of_ledger(const struct request *request);

/* Whether sums are enough to answer it: no single allocation is looked at. */
bool request_is_of_sums(const struct request *request);

const char *request_content_type(const struct request *request);

/*
 * Whether OpenMetrics 1.0 is wanted at least as much as plain text (RFC 9110, 12.5.1; what has no
 * quality has 1).
 */
bool request_accepts_openmetrics(const char *accept);

#endif /* MEMSCOPE_AGENT_REQUEST_H */
