// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/graphs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/allocations.h"
#include "ledger/effort.h"

#define CAPTURE_WRONG_THREAD 908 /* CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD */
#define AUTO_FREE_ON_LAUNCH 1    /* CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH */

/*
 * Copies of graphs in graphs grow exponentially, and nothing that a program does to graphs costs it
 * what they would cost here. The largest real ones have some thousand such nodes.
 */
#define MAX_NODES (1u << 16)         /* of one graph */
#define MAX_PROCESS_NODES (1u << 20) /* of all graphs of a process: 16 MiB */

/* Copying so many takes about as long as one that is launched. */
#define NODES_COPIED_AT_ONCE 16

struct node {
	uint64_t addr;
	uint64_t size_bytes; /* 0: it frees */
};

/* Only graphs that have such nodes are kept. Nodes are in an order in which they can be run. */
struct graph {
	struct node *nodes;
	size_t count, capacity;
	bool auto_free;
};

static struct graph *graph_at(const struct map *graphs, uint64_t handle)
{
	const uint64_t *place = map_get(graphs, handle);

	return place ? (struct graph *)(uintptr_t)*place : NULL;
}

static void graph_remove(struct process *process, struct map *graphs, uint64_t handle)
{
	struct graph *graph = graph_at(graphs, handle);

	if (!graph)
		return;
	map_remove(graphs, handle);
	process->graph_nodes -= graph->count;
	free(graph->nodes);
	free(graph);
}

static bool are_many(const struct process *process)
{
	return process->graphs.count + process->executables.count + process->captures.count >=
	       LIMIT_GRAPHS;
}

/*
 * The graph of that handle, new if there was none; NULL: there is no place for one more, which is
 * counted. Returns 0 or -ENOMEM.
 */
static int graph_make(struct process *process, struct map *graphs, uint64_t handle,
		      struct graph **graph)
{
	*graph = graph_at(graphs, handle);
	if (*graph)
		return 0;
	if (are_many(process)) {
		process->counters[COUNTER_OTHER_GRAPHS]++;
		return 0;
	}
	*graph = calloc(1, sizeof(**graph));
	if (*graph && !map_set(graphs, handle, (uintptr_t)*graph))
		return 0;
	free(*graph);
	*graph = NULL;
	return -ENOMEM;
}

/*
 * Appends nodes, which may be the graph's own. Those that would be too many are left out, all of
 * them, and counted.
 */
static int graph_append(struct process *process, struct map *graphs, uint64_t handle,
			const struct graph *source)
{
	const size_t count = source->count;
	struct graph *graph;
	int err = graph_make(process, graphs, handle, &graph);

	if (err || !graph)
		return err;
	if (graph->count + count > MAX_NODES || process->graph_nodes + count > MAX_PROCESS_NODES ||
	    !effort_pay(process, count / NODES_COPIED_AT_ONCE)) {
		process->counters[COUNTER_DROPPED_NODES] += count;
		return 0;
	}
	if (memory_grow(&graph->nodes, &graph->capacity, graph->count + count,
			sizeof(*graph->nodes)))
		return -ENOMEM;
	memcpy(graph->nodes + graph->count, source->nodes, count * sizeof(*graph->nodes));
	graph->count += count;
	process->graph_nodes += count;
	return 0;
}

static int graph_append_node(struct process *process, struct map *graphs, uint64_t handle,
			     struct node node)
{
	const struct graph one = { .nodes = &node, .count = 1 };

	return graph_append(process, graphs, handle, &one);
}

/* Appends the nodes of one graph to another one, or to itself. */
static int graph_insert(struct process *process, struct map *to, uint64_t to_handle,
			const struct map *from, uint64_t from_handle)
{
	const struct graph *source = graph_at(from, from_handle);

	return source && source->count ? graph_append(process, to, to_handle, source) : 0;
}

static void graphs_clear(struct map *graphs)
{
	size_t i;

	for (i = 0; i < graphs->capacity; i++) {
		struct graph *graph = (struct graph *)(uintptr_t)graphs->slots[i].value;

		if (!map_is_used(graphs, i))
			continue;
		free(graph->nodes);
		free(graph);
	}
	map_fini(graphs);
}

