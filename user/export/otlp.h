/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Series of metrics as a request of OTLP 1.x (opentelemetry-proto, ExportMetricsServiceRequest):
 * the same values as in the text formats, with the names that OpenTelemetry's conventions have for
 * them; and what a collector says to it.
 */
#ifndef MEMSCOPE_EXPORT_OTLP_H
#define MEMSCOPE_EXPORT_OTLP_H

#include "export/metrics.h"

/* Whose metrics they are; times in nanoseconds since 1970. */
struct otlp_origin {
	const char *host, *version;
	uint64_t start_ns; /* since when counters count */
	uint64_t ts_ns;    /* of the values */
};

struct otlp {
	struct string *out;
	const struct otlp_origin *origin;
	size_t resource, scope;   /* messages that have begun */
	struct string name, text; /* of a label */
};

/*
 * A request: its beginning, the metrics of one or more sets, whose families are different, and its
 * end. What there was no memory for is missing, and `out` says so.
 */
void otlp_begin(struct otlp *otlp, struct string *out, const struct otlp_origin *origin);
void otlp_put(struct otlp *otlp, const struct metrics *metrics);
void otlp_end(struct otlp *otlp);

#define OTLP_MESSAGE_BYTES 200

/* What a collector answered that has taken a request. */
struct otlp_response {
	uint64_t rejected;                /* data points that it has not taken */
	char message[OTLP_MESSAGE_BYTES]; /* why; only printable characters */
};

/* Reads it from any bytes; what cannot be understood says nothing. */
void otlp_read_response(struct otlp_response *response, const void *bytes, size_t length);

#endif /* MEMSCOPE_EXPORT_OTLP_H */
