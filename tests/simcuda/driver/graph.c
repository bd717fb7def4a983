/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graphs as lists of nodes; what the nodes are is node.c's business. As on the real driver, a graph
 * must not be used by two threads at once, so only handles are protected against that.
 */
#include "graph.h"

static struct slab graphs = SLAB(struct CUgraph_st, 1 << 18);
static struct slab nodes = SLAB(struct CUgraphNode_st, 1 << 20);
static unsigned long long last_id;

CUgraph graph_new(void)
{
	struct CUgraph_st new = { .id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED) };

	return slab_new(&graphs, &new);
}

bool graph_valid(CUgraph graph)
{
	return slab_has(&graphs, graph);
}

bool graph_node_valid(CUgraphNode node)
{
	return slab_has(&nodes, node);
}

static bool allocates_or_frees(const struct graph_work *work)
{
	return work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
	       work->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static void node_delete(CUgraphNode node)
{
	if (allocates_or_frees(&node->work))
		graph_memory_put(node->work.memory);
	else if (node->work.type == CU_GRAPH_NODE_TYPE_GRAPH)
		graph_delete(node->work.child);
	slab_delete(&nodes, node);
}

void graph_delete(CUgraph graph)
{
	while (graph->first) {
		CUgraphNode node = graph->first;

		graph->first = node->next;
		node_delete(node);
	}
	slab_delete(&graphs, graph);
}

static bool dependencies_valid(const struct graph_place *at)
{
	if (at->count && !at->dependencies)
		return false;
	for (size_t i = 0; i < at->count; i++) {
		if (!graph_node_valid(at->dependencies[i]) ||
		    at->dependencies[i]->graph != at->graph)
			return false;
		for (size_t j = 0; j < i; j++)
			if (at->dependencies[i] == at->dependencies[j])
				return false;
	}
	return true;
}

static void append(CUgraph graph, CUgraphNode node)
{
	if (graph->last)
		graph->last->next = node;
	else
		graph->first = node;
	graph->last = node;
	graph->count++;
	if (allocates_or_frees(&node->work) ||
	    (node->work.type == CU_GRAPH_NODE_TYPE_GRAPH && node->work.child->has_memory))
		graph->has_memory = true;
}

/* The node takes over what the work refers to: a child, a reference to memory. */
CUresult graph_add(const struct graph_place *at, const struct graph_work *work)
{
	struct CUgraphNode_st new = { .graph = at->graph, .work = *work };
	CUgraphNode node;

	if (!at->node || !graph_valid(at->graph) || !dependencies_valid(at))
		return CUDA_ERROR_INVALID_VALUE;
	node = slab_new(&nodes, &new);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->work.node = node;
	append(at->graph, node);
	*at->node = node;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuGraphCreate, (CUgraph *graph, unsigned int flags), (graph, flags),
	  OUT_HEX(graph, graph), DEC(flags, flags))
{
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = graph_new();
	return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Memory that is live stays so: it is the program's, and other ways lead to its end. */
CU_DEFINE(INIT, cuGraphDestroy, (CUgraph graph), (graph), HEX(graph, graph))
{
	if (!graph_valid(graph) || graph->moved || graph->capturing)
		return CUDA_ERROR_INVALID_VALUE;
	graph_delete(graph);
	return CUDA_SUCCESS;
}

static CUresult clone(CUgraph *copy, CUgraph original);

static CUresult clone_node(CUgraph copy, CUgraphNode original)
{
	struct graph_work work = original->work;
	CUgraphNode node;
	const struct graph_place at = { .node = &node, .graph = copy };
	CUresult result = CUDA_SUCCESS;

	if (work.type == CU_GRAPH_NODE_TYPE_GRAPH) {
		result = clone(&work.child, original->work.child);
		if (result == CUDA_SUCCESS)
			work.child->moved = true;
	}
	return result == CUDA_SUCCESS ? graph_add(&at, &work) : result;
}

static CUresult clone(CUgraph *copy, CUgraph original)
{
	CUresult result = CUDA_SUCCESS;

	if (original->has_memory)
		return CUDA_ERROR_INVALID_VALUE;
	*copy = graph_new();
	if (!*copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (CUgraphNode node = original->first; node && result == CUDA_SUCCESS; node = node->next)
		result = clone_node(*copy, node);
	if (result != CUDA_SUCCESS)
		graph_delete(*copy);
	return result;
}

CU_DEFINE(INIT, cuGraphClone, (CUgraph *copy, CUgraph original), (copy, original),
	  OUT_HEX(graph, copy), HEX(original, original))
{
	if (!copy || !graph_valid(original))
		return CUDA_ERROR_INVALID_VALUE;
	return original->has_memory ? CUDA_ERROR_NOT_SUPPORTED : clone(copy, original);
}

CU_DEFINE(INIT, cuGraphAddChildGraphNode,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
	   CUgraph child),
	  (node, graph, dependencies, count, child), HEX(graph, graph), OUT_HEX(node, node),
	  HEX(child, child))
{
	const struct graph_place at = { node, graph, dependencies, count };

	return graph_add_child(&at, child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE);
}

static bool can_move(CUgraph child, CUgraph parent)
{
	return !child->moved && !child->capturing && !child->execs && child != parent;
}

CUresult graph_add_child(const struct graph_place *at, CUgraph child,
			 CUgraphChildGraphNodeOwnership ownership)
{
	struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .child = child };
	bool move = ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	CUresult result = CUDA_SUCCESS;

	if (!graph_valid(child) || (move ? !can_move(child, at->graph) :
					   ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE))
		return CUDA_ERROR_INVALID_VALUE;
	/* One that was moved must not get memory, so its owners need not be told of any. */
	if (child->has_memory && graph_valid(at->graph) && at->graph->moved)
		return CUDA_ERROR_INVALID_VALUE;
	if (!move)
		result = clone(&work.child, child);
	if (result != CUDA_SUCCESS)
		return result;
	result = graph_add(at, &work);
	if (result == CUDA_SUCCESS)
		work.child->moved = true;
	else if (!move)
		graph_delete(work.child);
	return result;
}

CU_DEFINE(INIT, cuGraphChildGraphNodeGetGraph, (CUgraphNode node, CUgraph *child), (node, child),
	  HEX(node, node), OUT_HEX(child, child))
{
	if (!child || !graph_node_valid(node) || node->work.type != CU_GRAPH_NODE_TYPE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	*child = node->work.child;
	return CUDA_SUCCESS;
}

/* Without nodes, only counts; with more room than nodes, fills up with NULL. */
CU_DEFINE(INIT, cuGraphGetNodes, (CUgraph graph, CUgraphNode *list, size_t *count),
	  (graph, list, count), HEX(graph, graph), OUT_DEC(value, count))
{
	CUgraphNode node;

	if (!graph_valid(graph) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	node = graph->first;
	for (size_t i = 0; list && i < *count; i++) {
		list[i] = node;
		if (node)
			node = node->next;
	}
	if (!list || *count > graph->count)
		*count = graph->count;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuGraphDestroyNode, (CUgraphNode node), (node), HEX(node, node))
{
	CUgraphNode before = NULL;
	CUgraph graph;

	if (!graph_node_valid(node))
		return CUDA_ERROR_INVALID_VALUE;
	graph = node->graph;
	if (graph->has_memory || graph->capturing)
		return CUDA_ERROR_INVALID_VALUE;
	for (CUgraphNode at = graph->first; at != node; at = at->next)
		before = at;
	if (before)
		before->next = node->next;
	else
		graph->first = node->next;
	if (graph->last == node)
		graph->last = before;
	graph->count--;
	node_delete(node);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType *type), (node, type),
	  HEX(node, node), OUT_DEC(value, type))
{
	if (!type || !graph_node_valid(node))
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->work.type;
	return CUDA_SUCCESS;
}
