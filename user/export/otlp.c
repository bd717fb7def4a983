// SPDX-License-Identifier: BSD-2-Clause
#include "export/otlp.h"

#include <string.h>

#include "export/protobuf.h"

#define NS 1e9

/* opentelemetry/proto/metrics/v1/metrics.proto and its neighbours, 1.0 to 1.7: numbers of fields */
enum { REQUEST_RESOURCE_METRICS = 1 };
enum { RESOURCE_METRICS_RESOURCE = 1, RESOURCE_METRICS_SCOPE_METRICS };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_METRICS_SCOPE = 1, SCOPE_METRICS_METRICS };
enum { SCOPE_NAME = 1, SCOPE_VERSION };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE };
enum { ANY_VALUE_STRING = 1 };
enum { METRIC_NAME = 1, METRIC_DESCRIPTION, METRIC_UNIT };
enum { METRIC_GAUGE = 5, METRIC_SUM = 7, METRIC_HISTOGRAM = 9 };
enum { DATA_POINTS = 1, DATA_TEMPORALITY, DATA_IS_MONOTONIC };
enum { TEMPORALITY_CUMULATIVE = 2 };
enum { POINT_START = 2, POINT_TIME, POINT_AS_DOUBLE, POINT_AS_INT = 6, POINT_ATTRIBUTES };
enum { HISTOGRAM_COUNT = 4, HISTOGRAM_SUM, HISTOGRAM_COUNTS, HISTOGRAM_BOUNDS };
enum { HISTOGRAM_ATTRIBUTES = 9 };
enum { RESPONSE_PARTIAL_SUCCESS = 1 };
enum { PARTIAL_SUCCESS_REJECTED = 1, PARTIAL_SUCCESS_MESSAGE };

/*
 * Which families OpenTelemetry has names for (semantic conventions, "hw.gpu"); the second one is
 * taken if the first has no series. All of them are amounts that can be added up.
 */
static const struct {
	const char *name, *family, *other;
} conventions[] = {
	{ "hw.gpu.memory.limit", "memscope_gpu_nvml_total_bytes",
	  "memscope_gpu_memory_total_bytes" },
	{ "hw.gpu.memory.usage", "memscope_gpu_nvml_used_bytes", "memscope_gpu_memory_used_bytes" },
	{ "process.gpu.memory.usage", "memscope_process_gpu_memory_live_bytes", NULL },
};

enum { LIMIT, USAGE };

#define CONVENTIONS (sizeof(conventions) / sizeof(*conventions))

/* What labels are called there (semantic conventions, "process", "container", "k8s"). */
static const struct {
	const char *label, *attribute;
} attributes[] = {
	{ "comm", "process.executable.name" }, { "user", "process.owner" },
	{ "container_id", "container.id" },    { "pod", "k8s.pod.name" },
	{ "namespace", "k8s.namespace.name" }, { "UUID", "hw.id" },
};

/* ---- attributes ------------------------------------------------------------------------------ */

static void put_attribute(struct string *out, uint32_t field, const char *name, const char *text,
			  size_t length)
{
	const size_t attribute = protobuf_begin(out, field);
	size_t value;

	protobuf_put_text(out, KEY_VALUE_KEY, name);
	value = protobuf_begin(out, KEY_VALUE_VALUE);
	protobuf_put_bytes(out, ANY_VALUE_STRING, text, length);
	protobuf_end(out, value);
	protobuf_end(out, attribute);
}

