// SPDX-License-Identifier: BSD-2-Clause
#include "export/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

#define OVERFLOW "series=\"(others)\""

struct series {
	const char *labels; /* as they are written; interned */
	uint64_t value, ts_ns;
	uint64_t *counts;   /* of a histogram, whose sum is the value */
	const void *source; /* the last one that it is of */
};

struct series_family {
	struct series *series;
	size_t count, capacity;
	struct map places; /* labels -> position */
};

struct metrics {
	const struct metrics_family *families;
	struct series_family *of;
	size_t count;        /* of families */
	size_t most, series; /* 0: there is no limit; and how many there are */
	size_t lines;        /* of them, those that are histograms' */
	uint64_t limited;
	struct string_table strings;

	const void *source;
	uint64_t ts_ns;
	struct string labels; /* of the series that is to come */
	size_t kept;          /* of them, bytes that stay */
	int err;
};

struct metrics *metrics_new(const struct metrics_family *families, size_t count, size_t most)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (!metrics)
		return NULL;
	*metrics = (struct metrics){ .families = families, .count = count, .most = most };
	metrics->of = calloc(count, sizeof(*metrics->of));
	if (metrics->of)
		return metrics;
	free(metrics);
	return NULL;
}

void metrics_free(struct metrics *metrics)
{
	size_t i, place;

	if (!metrics)
		return;
	for (i = 0; i < metrics->count; i++) {
		for (place = 0; place < metrics->of[i].count; place++)
			free(metrics->of[i].series[place].counts);
		free(metrics->of[i].series);
		map_fini(&metrics->of[i].places);
	}
	free(metrics->of);
	string_table_fini(&metrics->strings);
	string_fini(&metrics->labels);
	free(metrics);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void put_escaped(struct string *out, const char *text, size_t length)
{
	const char *const end = text + length;

	while (text < end) {
		size_t step = string_utf8_length(text, end - text);
		const unsigned char byte = (unsigned char)*text;

		if (!step)
			string_append_text(out, "\xef\xbf\xbd");
		else if (byte == '\\' || byte == '"')
			string_append_format(out, "\\%c", byte);
		else if (byte == '\n')
			string_append_text(out, "\\n");
		else if (byte < 0x20 || byte == 0x7f)
			string_append_format(out, "\\\\x%02x", byte);
		else
			string_append(out, text, step);
		text += step ? step : 1;
	}
}

void metrics_begin(struct metrics *metrics)
{
	string_clear(&metrics->labels);
	metrics->kept = 0;
}

void metrics_label(struct metrics *metrics, const char *name, const char *text)
{
	struct string *out = &metrics->labels;

	if (!text || !*text)
		return;
	string_append_format(out, "%s%s=\"", out->length ? "," : "", name);
	put_escaped(out, text, strlen(text));
	string_append_char(out, '"');
}

void metrics_label_number(struct metrics *metrics, const char *name, uint64_t number)
{
	string_append_format(&metrics->labels, "%s%s=\"%llu\"", metrics->labels.length ? "," : "",
			     name, (unsigned long long)number);
}

void metrics_keep(struct metrics *metrics)
{
	metrics->kept = metrics->labels.length;
}

/* ---- series ---------------------------------------------------------------------------------- */

void metrics_of(struct metrics *metrics, const void *source, uint64_t ts_ns)
{
	metrics->source = source;
	metrics->ts_ns = ts_ns;
}

static const char *intern(struct metrics *metrics, const char *labels, size_t length)
{
	const char *interned = string_intern(&metrics->strings, labels, length);

	if (!interned || metrics->labels.failed)
		metrics->err = -ENOMEM;
	return interned;
}

/* A histogram has a line for each bucket, its sum and its count. */
static size_t lines_of(const struct metrics_family *family)
{
	return family->bounds_count ? family->bounds_count + 3 : 1;
}

static bool has_room(const struct metrics *metrics, size_t family)
{
	const size_t lines = lines_of(&metrics->families[family]);

	if (!metrics->most)
		return true;
	return lines == 1 ? metrics->series < metrics->most :
			    metrics->series + lines <= metrics->most &&
				    metrics->lines + lines <= metrics->most / 2;
}

static struct series *add_series(struct metrics *metrics, size_t family, const char *labels)
{
	const struct metrics_family *described = &metrics->families[family];
	struct series_family *of = &metrics->of[family];
	struct series added = { .labels = labels };
	const size_t lines = lines_of(described);

	if (described->bounds_count)
		added.counts = calloc(described->bounds_count + 1, sizeof(*added.counts));
	if ((described->bounds_count && !added.counts) ||
	    memory_grow(&of->series, &of->capacity, of->count + 1, sizeof(*of->series)) ||
	    map_set(&of->places, (uintptr_t)labels, of->count)) {
		free(added.counts);
		metrics->err = -ENOMEM;
		return NULL;
	}
	metrics->series += lines;
	metrics->lines += lines > 1 ? lines : 0;
	of->series[of->count] = added;
	return &of->series[of->count++];
}

/* Ends what metrics_label() began: the next series has what is kept again. NULL without memory. */
static struct series *find_series(struct metrics *metrics, size_t family)
{
	const char *text = metrics->labels.bytes ?: "";
	size_t length = metrics->labels.length;
	const char *labels = string_find(&metrics->strings, text, length);
	uint64_t *place = labels ? map_get(&metrics->of[family].places, (uintptr_t)labels) : NULL;

	metrics->labels.length = metrics->kept;
	if (!place && !has_room(metrics, family)) {
		metrics->limited++;
		text = OVERFLOW;
		length = sizeof(OVERFLOW) - 1;
	}
	if (!place) {
		labels = intern(metrics, text, length);
		place = labels ? map_get(&metrics->of[family].places, (uintptr_t)labels) : NULL;
	}
	if (metrics->err)
		return NULL;
	return place ? &metrics->of[family].series[*place] : add_series(metrics, family, labels);
}

static bool is_gauge(const struct metrics *metrics, size_t family)
{
	return !strcmp(metrics->families[family].type, "gauge");
}

/* NULL: none, or a gauge of which a later source has said something. */
static struct series *begin_value(struct metrics *metrics, size_t family)
{
	struct series *series = find_series(metrics, family);
	const bool gauge = is_gauge(metrics, family);

	if (!series || (gauge && metrics->ts_ns < series->ts_ns))
		return NULL;
	if (gauge && series->source != metrics->source)
		series->value = 0;
	series->source = metrics->source;
	if (metrics->ts_ns > series->ts_ns)
		series->ts_ns = metrics->ts_ns;
	return series;
}

void metrics_add(struct metrics *metrics, size_t family, uint64_t value)
{
	struct series *series = begin_value(metrics, family);

	if (series)
		series->value += value;
}

void metrics_highest(struct metrics *metrics, size_t family, uint64_t value)
{
	struct series *series = begin_value(metrics, family);

	if (series && value > series->value)
		series->value = value;
}

void metrics_add_histogram(struct metrics *metrics, size_t family, const uint64_t *counts,
			   uint64_t sum)
{
	struct series *series = begin_value(metrics, family);
	size_t i;

	if (!series)
		return;
	series->value += sum;
	for (i = 0; i <= metrics->families[family].bounds_count; i++)
		series->counts[i] += counts[i];
}

uint64_t metrics_limited(const struct metrics *metrics)
{
	return metrics->limited;
}

size_t metrics_series(const struct metrics *metrics)
{
	return metrics->series;
}

void metrics_lack(struct metrics *metrics)
{
	metrics->err = -ENOMEM;
}

int metrics_error(const struct metrics *metrics)
{
	return metrics->err;
}

/* ---- for other formats ----------------------------------------------------------------------- */

size_t metrics_families(const struct metrics *metrics)
{
	return metrics->count;
}

const struct metrics_family *metrics_family(const struct metrics *metrics, size_t family)
{
	return &metrics->families[family];
}

size_t metrics_points(const struct metrics *metrics, size_t family)
{
	return metrics->of[family].count;
}

struct metrics_point metrics_point(const struct metrics *metrics, size_t family, size_t i)
{
	const struct series *series = &metrics->of[family].series[i];

	return (struct metrics_point){ .labels = series->labels,
				       .value = series->value,
				       .counts = series->counts };
}

bool metrics_value(const struct metrics *metrics, size_t family, const char *labels,
		   uint64_t *value)
{
	const struct series_family *of = &metrics->of[family];
	const uint64_t *place = map_get(&of->places, (uintptr_t)labels);

	if (place)
		*value = of->series[*place].value;
	return place;
}

bool metrics_next_label(const char **labels, struct string *name, struct string *text)
{
	const char *at = *labels;

	string_clear(name);
	string_clear(text);
	if (!*at)
		return false;
	for (; *at != '='; at++)
		string_append_char(name, *at);
	for (at += 2; *at != '"'; at++) {
		const bool escaped = *at == '\\';

		at += escaped;
		string_append_char(text, escaped && *at == 'n' ? '\n' : *at);
	}
	at++;
	*labels = *at == ',' ? at + 1 : at;
	return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* In OpenMetrics, times are whole seconds, rounded up: nothing is said before it was true. */
static void put_time(struct string *out, uint64_t ts_ns, enum metrics_form form)
{
	const uint64_t unit_ns = form == METRICS_OPENMETRICS ? 1000000000 : 1000000;

	if (ts_ns)
		string_append_format(out, " %llu",
				     (unsigned long long)((ts_ns + unit_ns - 1) / unit_ns));
}

void metrics_put_value(struct string *out, const struct metrics_family *family, uint64_t value)
{
	if (!strcmp(family->unit, "seconds") || !strcmp(family->unit, "ratio"))
		string_append_format(out, "%llu.%09llu", (unsigned long long)value / 1000000000,
				     (unsigned long long)value % 1000000000);
	else
		string_append_format(out, "%llu", (unsigned long long)value);
}

static void put_name(struct string *out, const struct metrics_family *family, const char *suffix,
		     const struct series *series)
{
	string_append_format(out, "%s%s", family->name, suffix);
	if (*series->labels)
		string_append_format(out, "{%s}", series->labels);
	string_append_char(out, ' ');
}

static int put_series(struct writer *writer, const struct metrics_family *family,
		      const struct series *series, enum metrics_form form)
{
	put_name(&writer->text, family, strcmp(family->type, "counter") != 0 ? "" : "_total",
		 series);
	metrics_put_value(&writer->text, family, series->value);
	put_time(&writer->text, series->ts_ns, form);
	return writer_end_line(writer);
}

/* ---- histograms ------------------------------------------------------------------------------ */

static int end_count(struct writer *writer, const struct series *series, uint64_t count,
		     enum metrics_form form)
{
	string_append_format(&writer->text, "%llu", (unsigned long long)count);
	put_time(&writer->text, series->ts_ns, form);
	return writer_end_line(writer);
}

/* Each line counts the values of the buckets before it, too. */
static int put_histogram(struct writer *writer, const struct metrics_family *family,
			 const struct series *series, enum metrics_form form)
{
	struct string *out = &writer->text;
	uint64_t count = 0;
	size_t i;
	int err = 0;

	for (i = 0; !err && i <= family->bounds_count; i++) {
		count += series->counts[i];
		string_append_format(out, "%s_bucket{%s%sle=\"", family->name, series->labels,
				     *series->labels ? "," : "");
		if (i < family->bounds_count)
			metrics_put_value(out, family, family->bounds[i]);
		else
			string_append_text(out, "+Inf");
		string_append_text(out, "\"} ");
		err = end_count(writer, series, count, form);
	}
	if (err)
		return err;
	put_name(out, family, "_sum", series);
	metrics_put_value(out, family, series->value);
	put_time(out, series->ts_ns, form);
	err = writer_end_line(writer);
	put_name(out, family, "_count", series);
	return err ? err : end_count(writer, series, count, form);
}

/* ---------------------------------------------------------------------------------------------- */

static void put_header(struct string *out, const struct metrics_family *family,
		       enum metrics_form form)
{
	const bool open = form == METRICS_OPENMETRICS;
	const char *suffix = open || strcmp(family->type, "counter") != 0 ? "" : "_total";

	string_append_format(out, "# TYPE %s%s %s\n", family->name, suffix, family->type);
	if (open && *family->unit)
		string_append_format(out, "# UNIT %s %s\n", family->name, family->unit);
	string_append_format(out, "# HELP %s%s %s.\n", family->name, suffix, family->help);
}

int metrics_write(const struct metrics *metrics, struct writer *writer, enum metrics_form form)
{
	struct string *out = &writer->text;
	size_t family, i;
	int err = metrics->err;

	for (family = 0; !err && family < metrics->count; family++) {
		const struct series_family *of = &metrics->of[family];

		if (of->count)
			put_header(out, &metrics->families[family], form);
		for (i = 0; !err && i < of->count; i++) {
			const struct series *series = &of->series[i];

			err = (series->counts ? put_histogram : put_series)(
				writer, &metrics->families[family], series, form);
		}
	}
	return err;
}

int metrics_write_end(struct writer *writer, enum metrics_form form)
{
	if (form != METRICS_OPENMETRICS)
		return 0;
	string_append_text(&writer->text, "# EOF");
	return writer_end_line(writer);
}
