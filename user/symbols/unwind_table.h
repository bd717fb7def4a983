/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind information of a file as the kernel side wants it: rows sorted by address, found by
 * bisection. The file belongs to a traced program and is not trusted: whatever it says, a table and
 * the time that it takes are bounded.
 */
#ifndef MEMSCOPE_SYMBOLS_UNWIND_TABLE_H
#define MEMSCOPE_SYMBOLS_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#define UNWIND_TABLE_VERSION 1 /* another one: tables of the same file are different */

struct unwind_table {
	struct ms_unwind_row *rows;
	size_t count, capacity;
};

/*
 * Makes the table of an ELF file. Returns 0, -ENODATA if the file has no unwind information,
 * -ENOEXEC, -EBADMSG (damaged), -EFBIG (more than any real file has) or -ENOMEM; the table is empty
 * then.
 */
int unwind_table_make(struct unwind_table *table, int fd);

/* The same of the section alone, which is in memory, at that address in the file. */
int unwind_table_make_of(struct unwind_table *table, const void *bytes, size_t length,
			 uint64_t address);

void unwind_table_fini(struct unwind_table *table);

#endif /* MEMSCOPE_SYMBOLS_UNWIND_TABLE_H */
