/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal of `memscope-bpf top`, through ncurses, which is loaded when it is needed and by
 * nothing else. Whatever ends the program, the terminal is as it was before, but for SIGKILL.
 */
#ifndef MEMSCOPE_TOP_TOP_TTY_H
#define MEMSCOPE_TOP_TOP_TTY_H

#include <stdbool.h>
#include <stddef.h>

#include "top/top_lines.h"

struct top_tty;

/*
 * Takes standard input and output, which are a terminal. Returns 0, -ENOTSUP (ncurses cannot be
 * loaded, or does not know the terminal) or -ENOMEM, logged.
 */
int top_tty_open(struct top_tty **tty, bool colour);

/* Gives them back. NULL does nothing. */
void top_tty_close(struct top_tty *tty);

/* After SIGWINCH. */
void top_tty_resize(struct top_tty *tty);
void top_tty_size(const struct top_tty *tty, size_t *width, size_t *height);

/* The next key, enum top_key or a character; TOP_KEY_NONE: none has been pressed. Never waits. */
int top_tty_key(struct top_tty *tty);

/* Whether there is no terminal any more. */
bool top_tty_is_gone(const struct top_tty *tty);

/* Shows the lines. */
void top_tty_show(struct top_tty *tty, const struct top_lines *lines);

#endif /* MEMSCOPE_TOP_TOP_TTY_H */
