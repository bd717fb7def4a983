/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies and memsets that are summed up instead of recorded one by one: those that differ in
 * nothing but when, how much and how long. What is left of where they went is the blocks, so that a
 * sum must be taken before the state forgets one of its blocks.
 */
#ifndef MEMSCOPE_LEDGER_COPY_AGGREGATOR_H
#define MEMSCOPE_LEDGER_COPY_AGGREGATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "ledger/state.h"

/* So many different ones; what would be one more has all of them taken first. */
#define SUMS_MAX 1024

struct copy_aggregator;

/* Takes a sum, a record of type MS_TYPE_CALLS that dies with the call. Returns 0 or -errno. */
typedef int (*copy_aggregator_take)(void *context, const struct ms_calls *sum);

/* NULL without memory. */
struct copy_aggregator *copy_aggregator_new(copy_aggregator_take take, void *context);
void copy_aggregator_free(struct copy_aggregator *aggregator);

/* Whether it is a copy or memset. */
bool copy_aggregator_is_about(const struct event *event);

/*
 * One of those, after it has been applied. Returns 0, an error of `take`, or 1: it is not to be
 * summed up. That is so for what is only noted down as a node of a graph: alone it would mean
 * something else.
 */
int copy_aggregator_add(struct copy_aggregator *aggregator, const struct event *event,
			const struct change *change, uint64_t now_ns);

/*
 * Before an event of another kind is applied: takes the sums that would mean something else after
 * it. Times of sums are `now_ns`. Returns 0 or -errno.
 */
int copy_aggregator_before(struct copy_aggregator *aggregator, const struct event *event,
			   uint64_t now_ns);

/* Takes all. */
int copy_aggregator_flush(struct copy_aggregator *aggregator, uint64_t now_ns);

#endif /* MEMSCOPE_LEDGER_COPY_AGGREGATOR_H */
