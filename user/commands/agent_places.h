/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the agent writes: whether it may, whether it is alone there, and what cannot be kept.
 */
#ifndef MEMSCOPE_COMMANDS_AGENT_PLACES_H
#define MEMSCOPE_COMMANDS_AGENT_PLACES_H

#include "commands/agent_run.h"

/*
 * Creates the state directory if need be, takes it for this agent alone until `*lock_fd` is closed,
 * and removes old bundles from it. What else cannot be written to is warned of. Returns 0 or
 * -errno, logged.
 */
int agent_places_open(const struct agent_settings *settings, int *lock_fd);

#endif /* MEMSCOPE_COMMANDS_AGENT_PLACES_H */
