/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives frames of a recording the functions and source lines that were not known when it was made,
 * from files that are found by their build ids (symbols/symbol_files.h). What the recording says
 * stays. The files are read by processes without privileges.
 */
#ifndef MEMSCOPE_SYMBOLS_FRAME_NAMES_H
#define MEMSCOPE_SYMBOLS_FRAME_NAMES_H

#include <stddef.h>

#include "abi.h"
#include "symbols/symbol_files.h"

struct frame_names;

/* Returns 0 or -errno, logged. */
int frame_names_open(struct frame_names **names, const struct symbol_files_options *options);
void frame_names_close(struct frame_names *names);

/*
 * `record` is a valid one, with room for `room` bytes. What is found is put into it; `context` is
 * the struct frame_names.
 */
void frame_names_put(void *context, struct ms_frame_record *record, size_t room);

#endif /* MEMSCOPE_SYMBOLS_FRAME_NAMES_H */
