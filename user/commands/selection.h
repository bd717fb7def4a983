/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes and which calls: the options that every command with a live capture has.
 */
#ifndef MEMSCOPE_COMMANDS_SELECTION_H
#define MEMSCOPE_COMMANDS_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "commands/cgroup_option.h"
#include "commands/command.h"
#include "event/filter.h"
#include "ledger/process_selection.h"

struct selection {
	pid_t *pids;
	size_t pids_count, pids_capacity;
	char *const *command; /* NULL-terminated; NULL: none */
	bool follow;
	bool in_processes; /* --attach=process */
	bool all;          /* with a cgroup, as perf has it: all of that */
	bool command_lines;
	struct cgroup_option cgroup;
	struct process_selection who; /* of all, or of the cgroup: these alone */
	uint32_t ops;                 /* bit set of enum ms_op; 0: the default */
	uint32_t
		failed; /* the same: those of which failed calls are shown, too, if there are ops */
	uint32_t layers; /* bit set of enum ms_layer; 0: both, as far as it pays */
	uint64_t min_bytes;
	const char *api; /* regular expression; NULL: all */
};

/* Parsers for rows whose place in the settings is a struct selection. */
int selection_parse_pids(const struct option_row *row, const char *value, void *settings);
int selection_parse_cgroup(const struct option_row *row, const char *value, void *settings);
int selection_parse_events(const struct option_row *row, const char *value, void *settings);
int selection_parse_attach(const struct option_row *row, const char *value, void *settings);
int selection_parse_layer(const struct option_row *row, const char *value, void *settings);

/*
 * Returns EXIT_OK, or an exit code after a message: it does not say what to trace, or there is no
 * such process or command.
 */
int selection_check(const struct selection *selection);

/* What is shown. Returns EXIT_OK, or an exit code after a message. */
int selection_filter(const struct selection *selection, struct filter *filter);

/* What has to be captured for that: a bit set of enum ms_op. */
uint32_t selection_captured_ops(const struct selection *selection);

/* Which layers, as a bit set of enum ms_layer, if calls are (not) followed to their ends. */
uint32_t selection_layers(const struct selection *selection, bool entries_only);

/* The runtime's functions of these ops (bit set) are left to the driver, where that is seen. */
uint32_t selection_spared(const struct selection *selection);

/* Returns EXIT_OK, or an exit code after a message: the layers cannot be told apart. */
int selection_check_layer(const struct selection *selection, bool entries_only);

void selection_fini(struct selection *selection);

#endif /* MEMSCOPE_COMMANDS_SELECTION_H */
