/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the history's batches: a sink of the pipeline that adds up, for each process, what it holds
 * of which memory and for how long, and closes the sums every ten seconds of the wall clock. What a
 * process holds is always the ledger's number, so that the two never differ. Does no I/O.
 */
#ifndef MEMSCOPE_AGENT_HISTORY_SAMPLER_H
#define MEMSCOPE_AGENT_HISTORY_SAMPLER_H

#include <stdint.h>

#include "history/batch.h"
#include "sink.h"

#define HISTORY_SAMPLER_PROCESSES 20000 /* in one interval; of more, nothing is kept */
#define HISTORY_SAMPLER_CELLS 64        /* of one process */

struct history_sampler;

struct history_sampler_options {
	char boot[40];
	/* CLOCK_REALTIME - CLOCK_MONOTONIC, as of now. */
	uint64_t (*wall_offset_ns)(void);
	/* Gets each batch, as bytes (history/batch.h). */
	void (*take)(void *context, const struct string *batch);
	void *context;
};

/* The caller adds history_sampler_sink() to the pipeline. Returns NULL without memory. */
struct history_sampler *history_sampler_new(const struct history_sampler_options *options,
					    uint64_t now_ns);
void history_sampler_free(struct history_sampler *sampler);

struct sink *history_sampler_sink(struct history_sampler *sampler);

/* Closes the interval, at the end. */
void history_sampler_finish(struct history_sampler *sampler, uint64_t now_ns);

/* How many processes, kinds of memory and events had no place, or no memory. */
uint64_t history_sampler_missed(const struct history_sampler *sampler);

#endif /* MEMSCOPE_AGENT_HISTORY_SAMPLER_H */
