/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of scenarios with physical memory and its mappings.
 */
#ifndef MEMSCOPE_TESTS_PHYSICAL_H
#define MEMSCOPE_TESTS_PHYSICAL_H

#include "scenario.h"

#define VA 0x7f0000000000
#define MIB (1ull << 20)
#define H 0x5500
#define H2 0x5600
#define OTHER_THREAD 101
#define CONTEXT 0xc0

static inline void create(struct scenario *s, uint64_t handle, uint64_t size)
{
	apply(s, record_on(0, record_alloc("cuMemCreate", handle, size)));
}

static inline void release(struct scenario *s, uint64_t handle)
{
	apply_end_of(s, "cuMemRelease", handle, 0);
}

static inline void unmap(struct scenario *s, uint64_t addr, uint64_t size)
{
	apply_end_of(s, "cuMemUnmap", addr, size);
}

static inline void retain(struct scenario *s, uint64_t handle, uint64_t addr)
{
	apply(s, record_memory("cuMemRetainAllocationHandle", handle, addr));
}

static inline void assert_freed(const struct scenario *s, enum ms_space space, uint64_t count,
				uint64_t bytes)
{
	assert_int_equal(space_of(s, space)->frees, count);
	assert_int_equal(space_of(s, space)->free_bytes, bytes);
}

/* Nothing of it all was out of the ordinary. */
static inline void assert_clean(const struct scenario *s)
{
	const struct process *process = first_process(s);

	assert_int_equal(process->counters[COUNTER_MISSED_FREES], 0);
	assert_int_equal(process->counters[COUNTER_UNKNOWN_FREES], 0);
	assert_int_equal(process->pending.count, 0);
}

#endif /* MEMSCOPE_TESTS_PHYSICAL_H */
