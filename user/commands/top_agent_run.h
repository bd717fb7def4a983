/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `top --agent`: shows the answers of an agent, and traces nothing.
 */
#ifndef MEMSCOPE_COMMANDS_TOP_AGENT_RUN_H
#define MEMSCOPE_COMMANDS_TOP_AGENT_RUN_H

#include "commands/top_run.h"

/* Returns the exit code. */
int top_agent_run(struct top_run_settings *settings);

#endif /* MEMSCOPE_COMMANDS_TOP_AGENT_RUN_H */
