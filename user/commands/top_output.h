/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the looks of `top` go: to a screen, or as plain tables to standard output.
 */
#ifndef MEMSCOPE_COMMANDS_TOP_OUTPUT_H
#define MEMSCOPE_COMMANDS_TOP_OUTPUT_H

#include "base/loop.h"
#include "base/writer.h"
#include "commands/top_display.h"
#include "commands/top_run.h"
#include "top/top_words.h"

struct top_output {
	const struct top_run_settings *settings;
	struct top top;
	struct top_status status;
	struct writer writer;
	struct top_display *display; /* NULL: plain text */
	uint64_t looks;              /* so far */
};

/* `now_ns`: when it begins. The caller says what `top` looks at. */
void top_output_init(struct top_output *output, const struct top_run_settings *settings,
		     uint64_t now_ns);

/* Takes the terminal, unless plain text is asked for. Returns 0 or -errno, logged. */
int top_output_open(struct top_output *output, struct loop *loop, void (*end)(void *context),
		    void *context);

/* Gives it back. */
void top_output_leave_terminal(struct top_output *output);

/* Returns 0 or -errno: what was written last could not be. */
int top_output_close(struct top_output *output);

/* Whether the user has stopped looks. */
bool top_output_is_paused(const struct top_output *output);

/* Whether there have been as many looks as are asked for. */
bool top_output_is_done(const struct top_output *output);

/* Looks, and shows it. Returns 0 or -errno. */
int top_output_look(struct top_output *output, uint64_t now_ns);

#endif /* MEMSCOPE_COMMANDS_TOP_OUTPUT_H */
