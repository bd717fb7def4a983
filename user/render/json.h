/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON lines: one object per event, the last one the summary. docs/event.schema.json describes
 * them.
 */
#ifndef MEMSCOPE_RENDER_JSON_H
#define MEMSCOPE_RENDER_JSON_H

#include "render/field.h"
#include "render/json_writer.h"
#include "base/writer.h"
#include "pipeline.h"

#define JSON_EVENT_SCHEMA "memscope-bpf/event/1"

/*
 * `lines`: one object per event; else the summary alone. The writer stays the caller's and must
 * outlive the sink. NULL without memory.
 */
struct sink *json_sink_new(struct writer *writer, bool lines);
void json_sink_free(struct sink *sink);

/* By space, what there is of it, as an array. */
void json_amounts(struct json *json, const struct amount amounts[MS_SPACES_COUNT]);

/* Writes a field's name and value. */
void json_put_field(struct json *json, const struct field *field, struct field_value value);

/* Writes the summary's members (render/summary_json.c). */
void json_summary(struct json *json, const struct summary *summary);

#endif /* MEMSCOPE_RENDER_JSON_H */
