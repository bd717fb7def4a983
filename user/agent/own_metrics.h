/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's metrics about itself: what it costs, whether its books are exact, and what it has
 * given up.
 */
#ifndef MEMSCOPE_AGENT_OWN_METRICS_H
#define MEMSCOPE_AGENT_OWN_METRICS_H

#include <stdbool.h>

#include "agent/broker.h"
#include "agent/budget.h"
#include "agent/channel.h"
#include "agent/costs.h"
#include "agent/history_feed.h"
#include "agent/push_feed.h"
#include "capture/live.h"
#include "export/metrics.h"
#include "ledger/stack_upkeep.h"
#include "ledger/state.h"
#include "ledger/summary.h"
#include "store/triggers.h"

struct own_numbers {
	bool ready, inexact;
	uint64_t processes;      /* traced, and alive */
	uint64_t late_processes; /* those of them that may hold more than was seen */
	uint64_t denied;         /* not traced, as the policy says, and alive */
	struct live_moved moved; /* as the policy says of their cgroups: so many so far */
	uint64_t start_ns;       /* since 1970 */
	struct summary_cost cost;
	struct stack_upkeep stacks;
	uint64_t stacks_kept, stacks_left_out; /* the latter found no room */
	const struct costs *costs;             /* to the traced programs; NULL: not known */
	const struct budget *budget;           /* with `costs` */
	const struct history_feed *history;    /* NULL: there is none */
	const struct push_feed *pushes;        /* by enum push_protocol_id; NULL: there are none */
	uint64_t resident_bytes;               /* of the capture */
	uint64_t descriptors;
	uint64_t pause_ns;                      /* of the capture's loop: loop_longest_ns() */
	uint64_t recorded_bytes, recorded_most; /* in the flight recorder; 0: there is none */
	struct bundle_counts bundles;
	uint64_t reloads, failed_reloads;
	struct broker_counts answers;
	struct channel_server server;
	uint64_t server_restarts;
};

/* Fills in what the ledger says: of processes and call stacks. */
void own_numbers_count(struct own_numbers *numbers, const struct state *state);

/*
 * Makes them; those of the `ledger` are complete. metrics_free() frees them. NULL without memory.
 */
struct metrics *own_metrics_make(const struct own_numbers *numbers, const char *host,
				 const struct metrics *ledger);

#endif /* MEMSCOPE_AGENT_OWN_METRICS_H */
