/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source lines of native code, and the functions that a compiler has put into others, from the
 * debug information (DWARF) of a file. libdw reads it, which is loaded when it is first needed;
 * without it there are no lines. The file is not trusted and libdw is not made for that, so only a
 * process that has nothing to lose does this (symbols/file_reader.h).
 */
#ifndef MEMSCOPE_SYMBOLS_SOURCE_LINES_H
#define MEMSCOPE_SYMBOLS_SOURCE_LINES_H

#include <stddef.h>
#include <stdint.h>

#define SOURCE_LINE_TEXT_BYTES 1024
#define SOURCE_LINES_MOST 32 /* functions that are put into one another */

struct source_line {
	char function[SOURCE_LINE_TEXT_BYTES]; /* as the linker has it, if it does; "": not known */
	char file[SOURCE_LINE_TEXT_BYTES];     /* "": not known */
	uint32_t line;                         /* 0: not known */
};

struct source_lines;

/*
 * Loads libdw; not possible any more once no files can be opened by name. Returns 0 or -ENOENT.
 */
int source_lines_load(void);

/*
 * Begins to read the file; the descriptor has to stay open. Returns 0, -ENOENT without libdw,
 * -ENODATA if there is no debug information, or another -errno.
 */
int source_lines_open(struct source_lines **lines, int fd);
void source_lines_close(struct source_lines *lines);

/*
 * Where an address, as the file's symbols have it, comes from: first the innermost function, then
 * that into which it was put, and so on; the last one is no part of another, unless there are more
 * than SOURCE_LINES_MOST, of which the outermost are left out. At most `most` are written. Returns
 * how many, 0 if the address is in no code that has lines.
 */
size_t source_lines_find(struct source_lines *lines, uint64_t address, struct source_line *found,
			 size_t most);

#endif /* MEMSCOPE_SYMBOLS_SOURCE_LINES_H */
