/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The capture of `top`; a look is one time that it shows its numbers.
 */
#ifndef MEMSCOPE_COMMANDS_TOP_RUN_H
#define MEMSCOPE_COMMANDS_TOP_RUN_H

#include "commands/capture_options.h"
#include "top/top.h"

struct top_run_settings {
	struct capture_options capture;
	uint64_t delay_ns;
	uint64_t looks; /* 0: until it ends */
	uint64_t most;  /* processes of a look, as plain text; 0: all */
	enum top_sort sort;
	struct process_selection selection; /* of those that are traced, the ones to show */
	const char *agent; /* socket of the agent that it asks; NULL: it traces itself */
	bool batch;
	bool no_launches;
};

/* Returns the exit code. */
int top_run(struct top_run_settings *settings);

#endif /* MEMSCOPE_COMMANDS_TOP_RUN_H */
