// SPDX-License-Identifier: BSD-2-Clause
/*
 * Call stacks as rows of the SQLite export, as nsys has those of CUDA calls; what nsys has no
 * column for (lines of source, owners) is in tables of ours.
 */
#include "export/sqlite.h"

/* Ids of stacks are those of one recording. */
#define RECORDING_SHIFT 32

static struct cell chain_of(const struct sqlite_export *export, uint32_t stack)
{
	return cell_number(export->recordings << RECORDING_SHIFT | stack);
}

struct cell sqlite_chain(const struct sqlite_export *export, const struct event *event)
{
	const uint32_t id = event_stack_id(event->call);

	return id && stacks_find(&export->recording->state->stacks, id) ? chain_of(export, id) :
									  cell_null();
}

static struct cell name_or_null(struct sqlite_export *export, const char *text)
{
	return *text ? sqlite_name(export, text) : cell_null();
}

static int put_frame(struct sqlite_export *export, uint32_t stack, const struct frame *frame,
		     size_t depth)
{
	int err = DATABASE_PUT(&export->database, SQLITE_CALLCHAIN, chain_of(export, stack),
			       name_or_null(export, frame->function),
			       name_or_null(export, frame->kind == MS_FRAME_PYTHON ? frame->source :
										     frame->module),
			       cell_number(!*frame->function),
			       cell_if(frame->kind == MS_FRAME_NATIVE, frame->address),
			       cell_number(depth));

	if (err)
		return err;
	return DATABASE_PUT(&export->database, SQLITE_FRAME, chain_of(export, stack),
			    cell_number(depth),
			    cell_text(frame->kind == MS_FRAME_PYTHON ? "python" : "native"),
			    name_or_null(export, frame->source), cell_if(frame->line, frame->line),
			    name_or_null(export, frame->build_id));
}

int sqlite_stacks_put(struct sqlite_export *export)
{
	const struct stacks *stacks = &export->recording->state->stacks;
	size_t i, depth;
	int err = 0;

	for (i = 0; !err && i < stacks->stacks_count; i++) {
		const struct stack *stack = &stacks->stacks[i];

		err = DATABASE_PUT(&export->database, SQLITE_STACK, chain_of(export, stack->id),
				   cell_number(export->recordings), cell_number(stack->id),
				   stack->owner ? cell_text(stack->owner) : cell_null());
		for (depth = 0; !err && depth < stack->count; depth++) {
			const struct frame *frame = stacks_frame(stacks, stack, depth);

			if (frame)
				err = put_frame(export, stack->id, frame, depth);
		}
	}
	return err;
}
