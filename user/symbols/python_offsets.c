// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/python_offsets.h"

#include <errno.h>
#include <string.h>

#include "symbols/python_lines.h"

#define COOKIE "xdebugpy" /* Include/internal/pycore_debug_offsets.h */
#define TEXT_LENGTH 16    /* in a str: in all versions */
#define TEXT_STATE 32
#define BYTES_SIZE 16
#define BYTES_DATA 32

struct by_version {
	unsigned int minor;
	struct ms_python python;
};

/* clang-format off */
#define MS_PYTHON(minor_version, of_flags, head, next, threads, t_next, t_id, t_frame, c_frame, \
		  f_code, f_previous, f_instr, f_owner, shim, line, file, name, lines, instructions, \
		  ascii, compact) \
	{ minor_version, { .flags = (of_flags), .interpreters_head = (head), \
			   .interpreter_next = (next), .interpreter_threads = (threads), \
			   .thread_next = (t_next), .thread_id = (t_id), .thread_frame = (t_frame), \
			   .cframe_frame = (c_frame), .frame_code = (f_code), \
			   .frame_previous = (f_previous), .frame_instr = (f_instr), \
			   .frame_owner = (f_owner), .shim_owner = (shim), \
			   .code_first_line = (line), .code_filename = (file), \
			   .code_name = (name), .code_lines = (lines), \
			   .code_instructions = (instructions), .text_ascii = (ascii), \
			   .text_compact = (compact) } },
static const struct by_version versions[] = {
#include "symbols/python_offsets.def"
};
#undef MS_PYTHON

/* Where _Py_DebugOffsets itself has them: 64-bit numbers. */
struct debug_layout {
	unsigned int minor;
	__u16 head, next, threads, t_next, t_frame, t_id;
	__u16 f_previous, f_code, f_instr, f_owner;
	__u16 file, name, lines, line, instructions;
};

static const struct debug_layout layouts[] = {
	{ 13, 40, 64, 72, 168, 184, 192, 232, 240, 248, 264, 280, 296, 304, 312, 344 },
	{ 14, 40, 64, 72, 192, 208, 216, 256, 264, 272, 288, 320, 336, 344, 352, 384 },
};
/* clang-format on */

#define DEBUG_VERSION 8
#define DEBUG_FREE_THREADED 16
#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define SHIM_OWNER 3 /* of enum _frameowner: FRAME_OWNED_BY_CSTACK, or _INTERPRETER and on */

static void extend(__u16 field, size_t bytes, __u16 *begin, __u16 *end)
{
	if (field == MS_PYTHON_NONE)
		return;
	if (field < *begin)
		*begin = field;
	if (field + bytes > *end)
		*end = field + bytes;
}

/* What of a frame and of a code object has to be read. Returns 0, or -EBADMSG: too much. */
static int measure(struct ms_python *python)
{
	__u16 begin = MS_PYTHON_NONE, end = 0, none = 0;

	extend(python->frame_code, 8, &none, &python->frame_bytes);
	extend(python->frame_previous, 8, &none, &python->frame_bytes);
	extend(python->frame_instr, 8, &none, &python->frame_bytes);
	extend(python->frame_owner, 1, &none, &python->frame_bytes);
	extend(python->code_first_line, 4, &begin, &end);
	extend(python->code_filename, 8, &begin, &end);
	extend(python->code_name, 8, &begin, &end);
	extend(python->code_lines, 8, &begin, &end);
	python->code_begin = begin;
	python->code_bytes = end - begin;
	return python->frame_bytes < MS_PYTHON_IMAGE && python->code_bytes < MS_PYTHON_IMAGE ?
		       0 :
		       -EBADMSG;
}

static int complete(struct ms_python *python, __u32 version)
{
	python->version = version;
	python->text_length = TEXT_LENGTH;
	python->text_state = TEXT_STATE;
	python->bytes_size = BYTES_SIZE;
	python->bytes_data = BYTES_DATA;
	return measure(python);
}

int python_offsets_of_version(struct ms_python *python, __u32 version)
{
	size_t i;

	for (i = 0; i < COUNT(versions); i++) {
		if (version >> 24 != 3 || PYTHON_MINOR(version) != versions[i].minor)
			continue;
		*python = versions[i].python;
		return complete(python, version);
	}
	return -EOPNOTSUPP;
}

static __u64 number_at(const void *bytes, size_t offset)
{
	__u64 value;

	memcpy(&value, (const char *)bytes + offset, sizeof(value));
	return value;
}

/* `limit`: no structure of that kind is larger. */
static __u16 offset_at(const void *bytes, size_t offset, __u64 limit, int *err)
{
	__u64 value = number_at(bytes, offset);

	if (value >= limit)
		*err = -EBADMSG;
	return (__u16)value;
}

static int read_layout(struct ms_python *python, const void *bytes,
		       const struct debug_layout *layout)
{
	const __u64 far = MS_PYTHON_FAR, near = 1024;
	int err = 0;

	*python = (struct ms_python){
		.flags = MS_PYTHON_INSTR_ADDRESS,
		.interpreters_head = offset_at(bytes, layout->head, far, &err),
		.interpreter_next = offset_at(bytes, layout->next, far, &err),
		.interpreter_threads = offset_at(bytes, layout->threads, far, &err),
		.thread_next = offset_at(bytes, layout->t_next, near, &err),
		.thread_id = offset_at(bytes, layout->t_id, near, &err),
		.thread_frame = offset_at(bytes, layout->t_frame, near, &err),
		.cframe_frame = MS_PYTHON_NONE,
		.frame_code = offset_at(bytes, layout->f_code, near, &err),
		.frame_previous = offset_at(bytes, layout->f_previous, near, &err),
		.frame_instr = offset_at(bytes, layout->f_instr, near, &err),
		.frame_owner = offset_at(bytes, layout->f_owner, near, &err),
		.shim_owner = SHIM_OWNER,
		.code_first_line = offset_at(bytes, layout->line, near, &err),
		.code_filename = offset_at(bytes, layout->file, near, &err),
		.code_name = offset_at(bytes, layout->name, near, &err),
		.code_lines = offset_at(bytes, layout->lines, near, &err),
		.code_instructions = offset_at(bytes, layout->instructions, near, &err),
		.text_ascii = 40,
		.text_compact = 56,
	};
	return err;
}

int python_offsets_of_runtime(struct ms_python *python, const void *bytes, size_t length)
{
	__u64 version;
	size_t i;
	int err;

	if (length < PYTHON_DEBUG_BYTES || memcmp(bytes, COOKIE, strlen(COOKIE)) != 0)
		return -EBADMSG;
	version = number_at(bytes, DEBUG_VERSION);
	if (number_at(bytes, DEBUG_FREE_THREADED) || version >> 24 != 3)
		return -EOPNOTSUPP;
	for (i = 0; i < COUNT(layouts); i++) {
		if (PYTHON_MINOR(version) != layouts[i].minor)
			continue;
		err = read_layout(python, bytes, &layouts[i]);
		return err ? err : complete(python, (__u32)version);
	}
	return -EOPNOTSUPP;
}