/* A container that has a label for its id is called by its name. */
static const char *attribute_of(const char *label, bool has_container_id)
{
	size_t i;

	if (!strcmp(label, "container"))
		return has_container_id ? "k8s.container.name" : "container.id";
	for (i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (!strcmp(attributes[i].label, label))
			return attributes[i].attribute;
	return label;
}

/* The host is the resource's. A device without a UUID has another id, which devices must have. */
static void put_attributes(struct otlp *otlp, uint32_t field, const char *labels)
{
	const char *id = strstr(labels, "UUID=\"")       ? NULL :
			 strstr(labels, "pci_bus_id=\"") ? "pci_bus_id" :
							   "gpu";
	const bool has_container_id = strstr(labels, "container_id=\"");

	while (metrics_next_label(&labels, &otlp->name, &otlp->text)) {
		const char *text = otlp->text.bytes ?: "";
		const char *name;

		string_append_char(&otlp->name, '\0');
		if (otlp->name.failed || otlp->text.failed) {
			otlp->out->failed = true;
			return;
		}
		name = otlp->name.bytes;
		if (!strcmp(name, "hostname"))
			continue;
		put_attribute(otlp->out, field, attribute_of(name, has_container_id), text,
			      otlp->text.length);
		if (id && !strcmp(name, id))
			put_attribute(otlp->out, field, "hw.id", text, otlp->text.length);
	}
}

/* ---- points ---------------------------------------------------------------------------------- */

static bool is_billionths(const struct metrics_family *family)
{
	return !strcmp(family->unit, "seconds") || !strcmp(family->unit, "ratio");
}

static void put_times(struct otlp *otlp, bool since_start)
{
	if (since_start)
		protobuf_put_fixed64(otlp->out, POINT_START, otlp->origin->start_ns);
	protobuf_put_fixed64(otlp->out, POINT_TIME, otlp->origin->ts_ns);
}

static void put_number(struct otlp *otlp, const struct metrics_family *family,
		       const struct metrics_point *point, bool since_start)
{
	const size_t begun = protobuf_begin(otlp->out, DATA_POINTS);
	const uint64_t most = INT64_MAX;

	put_times(otlp, since_start);
	if (is_billionths(family))
		protobuf_put_double(otlp->out, POINT_AS_DOUBLE, (double)point->value / NS);
	else
		protobuf_put_fixed64(otlp->out, POINT_AS_INT,
				     point->value < most ? point->value : most);
	put_attributes(otlp, POINT_ATTRIBUTES, point->labels);
	protobuf_end(otlp->out, begun);
}

static void put_histogram(struct otlp *otlp, const struct metrics_family *family,
			  const struct metrics_point *point)
{
	const size_t begun = protobuf_begin(otlp->out, DATA_POINTS);
	struct string *out = otlp->out;
	uint64_t count = 0;
	size_t packed, i;

	for (i = 0; i <= family->bounds_count; i++)
		count += point->counts[i];
	put_times(otlp, true);
	protobuf_put_fixed64(out, HISTOGRAM_COUNT, count);
	protobuf_put_double(out, HISTOGRAM_SUM, (double)point->value / NS);
	packed = protobuf_begin(out, HISTOGRAM_COUNTS);
	for (i = 0; i <= family->bounds_count; i++)
		protobuf_fixed64(out, point->counts[i]);
	protobuf_end(out, packed);
	packed = protobuf_begin(out, HISTOGRAM_BOUNDS);
	for (i = 0; i < family->bounds_count; i++)
		protobuf_double(out, (double)family->bounds[i] / NS);
	protobuf_end(out, packed);
	put_attributes(otlp, HISTOGRAM_ATTRIBUTES, point->labels);
	protobuf_end(out, begun);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static size_t begin_metric(struct otlp *otlp, const char *name, const char *help, const char *unit)
{
	const size_t begun = protobuf_begin(otlp->out, SCOPE_METRICS_METRICS);

	protobuf_put_text(otlp->out, METRIC_NAME, name);
	protobuf_put_text(otlp->out, METRIC_DESCRIPTION, help);
	protobuf_put_text(otlp->out, METRIC_UNIT, unit);
	return begun;
}

static const char *unit_of(const struct metrics_family *family)
{
	if (!strcmp(family->unit, "bytes"))
		return "By";
	return strcmp(family->unit, "seconds") != 0 ? "1" : "s";
}

/* Counters are sums since the beginning, and so are amounts that go up and down (UpDownCounter). */
static void put_family(struct otlp *otlp, const struct metrics *metrics, size_t place,
		       const char *name)
{
	const struct metrics_family *family = metrics_family(metrics, place);
	const bool counts = !strcmp(family->type, "counter");
	const bool adds = counts || name || family->bounds_count;
	const size_t metric =
		begin_metric(otlp, name ?: family->name, family->help, unit_of(family));
	const size_t data = protobuf_begin(otlp->out, family->bounds_count ? METRIC_HISTOGRAM :
						      adds                 ? METRIC_SUM :
									     METRIC_GAUGE);
	size_t i;

	for (i = 0; i < metrics_points(metrics, place); i++) {
		const struct metrics_point point = metrics_point(metrics, place, i);

		if (family->bounds_count)
			put_histogram(otlp, family, &point);
		else
			put_number(otlp, family, &point, adds);
	}
	if (adds)
		protobuf_put_u64(otlp->out, DATA_TEMPORALITY, TEMPORALITY_CUMULATIVE);
	if (counts)
		protobuf_put_u64(otlp->out, DATA_IS_MONOTONIC, 1);
	protobuf_end(otlp->out, data);
	protobuf_end(otlp->out, metric);
}

/* SIZE_MAX: it has no series. */
static size_t find_family(const struct metrics *metrics, const char *name)
{
	size_t i;

	for (i = 0; name && i < metrics_families(metrics); i++)
		if (!strcmp(metrics_family(metrics, i)->name, name))
			return metrics_points(metrics, i) ? i : SIZE_MAX;
	return SIZE_MAX;
}

static size_t family_of(const struct metrics *metrics, size_t convention)
{
	const size_t first = find_family(metrics, conventions[convention].family);

	return first != SIZE_MAX ? first : find_family(metrics, conventions[convention].other);
}

static const char *convention_of(const struct metrics *metrics, size_t family)
{
	size_t i;

	for (i = 0; i < CONVENTIONS; i++)
		if (family_of(metrics, i) == family)
			return conventions[i].name;
	return NULL;
}

static void put_utilization(struct otlp *otlp, const struct metrics *metrics)
{
	static const struct metrics_family ratio = { .unit = "ratio" };
	const size_t usage = family_of(metrics, USAGE), limit = family_of(metrics, LIMIT);
	size_t metric, data, i;

	if (usage == SIZE_MAX || limit == SIZE_MAX)
		return;
	metric = begin_metric(otlp, "hw.gpu.memory.utilization",
			      "Memory of the device that is in use", "1");
	data = protobuf_begin(otlp->out, METRIC_GAUGE);
	for (i = 0; i < metrics_points(metrics, usage); i++) {
		struct metrics_point point = metrics_point(metrics, usage, i);
		uint64_t total = 0;

		if (!metrics_value(metrics, limit, point.labels, &total) || !total)
			continue;
		point.value = (uint64_t)((double)point.value / (double)total * NS);
		put_number(otlp, &ratio, &point, false);
	}
	protobuf_end(otlp->out, data);
	protobuf_end(otlp->out, metric);
}

void otlp_put(struct otlp *otlp, const struct metrics *metrics)
{
	size_t i;

	for (i = 0; i < metrics_families(metrics); i++)
		if (metrics_points(metrics, i))
			put_family(otlp, metrics, i, convention_of(metrics, i));
	put_utilization(otlp, metrics);
}

/* ---- the request ----------------------------------------------------------------------------- */

void otlp_begin(struct otlp *otlp, struct string *out, const struct otlp_origin *origin)
{
	const char *const names[][2] = { { "service.name", "memscope-bpf" },
					 { "service.version", origin->version },
					 { "service.instance.id", origin->host },
					 { "host.name", origin->host } };
	size_t begun, i;

	*otlp = (struct otlp){ .out = out, .origin = origin };
	otlp->resource = protobuf_begin(out, REQUEST_RESOURCE_METRICS);
	begun = protobuf_begin(out, RESOURCE_METRICS_RESOURCE);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		put_attribute(out, RESOURCE_ATTRIBUTES, names[i][0], names[i][1],
			      strlen(names[i][1]));
	protobuf_end(out, begun);
	otlp->scope = protobuf_begin(out, RESOURCE_METRICS_SCOPE_METRICS);
	begun = protobuf_begin(out, SCOPE_METRICS_SCOPE);
	protobuf_put_text(out, SCOPE_NAME, "memscope-bpf");
	protobuf_put_text(out, SCOPE_VERSION, origin->version);
	protobuf_end(out, begun);
}

void otlp_end(struct otlp *otlp)
{
	protobuf_end(otlp->out, otlp->scope);
	protobuf_end(otlp->out, otlp->resource);
	string_fini(&otlp->name);
	string_fini(&otlp->text);
}

/* ---- what a collector says ------------------------------------------------------------------- */

struct input {
	const unsigned char *at, *end;
};

static bool take_varint(struct input *input, uint64_t *value)
{
	unsigned int shift;

	*value = 0;
	for (shift = 0; shift < 64 && input->at < input->end; shift += 7) {
		const unsigned char byte = *input->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* A field: its number, and its value or, of a message or text, its bytes. */
struct field {
	uint64_t number, value;
	struct input bytes;
};

static bool take_field(struct input *input, struct field *field)
{
	uint64_t tag;

	*field = (struct field){ 0 };
	if (!take_varint(input, &tag))
		return false;
	field->number = tag >> 3;
	switch (tag & 7) {
	case 0:
		return take_varint(input, &field->value);
	case 1:
	case 5:
		field->value = (tag & 7) == 1 ? 8 : 4;
		break;
	case 2:
		if (!take_varint(input, &field->value))
			return false;
		break;
	default:
		return false;
	}
	if (field->value > (uint64_t)(input->end - input->at))
		return false;
	field->bytes = (struct input){ input->at, input->at + field->value };
	input->at += field->value;
	return true;
}

static void read_partial(struct otlp_response *response, struct input input)
{
	struct field field;

	while (take_field(&input, &field)) {
		size_t i;

		if (field.number == PARTIAL_SUCCESS_REJECTED && !field.bytes.at)
			response->rejected = field.value > INT64_MAX ? 0 : field.value;
		if (field.number != PARTIAL_SUCCESS_MESSAGE || !field.bytes.at)
			continue;
		for (i = 0; i < OTLP_MESSAGE_BYTES - 1 && field.bytes.at + i < field.bytes.end; i++)
			response->message[i] =
				field.bytes.at[i] < 0x20 || field.bytes.at[i] > 0x7e ?
					'?' :
					(char)field.bytes.at[i];
		response->message[i] = '\0';
	}
}

void otlp_read_response(struct otlp_response *response, const void *bytes, size_t length)
{
	struct input input = { bytes, bytes };
	struct field field;

	*response = (struct otlp_response){ 0 };
	if (length)
		input.end += length;
	while (take_field(&input, &field))
		if (field.number == RESPONSE_PARTIAL_SUCCESS && field.bytes.at)
			read_partial(response, field.bytes);
}
