/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --container-map, which several commands have.
 */
#ifndef MEMSCOPE_COMMANDS_CONTAINER_OPTION_H
#define MEMSCOPE_COMMANDS_CONTAINER_OPTION_H

#include "commands/options.h"
#include "host/container_map.h"

/* The row's place is a zeroed struct container_map, which the command closes. */
int container_option(const struct option_row *row, const char *value, void *settings);

/* clang-format off */
#define CONTAINER_OPTION_ROW(offset) \
	{ 0, "container-map", "FILE", \
	  "Take the names of containers and their pods from FILE, each line of which is ID NAMESPACE" \
	  " POD CONTAINER. It is read again when it has changed.", \
	  container_option, offset }
/* clang-format on */

#endif /* MEMSCOPE_COMMANDS_CONTAINER_OPTION_H */
