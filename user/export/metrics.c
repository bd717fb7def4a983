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
	size_t i;

	if (!metrics)
		return;
	for (i = 0; i < metrics->count; i++) {
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

static struct series *add_series(struct metrics *metrics, size_t family, const char *labels)
{
	struct series_family *of = &metrics->of[family];

	if (memory_grow(&of->series, &of->capacity, of->count + 1, sizeof(*of->series)) ||
	    map_set(&of->places, (uintptr_t)labels, of->count)) {
		metrics->err = -ENOMEM;
		return NULL;
	}
	metrics->series++;
	of->series[of->count] = (struct series){ .labels = labels };
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
	if (!place && metrics->most && metrics->series >= metrics->most) {
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

static bool is_counter(const struct metrics *metrics, size_t family)
{
	return !strcmp(metrics->families[family].type, "counter");
}

/* NULL: none, or a gauge of which a later source has said something. */
static struct series *begin_value(struct metrics *metrics, size_t family)
{
	struct series *series = find_series(metrics, family);
	const bool is_gauge = !is_counter(metrics, family);

	if (!series || (is_gauge && metrics->ts_ns < series->ts_ns))
		return NULL;
	if (is_gauge && series->source != metrics->source)
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

/* ---- text ------------------------------------------------------------------------------------ */

/* In OpenMetrics, times are whole seconds, rounded up: nothing is said before it was true. */
static void put_time(struct string *out, uint64_t ts_ns, enum metrics_form form)
{
	const uint64_t unit_ns = form == METRICS_OPENMETRICS ? 1000000000 : 1000000;

	if (ts_ns)
		string_append_format(out, " %llu",
				     (unsigned long long)((ts_ns + unit_ns - 1) / unit_ns));
}

static void put_series(struct string *out, const struct metrics_family *family,
		       const struct series *series, enum metrics_form form)
{
	const char *suffix = strcmp(family->type, "counter") != 0 ? "" : "_total";

	string_append_format(out, "%s%s", family->name, suffix);
	if (*series->labels)
		string_append_format(out, "{%s}", series->labels);
	if (!strcmp(family->unit, "seconds") || !strcmp(family->unit, "ratio"))
		string_append_format(out, " %llu.%09llu",
				     (unsigned long long)series->value / 1000000000,
				     (unsigned long long)series->value % 1000000000);
	else
		string_append_format(out, " %llu", (unsigned long long)series->value);
	put_time(out, series->ts_ns, form);
}

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
			put_series(out, &metrics->families[family], &of->series[i], form);
			err = writer_end_line(writer);
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
