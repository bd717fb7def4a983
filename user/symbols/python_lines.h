/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of a Python code object that says which line an instruction belongs to, in each of the
 * formats that CPython has had. It comes from the memory of a traced program: nothing in it is
 * trusted, and it may be torn, or only the beginning of one.
 *
 * Sources: Objects/lnotab_notes.txt of CPython 3.9 and 3.10; Objects/locations.md of 3.11.
 */
#ifndef MEMSCOPE_SYMBOLS_PYTHON_LINES_H
#define MEMSCOPE_SYMBOLS_PYTHON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_VERSION(minor) (0x03000000u | (uint32_t)(minor) << 16) /* as in PY_VERSION_HEX */
#define PYTHON_MINOR(version) ((version) >> 16 & 0xff)

enum python_lines_answer {
	PYTHON_LINES_FOUND,
	PYTHON_LINES_NONE,  /* the instruction belongs to no line */
	PYTHON_LINES_SHORT, /* the table ends before the instruction */
};

/* The lines of one code object. */
struct python_lines {
	uint32_t version; /* PY_VERSION_HEX: which format it has */
	uint32_t first_line;
	const uint8_t *bytes;
	size_t length;
	bool is_cut; /* the table goes on behind that */
};

/*
 * Which line the instruction is on that begins `offset` bytes behind the first one. A negative
 * offset is the function's first line: it has not begun yet. Never more than one pass over the
 * table.
 */
enum python_lines_answer python_lines_find(const struct python_lines *table, int64_t offset,
					   uint32_t *line);

#endif /* MEMSCOPE_SYMBOLS_PYTHON_LINES_H */
