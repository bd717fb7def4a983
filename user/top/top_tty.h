/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal of `memscope-bpf top`, through ncurses, which only this file loads, when it is
 * needed. The terminal is restored however the program ends, except by SIGKILL.
 */
#ifndef MEMSCOPE_TOP_TOP_TTY_H
#define MEMSCOPE_TOP_TOP_TTY_H

#include <stdbool.h>
#include <stddef.h>

#include "top/top_lines.h"

struct top_tty;

/*
 * Takes the terminal that is standard input and output. Returns 0, -ENOTSUP (ncurses cannot be
 * loaded, or does not know the terminal) or -ENOMEM, logged.
 */
int top_tty_open(struct top_tty **tty, bool colour);

/* Restores the terminal. NULL does nothing. */
void top_tty_close(struct top_tty *tty);

/* Call it after SIGWINCH. */
void top_tty_resize(struct top_tty *tty);
void top_tty_size(const struct top_tty *tty, size_t *width, size_t *height);

/* The next key, enum top_key or a character; TOP_KEY_NONE if there is none. Never waits. */
int top_tty_key(struct top_tty *tty);

/* Whether the terminal is gone. */
bool top_tty_is_gone(const struct top_tty *tty);

/* Shows the lines. */
void top_tty_show(struct top_tty *tty, const struct top_lines *lines);

#endif /* MEMSCOPE_TOP_TOP_TTY_H */
