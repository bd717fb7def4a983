/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of every kind, the same in every run: processes come and go, addresses come back.
 */
#ifndef MEMSCOPE_TESTS_ANY_RECORDS_H
#define MEMSCOPE_TESTS_ANY_RECORDS_H

#include "records.h"

static uint64_t any_state = 88172645463325252;

static inline uint64_t any_below(uint64_t bound)
{
	any_state = unit_random(any_state);
	return (any_state >> 20) % bound;
}

static inline uint64_t any_addr(void)
{
	return 0x700000000000 + (any_below(48) << 21);
}

static inline union record any_memory_record(void)
{
	static const char *const allocs[] = { "cuMemAlloc_v2",     "cudaMalloc",
					      "cuMemAllocAsync",   "cuMemAllocManaged",
					      "cuMemAllocHost_v2", "cuMemCreate",
					      "cuArrayCreate_v2",  "cuMemAddressReserve" };
	uint64_t addr = any_addr(), size = (1 + any_below(64)) << 16;

	switch (any_below(12)) {
	default:
		return record_in(0xc000 + any_below(3),
				 record_alloc(allocs[any_below(8)], addr, size));
	case 6:
		return record_free_begin(addr);
	case 7:
		return record_failed(any_below(8) ? 0 : 1, record_free("cuMemFree_v2", addr));
	case 8:
		return record_begin_of("cuMemRelease", addr, 0);
	case 9:
		return record_free("cuMemRelease", addr);
	case 10:
		return record_map(addr, size, any_addr());
	case 11:
		return any_below(2) ? record_begin_of("cuMemUnmap", addr, size) :
				      record_unmap(addr, size);
	}
}

static inline union record any_graph_record(void)
{
	uint64_t graph = 0xa0 + any_below(4);

	switch (any_below(5)) {
	case 0:
		return record_node(graph, any_addr(), any_below(2) << 16);
	case 1:
		return record_memory("cuGraphInstantiateWithFlags", 0xe0 + any_below(4), graph);
	case 2:
		return record_stream(7 + any_below(2), record_call("cuStreamBeginCapture_v2"));
	case 3:
		return record_stream(7 + any_below(2),
				     record_to(graph, record_call("cuStreamEndCapture")));
	default:
		return record_to(0xe0 + any_below(4), record_call("cuGraphLaunch"));
	}
}

static inline union record any_other_record(void)
{
	static const char *const names[] = { "gemm", "softmax<float, 4>", "k" };
	uint64_t handle = 0xf00 + any_below(6);

	switch (any_below(9)) {
	case 0:
		return record_name(handle, names[any_below(3)]);
	case 1:
		return record_alias(handle, 0xf00 + any_below(6));
	case 2:
		return record_launches("cuLaunchKernel", handle, 1 + any_below(1000));
	case 3:
		return record_launch("cuLaunchKernel", handle);
	case 4:
		return record_from(any_addr(),
				   record_to(any_addr(),
					     record_copy("cuMemcpyAsync", any_below(1 << 20),
							 MS_DIRECTION_DEFAULT)));
	case 5:
		return record_context("cuCtxCreate_v2", 0xc000 + any_below(3),
				      (int32_t)any_below(2));
	case 6:
		return any_below(8) ? record_call("cuCtxSynchronize") :
				      record_context("cuCtxDestroy_v2", 0xc000 + any_below(3), 0);
	case 7:
		return record_failed(
			2, record_without(MS_KNOWN_ADDR,
					  record_alloc("cuMemAlloc_v2", 0, any_below(1ull << 40))));
	default:
		return any_below(40) ? record_attach_running() :
				       record_exit((uint32_t)any_below(3) << 8);
	}
}

static inline union record any_record(uint64_t step)
{
	uint64_t kind = any_below(10), process = any_below(5);
	union record record = kind < 6 ? any_memory_record() :
			      kind < 7 ? any_graph_record() :
					 any_other_record();

	/* Processes come and go. */
	process += 3 * (step / 4000);
	record = record_of(100 + (uint32_t)process, (process + 1) * MS_START_NS, record);
	return record_at(1000000000 + step * 1000 + any_below(500), record);
}

#endif /* MEMSCOPE_TESTS_ANY_RECORDS_H */
