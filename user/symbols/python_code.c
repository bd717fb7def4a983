// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/python_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/proc.h"
#include "symbols/python_lines.h"

#define REPLACEMENT 0xfffd

void python_code_fini(struct python_code *code)
{
	string_fini(&code->filename);
	string_fini(&code->name);
	free(code->lines);
	*code = (struct python_code){ 0 };
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void append_utf8(struct string *text, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = REPLACEMENT;
	if (c < 0x80) {
		string_append_char(text, (char)c);
		return;
	}
	if (c >= 0x10000) {
		string_append_char(text, (char)(0xf0 | c >> 18));
		string_append_char(text, (char)(0x80 | (c >> 12 & 0x3f)));
	} else if (c >= 0x800) {
		string_append_char(text, (char)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		string_append_char(text, (char)(0x80 | (c >> 6 & 0x3f)));
	else
		string_append_char(text, (char)(0xc0 | c >> 6));
	string_append_char(text, (char)(0x80 | (c & 0x3f)));
}

/* Characters of 1, 2 or 4 bytes, as CPython has them (PEP 393). A NUL ends what can be shown. */
static void append_characters(struct string *text, const uint8_t *bytes, size_t length,
			      unsigned int width)
{
	size_t i;

	for (i = 0; i + width <= length; i += width) {
		uint32_t c = 0;

		memcpy(&c, bytes + i, width); /* little-endian */
		if (!c)
			return;
		append_utf8(text, c);
	}
}

static bool is_width(unsigned int width)
{
	return width == 1 || width == 2 || width == 4;
}

static bool is_whole(const struct ms_python_text *text)
{
	return text->width && text->bytes == (uint64_t)text->length * text->width;
}

/* ---- from a record --------------------------------------------------------------------------- */

static bool is_text(const struct ms_python_text *text)
{
	return (is_width(text->width) || (!text->width && !text->bytes)) &&
	       text->bytes <= MS_PYTHON_TEXT_BYTES;
}

bool python_code_is_well_formed(const struct ms_python_code *record, size_t length)
{
	return length >= sizeof(*record) && length == record->event.size &&
	       is_text(&record->filename) && is_text(&record->name) &&
	       record->lines_bytes <= record->lines_size &&
	       record->lines_bytes <= MS_PYTHON_LINES_BYTES &&
	       record->lines_bytes <= length - sizeof(*record);
}

int python_code_of_record(struct python_code *code, const struct ms_python_code *record)
{
	*code = (struct python_code){ .version = record->version,
				      .first_line = record->first_line,
				      .lines_are_cut = record->lines_bytes < record->lines_size };
	code->is_cut = code->lines_are_cut || !record->lines_size || !is_whole(&record->filename) ||
		       !is_whole(&record->name);
	if (record->filename.width)
		append_characters(&code->filename, record->filename_bytes, record->filename.bytes,
				  record->filename.width);
	if (record->name.width)
		append_characters(&code->name, record->name_bytes, record->name.bytes,
				  record->name.width);
	code->lines = malloc(record->lines_bytes ? record->lines_bytes : 1);
	if (!code->lines || code->filename.failed || code->name.failed) {
		python_code_fini(code);
		return -ENOMEM;
	}
	memcpy(code->lines, record->lines, record->lines_bytes);
	code->lines_length = record->lines_bytes;
	return 0;
}

/* ---- from a process -------------------------------------------------------------------------- */

/* What a check is made of. */
struct fields {
	uint32_t first_line;
	uint64_t filename, name, lines;
};

struct source {
	pid_t pid;
	const struct ms_python *python;
};

static int read_memory(const struct source *source, uint64_t addr, void *bytes, size_t length)
{
	const struct proc_place place = { addr, length };

	return proc_read_places(source->pid, &place, 1, bytes);
}

static int read_fields(const struct source *source, uint64_t addr, struct fields *fields)
{
	const struct ms_python *python = source->python;
	const size_t begin = python->code_begin;
	uint8_t image[MS_PYTHON_IMAGE];
	int err = read_memory(source, addr + begin, image, python->code_bytes);

	if (err)
		return err;
	memcpy(&fields->first_line, image + (python->code_first_line - begin), sizeof(uint32_t));
	memcpy(&fields->filename, image + (python->code_filename - begin), sizeof(uint64_t));
	memcpy(&fields->name, image + (python->code_name - begin), sizeof(uint64_t));
	memcpy(&fields->lines, image + (python->code_lines - begin), sizeof(uint64_t));
	return 0;
}

static int expect_check(const struct source *source, uint64_t addr, uint32_t check,
			struct fields *fields)
{
	int err = read_fields(source, addr, fields);

	if (err)
		return err;
	return ms_python_check(fields->first_line, fields->filename, fields->name, fields->lines) ==
			       check ?
		       0 :
		       -ESTALE;
}

/* How a str's characters lie: PyASCIIObject.state, of 3.8 to 3.13, else of later ones. */
static unsigned int width_of(uint32_t state, bool *is_ascii)
{
	if (!(state >> 5 & 1) || !is_width(state >> 2 & 7))
		state >>= 14;
	if (!(state >> 5 & 1) || !is_width(state >> 2 & 7))
		return 0;
	*is_ascii = state >> 6 & 1;
	return state >> 2 & 7;
}

static int read_text(const struct source *source, uint64_t addr, struct string *text)
{
	const struct ms_python *python = source->python;
	unsigned int width;
	uint64_t length;
	uint32_t state;
	bool is_ascii;
	uint8_t *bytes;
	int err = read_memory(source, addr + python->text_length, &length, sizeof(length));

	if (!err)
		err = read_memory(source, addr + python->text_state, &state, sizeof(state));
	if (err)
		return err;
	width = width_of(state, &is_ascii);
	if (!width)
		return -EBADMSG;
	length = length < PYTHON_CODE_TEXT_MAX ? length : PYTHON_CODE_TEXT_MAX;
	bytes = malloc(length * width + 1);
	if (!bytes)
		return -ENOMEM;
	err = read_memory(source, addr + (is_ascii ? python->text_ascii : python->text_compact),
			  bytes, length * width);
	if (!err)
		append_characters(text, bytes, length * width, width);
	free(bytes);
	return err;
}

static int read_lines(const struct source *source, uint64_t addr, struct python_code *code)
{
	const struct ms_python *python = source->python;
	uint64_t length;
	int err = read_memory(source, addr + python->bytes_size, &length, sizeof(length));

	if (err)
		return err;
	code->lines_are_cut = length > PYTHON_CODE_LINES_MAX;
	length = code->lines_are_cut ? PYTHON_CODE_LINES_MAX : length;
	code->lines = malloc(length + 1);
	if (!code->lines)
		return -ENOMEM;
	code->lines_length = length;
	return read_memory(source, addr + python->bytes_data, code->lines, length);
}

int python_code_read(struct python_code *code, pid_t pid, const struct ms_python *python,
		     uint64_t addr, uint32_t check)
{
	const struct source source = { pid, python };
	struct fields fields = { 0 };
	int err = expect_check(&source, addr, check, &fields);

	*code = (struct python_code){ .version = python->version };
	if (!err)
		err = read_text(&source, fields.filename, &code->filename);
	if (!err)
		err = read_text(&source, fields.name, &code->name);
	if (!err)
		err = read_lines(&source, fields.lines, code);
	/* It was there all the time, and so were the objects that belong to it. */
	if (!err)
		err = expect_check(&source, addr, check, &fields);
	code->first_line = fields.first_line;
	if (!err && (code->filename.failed || code->name.failed))
		err = -ENOMEM;
	if (err)
		python_code_fini(code);
	return err;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_init(const struct string *text)
{
	return text->length == strlen("__init__") && !memcmp(text->bytes, "__init__", text->length);
}

/* CPython, Objects/codeobject.c: _Py_InitCleanup. */
bool python_code_is_own(const struct python_code *code)
{
	return !code->first_line && is_init(&code->name) && is_init(&code->filename);
}

uint32_t python_code_line(const struct python_code *code, int64_t offset)
{
	const struct python_lines table = { .version = code->version,
					    .first_line = code->first_line,
					    .bytes = code->lines,
					    .length = code->lines_length,
					    .is_cut = code->lines_are_cut };
	uint32_t line;

	return python_lines_find(&table, offset, &line) == PYTHON_LINES_FOUND ? line : 0;
}
