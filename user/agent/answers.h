/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The documents that the agent's clients get. A child makes them from its copy of the books
 * (agent/broker.h).
 */
#ifndef MEMSCOPE_AGENT_ANSWERS_H
#define MEMSCOPE_AGENT_ANSWERS_H

#include "agent/books.h"
#include "agent/own_metrics.h"
#include "agent/request.h"

#define ANSWERS_WHO_SCHEMA "memscope-bpf/agent-who/1"
#define ANSWERS_PROCESS_SCHEMA "memscope-bpf/agent-process/1"

struct answers_source {
	struct books *books;
	struct own_numbers own;
	const char *host;
	const char *ring;         /* the directory of the recording; NULL: it is not known yet */
	const char *history_path; /* the database; NULL: there is no history */
	uint64_t start_ns;        /* CLOCK_MONOTONIC, of the capture */
	uint32_t captured_ops;    /* bit set of enum ms_op */
};

/* Writes the document to `fd`, and may close the books. Returns an HTTP status, or -errno. */
int answers_write(const struct answers_source *source, const struct request *request, int fd);

#endif /* MEMSCOPE_AGENT_ANSWERS_H */
