/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was found of a frame of a recording later, put into its record. What the record says itself
 * stays as it is.
 */
#ifndef MEMSCOPE_SYMBOLS_FRAME_FOUND_H
#define MEMSCOPE_SYMBOLS_FRAME_FOUND_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"

struct frame_found {
	const char *function; /* NULL: not found */
	const char *source;   /* path of the source file; NULL: not found */
	uint32_t offset;      /* of the function */
	uint32_t line;        /* of the source file */
};

/*
 * `record` is a valid one, with room for `room` bytes. What is found and is too long is cut off at
 * the end of a character. If the record would get too long, nothing is put into it.
 */
void frame_found_put(const struct frame_found *found, struct ms_frame_record *record, size_t room);

#endif /* MEMSCOPE_SYMBOLS_FRAME_FOUND_H */
