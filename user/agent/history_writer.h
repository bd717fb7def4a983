/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that writes the history. The capture hands it batches in memory and goes on: it never
 * waits for the disk. The process has no capability, and can open only the files of the history.
 */
#ifndef MEMSCOPE_AGENT_HISTORY_WRITER_H
#define MEMSCOPE_AGENT_HISTORY_WRITER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/string.h"
#include "history/database.h"

struct history_writer {
	struct history_options options;
	int fd;       /* the capture's end; -1: there is none */
	int other_fd; /* the process's, until it has been started */
	pid_t child;
	int child_fd; /* a pidfd */
	struct loop *loop;
	struct loop_source *source, *child_source;
	struct history_counts counts;    /* of the process that is there, as it said last */
	struct history_counts earlier;   /* of those before */
	uint64_t cpu_ns, earlier_cpu_ns; /* of it, of those before */
	uint64_t lost;                   /* batches that it did not take */
};

/*
 * Starts it; options.directory exists, and its text outlives the writer. Call it before there are
 * threads. Returns 0 or -errno, logged.
 */
int history_writer_open(struct history_writer *writer, const struct history_options *options);

/*
 * From now on, its counts are up to date, and loop_run() ends if its parent is killed. Returns 0 or
 * -errno.
 */
int history_writer_start(struct history_writer *writer, struct loop *loop);

/* Hands over a batch (history/batch.h), or counts that it is lost. */
void history_writer_put(struct history_writer *writer, const struct string *batch);

/* Since the agent began. */
struct history_counts history_writer_counts(const struct history_writer *writer);

uint64_t history_writer_cpu_ns(const struct history_writer *writer);

/* Waits until it has written what it has, but not for long. Does nothing to one that is zeroed. */
void history_writer_close(struct history_writer *writer);

#endif /* MEMSCOPE_AGENT_HISTORY_WRITER_H */
