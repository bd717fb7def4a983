/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An example run, in which every field of render/fields.def has a value somewhere and is unknown
 * somewhere else. What the sinks make of it is in tests/golden/.
 */
#ifndef MEMSCOPE_TESTS_EXAMPLE_H
#define MEMSCOPE_TESTS_EXAMPLE_H

#include "pipeline.h"
#include "records.h"

#define EXAMPLE_MAX 136

#define EXAMPLE_PID 4242
#define EXAMPLE_OTHER_PID 5000
#define EXAMPLE_IDLE_PID 6000
#define EXAMPLE_SECOND 1000000000ull

struct example {
	union record records[EXAMPLE_MAX];
	size_t count;
	size_t untimed; /* of them: they have the time of the one that follows */
};

/* Of the first process's second thread, a millisecond after the one before. */
static inline void example_add(struct example *example, union record record)
{
	assert_true(example->count < EXAMPLE_MAX);
	record.event.ts_ns = EXAMPLE_SECOND + 1000000 * (example->count - example->untimed);
	if (record.event.pid == RECORD_PID)
		record =
			record_by(EXAMPLE_PID + 1, record_of(EXAMPLE_PID, RECORD_START_NS, record));
	example->records[example->count++] = record;
}

static inline void example_add_to_other(struct example *example, union record record)
{
	example_add(example, record_of(EXAMPLE_OTHER_PID, RECORD_START_NS, record));
}

/* What calls came from. */
static inline void example_add_stack(struct example *example)
{
	const union record records[] = {
		record_frame(11, "c10::alloc(unsigned long)", "/opt/libc10_cuda.so"),
		record_frame(12, "", "/usr/bin/evil \033[2J"),
		record_stack(5, 11, 3),
	};
	size_t i;

	for (i = 0; i < sizeof(records) / sizeof(*records); i++) {
		example_add(example, records[i]);
		example->untimed++;
	}
}

/* A free's two records have the same time. */
static inline void example_add_free(struct example *example, const char *symbol, uint64_t addr,
				    int32_t result)
{
	uint64_t ts_ns;

	example_add(example, record_begin_of(symbol, addr, 0));
	ts_ns = example->records[example->count - 1].event.ts_ns;
	example_add(example, record_taking(1500, record_failed(result, record_free(symbol, addr))));
	example->records[example->count - 1].event.ts_ns = ts_ns;
}

static inline union record example_dims(union record record)
{
	memcpy(record.launch.grid, (const uint32_t[]){ 65535, 2, 1 }, sizeof(record.launch.grid));
	memcpy(record.launch.block, (const uint32_t[]){ 256, 4, 1 }, sizeof(record.launch.block));
	record.launch.shared_bytes = 49152;
	record.call.known |= MS_KNOWN_DIMS | MS_KNOWN_SHARED;
	return record;
}

/* Lists of events. */
/* clang-format off */

static inline void example_add_allocations(struct example *example)
{
	example_add(example, record_taking(85000000, record_context("cuCtxCreate_v2", 0xc000, 1)));
	example_add_stack(example);
	example_add(example, record_taking(12340, record_called_from(5, record_in(0xc000,
		record_merged("cuMemAlloc_v2", record_alloc("cudaMalloc", 0x7f0000000000,
							    1610612736))))));
	example_add(example, record_taking(900, record_alloc("cudaMallocHost", 0x7e0000000000,
							     4096)));
	example_add(example, record_taking(700, record_on(0, record_stream(0x51,
		record_alloc("cudaMallocAsync", 0x7d0000000000, 1000)))));
	example_add(example, record_taking(5000, record_in(0xc000, record_without(MS_KNOWN_ADDR,
		record_failed(2, record_alloc("cudaMalloc", 0, 80ull << 30))))));
	example_add(example, record_failed(12345, record_without(MS_KNOWN_ADDR | MS_KNOWN_SIZE,
		record_alloc("cuMemAlloc_v2", 0, 0))));
	example_add(example, record_without(MS_KNOWN_SIZE,
		record_in(0xc000, record_alloc("cudaMallocPitch", 0x7f0100000000, 0))));
	example_add(example, record_without(MS_KNOWN_RESULT,
		record_alloc("cuMemHostRegister_v2", 0x7c0000000000, 1 << 20)));
	example_add(example, record_without(MS_KNOWN_ADDR, record_alloc("cudaMalloc", 0, 300)));
	example_add(example, record_alloc("cudaMallocManaged", 0x7b0000000000, 100));
	example_add(example, record_alloc("cudaMallocManaged", 0x7b0000000000, 200));
	example_add(example, record_without(MS_KNOWN_SIZE,
		record_alloc("cudaMallocPitch", 0x7f0300000000, 0)));
}

