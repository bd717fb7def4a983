/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulated driver: graphs, and what they allocate.
 */
#include <string.h>

#include "selftest-graph.h"

static CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(size_t size)
{
	return (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.poolProps.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
		.bytesize = size,
	};
}

static CUdeviceptr add_alloc(CUgraph graph, size_t size)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(size);
	CUgraphNode node;

	OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	return params.dptr;
}

static void add_free(CUgraph graph, CUdeviceptr ptr)
{
	CUgraphNode node;

	OK(cuGraphAddMemFreeNode(&node, graph, NULL, 0, ptr));
}

static void add_memset(CUgraph graph, CUdeviceptr ptr, unsigned int byte, size_t size)
{
	CUDA_MEMSET_NODE_PARAMS params = { ptr, 0, byte, 1, size, 1 };
	CUcontext context;
	CUgraphNode node;

	OK(cuCtxGetCurrent(&context));
	OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &params, context));
}

static CUDA_MEMCPY3D line_copy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	return (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = src,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = dst,
		.WidthInBytes = size,
		.Height = 1,
		.Depth = 1,
	};
}

static void add_memcpy(CUgraph graph, CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	CUDA_MEMCPY3D copy = line_copy(dst, src, size);
	CUcontext context;
	CUgraphNode node;

	OK(cuCtxGetCurrent(&context));
	OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
}

static void append_letter(void *letter)
{
	static char text[8];
	size_t length = strlen(text);

	text[length] = *(char *)letter;
	if (*(char *)letter == '!')
		CHECK(!strcmp(text, "abcdbc!"));
}

static void test_nodes(void)
{
	CUgraph graph, child, clone, same;
	CUgraphNode nodes[4], list[4], found;
	CUDA_HOST_NODE_PARAMS host[] = {
		{ append_letter, (char[]){ "a" } }, { append_letter, (char[]){ "b" } },
		{ append_letter, (char[]){ "c" } }, { append_letter, (char[]){ "d" } },
		{ append_letter, (char[]){ "!" } },
	};
	CUgraphNodeType type;
	CUgraphExec exec;
	size_t count = 4;

	start();
	FAILS(INVALID_VALUE, cuGraphCreate(&graph, 1));
	graph = new_graph();
	child = new_graph();
	OK(cuGraphAddHostNode(&nodes[0], graph, NULL, 0, &host[0]));
	OK(cuGraphAddHostNode(&found, child, NULL, 0, &host[1]));
	FAILS(INVALID_VALUE,
	      cuGraphAddEmptyNode(&nodes[1], graph, &found, 1)); /* another graph's */
	FAILS(INVALID_VALUE,
	      cuGraphAddEmptyNode(&nodes[1], graph, (CUgraphNode[]){ nodes[0], nodes[0] }, 2));
	FAILS(INVALID_VALUE, cuGraphAddEmptyNode(&nodes[1], graph, NULL, 1));
	FAILS(INVALID_VALUE, cuGraphAddHostNode(&nodes[1], graph, NULL, 0,
						&(CUDA_HOST_NODE_PARAMS){ NULL, NULL }));
	OK(cuGraphAddHostNode(&found, child, &found, 1, &host[2]));
	OK(cuGraphAddChildGraphNode(&nodes[1], graph, nodes, 1, child));
	OK(cuGraphAddHostNode(&found, child, NULL, 0, &host[4])); /* the clone does not get this */
	OK(cuGraphAddEmptyNode(&nodes[2], graph, nodes, 2));
	OK(cuGraphAddHostNode(&nodes[3], graph, nodes, 3, &host[3]));
	OK(cuGraphGetNodes(graph, NULL, &count));
	CHECK(count == 4);
	OK(cuGraphGetNodes(graph, list, &count));
	CHECK(!memcmp(list, nodes, sizeof(list)));
	OK(cuGraphNodeGetType(nodes[1], &type));
	CHECK(type == CU_GRAPH_NODE_TYPE_GRAPH);
	OK(cuGraphChildGraphNodeGetGraph(nodes[1], &same));
	FAILS(INVALID_VALUE, cuGraphDestroy(same)); /* its parent's */
	FAILS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, same, 0));
	OK(cuGraphClone(&clone, graph));
	OK(cuGraphDestroyNode(nodes[3]));
	FAILS(INVALID_VALUE, cuGraphDestroyNode(nodes[3]));
	OK(cuGraphGetNodes(graph, list, &count));
	CHECK(count == 3 && !list[3]);
	OK(cuGraphDestroy(graph));
	FAILS(INVALID_VALUE, cuGraphDestroy(graph));
	FAILS(INVALID_VALUE, cuGraphNodeGetType(nodes[0], &type));
	OK(cuGraphLaunch(instantiate(clone, 0), NULL)); /* abcd */
	OK(cuGraphLaunch(instantiate(child, 0), NULL)); /* bc! */
}

