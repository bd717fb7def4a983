/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of `memscope-bpf agent` for pushing metrics, which all protocols have: their names
 * begin with the protocol's. As `parse` of struct option_row.
 */
#ifndef MEMSCOPE_COMMANDS_AGENT_PUSH_H
#define MEMSCOPE_COMMANDS_AGENT_PUSH_H

#include "commands/options.h"

int agent_push_parse_url(const struct option_row *row, const char *value, void *settings);
int agent_push_parse_interval(const struct option_row *row, const char *value, void *settings);
int agent_push_parse_client(const struct option_row *row, const char *value, void *settings);

#endif /* MEMSCOPE_COMMANDS_AGENT_PUSH_H */
