// SPDX-License-Identifier: BSD-2-Clause
#include "export/remote_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "export/protobuf.h"

#define NS 1e9
#define NS_PER_MS 1000000
#define LABELS_MOST 32
#define JOB "memscope-bpf"

/* prometheus/prompb: remote.proto and types.proto; numbers of fields */
enum { REQUEST_SERIES = 1 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { SAMPLE_VALUE = 1, SAMPLE_TIME };

/* The value that says that a series has ended (prometheus/model/value, StaleNaN). */
#define ENDED 0x7ff0000000000002ull

/* Places in the texts. */
struct label {
	size_t name, text, length;
};

struct remote_write {
	struct string *out;
	const struct metrics_family *family;
	const char *host;
	int64_t ts_ms;
	struct label labels[LABELS_MOST]; /* of the point that is written */
	size_t count;
	struct string texts, name, text;
};

/* ---- labels ---------------------------------------------------------------------------------- */

static void add_label(struct remote_write *write, const char *name, const char *text, size_t length)
{
	struct label *label = &write->labels[write->count];

	if (write->count == LABELS_MOST) {
		write->out->failed = true;
		return;
	}
	label->name = write->texts.length;
	string_append_text(&write->texts, name);
	string_append_char(&write->texts, '\0');
	label->text = write->texts.length;
	label->length = length;
	string_append(&write->texts, text, length);
	write->count++;
}

static void take_labels(struct remote_write *write, const char *labels)
{
	write->count = 0;
	string_clear(&write->texts);
	add_label(write, "instance", write->host, strlen(write->host));
	add_label(write, "job", JOB, sizeof(JOB) - 1);
	while (metrics_next_label(&labels, &write->name, &write->text)) {
		string_append_char(&write->name, '\0');
		if (!write->name.failed)
			add_label(write, write->name.bytes, write->text.bytes ?: "",
				  write->text.length);
	}
}

/* By name, as the specification wants them. */
static void sort_labels(struct remote_write *write)
{
	const char *texts = write->texts.bytes;
	size_t i, j;

	for (i = 1; i < write->count; i++) {
		const struct label label = write->labels[i];

		for (j = i; j && strcmp(texts + write->labels[j - 1].name, texts + label.name) > 0;
		     j--)
			write->labels[j] = write->labels[j - 1];
		write->labels[j] = label;
	}
}

static void put_labels(struct remote_write *write)
{
	size_t i;

	sort_labels(write);
	for (i = 0; i < write->count; i++) {
		const struct label *label = &write->labels[i];
		const size_t begun = protobuf_begin(write->out, SERIES_LABELS);

		protobuf_put_text(write->out, LABEL_NAME, write->texts.bytes + label->name);
		protobuf_put_bytes(write->out, LABEL_VALUE, write->texts.bytes + label->text,
				   label->length);
		protobuf_end(write->out, begun);
	}
}

/* ---- samples --------------------------------------------------------------------------------- */

static void put_sample(struct string *out, uint64_t bits, int64_t ts_ms)
{
	const size_t begun = protobuf_begin(out, SERIES_SAMPLES);

	protobuf_put_fixed64(out, SAMPLE_VALUE, bits);
	protobuf_put_i64(out, SAMPLE_TIME, ts_ms);
	protobuf_end(out, begun);
}

/* A series whose name ends with `suffix`; `bound` NULL: it is no bucket. */
static void put_series(struct remote_write *write, const char *labels, const char *suffix,
		       const char *bound, double value)
{
	struct string *out = write->out;
	const size_t begun = protobuf_begin(out, REQUEST_SERIES);
	uint64_t bits;

	take_labels(write, labels);
	string_clear(&write->text);
	string_append_format(&write->text, "%s%s", write->family->name, suffix);
	add_label(write, "__name__", write->text.bytes ?: "", write->text.length);
	if (bound)
		add_label(write, "le", bound, strlen(bound));
	if (write->texts.failed || write->name.failed || write->text.failed) {
		out->failed = true;
		return;
	}
	put_labels(write);
	memcpy(&bits, &value, sizeof(bits));
	put_sample(out, bits, write->ts_ms);
	protobuf_end(out, begun);
}

static double number_of(const struct metrics_family *family, uint64_t value)
{
	const bool billionths = !strcmp(family->unit, "seconds") || !strcmp(family->unit, "ratio");

	return billionths ? (double)value / NS : (double)value;
}

static void put_histogram(struct remote_write *write, const struct metrics_point *point)
{
	const struct metrics_family *family = write->family;
	struct string bound = { 0 };
	uint64_t count = 0;
	size_t i;

	for (i = 0; i <= family->bounds_count; i++) {
		count += point->counts[i];
		string_clear(&bound);
		if (i < family->bounds_count)
			metrics_put_value(&bound, family, family->bounds[i]);
		else
			string_append_text(&bound, "+Inf");
		string_append_char(&bound, '\0');
		if (bound.failed)
			write->out->failed = true;
		else
			put_series(write, point->labels, "_bucket", bound.bytes, (double)count);
	}
	string_fini(&bound);
	put_series(write, point->labels, "_sum", NULL, number_of(family, point->value));
	put_series(write, point->labels, "_count", NULL, (double)count);
}

void remote_write_put(struct string *out, const struct metrics *metrics, const char *host,
		      uint64_t ts_ns)
{
	struct remote_write write = { .out = out,
				      .host = host,
				      .ts_ms = (int64_t)(ts_ns / NS_PER_MS) };
	size_t family, i;

	for (family = 0; family < metrics_families(metrics); family++) {
		write.family = metrics_family(metrics, family);
		for (i = 0; i < metrics_points(metrics, family); i++) {
			const struct metrics_point point = metrics_point(metrics, family, i);
			const bool counts = !strcmp(write.family->type, "counter");

			if (point.counts)
				put_histogram(&write, &point);
			else
				put_series(&write, point.labels, counts ? "_total" : "", NULL,
					   number_of(write.family, point.value));
		}
	}
	string_fini(&write.texts);
	string_fini(&write.name);
	string_fini(&write.text);
}

/* ---- series that have ended ------------------------------------------------------------------ */

/* Takes the next field, which is a message, off the beginning: its number and bytes. */
static bool take_message(const char **at, const char *end, unsigned int *field, const char **bytes,
			 size_t *length)
{
	unsigned int shift;

	if (*at >= end)
		return false;
	*field = (unsigned char)*(*at)++ >> 3;
	*length = 0;
	for (shift = 0; *at < end && shift < 35; shift += 7) {
		const unsigned char byte = (unsigned char)*(*at)++;

		*length |= (size_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*bytes = *at;
		*at += *length <= (size_t)(end - *at) ? *length : 0;
		return *bytes != *at;
	}
	return false;
}

/* Takes the next series: the bytes of its labels, which come first. */
static bool take_series(const char **at, const char *end, const char **labels, size_t *length)
{
	const char *series, *rest, *bytes;
	size_t series_length, bytes_length;
	unsigned int field;

	if (!take_message(at, end, &field, &series, &series_length) || field != REQUEST_SERIES)
		return false;
	*labels = rest = series;
	*length = 0;
	while (take_message(&rest, series + series_length, &field, &bytes, &bytes_length) &&
	       field == SERIES_LABELS)
		*length = (size_t)(rest - series);
	return true;
}

static void put_end(struct string *out, const char *labels, size_t length, int64_t ts_ms)
{
	const size_t begun = protobuf_begin(out, REQUEST_SERIES);

	string_append(out, labels, length);
	put_sample(out, ENDED, ts_ms);
	protobuf_end(out, begun);
}

size_t remote_write_end_series(struct string *now, const char *before, size_t before_length,
			       uint64_t ts_ns)
{
	const uint64_t secret = (uint64_t)(uintptr_t)now ^ ts_ns;
	const char *at = now->bytes, *labels;
	struct sorted there = { 0 };
	size_t length = 0, count = 0;
	uint64_t key;

	if (!before_length || !now->length)
		return 0;
	while (take_series(&at, now->bytes + now->length, &labels, &length))
		if (sorted_add(&there, string_hash(secret, labels, length)))
			now->failed = true;
	for (at = before;
	     !now->failed && take_series(&at, before + before_length, &labels, &length);) {
		const uint64_t hash = string_hash(secret, labels, length);

		if (sorted_next(&there, hash, &key) && key == hash)
			continue;
		put_end(now, labels, length, (int64_t)(ts_ns / NS_PER_MS));
		count++;
	}
	sorted_fini(&there);
	return count;
}