void graphs_fini(struct process *process)
{
	graphs_clear(&process->graphs);
	graphs_clear(&process->executables);
	graphs_clear(&process->captures);
	process->graph_nodes = 0;
}

size_t graphs_bytes(const struct process *process)
{
	const struct map *maps[] = { &process->graphs, &process->executables, &process->captures };
	/* Arrays that grow have up to twice the room that they need. */
	size_t bytes = process->graph_nodes * 2 * sizeof(struct node), i;

	for (i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		bytes += maps[i]->capacity * sizeof(*maps[i]->slots) +
			 maps[i]->count * sizeof(struct graph);
	return bytes;
}

/* ---- building -------------------------------------------------------------------------------- */

static int instantiate(struct process *process, const struct ms_call *call)
{
	struct graph *executable;
	int err;

	graph_remove(process, &process->executables, call->addr); /* its end was not seen */
	err = graph_insert(process, &process->executables, call->addr, &process->graphs, call->src);
	executable = graph_at(&process->executables, call->addr);
	if (executable)
		executable->auto_free =
			call->known & MS_KNOWN_SIZE && call->size & AUTO_FREE_ON_LAUNCH;
	return err;
}

static int capture_begin(struct process *process, const struct ms_call *call)
{
	struct graph *unused;

	graph_remove(process, &process->captures, call->stream);
	return graph_make(process, &process->captures, call->stream, &unused);
}

static int capture_end(struct process *process, const struct ms_call *call)
{
	int err = graph_insert(process, &process->graphs, call->addr, &process->captures,
			       call->stream);

	graph_remove(process, &process->captures, call->stream);
	return err;
}

/* What a child graph does its parent does. The only kind that may have memory is moved there. */
static int add_node(struct process *process, const struct ms_call *call)
{
	struct map *graphs = &process->graphs;
	const struct node node = { call->addr, call->known & MS_KNOWN_SIZE ? call->size : 0 };
	int err;

	if (!(call->known & MS_KNOWN_ADDR))
		return 0;
	if (node.size_bytes || !graph_at(graphs, call->addr))
		return graph_append_node(process, graphs, call->src, node);
	err = graph_insert(process, graphs, call->src, graphs, call->addr);
	graph_remove(process, graphs, call->addr);
	return err;
}

int graphs_apply(struct process *process, const struct event *event)
{
	const struct ms_call *call = event->call;
	struct map *graphs = &process->graphs;

	effort_advance(process, event->header->ts_ns);
	switch (event->probe->spec.action) {
	case MS_ACTION_GRAPH_NODE:
		return add_node(process, call);
	case MS_ACTION_GRAPH_COPY:
		graph_remove(process, graphs, call->addr);
		return graph_insert(process, graphs, call->addr, graphs, call->src);
	case MS_ACTION_GRAPH_INSERT:
		return graph_insert(process, graphs, call->addr, graphs, call->src);
	case MS_ACTION_GRAPH_INSTANTIATE:
		return instantiate(process, call);
	case MS_ACTION_GRAPH_DESTROY:
		graph_remove(process, graphs, call->addr);
		return 0;
	case MS_ACTION_EXECUTABLE_DESTROY:
		graph_remove(process, &process->executables, call->addr);
		return 0;
	case MS_ACTION_CAPTURE_BEGIN:
		return capture_begin(process, call);
	case MS_ACTION_CAPTURE_END:
		return capture_end(process, call);
	}
	return 0;
}

void graphs_failed(struct process *process, const struct event *event)
{
	const struct ms_call *call = event->call;

	if (event->probe->spec.action == MS_ACTION_CAPTURE_END &&
	    call->result != CAPTURE_WRONG_THREAD)
		graph_remove(process, &process->captures, call->stream);
}

/* ---- capturing ------------------------------------------------------------------------------- */

bool graphs_captures(const struct process *process, const struct probe *probe, uint64_t stream)
{
	return process->captures.count && probe->spec.stream.kind != MS_FROM_NOWHERE &&
	       map_get(&process->captures, stream);
}

int graphs_note(struct process *process, uint64_t stream, uint64_t addr, uint64_t size_bytes)
{
	const struct node node = { addr, size_bytes };

	return graph_append_node(process, &process->captures, stream, node);
}

/* ---- launching ------------------------------------------------------------------------------- */

static void run_free(struct process *process, uint64_t addr, struct change *change)
{
	struct allocation freed;

	if (!ledger_remove(&process->ledgers[MS_KEY_POINTER], addr, &freed))
		return;
	allocations_uncount(process, &freed);
	process->spaces[freed.space].frees++;
	process->spaces[freed.space].free_bytes += freed.size_bytes;
	usage_count_free(process->usage, &freed);
	usage_end(process->usage, &freed);
	allocations_note_implicit(change, freed.space, 1, freed.size_bytes);
}

static int run_alloc(struct state *state, struct process *process, const struct event *event,
		     const struct node *node, struct change *change)
{
	struct allocation allocation = allocations_made_by(event, change);

	allocation.addr = node->addr;
	allocation.size_bytes = node->size_bytes;
	allocation.size_known = true;
	allocation.space = MS_SPACE_GRAPH;
	if (ledger_find(&process->ledgers[MS_KEY_POINTER], node->addr))
		return 0; /* it is there still: what should have freed it was not seen */
	if (blocks_are_many(process, MS_KEY_POINTER, &allocation))
		return 0;
	allocations_note_made(change, MS_SPACE_GRAPH, 1, node->size_bytes);
	return allocations_add(state, process, MS_KEY_POINTER, &allocation);
}

int graphs_each_made(const struct process *process, const struct event *launch,
		     int (*take)(void *context, const struct allocation *made), void *context)
{
	const struct graph *graph = graph_at(&process->executables, launch->call->addr);
	const uint64_t ts_ns = event_end_ns(launch);
	size_t i;
	int err = 0;

	for (i = 0; graph && !err && i < graph->count; i++) {
		const struct allocation *made =
			ledger_find(&process->ledgers[MS_KEY_POINTER], graph->nodes[i].addr);

		/* What an earlier launch has made may still be live. */
		if (made && made->ts_ns == ts_ns)
			err = take(context, made);
	}
	return err;
}

int graphs_launch(struct state *state, struct process *process, const struct event *event,
		  struct change *change)
{
	const struct graph *graph = graph_at(&process->executables, event->call->addr);
	int err = 0;
	size_t i;

	if (!graph)
		return 0;
	effort_advance(process, event->header->ts_ns);
	if (!effort_pay(process, graph->count)) {
		process->counters[COUNTER_DROPPED_NODES] += graph->count;
		return 0;
	}
	for (i = 0; graph->auto_free && i < graph->count; i++)
		if (graph->nodes[i].size_bytes)
			run_free(process, graph->nodes[i].addr, change);
	for (i = 0; !err && i < graph->count; i++) {
		if (graph->nodes[i].size_bytes)
			err = run_alloc(state, process, event, &graph->nodes[i], change);
		else
			run_free(process, graph->nodes[i].addr, change);
	}
	return err;
}

/* ---- anchors --------------------------------------------------------------------------------- */

void graphs_visit(const struct map *graphs, uint32_t kind,
		  void (*visit)(void *context, uint64_t handle, uint32_t kind, bool auto_free),
		  void (*visit_node)(void *context, uint64_t addr, uint64_t size_bytes),
		  void *context)
{
	size_t i, j;

	for (i = 0; i < graphs->capacity; i++) {
		const struct graph *graph;

		if (!map_is_used(graphs, i))
			continue;
		graph = (const struct graph *)(uintptr_t)graphs->slots[i].value;
		visit(context, map_key_at(graphs, i), kind, graph->auto_free);
		for (j = 0; j < graph->count; j++)
			visit_node(context, graph->nodes[j].addr, graph->nodes[j].size_bytes);
	}
}

int graphs_load(struct process *process, struct map *graphs, uint64_t handle, bool auto_free)
{
	struct graph *graph;
	int err = graph_make(process, graphs, handle, &graph);

	if (graph)
		graph->auto_free = auto_free;
	return err;
}

int graphs_load_node(struct process *process, struct map *graphs, uint64_t handle, uint64_t addr,
		     uint64_t size_bytes)
{
	const struct node node = { addr, size_bytes };

	return graph_append_node(process, graphs, handle, node);
}
