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
 * the struct frame_names. Returns how many functions the compiler had put into its code there, if
 * that was not known when it was recorded.
 */
size_t frame_names_put(void *context, struct ms_frame_record *record, size_t room);

/*
 * Makes of that record the one of those functions with this number, the innermost is 0. Only
 * before the next frame_names_put(); the id stays.
 */
void frame_names_inlined(void *context, size_t number, struct ms_frame_record *record, size_t room);

/*
 * Warns if the directory with symbols had none of all the files that frames are in, and some of
 * these frames have no function: it may be that of another build.
 */
void frame_names_tell_lack(const struct frame_names *names, const char *directory);

#endif /* MEMSCOPE_SYMBOLS_FRAME_NAMES_H */
