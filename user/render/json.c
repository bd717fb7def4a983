// SPDX-License-Identifier: BSD-2-Clause
#include "render/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/identity_words.h"
#include "render/record_field.h"

struct json_sink {
	struct sink sink;
	struct writer *writer;
	struct string scratch;
	struct map stacks_shown; /* ids of those that have had their line */
	bool lines;
	bool wall_known;
	uint64_t wall_offset_ns;
};

static void put_dims(struct json *json, const uint32_t *dims)
{
	size_t i;

	json_open(json, '[');
	for (i = 0; i < 3; i++)
		json_u64(json, dims[i]);
	json_close(json, ']');
}

void json_amounts(struct json *json, const struct amount amounts[MS_SPACES_COUNT])
{
	uint32_t space;

	json_open(json, '[');
	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!amounts[space].count)
			continue;
		json_open(json, '{');
		json_put_text(json, "space", probe_space_name(space));
		json_put_u64(json, "allocations", amounts[space].count);
		json_put_u64(json, "bytes", amounts[space].bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_value(struct json *json, enum field_kind kind, struct field_value value)
{
	if (!value.known) {
		json_null(json);
		return;
	}
	switch (kind) {
	case FIELD_TIME:
	case FIELD_COUNT:
	case FIELD_SIZE:
	case FIELD_DURATION:
		json_u64(json, value.number);
		break;
	case FIELD_SIGNED:
		json_i64(json, value.signed_number);
		break;
	case FIELD_ADDRESS:
		json_hex(json, value.number);
		break;
	case FIELD_TEXT:
		json_text(json, value.text, value.length);
		break;
	case FIELD_FLAG:
		json_bool(json, value.number);
		break;
	case FIELD_DIMS:
		put_dims(json, value.dims);
		break;
	case FIELD_AMOUNTS:
		json_amounts(json, value.amounts);
		break;
	case FIELD_IDENTITY:
		identity_words_json(json, value.identity);
		break;
	}
}

void json_put_field(struct json *json, const char *name, enum field_kind kind,
		    struct field_value value)
{
	json_name(json, name);
	put_value(json, kind, value);
}

static void put_call(struct json_sink *sink, struct json *json, const struct event *event,
		     const struct change *change)
{
	struct field_source source = { .event = event,
				       .change = change,
				       .stacks =
					       sink->sink.state ? &sink->sink.state->stacks : NULL,
				       .scratch = &sink->scratch,
				       .wall_known = sink->wall_known,
				       .wall_offset_ns = sink->wall_offset_ns };
	size_t i;

	if (event->header->type == MS_TYPE_CALLS) {
		json_put_text(json, "type", "calls");
		json_put_u64(json, "count", event->count);
	} else {
		json_put_text(json, "type", "call");
	}
	for (i = 0; i < fields_count; i++) {
		if (!(fields[i].ops >> event->probe->spec.op & 1))
			continue;
		string_clear(&sink->scratch);
		json_put_field(json, fields[i].name, fields[i].kind, fields[i].get(&source));
		json->out->failed |= sink->scratch.failed;
	}
}

static void put_record(const struct json_sink *sink, struct json *json, const struct event *event,
		       const struct change *change)
{
	size_t i;

	json_put_text(json, "type", event_type_name(event_type(event)));
	json_put_u64(json, "ts_ns", event->header->ts_ns);
	json_put_if(json, "wall_ns", sink->wall_known, event->header->ts_ns + sink->wall_offset_ns);
	if (change->process) {
		json_put_u64(json, "pid", event->header->pid);
		json_put_text(json, "comm", change->process->comm);
	}
	for (i = 0; i < record_fields_count; i++) {
		const struct record_field *field = &record_fields[i];

		if (field->type != event->header->type)
			continue;
		json_put_field(json, field->name, field->kind,
			       record_field_value(field, event, change));
	}
}

/* Of a call or a block whose stack has had no line yet. Returns 0 or -errno. */
static int put_stack_line(struct json_sink *sink, uint32_t id)
{
	struct json json = { .out = &sink->writer->text };
	const struct stacks *stacks = sink->sink.state ? &sink->sink.state->stacks : NULL;
	const struct stack *stack = stacks ? stacks_find(stacks, id) : NULL;

	if (!stack || map_get(&sink->stacks_shown, stack->id))
		return 0;
	if (map_set(&sink->stacks_shown, stack->id, 1))
		return -ENOMEM;
	json_open(&json, '{');
	json_put_text(&json, "schema", JSON_EVENT_SCHEMA);
	json_put_text(&json, "type", "stack");
	json_stack(&json, stacks, stack);
	json_close(&json, '}');
	return writer_end_line(sink->writer);
}

static int json_event(struct sink *base, const struct event *event, const struct change *change)
{
	struct json_sink *sink = (struct json_sink *)base;
	struct json json = { .out = &sink->writer->text };
	uint32_t stack = 0;
	int err;

	if (!sink->lines)
		return 0;
	if (event->call)
		stack = event_stack_id(event->call);
	else if (change->has_tensor)
		stack = change->tensor.given.stack;
	else if (event->header->type == MS_TYPE_LAUNCH_SAMPLE)
		stack = event->header->stack;
	err = stack ? put_stack_line(sink, stack) : 0;
	if (err)
		return err;
	json_open(&json, '{');
	json_put_text(&json, "schema", JSON_EVENT_SCHEMA);
	if (event->call)
		put_call(sink, &json, event, change);
	else
		put_record(sink, &json, event, change);
	json_close(&json, '}');
	return writer_end_line(sink->writer);
}

static int json_flush(struct sink *base)
{
	return writer_flush(((struct json_sink *)base)->writer);
}

int json_sink_show(struct sink *base, const struct summary *summary)
{
	struct json_sink *sink = (struct json_sink *)base;
	struct json json = { .out = &sink->writer->text };

	json_open(&json, '{');
	json_put_text(&json, "schema", JSON_EVENT_SCHEMA);
	json_put_text(&json, "type", "summary");
	json_summary(&json, summary);
	json_close(&json, '}');
	writer_end_line(sink->writer);
	return writer_flush(sink->writer);
}

void json_sink_set_wall(struct sink *base, bool known, uint64_t offset_ns)
{
	struct json_sink *sink = (struct json_sink *)base;

	map_fini(&sink->stacks_shown); /* another recording's ids are others */
	sink->wall_known = known;
	sink->wall_offset_ns = offset_ns;
}

void json_sink_begin(struct sink *base, const struct json_header *header)
{
	struct json_sink *sink = (struct json_sink *)base;
	struct json json = { .out = &sink->writer->text };

	json_open(&json, '{');
	json_put_text(&json, "schema", JSON_EVENT_SCHEMA);
	json_put_text(&json, "type", "header");
	json_put_text(&json, "tool", "memscope-bpf " MEMSCOPE_VERSION);
	json_put_text(&json, "host", header->host);
	json_put_text(&json, "kernel", header->kernel);
	json_put_text(&json, "machine", header->machine);
	json_put_u64(&json, "wall_offset_ns", header->wall_offset_ns);
	json_close(&json, '}');
	writer_end_line(sink->writer);
	json_sink_set_wall(base, true, header->wall_offset_ns);
}

struct sink *json_sink_new(struct writer *writer, bool lines)
{
	struct json_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return NULL;
	sink->sink = (struct sink){ .call = json_event,
				    .process = json_event,
				    .sample = json_event,
				    .flush = json_flush,
				    .end = json_sink_show };
	sink->writer = writer;
	sink->lines = lines;
	return &sink->sink;
}

void json_sink_free(struct sink *base)
{
	struct json_sink *sink = (struct json_sink *)base;

	if (!sink)
		return;
	string_fini(&sink->scratch);
	map_fini(&sink->stacks_shown);
	free(sink);
}
