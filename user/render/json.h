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
#include "report/call_sites.h"

#define JSON_EVENT_SCHEMA "memscope-bpf/event/1"

/*
 * `lines`: one object per event; else the summary alone. The writer stays the caller's and must
 * outlive the sink. NULL without memory.
 */
struct sink *json_sink_new(struct writer *writer, bool lines);

/* What JSON lines begin with. */
struct json_header {
	const char *host, *kernel, *machine;
	uint64_t wall_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
};

/* Writes that line; from now on events have their wall time. */
void json_sink_begin(struct sink *sink, const struct json_header *header);

/* What to add to the times of events, if that is known, to get CLOCK_REALTIME. */
void json_sink_set_wall(struct sink *sink, bool known, uint64_t offset_ns);

/* Writes the summary so far as a line. Returns 0 or -errno. */
int json_sink_show(struct sink *sink, const struct summary *summary);

void json_sink_free(struct sink *sink);

/* By space, what there is of it, as an array. */
void json_amounts(struct json *json, const struct amount amounts[MS_SPACES_COUNT]);

/* Writes a field's name and value. */
void json_put_field(struct json *json, const char *name, enum field_kind kind,
		    struct field_value value);

/* Writes a stack's members (render/json_stack.c). */
void json_stack(struct json *json, const struct stacks *stacks, const struct stack *stack);

/*
 * The same of at most so many frames: the innermost and the outermost, how many were left out, and
 * behind how many.
 */
#define JSON_STACK_INNERMOST 24
#define JSON_STACK_OUTERMOST 8
void json_stack_shortened(struct json *json, const struct stacks *stacks,
			  const struct stack *stack);

/* An array of the places in which most time was spent in calls, at most so many. */
void json_call_sites(struct json *json, const struct call_sites *sites, const struct state *state,
		     size_t most);

/* An object: what the summary says of a process (render/summary_json.c). */
void json_summary_process(struct json *json, const struct summary *summary,
			  const struct process *process);

/* Writes the summary's members (render/summary_json.c). */
void json_summary(struct json *json, const struct summary *summary);

#endif /* MEMSCOPE_RENDER_JSON_H */
