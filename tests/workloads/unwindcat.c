// SPDX-License-Identifier: BSD-2-Clause
/*
 * unwindcat FILE: the unwind table of an ELF file, a row per line: address, rule, place of the
 * frame pointer, offset. It exits with 2 if there is none.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "symbols/unwind_table.h"

int main(int argc, char **argv)
{
	struct unwind_table table;
	const int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	size_t i;

	if (fd < 0 || unwind_table_make(&table, fd))
		return 2;
	for (i = 0; i < table.count; i++)
		printf("%x %u %u %d\n", table.rows[i].pc, table.rows[i].rule, table.rows[i].bp,
		       table.rows[i].offset);
	unwind_table_fini(&table);
	close(fd);
	return 0;
}
