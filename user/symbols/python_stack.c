// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/python_stack.h"

#include <string.h>

#define EVALUATION "_PyEval_EvalFrameDefault"

bool python_stack_is_evaluation(const char *function)
{
	const size_t length = strlen(EVALUATION);

	return !strncmp(function, EVALUATION, length) &&
	       (!function[length] || function[length] == '.');
}

/* The next Python frame, from there on; `count` if there is none. */
static size_t next_python(const struct ms_stack_frame *frames, size_t count, size_t from)
{
	while (from < count && frames[from].kind != MS_FRAME_PYTHON)
		from++;
	return from;
}

/* Those that one call evaluates. Returns where the others begin. */
static size_t append_run(const struct ms_stack_frame *frames, size_t count, size_t python,
			 __u16 *order, size_t *length)
{
	bool ends = false;

	while (!ends && python < count) {
		ends = frames[python].flags & MS_FRAME_ENTRY;
		order[(*length)++] = (__u16)python;
		python = next_python(frames, count, python + 1);
	}
	return python;
}

size_t python_stack_order(const struct ms_stack_frame *frames, size_t count,
			  bool (*evaluates)(const struct ms_stack_frame *frame, void *context),
			  void *context, __u16 order[MS_STACK_MOST])
{
	size_t python = next_python(frames, count, 0), length = 0, i;

	for (i = 0; i < count; i++) {
		if (frames[i].kind == MS_FRAME_PYTHON)
			continue;
		if (python < count && !(frames[python].flags & MS_FRAME_INFERRED) &&
		    evaluates(&frames[i], context))
			python = append_run(frames, count, python, order, &length);
		else
			order[length++] = (__u16)i;
	}
	while (python < count)
		python = append_run(frames, count, python, order, &length);
	return length;
}
