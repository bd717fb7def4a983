/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of export/perfetto.c: packets of the one sequence, and the texts that are written once in
 * it and named by numbers from then on.
 */
#ifndef MEMSCOPE_EXPORT_PERFETTO_PACKETS_H
#define MEMSCOPE_EXPORT_PERFETTO_PACKETS_H

#include "base/map.h"
#include "export/trace_stacks.h"
#include "export/traces.h"
#include "render/record_field.h"

/* Names of annotations have numbers: of calls' fields, then activities', then of call stacks. */
#define FIELD_NUMBER(place) ((place) + 1)
#define RECORD_FIELD_NUMBER(place) (FIELD_NUMBER(fields_count) + (place))
#define STACK_NUMBER(text) (RECORD_FIELD_NUMBER(record_fields_count) + (text))

struct perfetto {
	struct traces traces;
	struct map names; /* of events: pointer -> its number in this sequence */
	struct map texts; /* values of annotations, likewise, and those of call stacks */
	struct string annotations, safe;
	size_t frames_bytes; /* of texts that list whole call stacks */
	bool begun, has_whole;
};

static inline struct string *out_of(struct perfetto *export)
{
	return &export->traces.writer->text;
}

/* To be ended by protobuf_end(). */
size_t perfetto_packets_begin(struct perfetto *export);

/* From here on, the names of fields are all that is interned. */
void perfetto_packets_clear(struct perfetto *export, bool first);

/* The number of a text that stays where it is; told before it is used. */
uint64_t perfetto_packets_intern(struct perfetto *export, struct map *numbers, uint32_t field,
				 const char *text, size_t length);

/* The same for a text of a call stack; 0: it is empty, or there were too many of them. */
uint64_t perfetto_packets_intern_stack(struct perfetto *export, const struct stack *stack,
				       enum trace_stack_text text);

#endif /* MEMSCOPE_EXPORT_PERFETTO_PACKETS_H */
