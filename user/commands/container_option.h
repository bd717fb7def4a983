/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --container-map and --pod-logs, which several commands have.
 */
#ifndef MEMSCOPE_COMMANDS_CONTAINER_OPTION_H
#define MEMSCOPE_COMMANDS_CONTAINER_OPTION_H

#include <stddef.h>

#include "commands/options.h"
#include "host/name_sources.h"

/* The row's place is a zeroed struct container_map, which the command closes. */
int container_option(const struct option_row *row, const char *value, void *settings);

/* The row's place is the path of a struct pod_logs. */
int container_option_logs(const struct option_row *row, const char *value, void *settings);

/* The place is that of a struct name_sources. */
/* clang-format off */
#define CONTAINER_OPTION_ROWS(offset) \
	{ 0, "container-map", "FILE|none", \
	  "Take the names of containers and their pods from FILE, each line of which is ID NAMESPACE" \
	  " POD CONTAINER. It is read again when it has changed (default none).", \
	  container_option, (offset) + offsetof(struct name_sources, map) }, \
	{ 0, "pod-logs", "DIR|off", \
	  "Else, take the names of pods and their containers from kubelet's directories of logs in DIR" \
	  " (default " POD_LOGS_DEFAULT "), and from the links in \"containers\" beside it.", \
	  container_option_logs, (offset) + offsetof(struct name_sources, logs.path) }
/* clang-format on */

#endif /* MEMSCOPE_COMMANDS_CONTAINER_OPTION_H */