/* The graph's bytes move when it is launched, not before, and in order. */
static void test_copies(void)
{
	char in[64] = "through a graph", out[64] = "";
	CUDA_MEMCPY3D copy;
	CUcontext context = start();
	CUgraphNode node;
	CUdeviceptr ptr;
	CUgraphExec exec;
	CUgraph graph;

	graph = new_graph();
	ptr = allocate(64);
	add_memset(graph, ptr, 'x', 64);
	add_memcpy(graph, ptr, (uintptr_t)in, 10);
	add_memcpy(graph, (uintptr_t)out, ptr, 12);
	exec = instantiate(graph, 0);
	OK(cuGraphDestroy(graph)); /* the other one lives on */
	CHECK(!*out);
	OK(cuGraphLaunch(exec, NULL));
	CHECK(!strcmp(out, "through a xx"));
	graph = new_graph();
	copy = line_copy(ptr + 1, (uintptr_t)in, 64);
	FAILS(INVALID_VALUE, cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
	copy = line_copy(ptr, (uintptr_t)in, 64);
	FAILS(INVALID_VALUE, cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, NULL));
	FAILS(INVALID_VALUE,
	      cuGraphAddMemsetNode(&node, graph, NULL, 0,
				   &(CUDA_MEMSET_NODE_PARAMS){ ptr, 0, 1, 3, 1, 1 }, context));
	OK(cuMemFree_v2(ptr));
	FAILS(ILLEGAL_ADDRESS, cuGraphLaunch(exec, NULL));
	OK(cuGraphExecDestroy(exec));
	FAILS(INVALID_VALUE, cuGraphLaunch(exec, NULL));
	FAILS(INVALID_VALUE, cuGraphExecDestroy(exec));
}

/* What the graph frees nobody else can, even while it is there. */
static void touch_and_free(void *ptr)
{
	OK(cuMemsetD8_v2(*(CUdeviceptr *)ptr, 1, 1));
	FAILS(INVALID_VALUE, cuMemFree_v2(*(CUdeviceptr *)ptr));
}

/* Memory that lives within a launch. */
static void test_memory(void)
{
	char out[1000] = { 0 };
	CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(1000);
	CUgraphNode alloc, release;
	CUdeviceptr ptr, freed;
	CUDA_HOST_NODE_PARAMS host = { touch_and_free, &ptr };
	CUgraphExec exec;
	CUgraph graph;

	start();
	graph = new_graph();
	OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
	ptr = params.dptr;
	CHECK(ptr && !used() && !RESERVED());
	OK(cuGraphAddHostNode(&release, graph, NULL, 0, &host));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 1, 1)); /* an address, but no memory */
	FAILS(INVALID_VALUE, cuMemFree_v2(ptr));
	add_memset(graph, ptr, 5, 1000);
	add_memcpy(graph, (uintptr_t)out, ptr, 1000);
	OK(cuGraphAddMemFreeNode(&release, graph, &alloc, 1, ptr));
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&release, graph, &alloc, 1, ptr));
	memset(&params, 0, sizeof(params));
	OK(cuGraphMemAllocNodeGetParams(alloc, &params));
	CHECK(params.bytesize == 1000 && params.dptr == ptr);
	OK(cuGraphMemFreeNodeGetParams(release, &freed));
	CHECK(freed == ptr);
	FAILS(INVALID_VALUE, cuGraphMemFreeNodeGetParams(alloc, &freed));
	exec = instantiate(graph, 0);
	for (int i = 0; i < 3; i++) {
		out[999] = 0;
		OK(cuGraphLaunch(exec, NULL));
		CHECK(out[0] == 5 && out[999] == 5);
		FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 1, 1));
		CHECK(USED() == 0 && USED_HIGH() == 1024 && RESERVED() == 1024 && used() == 1024);
	}
	FAILS(INVALID_DEVICE, cuDeviceGraphMemTrim(1));
	OK(cuDeviceGraphMemTrim(0));
	CHECK(RESERVED() == 0 && used() == 0);
	CHECK(value(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) == 1024);
	OK(cuGraphUpload(exec, NULL));
	CHECK(RESERVED() == 1024 && USED() == 0);
}

