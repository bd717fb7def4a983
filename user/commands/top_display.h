/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `top` at a terminal: keys, the size of the window, messages.
 */
#ifndef MEMSCOPE_COMMANDS_TOP_DISPLAY_H
#define MEMSCOPE_COMMANDS_TOP_DISPLAY_H

#include <stdbool.h>

#include "base/loop.h"
#include "top/top.h"
#include "top/top_words.h"

struct top_display;

/* Whether standard input and output are a terminal on which lines can be drawn. */
bool top_display_is_possible(void);

/* What the display shows, and the loop that reads keys; all of this outlives the display. */
struct top_display_options {
	struct top *top;
	const struct top_status *status;
	enum top_sort sort;
	struct loop *loop;
	void (*end)(void *context); /* called for the key that ends top */
	/*
	 * Called before the call sites of a process are shown, to get them. Returns 0 or -ENOMEM.
	 * NULL: the state has them.
	 */
	int (*sites)(void *context, const struct process *process);
	void *context;
};

/*
 * Takes the terminal. From now on, messages appear on it, and go to standard error when it is
 * closed. Returns 0 or -errno, logged.
 */
int top_display_open(struct top_display **display, const struct top_display_options *options);

/* Whether the user has paused. */
bool top_display_is_paused(const struct top_display *display);

/* After a look. Returns 0 or -errno. */
int top_display_look(struct top_display *display);

/* Restores the terminal; call it before the loop is closed. NULL does nothing. */
void top_display_close(struct top_display *display);

#endif /* MEMSCOPE_COMMANDS_TOP_DISPLAY_H */
