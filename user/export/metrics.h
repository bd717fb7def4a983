/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Series of metrics, and the text formats of Prometheus and OpenMetrics. The export of recordings
 * and the agent's endpoint share them.
 */
#ifndef MEMSCOPE_EXPORT_METRICS_H
#define MEMSCOPE_EXPORT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/writer.h"

struct metrics_family {
	const char *name; /* without the _total that counters get when they are written */
	const char *type; /* "counter", "gauge" or "histogram" */
	const char *unit; /* as at the end of the name; "" */
	const char *help; /* without a full stop */
	/* Of a histogram: the highest value in each bucket but the last. */
	const uint64_t *bounds;
	size_t bounds_count;
};

enum metrics_form {
	METRICS_OPENMETRICS, /* 1.0 */
	METRICS_PROMETHEUS,  /* text format 0.0.4 */
};

struct metrics;

/*
 * Makes an empty set of series of `count` families, which outlive it. With `most`, there are at
 * most so many series, and one more for each family, which collects the values of all further ones.
 * A histogram counts as many series as it has lines; histograms take at most half of them, so that
 * they leave room for the rest. Returns NULL without memory.
 */
struct metrics *metrics_new(const struct metrics_family *families, size_t count, size_t most);
void metrics_free(struct metrics *metrics);

/*
 * Adds a label to the next series; an empty or NULL text adds none. After metrics_keep(), all
 * series have the labels so far, until the next metrics_begin().
 */
void metrics_begin(struct metrics *metrics);
void metrics_label(struct metrics *metrics, const char *name, const char *text);
void metrics_label_number(struct metrics *metrics, const char *name, uint64_t number);
void metrics_keep(struct metrics *metrics);

/*
 * Sets the source of the gauges that follow, and the time of their values, in nanoseconds since
 * 1970 (0: none). A gauge's values from an older or another source no longer count.
 */
void metrics_of(struct metrics *metrics, const void *source, uint64_t ts_ns);

/*
 * Add the value to the series whose labels metrics_label() has set, or raise the series to it. The
 * values of families in seconds are nanoseconds, and those of ratios are billionths. This also
 * holds for gauges, within one source.
 */
void metrics_add(struct metrics *metrics, size_t family, uint64_t value);
void metrics_highest(struct metrics *metrics, size_t family, uint64_t value);

/*
 * Adds a histogram to the series, as above: the number of values in each bucket alone, with that of
 * those beyond the last bound at the end, and the sum of all values.
 */
void metrics_add_histogram(struct metrics *metrics, size_t family, const uint64_t *counts,
			   uint64_t sum);

/* How many values found no room for a series of their own. */
uint64_t metrics_limited(const struct metrics *metrics);

size_t metrics_series(const struct metrics *metrics);

/* ---- for other formats ----------------------------------------------------------------------- */

size_t metrics_families(const struct metrics *metrics);
const struct metrics_family *metrics_family(const struct metrics *metrics, size_t family);

struct metrics_point {
	const char *labels;     /* for metrics_next_label(); equal ones are the same pointer */
	uint64_t value;         /* in the family's unit, as above */
	const uint64_t *counts; /* of a histogram, whose sum is the value; else NULL */
};

/* How many series a family has, and one of them. */
size_t metrics_points(const struct metrics *metrics, size_t family);
struct metrics_point metrics_point(const struct metrics *metrics, size_t family, size_t i);

/* The value of the series with these labels. Returns false if the family has none. */
bool metrics_value(const struct metrics *metrics, size_t family, const char *labels,
		   uint64_t *value);

/* Appends a value of the family as the text formats have it. */
void metrics_put_value(struct string *out, const struct metrics_family *family, uint64_t value);

/* Takes a label off the beginning, unescaped. Returns false if there is no more. */
bool metrics_next_label(const char **labels, struct string *name, struct string *text);

/* ---------------------------------------------------------------------------------------------- */

/* Notes that something is missing in the series, because there was no memory for it. */
void metrics_lack(struct metrics *metrics);

/* -ENOMEM if something is missing, else 0. */
int metrics_error(const struct metrics *metrics);

/*
 * Writes all families that have series, without the final line of OpenMetrics. Returns 0 or -errno.
 */
int metrics_write(const struct metrics *metrics, struct writer *writer, enum metrics_form form);

/* Writes the final line, if the format has one. */
int metrics_write_end(struct writer *writer, enum metrics_form form);

#endif /* MEMSCOPE_EXPORT_METRICS_H */
