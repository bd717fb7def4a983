/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Output for people: one aligned line per call, then the summary.
 */
#ifndef MEMSCOPE_RENDER_TEXT_H
#define MEMSCOPE_RENDER_TEXT_H

#include "base/writer.h"
#include "pipeline.h"

struct text_options {
	bool lines;        /* one line per call; else the summary alone */
	bool stacks;       /* below a call, where it came from */
	bool whole_stacks; /* with the frames of a Python interpreter, too */
	bool split;        /* behind a call, what its thread did in it */
	bool exact;        /* sizes as numbers of bytes */
	size_t width;      /* of a line: what has no room is left out; 0: of any length */
	uint64_t clock_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC: what to add for the wall clock */
};

/* The writer stays the caller's and must outlive the sink. NULL without memory. */
struct sink *text_sink_new(struct writer *writer, const struct text_options *options);
void text_sink_free(struct sink *sink);

/*
 * Shows the summary so far: on a terminal in place of what it shows, else below it. Returns 0 or
 * -errno.
 */
int text_sink_show(struct sink *sink, const struct summary *summary);

/* Appends the summary of a run (render/summary_text.c). */
void text_append_summary(struct string *out, const struct summary *summary,
			 const struct text_options *options);

#endif /* MEMSCOPE_RENDER_TEXT_H */
