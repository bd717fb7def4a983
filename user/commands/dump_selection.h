/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options that say which processes of a recording a report or an export is about, and what to say
 * if there are none.
 */
#ifndef MEMSCOPE_COMMANDS_DUMP_SELECTION_H
#define MEMSCOPE_COMMANDS_DUMP_SELECTION_H

#include "commands/options.h"
#include "report/report.h"

/* Rows of a command's options; `at` is where its settings have the struct process_selection. */
#define DUMP_SELECTION_ROWS(at) \
	{ 0,           "user", \
	  "NAME",      "Only processes of this user (name or UID).", \
	  option_file, (at) + offsetof(struct process_selection, user) }, \
		{ 0, \
		  "cgroup", \
		  "PATH", \
		  "Only processes in this cgroup or below it. PATH is as in /proc/PID/cgroup.", \
		  option_file, \
		  (at) + offsetof(struct process_selection, cgroup) }, \
		{ 0, \
		  "container", \
		  "ID", \
		  "Only processes of this container: its name, its ID or the beginning of its ID.", \
		  option_file, \
		  (at) + offsetof(struct process_selection, container) }, \
		{ 0,           "pod", \
		  "NAME",      "Only processes of this pod: its name, NAMESPACE/NAME, or its UID.", \
		  option_file, (at) + offsetof(struct process_selection, pod) }, \
	{ \
		0, "comm", "PATTERN", \
			"Only processes with this name: the name of the process (python3), of its executable," \
			" or of the script or module that it runs (train.py). * and ? are wildcards. A" \
			" process must match all of these options that are given.", \
			option_file, (at) + offsetof(struct process_selection, comm) \
	}

/* Returns EXIT_OK, or an exit code after a message that names what there is instead. */
int dump_selection_check(const struct report *report);

#endif /* MEMSCOPE_COMMANDS_DUMP_SELECTION_H */
