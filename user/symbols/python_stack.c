// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/python_stack.h"

#include <stdbool.h>
#include <string.h>

#define EVALUATION "_PyEval_EvalFrameDefault"
#define INSTRUCTION "_TAIL_CALL_"

/* Libraries on top of it have "python" somewhere in their names. */
static bool is_interpreter(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return !strncmp(base, "python", strlen("python")) ||
	       !strncmp(base, "libpython", strlen("libpython"));
}

enum python_stack_part python_stack_part_of(const char *function, const char *path)
{
	const size_t length = strlen(EVALUATION);

	if (!strncmp(function, EVALUATION, length) &&
	    (!function[length] || function[length] == '.'))
		return PYTHON_STACK_EVALUATION;
	if (!strncmp(function, INSTRUCTION, strlen(INSTRUCTION)))
		return PYTHON_STACK_EVALUATION;
	return is_interpreter(path) ? PYTHON_STACK_INTERPRETER : PYTHON_STACK_OTHER;
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

struct stack {
	const struct ms_stack_frame *frames;
	size_t count;
	__u8 parts[MS_STACK_MOST]; /* enum python_stack_part */
};

/* Returns the part that Python frames come at. */
static enum python_stack_part
look_at(struct stack *stack,
	enum python_stack_part (*part_of)(const struct ms_stack_frame *frame, void *context),
	void *context)
{
	enum python_stack_part most = PYTHON_STACK_OTHER;
	size_t i;

	for (i = 0; i < stack->count; i++) {
		if (stack->frames[i].kind == MS_FRAME_PYTHON)
			continue;
		stack->parts[i] = part_of(&stack->frames[i], context);
		if (stack->parts[i] > most)
			most = stack->parts[i];
	}
	return most;
}

size_t python_stack_order(const struct ms_stack_frame *frames, size_t count,
			  enum python_stack_part (*part_of)(const struct ms_stack_frame *frame,
							    void *context),
			  void *context, __u16 order[MS_STACK_MOST])
{
	struct stack stack = { .frames = frames, .count = count };
	size_t python = next_python(frames, count, 0), length = 0, i;
	enum python_stack_part at = PYTHON_STACK_OTHER;

	if (python < count && !(frames[python].flags & MS_FRAME_INFERRED))
		at = look_at(&stack, part_of, context);
	for (i = 0; i < count; i++) {
		if (frames[i].kind == MS_FRAME_PYTHON)
			continue;
		if (at == PYTHON_STACK_EVALUATION && stack.parts[i] == at && python < count) {
			python = append_run(frames, count, python, order, &length);
			continue;
		}
		while (at == PYTHON_STACK_INTERPRETER && stack.parts[i] == at && python < count)
			python = append_run(frames, count, python, order, &length);
		order[length++] = (__u16)i;
	}
	while (python < count)
		python = append_run(frames, count, python, order, &length);
	return length;
}