static void test_memory_arguments(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(0);
	CUgraph graph, clone;
	CUgraphNode node, empty;
	CUgraphExec exec;
	uint64_t number = 1;

	start();
	graph = new_graph();
	OK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
	FAILS(INVALID_VALUE, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	params = alloc_params(1);
	params.poolProps.location.id = 1;
	FAILS(INVALID_VALUE, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	params = alloc_params(1);
	params.poolProps.handleTypes = 1;
	FAILS(INVALID_VALUE, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	params = alloc_params(1ul << 41);
	FAILS(OUT_OF_MEMORY, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&node, graph, NULL, 0, allocate(1)));
	OK(cuGraphClone(&clone, graph));
	add_alloc(graph, 1);
	FAILS(NOT_SUPPORTED, cuGraphClone(&clone, graph));
	FAILS(INVALID_VALUE, cuGraphDestroyNode(empty));
	FAILS(INVALID_VALUE, cuGraphAddChildGraphNode(&node, clone, NULL, 0, graph));
	exec = instantiate(graph, 0);
	FAILS(NOT_SUPPORTED, cuGraphInstantiateWithFlags(&exec, graph, 0)); /* only one at a time */
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphExecDestroy(instantiate(graph, 0)));
	FAILS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 1 << 10));
	FAILS(INVALID_VALUE, cuDeviceGetGraphMemAttribute(0, 4, &number));
	FAILS(INVALID_VALUE,
	      cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &number));
	number = 0;
	OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &number));
	FAILS(INVALID_VALUE,
	      cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &number));
}

/* Memory that outlives its launch, and the three ways it ends. */
static void test_live(void)
{
	CUpointer_attribute which = CU_POINTER_ATTRIBUTE_RANGE_SIZE;
	CUgraphExec exec, freeing;
	CUgraph graph, other;
	CUgraphNode node;
	CUdeviceptr ptr;
	size_t size;

	start();
	graph = new_graph();
	ptr = add_alloc(graph, 3 * MIB);
	exec = instantiate(graph, 0);
	OK(cuGraphLaunch(exec, NULL));
	CHECK(USED() == 3 * MIB && used() == 3 * MIB);
	OK(cuMemsetD8_v2(ptr, 7, 3 * MIB));
	OK(cuPointerGetAttribute(&size, which, ptr + 5));
	CHECK(size == 3 * MIB);
	FAILS(INVALID_VALUE, cuGraphLaunch(exec, NULL)); /* still there */
	FAILS(INVALID_VALUE, cuMemFreeAsync(ptr + 512, NULL));
	OK(cuMemFreeAsync(ptr, NULL));
	FAILS(INVALID_VALUE, cuMemFreeAsync(ptr, NULL));
	CHECK(USED() == 0 && used() == 3 * MIB);
	OK(cuGraphLaunch(exec, NULL));
	OK(cuMemFree_v2(ptr));
	other = new_graph();
	add_free(other, ptr);
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&node, other, NULL, 0, ptr));
	FAILS(INVALID_VALUE, cuGraphAddMemFreeNode(&node, graph, NULL, 0, ptr)); /* too late */
	freeing = instantiate(other, 0);
	FAILS(INVALID_VALUE, cuGraphLaunch(freeing, NULL)); /* nothing to free */
	OK(cuGraphLaunch(exec, NULL));
	OK(cuGraphLaunch(freeing, NULL));
	CHECK(USED() == 0);
	OK(cuGraphLaunch(exec, NULL));
	OK(cuDeviceGraphMemTrim(0));
	CHECK(RESERVED() == 3 * MIB); /* live, so not touched */
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	CHECK(USED() == 3 * MIB);
	OK(cuMemsetD8_v2(ptr, 7, 3 * MIB));
	OK(cuMemFree_v2(ptr));
	CHECK(USED() == 0);
}

