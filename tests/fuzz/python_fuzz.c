// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is read of a Python interpreter: the input is where it says that its fields are
 * (_Py_DebugOffsets), then the memory of the process, in which a code object is looked for at every
 * word; and the same bytes as a record of one.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "symbols/python_code.h"
#include "symbols/python_codes.h"
#include "symbols/python_lines.h"
#include "symbols/python_offsets.h"

#define MEMORY_BYTES 4096

static uint32_t word_at(const uint8_t *bytes, size_t offset)
{
	uint32_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static void check_text(const struct string *text)
{
	size_t i, length;

	fuzz_check(text->length <= PYTHON_CODE_TEXT_MAX * 4);
	for (i = 0; i < text->length; i += length) {
		length = string_utf8_length(text->bytes + i, text->length - i);
		fuzz_check(length && text->bytes[i]);
	}
}

static void check_code(const struct python_code *code, const uint8_t *bytes, size_t size)
{
	size_t i;

	check_text(&code->filename);
	check_text(&code->name);
	fuzz_check(code->lines_length <= PYTHON_CODE_LINES_MAX);
	for (i = 0; i + 4 <= size && i < 64; i += 4)
		fuzz_check(python_code_line(code, (int32_t)word_at(bytes, i)) <= INT32_MAX);
}

/* All pointers lead into the memory. */
static void read_memory(const struct ms_python *python, const uint8_t *bytes, size_t size)
{
	static uint8_t memory[MEMORY_BYTES];
	struct python_code code;
	uint64_t addr, fields[3];
	size_t i;

	memset(memory, 0, sizeof(memory));
	memcpy(memory, bytes, size < MEMORY_BYTES ? size : MEMORY_BYTES);
	if (python->code_filename > 512 || python->code_name > 512 || python->code_lines > 512 ||
	    python->code_first_line > 512)
		return;
	for (i = 0; i < 3; i++)
		fields[i] = (uintptr_t)memory + word_at(memory, 8 * i) % (MEMORY_BYTES / 2);
	memcpy(memory + python->code_filename, &fields[0], 8);
	memcpy(memory + python->code_name, &fields[1], 8);
	memcpy(memory + python->code_lines, &fields[2], 8);
	addr = (uintptr_t)memory;
	if (python_code_read(&code, getpid(), python, addr,
			     ms_python_check(word_at(memory, python->code_first_line), fields[0],
					     fields[1], fields[2])))
		return;
	check_code(&code, bytes, size);
	python_code_fini(&code);
}

static void read_record(const uint8_t *bytes, size_t size)
{
	struct python_codes codes = { 0 };
	const struct python_code *code;
	struct ms_python_code *record = malloc(size);
	int err;

	fuzz_check(record);
	memcpy(record, bytes, size);
	if (size >= sizeof(*record))
		record->event.size = (uint16_t)size;
	err = python_codes_add(&codes, record, size, NULL);
	fuzz_check(!err || err == -EINVAL);
	if (!err) {
		code = python_codes_find(&codes, record->event.pid, record->event.start_ns,
					 record->code, record->check);
		fuzz_check(code);
		check_code(code, bytes, size);
	}
	python_codes_fini(&codes);
	free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ms_python python;
	unsigned int minor;

	if (!python_offsets_of_runtime(&python, bytes, size))
		read_memory(&python, bytes + PYTHON_DEBUG_BYTES, size - PYTHON_DEBUG_BYTES);
	for (minor = 8; minor < 13; minor++)
		if (!python_offsets_of_version(&python, PYTHON_VERSION(minor)))
			read_memory(&python, bytes, size);
	read_record(bytes, size);
	return 0;
}
