/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all commands with a live capture do alike with what they are told.
 */
#ifndef MEMSCOPE_COMMANDS_CAPTURE_OPTIONS_H
#define MEMSCOPE_COMMANDS_CAPTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/attach/features.h"
#include "capture/live.h"
#include "commands/selection.h"
#include "render/losses_words.h"

struct capture_options {
	struct selection selection;
	struct features features;
	uint64_t duration_ns;
	uint64_t buffer_bytes;
	uint64_t max_loss;
	const char *fewer;    /* for losses_append_reasons() */
	bool output_is_taken; /* standard output is for data alone: a command gets another one */
};

/* clang-format off */
#define CAPTURE_OPTIONS_DEFAULTS { .buffer_bytes = 64ull << 20, .max_loss = UINT64_MAX, \
			     .fewer = LOSSES_FEWER_EVENTS }
/* clang-format on */

/* Everything but the callbacks, and `count_launches`. */
struct live_options capture_options_live(struct capture_options *capture, bool entries_only);

/*
 * If no call could be seen, says why: else what was captured looks like any other result. Returns
 * 0, or -EACCES if it is because a process's CUDA library could not be opened.
 */
int capture_options_tell_blindness(const struct capture_options *capture, const struct live *live,
				   const struct losses *losses);

/*
 * What to exit with after the capture has ended with `err`: the command's code (-1: there was none)
 * if all went well. Says what was lost.
 */
int capture_options_exit_code(const struct capture_options *capture, int err,
			      const struct losses *losses, int command_code);

#endif /* MEMSCOPE_COMMANDS_CAPTURE_OPTIONS_H */
