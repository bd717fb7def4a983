/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the call of a slice was made from, for the formats of timeline viewers: what they show
 * beside it. A recording without call stacks has none of it.
 */
#ifndef MEMSCOPE_EXPORT_TRACE_STACKS_H
#define MEMSCOPE_EXPORT_TRACE_STACKS_H

#include "base/string.h"
#include "export/traces.h"
#include "ledger/stacks.h"

enum trace_stack_text {
	TRACE_STACK_OWNER,     /* the library, or the program, on whose behalf it was made */
	TRACE_STACK_CALLED_IN, /* the lines that tell it apart, as in reports */
	TRACE_STACK_FRAMES,    /* all frames, the innermost first */
	TRACE_STACK_TEXTS,
};

/* As arguments of slices are named: owner, called_in, call_stack. */
extern const char *const trace_stack_names[TRACE_STACK_TEXTS];

/* The call's stack; NULL: none was taken, or it was lost. Valid until the next record. */
const struct stack *trace_stacks_of(const struct traces *traces, const struct traces_slice *slice);

/* Appends that text, which holds nothing that is not printable; it may be empty. */
void trace_stacks_append(struct string *out, const struct traces *traces, const struct stack *stack,
			 enum trace_stack_text text);

#endif /* MEMSCOPE_EXPORT_TRACE_STACKS_H */
