// SPDX-License-Identifier: BSD-2-Clause
#include "render/stack_words.h"

#include <string.h>

#include "render/field.h"

static void append(struct string *out, const char *text)
{
	field_append_safe(out, text, strlen(text));
}

typedef void append_fn(struct string *out, const char *text);

static bool has_line(const struct frame *frame)
{
	return frame->source[0] && frame->line;
}

static void append_file(struct string *out, const struct frame *frame, bool lines,
			append_fn *append_text)
{
	append_text(out, frame->source[0] ? stacks_name_of(frame->source) : "?");
	if (lines && frame->line)
		string_append_format(out, ":%u", frame->line);
}

/* "function (file:line)"; without `lines`, "function (file)". */
static void append_with_file(struct string *out, const struct frame *frame, bool lines,
			     append_fn *append_text)
{
	append_text(out, frame->function[0] ? frame->function : "?");
	string_append_text(out, " (");
	append_file(out, frame, lines, append_text);
	string_append_char(out, ')');
}

void stack_words_append(struct string *out, const struct frame *frame)
{
	if (!frame) {
		string_append_char(out, '?');
		return;
	}
	if (frame->kind == MS_FRAME_PYTHON) {
		append_with_file(out, frame, true, append);
		if (frame->flags & MS_FRAME_INFERRED)
			string_append_text(out, " (inferred)");
		return;
	}
	append(out, frame->module[0] ? stacks_name_of(frame->module) : "?");
	if (frame->function[0]) {
		string_append_char(out, '(');
		append(out, frame->function);
		if (!(frame->flags & MS_FRAME_INLINED))
			string_append_format(out, "+0x%x", frame->offset);
		string_append_char(out, ')');
	}
	string_append_format(out, " [0x%llx]", (unsigned long long)frame->address);
	if (has_line(frame)) {
		string_append_char(out, ' ');
		append_file(out, frame, true, append);
	}
	if (frame->flags & MS_FRAME_INLINED)
		string_append_text(out, " (inlined)");
	if (frame->flags & MS_FRAME_BY_POINTER)
		string_append_text(out, " (by frame pointer)");
}

/* `lines`: native functions have their line, too, if it is known. */
static void append_function(struct string *out, const struct frame *frame, bool lines,
			    append_fn *append_text)
{
	if (!frame) {
		string_append_char(out, '?');
	} else if (frame->kind == MS_FRAME_PYTHON ||
		   (lines && frame->function[0] && has_line(frame))) {
		append_with_file(out, frame, true, append_text);
	} else if (frame->function[0]) {
		append_text(out, frame->function);
	} else {
		append_text(out, frame->module[0] ? stacks_name_of(frame->module) : "?");
		string_append_format(out, "+0x%llx", (unsigned long long)frame->address);
	}
}

void stack_words_append_function(struct string *out, const struct frame *frame)
{
	append_function(out, frame, false, append);
}

#define CHAIN_FRAMES 8
#define OWN_FRAMES 4 /* of a program in Python */
#define CHAIN_BYTES 200

/* A module of Python's own or an installed one, as opposed to a line of the program itself. */
static bool is_installed(const struct frame *frame)
{
	return strstr(frame->source, "/site-packages/") ||
	       strstr(frame->source, "/dist-packages/") || strstr(frame->source, "/lib/python3") ||
	       frame->source[0] == '<';
}

static bool is_python(const struct frame *frame)
{
	return frame && frame->kind == MS_FRAME_PYTHON;
}

/*
 * "linear (functional.py:5836) < ... < forward (model.py:12) < train (train.py:22)": the innermost
 * one, and those of the program itself.
 */
static bool append_python_chain(struct string *out, const struct stacks *stacks,
				const struct stack *stack, bool lines)
{
	const size_t begin = out->length;
	bool any = false, skipped = false;
	size_t own = 0, i;

	for (i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		if (!is_python(frame))
			continue;
		if (any && is_installed(frame)) {
			skipped = true;
			continue;
		}
		if (own == OWN_FRAMES || out->length - begin > CHAIN_BYTES) {
			string_append_text(out, " < ...");
			break;
		}
		string_append_text(out, skipped ? " < ..." : "");
		string_append_text(out, any ? " < " : "");
		append_with_file(out, frame, lines, string_append_text);
		own += !is_installed(frame);
		any = true;
		skipped = false;
	}
	return any;
}

