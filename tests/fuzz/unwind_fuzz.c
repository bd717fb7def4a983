// SPDX-License-Identifier: BSD-2-Clause
/*
 * Unwind tables: the input is an .eh_frame section, at an address.
 */
#include "fuzz.h"

#include <errno.h>

#include "symbols/unwind_table.h"

#define ADDRESS 0x2000

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct unwind_table table;
	int err = unwind_table_make_of(&table, bytes, size, ADDRESS);
	size_t i;

	fuzz_check(err == 0 || err == -ENODATA || err == -EBADMSG || err == -EFBIG);
	fuzz_check(!err == (table.count > 0));
	/* Each byte of instructions makes a row at most, and each function two more. */
	fuzz_check(table.count <= size);
	for (i = 0; i < table.count; i++) {
		const struct ms_unwind_row *row = &table.rows[i];

		fuzz_check(!i || table.rows[i - 1].pc < row->pc);
		fuzz_check(row->rule <= MS_UNWIND_SIGNAL);
		fuzz_check(row->rule != MS_UNWIND_PLT || row->offset <= 15);
	}
	unwind_table_fini(&table);
	return 0;
}
