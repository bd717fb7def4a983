// SPDX-License-Identifier: BSD-2-Clause
#include "export/trace_stacks.h"

#include <string.h>

#include "render/field.h"
#include "render/stack_words.h"

const char *const trace_stack_names[TRACE_STACK_TEXTS] = {
	[TRACE_STACK_OWNER] = "owner",
	[TRACE_STACK_CALLED_IN] = "called_in",
	[TRACE_STACK_FRAMES] = "call_stack",
};

static const struct stacks *stacks_of(const struct traces *traces)
{
	return &traces->recording->state->stacks;
}

const struct stack *trace_stacks_of(const struct traces *traces, const struct traces_slice *slice)
{
	return stacks_find(stacks_of(traces), event_stack_id(slice->source.event->call));
}

static void append_frames(struct string *out, const struct traces *traces,
			  const struct stack *stack)
{
	size_t i;

	for (i = 0; i < stack->count; i++) {
		string_append_text(out, i ? " < " : "");
		stack_words_append(out, stacks_frame(stacks_of(traces), stack, i));
	}
	if (stack->end != MS_STACK_END_COMPLETE)
		string_append_format(out, " < ... (%s)", stack_words_end(stack->end));
}

static void append_called_in(struct string *out, const struct traces *traces,
			     const struct stack *stack)
{
	struct string raw = { 0 };

	stack_words_append_chain(&raw, stacks_of(traces), stack);
	if (raw.length)
		field_append_safe(out, raw.bytes, raw.length);
	if (raw.failed)
		out->failed = true;
	string_fini(&raw);
}

void trace_stacks_append(struct string *out, const struct traces *traces, const struct stack *stack,
			 enum trace_stack_text text)
{
	switch (text) {
	case TRACE_STACK_OWNER:
		if (stack->owner)
			field_append_safe(out, stack->owner, strlen(stack->owner));
		break;
	case TRACE_STACK_CALLED_IN:
		append_called_in(out, traces, stack);
		break;
	case TRACE_STACK_FRAMES:
		append_frames(out, traces, stack);
		break;
	case TRACE_STACK_TEXTS:
		break;
	}
}
