/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the agent knows about the traced processes, as a report of the present moment. The books are
 * a sink of the pipeline. Besides the state, they keep the counts of processes that have ended, so
 * that counters never go back.
 */
#ifndef MEMSCOPE_AGENT_BOOKS_H
#define MEMSCOPE_AGENT_BOOKS_H

#include "export/openmetrics.h"
#include "pipeline.h"

struct books;

struct books_options {
	const char *host, *kernel, *hardware; /* as in struct machine */
	uint32_t captured_ops;                /* bit set of enum ms_op */
	bool launches_summed, copies_summed;
	bool label_pid;
	size_t most_series;
};

/* The pipeline is empty, and stays the caller's. Returns NULL without memory. */
struct books *books_new(struct pipeline *pipeline, const struct books_options *options);
void books_free(struct books *books);

/* What the pipeline does not know: for example, what the kernel side has counted. */
struct books_outside {
	struct ms_counters counters;
	uint64_t missed_processes;
	uint64_t unwritten_blocks, unwritten_records;
};
void books_note(struct books *books, const struct books_outside *outside);

/*
 * Live processes that may hold more than was seen, since they had CUDA loaded when they were
 * attached to: those that had begun before the agent, and those that it came late to.
 */
struct books_late {
	size_t ran_before, attached_late;
};

/* Returns NULL if the books are exact, or the reason why they are not, for people. */
const char *books_inexact(const struct books *books, struct books_late *late);

/* That, for people, with a byte 0; empty if there are none. */
void books_late_words(const struct books_late *late, char *out, size_t size);

/*
 * Finishes the report, with the live processes of that user (REQUEST_EVERYBODY: of all users). This
 * can be done only once, so call it in a child that has a copy of the books. Returns 0 or -ENOMEM.
 */
int books_close(struct books *books, uint32_t uid);

/* After books_close(): */
const struct report_recording *books_report(const struct books *books);

/* So many live processes are of other users than that one. */
size_t books_hidden(const struct books *books);

/* The most that a live process held at a time in the spaces of usage_is_on_device(). */
uint64_t books_peak_live(const struct books *books, const struct process *process);

/* ... and the series of metrics, with those of processes that have ended. */
struct openmetrics *books_series(struct books *books);

const struct pipeline *books_pipeline(const struct books *books);

#endif /* MEMSCOPE_AGENT_BOOKS_H */
