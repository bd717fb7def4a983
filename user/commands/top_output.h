/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where `top` shows its numbers: on a screen, or as plain tables on standard output.
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

/* `now_ns`: when `top` begins. The caller sets what it shows. */
void top_output_init(struct top_output *output, const struct top_run_settings *settings,
		     uint64_t now_ns);

/*
 * Takes the terminal, unless plain text is wanted; for `end` and `sites`, see
 * commands/top_display.h. Returns 0 or -errno, logged.
 */
int top_output_open(struct top_output *output, struct loop *loop, void (*end)(void *context),
		    int (*sites)(void *context, const struct process *process), void *context);

/* Restores the terminal. */
void top_output_leave_terminal(struct top_output *output);

/* Returns 0 or -errno: what was written last could not be. */
int top_output_close(struct top_output *output);

/* Whether the user has paused. */
bool top_output_is_paused(const struct top_output *output);

/* Whether `top` has shown its numbers as often as requested. */
bool top_output_is_done(const struct top_output *output);

/*
 * Computes the numbers, and shows them. `at_ns`: when the state was so; if that is when the one
 * before was, the numbers stay. Returns 0 or -errno.
 */
int top_output_look(struct top_output *output, uint64_t at_ns, uint64_t now_ns);

#endif /* MEMSCOPE_COMMANDS_TOP_OUTPUT_H */
