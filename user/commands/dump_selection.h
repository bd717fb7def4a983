/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options that say which processes of a recording a report or an export is about, and what to say
 * if there are none.
 */
#ifndef MEMSCOPE_COMMANDS_DUMP_SELECTION_H
#define MEMSCOPE_COMMANDS_DUMP_SELECTION_H

#include "commands/options.h"
#include "report/report.h"

/* clang-format off */

#define DUMP_SELECTION_AT(at, member) ((at) + offsetof(struct process_selection, member))

/* Rows of a command's options; `at` is where its settings have the struct process_selection. */
#define DUMP_SELECTION_ROWS(at) \
	DUMP_SELECTION_USER_ROW(at), \
	{ 0, "cgroup", "PATH", DUMP_SELECTION_CGROUP_HELP, option_once, \
	  DUMP_SELECTION_AT(at, cgroup) }, \
	DUMP_SELECTION_CONTAINER_ROWS(at)

#define DUMP_SELECTION_CGROUP_HELP \
	"Only processes in this cgroup or below it. PATH is as in /proc/PID/cgroup; the first slash" \
	" may be left out."

#define DUMP_SELECTION_USER_ROW(at) \
	{ 0, "user", "NAME", "Only processes of this user (name or UID).", option_once, \
	  DUMP_SELECTION_AT(at, user) }

#define DUMP_SELECTION_CONTAINER_ROWS(at) \
	{ 0, "container", "ID", \
	  "Only processes of this container: its name, its ID or the beginning of its ID.", \
	  option_once, DUMP_SELECTION_AT(at, container) }, \
	{ 0, "pod", "NAME", \
	  "Only processes of this pod: its name, NAMESPACE/NAME, or its UID.", \
	  option_once, DUMP_SELECTION_AT(at, pod) }, \
	{ 0, "namespace", "NAME", "Only processes of pods in this namespace.", option_once, \
	  DUMP_SELECTION_AT(at, namespace) }, \
	{ 0, "comm", "PATTERN", \
	  "Only processes with this name: the name of the process (python3), of its executable," \
	  " or of the script or module that it runs (train.py). * and ? are wildcards. A" \
	  " process must match all of these options that are given.", \
	  option_once, DUMP_SELECTION_AT(at, comm) }

/* clang-format on */

/* Returns EXIT_OK, or an exit code after a message that names what there is instead. */
int dump_selection_check(const struct report *report);

/* Says that the device that was asked for is not there, and which are. */
void dump_selection_refuse_device(const struct report *report);

#endif /* MEMSCOPE_COMMANDS_DUMP_SELECTION_H */
