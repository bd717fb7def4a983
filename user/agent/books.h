/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the agent knows of the traced processes, as a report of now: a sink of the pipeline, which
 * keeps besides the state what must not be forgotten with a process, so that counters never go
 * back.
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

/* Of a pipeline that is still empty, and stays the caller's. NULL without memory. */
struct books *books_new(struct pipeline *pipeline, const struct books_options *options);
void books_free(struct books *books);

/* What the pipeline does not know: what the kernel side has counted, and so on. */
struct books_outside {
	struct ms_counters counters;
	uint64_t missed_processes;
	uint64_t unwritten_blocks, unwritten_records;
};
void books_note(struct books *books, const struct books_outside *outside);

/*
 * How exact they are: NULL, or why they are not, for a reader: something was lost. `*late` is how
 * many processes that live may hold more than was seen of them.
 */
const char *books_inexact(const struct books *books, size_t *late);

/*
 * Of a copy of this process's memory only, since it can be done once: the report of now, of the
 * processes that live and are that user's (REQUEST_EVERYBODY: all). Returns 0 or -ENOMEM.
 */
int books_close(struct books *books, uint32_t uid);

/* After books_close(): */
const struct report_recording *books_report(const struct books *books);

/* ... and the series of metrics, with those of processes that have ended. */
struct openmetrics *books_series(struct books *books);

const struct pipeline *books_pipeline(const struct books *books);

#endif /* MEMSCOPE_AGENT_BOOKS_H */
