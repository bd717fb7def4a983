/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graphs: their nodes, what is made of them to be launched, the memory that launches allocate, and
 * the capture of streams, which makes nodes of what is submitted.
 *
 * Dependencies can only be given when a node is added, on nodes that are there already. So the
 * order in which nodes were added is a topological one, and it is the one they run in.
 */
#ifndef SIMCUDA_GRAPH_DRIVER_H
#define SIMCUDA_GRAPH_DRIVER_H

#include "driver.h"

/*
 * The memory of one allocation node. Its address is taken when the node is added and given back
 * when nothing refers to it any more: neither the node, nor an executable graph, nor the program,
 * whose it is while it is live.
 */
struct graph_memory {
	struct object object;
	struct device *device;
	CUdeviceptr addr;
	uint64_t size_bytes;         /* as asked for */
	unsigned long long graph_id; /* of the node's graph */
	unsigned int references;
	bool freed_by_owner;  /* that graph has a free node for it as well, */
	bool freed_elsewhere; /* or another one has */
	bool live;
	bool planned; /* live, at some point of a launch that is being planned */
};

/* What a node does. */
struct graph_work {
	CUgraphNodeType type;
	CUgraphNode node;
	union {
		CUDA_KERNEL_NODE_PARAMS kernel;
		CUDA_MEMCPY3D copy;
		CUDA_MEMSET_NODE_PARAMS set;
		CUDA_HOST_NODE_PARAMS host;
		CUgraph child;
		struct graph_memory *memory; /* of both MEM_ALLOC and MEM_FREE */
	};
};

struct CUgraphNode_st {
	struct object object;
	struct CUgraphNode_st *next; /* the one added after this one */
	CUgraph graph;
	struct graph_work work;
};

struct CUgraph_st {
	struct object object;
	unsigned long long id; /* never used again */
	CUgraphNode first;
	CUgraphNode last;
	size_t count;
	bool has_memory;    /* allocates or frees, perhaps in a child */
	bool moved;         /* into a parent that owns it now */
	bool capturing;     /* still belongs to a capture */
	unsigned int execs; /* made of it and still there */
};

/* What the nodes of a graph need to be added to it, as all the functions take it. */
struct graph_place {
	CUgraphNode *node;
	CUgraph graph;
	const CUgraphNode *dependencies;
	size_t count;
};

/* graph.c */
CUgraph graph_new(void);          /* NULL: out of memory */
void graph_delete(CUgraph graph); /* with its children */
bool graph_valid(CUgraph graph);
bool graph_node_valid(CUgraphNode node);
CUresult graph_add(const struct graph_place *at, const struct graph_work *work);
CUresult graph_add_child(const struct graph_place *at, CUgraph child,
			 CUgraphChildGraphNodeOwnership ownership);

/* node.c */
CUresult graph_add_alloc(const struct graph_place *at, struct device *device, size_t size,
			 CUdeviceptr *ptr);
CUresult graph_add_free(const struct graph_place *at, CUdeviceptr ptr);

/* graphmem.c */
struct arena *graph_memory_space(void);
struct graph_memory *graph_memory_new(struct device *device, uint64_t size_bytes,
				      unsigned long long graph_id);
struct graph_memory *graph_memory_find(CUdeviceptr addr); /* with a reference; NULL: none there */
bool graph_memory_planned(CUdeviceptr addr, uint64_t size_bytes); /* in one, live or not */
void graph_memory_get(struct graph_memory *memory);
void graph_memory_put(struct graph_memory *memory);
uint64_t graph_memory_bytes(const struct graph_memory *memory); /* that it takes when live */
bool graph_memory_reserve(const uint64_t *bytes); /* by device, on top of what is live; or none */
bool graph_memory_alloc(struct graph_memory *memory);
bool graph_memory_release(struct graph_memory *memory); /* false: was not live */
bool graph_memory_free(CUdeviceptr addr);               /* cuMemFree; false: nothing to free */

/* capture.c */
extern unsigned int capture_count;
bool capture_has(CUstream stream);
CUresult capture_add(CUstream stream, const struct graph_work *work);
CUresult capture_alloc(CUstream stream, struct device *device, size_t size, CUdeviceptr *ptr);
CUresult capture_free(CUstream stream, CUdeviceptr ptr);
CUresult capture_refuse_stream(CUstream stream); /* waiting for it, for example */
CUresult capture_refuse_unsafe(void);            /* what no stream would notice */
void capture_drop(CUstream stream);
void capture_free_owned(CUcontext owner);
void capture_note_active(struct oracle_line *line, CUstream stream);

/* Whether what is submitted to the stream becomes a node. */
static inline bool capture_active(CUstream stream)
{
	return unlikely(__atomic_load_n(&capture_count, __ATOMIC_ACQUIRE)) && capture_has(stream);
}

/* The node that a call became. */
static inline void capture_note(struct oracle_line *line, CUstream stream, CUresult result)
{
	if (result == CUDA_SUCCESS && capture_active(stream))
		capture_note_active(line, stream);
}

#define NOTE_CAPTURE(stream) capture_note(line, stream, result)

/*
 * What streams and nodes have in common. The _plan functions check what can be checked before the
 * memory of a graph exists, the _run functions check again and do it.
 */
CUresult launch_plan(const CUDA_KERNEL_NODE_PARAMS *params); /* launch.c; in a context */
CUresult copy_plan(const CUDA_MEMCPY3D *copy);               /* copy3d.c */
CUresult copy_run(const CUDA_MEMCPY3D *copy);
void copy_note(struct oracle_line *line, const CUDA_MEMCPY3D *copy);
CUresult memset_plan(const CUDA_MEMSET_NODE_PARAMS *params); /* memset.c */
CUresult memset_run(const CUDA_MEMSET_NODE_PARAMS *params);

#endif
