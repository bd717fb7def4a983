/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a terminal can show, for output that adapts to it.
 */
#ifndef MEMSCOPE_COMMANDS_TERMINAL_H
#define MEMSCOPE_COMMANDS_TERMINAL_H

#include <stdbool.h>

#include "base/writer.h"
#include "render/document_text.h"

/* Whether what has no name to be written to is for a terminal. */
bool terminal_is_output(const char *output);

/* Whether it can show nothing but ASCII. In files and pipes there is UTF-8. */
bool terminal_is_ascii(const struct writer *writer);

/*
 * How wide lines may be: $COLUMNS if that is set, as wide as the terminal is, or 100 columns if it
 * is none. Colour as everywhere.
 */
struct document_text_options terminal_options(const struct writer *writer);

#endif /* MEMSCOPE_COMMANDS_TERMINAL_H */