static inline void example_add_transfers(struct example *example)
{
	union record copy = record_copy("cudaMemcpyAsync", 1 << 20, MS_DIRECTION_HTOD);

	copy = record_to(0x7f0000000000, record_from(0x7e0000000000, record_stream(0x51, copy)));
	example_add(example, record_taking(250000, record_merged("cuMemcpyHtoDAsync_v2", copy)));
	example_add(example, record_taking(3000, record_flagged(MS_CALL_NESTED,
		record_to(0x7e0000000000, record_from(0x7f0000000000,
			record_copy("cuMemcpyDtoH_v2", 12, MS_DIRECTION_DTOH))))));
	example_add(example, record_call("cuMemcpy2D_v2"));
	example_add(example, record_copy("cudaMemcpy", 5, MS_DIRECTION_HTOH));
	example_add(example, record_taking(800, record_alloc("cudaMemset", 0x7f0000000000, 1024)));
	example_add(example, record_split(record_stream(0x51, record_call("cudaStreamSynchronize")),
					  1230000000, 30000000, 1150000000));
	example_add(example, record_taking(40, record_to(0xe0, record_call("cuEventSynchronize"))));
}

static inline void example_add_launches(struct example *example)
{
	int i;

	example_add(example, record_name(0x1234, "_Z6kernelPf"));
	example_add(example, record_taking(4000, record_stream(0x51, record_from(0x400100,
		record_merged("cuLaunchKernel",
			      example_dims(record_launch("cudaLaunchKernel", 0x1234)))))));
	example_add(example, record_launch("cuLaunchKernel", 0x5678));
	example_add(example, record_without(MS_KNOWN_RESULT,
					    record_launch("cuLaunchKernel", 0x1234)));
	example_add(example, record_name(0x9abc, "evil \033[2J\x7f\"\\\xff"));
	for (i = 0; i < 3; i++)
		example_add(example, example_dims(record_launch("cuLaunchKernel", 0x9abc)));
	example_add(example, record_failed(1, record_launch("cuLaunchKernel", 0x9abc)));
}

static inline void example_add_frees(struct example *example)
{
	example_add_free(example, "cudaFree", 0x7f0000000000, 0);
	example_add_free(example, "cudaFreeAsync", 0x7d0000000000, 0);
	example_add_free(example, "cudaFree", 0x7f0300000000, 0);
	example_add_free(example, "cudaFree", 0x666000, 0);
	example_add_free(example, "cudaFreeHost", 0x7e0000000000, 1);
	example_add(example, record_free("cudaFree", 0));
	example_add_to_other(example, record_free("cuMemFree_v2", 0x7f0000000000));
}

static inline void example_add_memory(struct example *example)
{
	example_add(example, record_on(1, record_alloc("cuMemCreate", 0x77, 4 << 20)));
	example_add(example, record_alloc("cuMemAddressReserve", 0x7a0000000000, 64 << 20));
	example_add(example, record_from(0x77, record_alloc("cuMemMap", 0x7a0000000000, 4 << 20)));
	example_add_free(example, "cuMemRelease", 0x77, 0);
	example_add_free(example, "cuMemUnmap", 0x7a0000000000, 0);
	example_add(example, record_without(MS_KNOWN_SIZE,
		record_alloc("cudaIpcOpenMemHandle", 0x790000000000, 0)));
	example_add(example, record_alloc("cudaMallocArray", 0x780000000000, 262144));
	example_add(example, record_on(1, record_from(3ull << 30,
		record_alloc("cudaMemGetInfo", 0, 8ull << 30))));
	example_add(example, record_device("cuDeviceGetUuid_v2", 1, "its UUID, 16 B.."));
	example_add(example, record_from(5, record_alloc("cuMemPoolGetAttribute", 0xb0, 1 << 20)));
	example_add(example, record_from(0x6a,
		record_alloc("cuGraphAddMemAllocNode", 0x760000000000, 8192)));
	example_add(example, record_from(0x6a, record_to(0xe8e,
		record_call("cudaGraphInstantiateWithFlags"))));
	example_add(example, record_taking(5000, record_launch("cudaGraphLaunch", 0xe8e)));
	example_add(example, record_stream(0xca, record_call("cuStreamBeginCapture_v2")));
	example_add(example, record_stream(0xca,
		record_alloc("cuMemAllocAsync", 0x750000000000, 100)));
	example_add(example, record_stream(0xca, record_free("cuMemFreeAsync", 0x750000000000)));
	example_add(example, record_to(0x7e0000000008, record_from(0x760000000100,
		record_copy("cuMemcpy", 77, MS_DIRECTION_DEFAULT))));
}

