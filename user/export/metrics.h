/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Series of metrics, and the texts that Prometheus and its kin read: what the export of recordings
 * and the agent's endpoint have in common.
 */
#ifndef MEMSCOPE_EXPORT_METRICS_H
#define MEMSCOPE_EXPORT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/writer.h"

struct metrics_family {
	const char *name; /* counters get their _total where they are written */
	const char *type; /* "counter" or "gauge" */
	const char *unit; /* as at the end of the name; "" */
	const char *help; /* without a full stop */
};

enum metrics_form {
	METRICS_OPENMETRICS, /* 1.0 */
	METRICS_PROMETHEUS,  /* text format 0.0.4 */
};

struct metrics;

/*
 * Of so many families, which outlive it. With `most`, there are at most so many series and, of each
 * family, one more, of all that found no room. NULL without memory.
 */
struct metrics *metrics_new(const struct metrics_family *families, size_t count, size_t most);
void metrics_free(struct metrics *metrics);

/*
 * The labels of the series that is to come. An empty or NULL text is none. metrics_keep(): those so
 * far are of all series until the next metrics_begin().
 */
void metrics_begin(struct metrics *metrics);
void metrics_label(struct metrics *metrics, const char *name, const char *text);
void metrics_label_number(struct metrics *metrics, const char *name, uint64_t number);
void metrics_keep(struct metrics *metrics);

/*
 * Of what gauges are from now on, and when that was, in nanoseconds since 1970; 0: it is not said.
 * What an older or another source said of a gauge no longer counts.
 */
void metrics_of(struct metrics *metrics, const void *source, uint64_t ts_ns);

/*
 * These end what metrics_label() began. Values of families in seconds are nanoseconds. Of gauges,
 * too, several values of one source are added up, or the highest is taken.
 */
void metrics_add(struct metrics *metrics, size_t family, uint64_t value);
void metrics_highest(struct metrics *metrics, size_t family, uint64_t value);

/* How many values went to the series of all that found no room. */
uint64_t metrics_limited(const struct metrics *metrics);

size_t metrics_series(const struct metrics *metrics);

/* There was no memory for something that belongs to the series. */
void metrics_lack(struct metrics *metrics);

/* -ENOMEM if something is missing, else 0. */
int metrics_error(const struct metrics *metrics);

/* All families that have series, without the end that OpenMetrics asks for. Returns 0 or -errno. */
int metrics_write(const struct metrics *metrics, struct writer *writer, enum metrics_form form);

/* That end. */
int metrics_write_end(struct writer *writer, enum metrics_form form);

#endif /* MEMSCOPE_EXPORT_METRICS_H */
