/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that pushes metrics by one of the protocols. It asks the capture for a batch in each
 * interval, keeps it until the receiver has it, and knows nothing else. libcurl does HTTP and TLS:
 * both are well kept there. The process has no capability, user or files of the capture's.
 */
#ifndef MEMSCOPE_AGENT_PUSH_PROCESS_H
#define MEMSCOPE_AGENT_PUSH_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/push_protocol.h"

struct push_options {
	enum push_protocol_id protocol;
	const char *url;         /* for push_target_parse(), which takes it */
	const char *client_path; /* for push_client_read(); NULL: none */
	uint64_t interval_ns;
	int channel; /* the process's end */
	int file;    /* of push_file_open(): what it keeps there outlives it; -1: none */
};

/*
 * Starts it and its parent. Call it before there are threads, and before the capture opens
 * anything. Returns the PID of the parent or -errno, logged.
 */
pid_t push_process_start(const struct push_options *options);

#endif /* MEMSCOPE_AGENT_PUSH_PROCESS_H */