static inline void example_add_ends(struct example *example)
{
	union record fork = record_process(MS_TYPE_FORK, "old", 0);

	fork.process.child_pid = 5001;
	example_add(example, record_taking(77, record_context("cuCtxDestroy_v2", 0xc000, 1)));
	example_add(example, record_context("cudaSetDevice", 0, 3));
	example_add_to_other(example, record_alloc("cudaMallocManaged", 0x7f0000000000, 65536));
	example_add_to_other(example, fork);
	example_add_to_other(example, record_process(MS_TYPE_EXEC, "new", 0));
	example_add_to_other(example, record_alloc("cudaMalloc", 0x7f0000000000, 512));
	example_add_to_other(example, record_process(MS_TYPE_EXIT, "new", 9));
	example_add(example, record_on(0, record_alloc("cudaMalloc", 0x7f0200000000, 3 << 20)));
	example_add(example, record_process(MS_TYPE_EXIT, "train", 3 << 8));
}

/* Between two looks at the host. */
static inline void example_add_host(struct example *example, uint64_t times)
{
	const union record records[] = {
		record_host((40 - 10 * times) << 30, 1000000 + 40000 * times),
		record_numa_node(0, (30 - 20 * times) << 30),
		record_numa_node(1, 5ull << 30),
		record_gpu_link("0000:81:00.0", times ? 160 : 25, 8),
		record_load(3000000000 + 200000000 * times, 1000000000 + 300000000 * times,
			    (1 + times) << 30),
		record_placement(MS_SPACE_PINNED, 0, 2 * times),
		record_placement(MS_SPACE_PINNED, 1, 8 - 2 * times),
	};
	size_t i;

	for (i = 0; i < sizeof(records) / sizeof(*records); i++) {
		example_add(example, records[i]);
		example->untimed++;
	}
}

/* clang-format on */

static inline void example_init(struct example *example)
{
	example->count = example->untimed = 0;
	example_add(example, record_process(MS_TYPE_ATTACH, "train", 0));
	example_add_to_other(example, record_process(MS_TYPE_ATTACH, "old\033[7m", 1));
	example_add(example, record_of(EXAMPLE_IDLE_PID, RECORD_START_NS,
				       record_process(MS_TYPE_ATTACH, "idle", 1)));
	example_add_host(example, 0);
	example_add_allocations(example);
	example_add_transfers(example);
	example_add_launches(example);
	example_add_frees(example);
	example_add_memory(example);
	example_add_host(example, 1);
	example_add_ends(example);
}

/* What the kernel side would have counted, with a few losses. */
static inline struct summary example_summary(const struct example *example)
{
	struct summary summary = { .start_ns = EXAMPLE_SECOND, .captured_ops = ~0u };
	size_t i;

	summary.end_ns = example->records[example->count - 1].event.ts_ns;
	for (i = 0; i < example->count; i++) {
		const union record *record = &example->records[i];

		if (record->event.type == MS_TYPE_CALL || record->event.type == MS_TYPE_LAUNCH)
			summary.counters.seen[probe_at(record->call.row)->spec.op]++;
	}
	for (i = 0; i < MS_KINDS_COUNT; i++) {
		summary.counters.lost[i] = i == MS_OP_NAME ? 0 : i + 1;
		summary.counters.seen[i] += summary.counters.lost[i];
	}
	summary.counters.untracked = 3;
	summary.counters.abandoned = 2;
	summary.missed_known = true;
	summary.cost = (struct summary_cost){ .cpu_ns = 690000,
					      .bpf_runs = 2000,
					      .bpf_ns = 600000,
					      .ring_bytes = 64 << 20,
					      .highest_critical = 3 << 20,
					      .highest_bulk = 1000 };
	return summary;
}

/* Feeds all of it, and finishes. */
static inline int example_run(const struct example *example, struct pipeline *pipeline)
{
	struct summary summary = example_summary(example);
	size_t i;

	for (i = 0; i < example->count; i++) {
		union record record = example->records[i];

		pipeline_feed(pipeline, &record, record.event.size);
	}
	return pipeline_finish(pipeline, &summary);
}

#endif /* MEMSCOPE_TESTS_EXAMPLE_H */
