// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "event/probe.h"
#include "render/json.h"
#include "render/stack_words.h"

static void put_if_any(struct json *json, const char *name, const char *text)
{
	json_name(json, name);
	if (text[0])
		json_text(json, text, strlen(text));
	else
		json_null(json);
}

static void put_frame(struct json *json, const struct frame *frame)
{
	json_open(json, '{');
	json_put_text(json, "kind", frame->kind == MS_FRAME_PYTHON ? "python" : "native");
	put_if_any(json, "function", frame->function);
	if (frame->kind == MS_FRAME_NATIVE) {
		json_put_u64(json, "offset", frame->offset);
		put_if_any(json, "module", frame->module);
		put_if_any(json, "build_id", frame->build_id);
		json_name(json, "address");
		json_hex(json, frame->address);
		json_name(json, "by_pointer");
		json_bool(json, frame->flags & MS_FRAME_BY_POINTER);
		json_name(json, "inlined");
		json_bool(json, frame->flags & MS_FRAME_INLINED);
	}
	if (frame->kind == MS_FRAME_PYTHON) {
		json_name(json, "inferred");
		json_bool(json, frame->flags & MS_FRAME_INFERRED);
	}
	put_if_any(json, "source", frame->source);
	json_put_if(json, "line", frame->line, frame->line);
	json_close(json, '}');
}

static void put_frames(struct json *json, const struct stacks *stacks, const struct stack *stack,
		       size_t from, size_t to)
{
	size_t i;

	for (i = from; i < to; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		if (frame)
			put_frame(json, frame);
		else
			json_null(json);
	}
}

static void put_stack(struct json *json, const struct stacks *stacks, const struct stack *stack,
		      size_t innermost, size_t left_out)
{
	json_put_u64(json, "stack_id", stack->id);
	put_if_any(json, "owner", stack->owner ? stack->owner : "");
	json_put_text(json, "end", stack_words_end_name(stack->end));
	json_name(json, "frames");
	json_open(json, '[');
	put_frames(json, stacks, stack, 0, innermost);
	put_frames(json, stacks, stack, innermost + left_out, stack->count);
	json_close(json, ']');
}

void json_stack(struct json *json, const struct stacks *stacks, const struct stack *stack)
{
	put_stack(json, stacks, stack, stack->count, 0);
}

void json_stack_shortened(struct json *json, const struct stacks *stacks, const struct stack *stack)
{
	const size_t most = JSON_STACK_INNERMOST + JSON_STACK_OUTERMOST;
	const size_t left_out = stack->count > most ? stack->count - most : 0;

	put_stack(json, stacks, stack, left_out ? JSON_STACK_INNERMOST : stack->count, left_out);
	json_put_u64(json, "frames_left_out", left_out);
	json_put_if(json, "frames_left_out_after", left_out, JSON_STACK_INNERMOST);
}

void json_call_sites(struct json *json, const struct call_sites *sites, const struct state *state,
		     size_t most)
{
	size_t count, i;
	struct call_site_row *rows = call_sites_rows(sites, state, false, &count);

	json->out->failed |= !rows;
	json_open(json, '[');
	for (i = 0; rows && i < count && i < most; i++) {
		json_open(json, '{');
		json_stack(json, &state->stacks, rows[i].stack);
		json_put_text(json, "api", probe_at(rows[i].row)->symbol);
		json_put_u64(json, "processes", rows[i].processes);
		json_put_u64(json, "calls", rows[i].total.calls);
		json_put_u64(json, "failed", rows[i].total.failed);
		json_put_u64(json, "duration_ns", rows[i].total.duration_ns);
		json_put_u64(json, "bytes", rows[i].total.bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(rows);
}