static void test_auto_free(void)
{
	CUgraphExec exec;
	CUdeviceptr a, b;
	uint64_t flags;
	CUgraph graph;

	start();
	graph = new_graph();
	a = add_alloc(graph, MIB);
	b = add_alloc(graph, 2 * MIB);
	exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	OK(cuGraphExecGetFlags(exec, &flags));
	CHECK(flags == CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	OK(cuGraphLaunch(exec, NULL));
	OK(cuGraphLaunch(exec, NULL));
	CHECK(USED() == 3 * MIB && USED_HIGH() == 3 * MIB && RESERVED() == 3 * MIB);
	OK(cuMemFree_v2(a));
	OK(cuGraphLaunch(exec, NULL)); /* frees b only */
	CHECK(USED() == 3 * MIB);
	OK(cuMemFree_v2(a));
	OK(cuMemFree_v2(b));
}

static void log_auto_free(const char *lines)
{
	const char *added = strstr(lines, " cuGraphAddMemAllocNode result=0 ");
	char node[32], regex[64];

	CHECK(selftest_count(lines, START "cuGraphLaunch result=0 exec=" ADDR
					  " stream=0x0 allocs=2 frees=0 alloc_bytes=3145728"
					  " free_bytes=0 ") == 1);
	CHECK(selftest_count(lines, " cuGraphLaunch .* allocs=2 frees=2 .* free_bytes=3145728 ") ==
	      1);
	CHECK(selftest_count(lines, " cuGraphLaunch .* allocs=2 frees=1 .* free_bytes=2097152 ") ==
	      1);
	CHECK(selftest_count(lines, START "graph:alloc result=0 addr=" ADDR
					  " size=1048576 exec=" ADDR " node=" ADDR
					  " stream=0x0 ordinal=0 context=" ADDR " device=0$") == 3);
	CHECK(selftest_count(lines, " graph:alloc .* size=2097152 ") == 3);
	CHECK(selftest_count(lines, " graph:free .* size=1048576 ") == 1);
	CHECK(selftest_count(lines, " graph:free .* size=2097152 ") == 2);
	CHECK(selftest_count(lines,
			     START "cuGraphAddMemAllocNode result=0 graph=" ADDR " node=" ADDR
				   " addr=" ADDR " size=1048576 ordinal=0 ") == 1);
	CHECK(added && sscanf(strstr(added, " node="), " node=%31s", node) == 1);
	snprintf(regex, sizeof(regex), " graph:alloc .* node=%s ", node);
	CHECK(selftest_count(lines, regex) == 3); /* the handle that the program knows */
}

/* What graphs keep is not there for others, and a launch fails as a whole. */
static void test_capacity(void)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS params = { .flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD };
	CUgraph graph, again;
	CUgraphExec exec, large;
	CUdeviceptr a, b;

	start();
	graph = new_graph();
	a = add_alloc(graph, 40 * MIB);
	b = add_alloc(graph, 30 * MIB); /* addresses are no problem */
	FAILS(OUT_OF_MEMORY, cuGraphInstantiateWithParams(&large, graph, &params));
	CHECK(params.result_out == CUDA_GRAPH_INSTANTIATE_ERROR && RESERVED() == 0);
	large = instantiate(graph, 0);
	FAILS(OUT_OF_MEMORY, cuGraphUpload(large, NULL));
	FAILS(OUT_OF_MEMORY, cuGraphLaunch(large, NULL));
	CHECK(USED() == 0 && RESERVED() == 0 && used() == 0);
	FAILS(INVALID_VALUE, cuMemFree_v2(a));
	again = new_graph();
	b = add_alloc(again, 40 * MIB);
	add_free(again, b);
	add_free(again, add_alloc(again, 30 * MIB));
	exec = instantiate(again, 0);
	OK(cuGraphLaunch(exec, NULL)); /* one after the other they fit */
	CHECK(USED_HIGH() == 40 * MIB && RESERVED() == 40 * MIB);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&a, 30 * MIB));
	OK(cuDeviceGraphMemTrim(0));
	a = allocate(30 * MIB);
	FAILS(OUT_OF_MEMORY, cuGraphLaunch(exec, NULL));
	OK(cuMemFree_v2(a));
	OK(cuGraphLaunch(exec, NULL));
	params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	OK(cuDeviceGraphMemTrim(0));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphInstantiateWithParams_ptsz(&exec, again, &params));
	CHECK(params.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS && RESERVED() == 40 * MIB);
}

