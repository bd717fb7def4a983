/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of graphs and of stream capture share.
 */
#ifndef SIMCUDA_SELFTEST_GRAPH_H
#define SIMCUDA_SELFTEST_GRAPH_H

#include "selftest-driver.h"

#define START "^[0-9]+ [0-9]+ [0-9]+ [0-9]+ "
#define ADDR "0x[0-9a-f]+"

static inline uint64_t value(CUgraphMem_attribute attribute)
{
	uint64_t number;

	OK(cuDeviceGetGraphMemAttribute(0, attribute, &number));
	return number;
}

#define USED() value(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT)
#define USED_HIGH() value(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
#define RESERVED() value(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT)

static inline CUgraph new_graph(void)
{
	CUgraph graph;

	OK(cuGraphCreate(&graph, 0));
	return graph;
}

static inline CUgraphExec instantiate(CUgraph graph, unsigned long long flags)
{
	CUgraphExec exec;

	OK(cuGraphInstantiateWithFlags(&exec, graph, flags));
	return exec;
}

static inline CUfunction get_function(void)
{
	CUfunction function;
	CUmodule module;

	OK(cuModuleLoadData(&module, "\177ELF, or so"));
	OK(cuModuleGetFunction(&function, module, "anything"));
	return function;
}

#endif
