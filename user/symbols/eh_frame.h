/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entries of .eh_frame (LSB Core 5.0, "Exception Frames"; DWARF 4, 6.4.1): which code there is
 * unwind information for, and where its instructions are. The bytes are not trusted.
 */
#ifndef MEMSCOPE_SYMBOLS_EH_FRAME_H
#define MEMSCOPE_SYMBOLS_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/cursor.h"

/* What is common to many functions (CIE). */
struct eh_common {
	uint64_t code_step;
	int64_t data_step;
	uint64_t return_register;
	uint8_t encoding;      /* of addresses: DW_EH_PE_* */
	bool has_augmentation; /* in each function's entry, too */
	bool is_signal;        /* the frame of a signal handler's caller */
	struct cursor instructions;
};

/* Describes one function, or a part of it (FDE). */
struct eh_function {
	uint64_t begin, end; /* as the file's symbols have addresses */
	uint32_t common;     /* where its CIE begins, in the section */
	uint32_t offset;     /* where its instructions begin, and end, in the section */
	uint32_t end_offset;
};

struct eh_section {
	const uint8_t *bytes;
	size_t length;
	uint64_t address; /* of its first byte */
};

/*
 * Calls `visit` for each entry until that returns non-zero. Returns that, 0, or -EBADMSG: what
 * could be read until then was visited.
 */
int eh_frame_each(const struct eh_section *section,
		  int (*visit)(const struct eh_function *function, void *context), void *context);

/* Returns 0, or -EBADMSG if there is none that can be read at that place. */
int eh_frame_common(const struct eh_section *section, uint32_t offset, struct eh_common *common);

#endif /* MEMSCOPE_SYMBOLS_EH_FRAME_H */
