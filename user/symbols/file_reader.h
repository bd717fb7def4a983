/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads files of traced programs, which are not trusted, in a process of its own that has no
 * privileges and cannot open any file: it gets each one's descriptor. It answers with numbers and
 * texts, which are bounded here: they may be wrong, but do no harm to who uses them. If it crashes
 * or hangs over a file, that costs what was to be read of this file, and the next question starts
 * another process.
 *
 * One thread uses a reader, for tables or for lines: who needs both has two.
 */
#ifndef MEMSCOPE_SYMBOLS_FILE_READER_H
#define MEMSCOPE_SYMBOLS_FILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/function_table.h"
#include "symbols/source_lines.h"
#include "symbols/unwind_table.h"

struct file_reader;

/*
 * Starts the process. Returns 0 or -errno. If it then cannot give up its privileges, it reads
 * nothing. `lines`: it can read source lines.
 */
int file_reader_open(struct file_reader **reader, bool lines);
void file_reader_close(struct file_reader *reader);

/* What is asked next is asked of a process that has read nothing yet. */
void file_reader_renew(struct file_reader *reader);

/* CPU time of its processes, nanoseconds; 0 for NULL. */
uint64_t file_reader_cpu_ns(const struct file_reader *reader);

/*
 * The same as function_table_make() and unwind_table_make(). Returns also -EIO (the process ended
 * over it), -ETIMEDOUT, or -ECONNABORTED: it did so too often, nothing more is read.
 */
int file_reader_functions(struct file_reader *reader, int fd, bool by_address,
			  struct function_table *table);
int file_reader_unwind(struct file_reader *reader, int fd, struct unwind_table *table);

/* As embedded_symbols_read(); the caller frees `*bytes`. */
int file_reader_embedded(struct file_reader *reader, int fd, void **bytes, size_t *length);

/*
 * Begins to read the debug information of a file, which is `number` from now on; does not wait.
 * Returns 0, -EAGAIN (it has too much to do), or -errno as above.
 */
int file_reader_prepare_lines(struct file_reader *reader, uint32_t number, int fd);

/*
 * As source_lines_find(). Returns how many were written, -ENODATA if the file has no debug
 * information or the process has failed over it, -EAGAIN if that is still being read (who has
 * waited for it once in vain does not wait again), or -errno as above, because of another file.
 */
int file_reader_lines(struct file_reader *reader, uint32_t number, int fd, uint64_t address,
		      struct source_line *found, size_t most);

/*
 * Closes what was prepared under that number, which may be prepared again; does not wait. Returns
 * 0, or -EAGAIN: the process has too much to do, so that it still has the file.
 */
int file_reader_forget_lines(struct file_reader *reader, uint32_t number);

#endif /* MEMSCOPE_SYMBOLS_FILE_READER_H */