static void test_two_devices(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(MIB);
	CUgraphNode node;
	CUgraph graph;
	uint64_t there;

	start();
	graph = new_graph();
	add_alloc(graph, MIB);
	params.poolProps.location.id = 1;
	params.bytesize = 65 * MIB;
	OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	FAILS(OUT_OF_MEMORY, cuGraphLaunch(instantiate(graph, 0), NULL));
	CHECK(RESERVED() == 0 && used() == 0);
	graph = new_graph();
	add_alloc(graph, 65 * MIB);
	params.bytesize = 2 * MIB;
	OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	FAILS(OUT_OF_MEMORY, cuGraphLaunch(instantiate(graph, 0), NULL));
	graph = new_graph();
	add_alloc(graph, MIB);
	OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	OK(cuGraphLaunch(instantiate(graph, 0), NULL));
	OK(cuDeviceGetGraphMemAttribute(1, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &there));
	CHECK(there == 2 * MIB && USED() == MIB && used() == MIB);
	OK(cuMemFree_v2(params.dptr));
	OK(cuDeviceGetGraphMemAttribute(1, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &there));
	CHECK(there == 0);
}

static void test_children(void)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUgraph graph, child;
	CUgraphExec exec;
	CUgraphNode node;
	CUdeviceptr ptr;

	start();
	graph = new_graph();
	child = new_graph();
	params.alloc = alloc_params(MIB);
	OK(cuGraphAddNode(&node, child, NULL, 0, &params));
	ptr = params.alloc.dptr;
	params = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_GRAPH };
	params.graph.graph = child;
	FAILS(INVALID_VALUE, cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	OK(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	FAILS(INVALID_VALUE, cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	FAILS(INVALID_VALUE, cuGraphDestroy(child));
	params = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	params.alloc = alloc_params(MIB);
	FAILS(INVALID_VALUE, cuGraphAddNode(&node, child, NULL, 0, &params));
	params = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMSET };
	params.memset = (CUDA_MEMSET_NODE_PARAMS_v2){ ptr, 0, 3, 4, MIB / 4, 1, NULL };
	OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
	params.reserved2 = 1;
	FAILS(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &params));
	params = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
	params.free.dptr = ptr;
	FAILS(INVALID_VALUE,
	      cuGraphAddNode_v2(&node, graph, &node, &(CUgraphEdgeData){ .type = 1 }, 1, &params));
	OK(cuGraphAddNode_v2(&node, graph, &node, &(CUgraphEdgeData){ .type = 0 }, 1, &params));
	params = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	FAILS(NOT_SUPPORTED, cuGraphAddNode(&node, graph, NULL, 0, &params));
	params.type = CU_GRAPH_NODE_TYPE_EMPTY;
	OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
	exec = instantiate(graph, 0);
	OK(cuGraphLaunch(exec, NULL));
	CHECK(USED() == 0 && USED_HIGH() == MIB);
	OK(cuGraphDestroy(graph));
	FAILS(INVALID_VALUE, cuGraphDestroy(child));
	OK(cuGraphLaunch(exec, NULL));
}