static void append_chain(struct string *out, const struct stacks *stacks, const struct stack *stack,
			 bool lines)
{
	const size_t begin = out->length;
	size_t shown = 0, i;

	if (append_python_chain(out, stacks, stack, lines))
		return;
	for (i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		if (!shown && frame && stacks_is_cuda(frame->module))
			continue;
		if (shown == CHAIN_FRAMES || out->length - begin > CHAIN_BYTES) {
			string_append_text(out, " < ...");
			return;
		}
		string_append_text(out, shown++ ? " < " : "");
		append_function(out, frame, lines, string_append_text);
		/* What runs main() is the same for all. */
		if (frame && !strcmp(frame->function, "main"))
			return;
	}
}

void stack_words_append_chain(struct string *out, const struct stacks *stacks,
			      const struct stack *stack)
{
	append_chain(out, stacks, stack, true);
}

void stack_words_append_functions(struct string *out, const struct stacks *stacks,
				  const struct stack *stack)
{
	append_chain(out, stacks, stack, false);
}

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* A file of the program itself: not one of this system's libraries, nor of CUDA. */
static bool is_own(const struct frame *frame)
{
	if (!has_line(frame) || is_installed(frame))
		return false;
	return frame->kind == MS_FRAME_PYTHON ||
	       (!stacks_is_cuda(frame->module) && !begins_with(frame->source, "/usr/include/") &&
		!begins_with(frame->module, "/usr/lib") && !begins_with(frame->module, "/lib"));
}

const struct frame *stack_words_own_line(const struct stacks *stacks, const struct stack *stack)
{
	const struct frame *native = NULL;
	size_t i;

	for (i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		if (!frame || !is_own(frame))
			continue;
		if (is_python(frame))
			return frame;
		if (!native)
			native = frame;
	}
	return native;
}

/* "libpython3.12.so.1.0", "python3.12" */
static bool is_interpreter(const struct frame *frame)
{
	const char *name = frame ? stacks_name_of(frame->module) : "";

	name += strncmp(name, "lib", 3) ? 0 : 3;
	return frame && !is_python(frame) && !strncmp(name, "python", 6) &&
	       (!name[6] || (name[6] >= '0' && name[6] <= '9'));
}

size_t stack_words_interpreter(const struct stacks *stacks, const struct stack *stack, size_t i)
{
	const size_t begin = i;

	while (stack->lines && i < stack->count && is_interpreter(stacks_frame(stacks, stack, i)))
		i++;
	return i - begin;
}

const char *stack_words_end(uint8_t end)
{
	static const char *const words[] = {
#define X(end_of, name, why) why,
		MS_STACK_ENDS(X)
#undef X
	};

	return words[end];
}

const char *stack_words_end_name(uint8_t end)
{
	static const char *const names[] = {
#define X(end_of, name, why) name,
		MS_STACK_ENDS(X)
#undef X
	};

	return names[end];
}

static void append_number(struct string *out, uint64_t number)
{
	char text[STRING_NUMBER_BYTES];

	string_append_text(out, string_count(text, number));
}

/* "; with one that ends early 3 (2 at code that is in no file, 1 at ...)" */
static void append_early(struct string *out, const struct site_ends *ends)
{
	const uint64_t early = site_ends_early(ends);
	const char *before = " (";
	enum ms_stack_end end;

	if (!early)
		return;
	string_append_text(out, "; with one that ends early ");
	append_number(out, early);
	for (end = 0; end < MS_STACK_ENDS_COUNT; end++) {
		if (!ends->early[end])
			continue;
		string_append_text(out, before);
		append_number(out, ends->early[end]);
		string_append_format(out, " at %s", stack_words_end((uint8_t)end));
		before = ", ";
	}
	string_append_char(out, ')');
}

void stack_words_append_ends(struct string *out, const struct site_ends *ends)
{
	const uint64_t lineless = site_ends_lineless(ends);

	string_append_text(out, "Of ");
	append_number(out, ends->allocs);
	string_append_text(out, " allocations of device memory: without a call stack ");
	append_number(out, ends->none);
	append_early(out, ends);
	if (!lineless)
		return;
	string_append_text(out, "; without a line of Python, though by programs in Python, ");
	append_number(out, lineless);
}
