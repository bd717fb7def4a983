/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graphs with nodes that allocate and free memory: what is noted when they are built takes place
 * each time they are launched. The same goes for what is submitted to a stream that is being
 * captured into a graph. (A stream that joins a capture by waiting for an event is not recognised.)
 * A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_GRAPHS_H
#define MEMSCOPE_LEDGER_GRAPHS_H

#include "ledger/state.h"

void graphs_fini(struct process *process);

/* A call with a MS_ACTION_GRAPH_... or MS_ACTION_CAPTURE_... Returns 0 or -ENOMEM. */
int graphs_apply(struct process *process, const struct event *event);

/* One that failed: a capture that something has made invalid is over all the same. */
void graphs_failed(struct process *process, const struct event *event);

/* The allocations and frees of a launch, and what they are, in `*change`. Returns 0 or -ENOMEM. */
int graphs_launch(struct state *state, struct process *process, const struct event *event,
		  struct change *change);

/* What a launch that has been applied allocated, until `take` returns an error: that, or 0. */
int graphs_each_made(const struct process *process, const struct event *launch,
		     int (*take)(void *context, const struct allocation *made), void *context);

/* Whether what the row does in `stream` is only noted down. */
bool graphs_captures(const struct process *process, const struct probe *probe, uint64_t stream);

/* Notes down an allocation or (no size) a free in a captured stream. Returns 0 or -ENOMEM. */
int graphs_note(struct process *process, uint64_t stream, uint64_t addr, uint64_t size_bytes);

/* About how much memory they take. */
size_t graphs_bytes(const struct process *process);

/* For anchors: calls `graph` for each, and after it `node` for each of its nodes. */
void graphs_visit(const struct map *graphs, uint32_t kind,
		  void (*graph)(void *context, uint64_t handle, uint32_t kind, bool auto_free),
		  void (*node)(void *context, uint64_t addr, uint64_t size_bytes), void *context);

/* And back. Each returns 0 or -ENOMEM. */
int graphs_load(struct process *process, struct map *graphs, uint64_t handle, bool auto_free);
int graphs_load_node(struct process *process, struct map *graphs, uint64_t handle, uint64_t addr,
		     uint64_t size_bytes);

#endif /* MEMSCOPE_LEDGER_GRAPHS_H */