static void test_update(void)
{
	CUgraphExecUpdateResultInfo info;
	char out[8] = "", one[8] = "one", two[8] = "two";
	CUgraph graph, other;
	CUgraphExec exec;

	start();
	graph = new_graph();
	other = new_graph();
	add_memcpy(graph, (uintptr_t)out, (uintptr_t)one, 8);
	exec = instantiate(graph, 0);
	FAILS(GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, other, &info));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	add_memset(other, allocate(1), 0, 1);
	FAILS(GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, other, &info));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && info.errorNode);
	OK(cuGraphLaunch(exec, NULL));
	CHECK(!strcmp(out, "one"));
	other = new_graph();
	add_memcpy(other, (uintptr_t)out, (uintptr_t)two, 8);
	OK(cuGraphExecUpdate_v2(exec, other, &info));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS && !info.errorNode);
	OK(cuGraphLaunch(exec, NULL));
	CHECK(!strcmp(out, "two"));
}

static void test_contexts(void)
{
	CUcontext primary = start(), own;
	CUgraphExec exec, second;
	CUdeviceptr ptr, kept;
	CUgraph graph;

	graph = new_graph();
	kept = add_alloc(graph, MIB);
	OK(cuGraphLaunch(instantiate(graph, 0), NULL));
	OK(cuCtxCreate_v2(&own, 0, 0));
	graph = new_graph();
	ptr = add_alloc(graph, 2 * MIB);
	exec = instantiate(graph, 0);
	OK(cuGraphLaunch(exec, NULL));
	graph = new_graph();
	add_free(graph, add_alloc(graph, 4 * MIB));
	second = instantiate(graph, 0);
	OK(cuGraphLaunch(second, NULL));
	CHECK(USED() == 3 * MIB && RESERVED() == 7 * MIB);
	OK(cuCtxDestroy_v2(own));
	CHECK(USED() == 3 * MIB && RESERVED() == 7 * MIB);
	OK(cuMemFree_v2(ptr));
	OK(cuDeviceGraphMemTrim(0));
	CHECK(USED() == MIB && RESERVED() == MIB && used() == MIB);
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	OK(cuMemsetD8_v2(kept, 1, MIB));
	CHECK(USED() == MIB && RESERVED() == MIB && used() == MIB);
	OK(cuMemFree_v2(kept));
	OK(cuDeviceGraphMemTrim(0));
	CHECK(USED() == 0 && RESERVED() == 0 && used() == 0);
}

static CUcontext shared_context;

enum { ROUNDS = 2000 };

static void launch_a_lot(unsigned int index)
{
	CUgraphExec exec;
	CUdeviceptr ptr;
	CUgraph graph;

	OK(cuCtxSetCurrent(shared_context));
	for (unsigned int i = 0; i < ROUNDS / 100; i++) {
		graph = new_graph();
		ptr = add_alloc(graph, (index + 1) * 4096);
		add_memset(graph, ptr, index, (index + 1) * 4096);
		exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
		for (unsigned int j = 0; j < 100; j++)
			OK(cuGraphLaunch(exec, NULL));
		OK(cuMemFree_v2(ptr));
		OK(cuGraphExecDestroy(exec));
		OK(cuGraphDestroy(graph));
	}
}

static void test_threads(void)
{
	shared_context = start();
	selftest_threads(8, launch_a_lot);
	CHECK(USED() == 0 && USED_HIGH() <= 36 * 4096 && USED_HIGH() >= 8 * 4096);
	OK(cuDeviceGraphMemTrim(0));
	CHECK(used() == 0);
}

const struct selftest selftests[] = {
	{ "nodes", test_nodes, { NULL }, NULL, 0 },
	{ "copies", test_copies, { NULL }, NULL, 0 },
	{ "memory", test_memory, { NULL }, NULL, 0 },
	{ "memory-arguments", test_memory_arguments, { NULL }, NULL, 0 },
	{ "live", test_live, { NULL }, NULL, 0 },
	{ "auto-free", test_auto_free, { NULL }, log_auto_free, 0 },
	{ "capacity", test_capacity, { "SIMCUDA_MEMORY=64M" }, NULL, 0 },
	{ "two-devices", test_two_devices, { "SIMCUDA_DEVICES=2", "SIMCUDA_MEMORY=64M" }, NULL, 0 },
	{ "children", test_children, { NULL }, NULL, 0 },
	{ "update", test_update, { NULL }, NULL, 0 },
	{ "contexts", test_contexts, { NULL }, NULL, 0 },
	{ "threads", test_threads, { NULL }, NULL, 0 },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
