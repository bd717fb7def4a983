/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent: a live capture into its books and a flight recorder, and the process that answers.
 */
#ifndef MEMSCOPE_COMMANDS_AGENT_RUN_H
#define MEMSCOPE_COMMANDS_AGENT_RUN_H

#include "agent/listener.h"
#include "agent/push_protocol.h"
#include "agent/thresholds.h"
#include "capture/targets/policy.h"
#include "commands/config.h"
#include "commands/record_run.h"

/* Where metrics are pushed by a protocol. */
struct agent_push {
	const char *url;         /* NULL: nowhere */
	const char *client_path; /* a file for push_client_read(); NULL: none */
	uint64_t interval_ns;
};

struct agent_settings {
	struct record_run_settings recording; /* its capture, ring and details */
	const char *listen, *socket;          /* NULL: none */
	struct listener_address listen_address, socket_address;
	const char *web_config; /* of the first; NULL: none */
	const char *state_directory;
	uint64_t ring_ns; /* how long the flight recorder keeps events */
	uint64_t most_series;
	struct thresholds_options bundle_on;
	uint64_t history_bytes; /* of its database; 0: there is none */
	uint64_t history_ns;    /* how long it goes back */
	uint64_t budget_ppm;    /* of a CPU, for each process; 0: no limit */
	struct policy policy;   /* which processes are traced */
	struct agent_push pushes[PUSH_PROTOCOLS];
	bool label_pid;
	const char *config_path;
	bool check_config, show_config, lenient;
	/*
	 * Reads the configuration again, at SIGHUP, and says what has changed. The agent then uses
	 * what can change while it runs. Returns 0, or -errno, logged: then nothing changes.
	 */
	int (*reload)(struct agent_settings *settings);
	struct config_changes changes; /* set by it */
};

/* Runs until a signal ends it. Returns the exit code; all errors have been logged. */
int agent_run(struct agent_settings *settings);

#endif /* MEMSCOPE_COMMANDS_AGENT_RUN_H */
