// SPDX-License-Identifier: BSD-2-Clause
/*
 * What tracing costs without the kernel: preloaded into the target, it stands in for its library
 * and writes a record per call, with both times. Nothing reads them: the floor of any such tool.
 */
#include <dlfcn.h>
#include <time.h>

#include "target_api.h"

#define RECORDS (1 << 16)

static struct record {
	uint64_t entered_ns, returned_ns;
	uint64_t values[5];
	uint32_t function;
	int32_t result;
} records[RECORDS];

_Static_assert(sizeof(struct record) == 64, "as large as what others write");

static uint64_t next_record;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static struct record *record_begin(uint32_t function)
{
	struct record *record = &records[next_record++ % RECORDS];

	record->function = function;
	record->entered_ns = now_ns();
	return record;
}

static int record_end(struct record *record, int result)
{
	record->result = result;
	record->returned_ns = now_ns();
	return result;
}

int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		   unsigned int block_x, unsigned int block_y, unsigned int block_z,
		   unsigned int shared_bytes, void *stream, void **arguments, void **extra)
{
	static int (*real)(void *, unsigned int, unsigned int, unsigned int, unsigned int,
			   unsigned int, unsigned int, unsigned int, void *, void **, void **);
	struct record *record = record_begin(0);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "cuLaunchKernel");
	record->values[0] = (uintptr_t)function;
	record->values[1] = (uint64_t)grid_x << 32 | grid_y;
	record->values[2] = (uint64_t)grid_z << 32 | block_x;
	record->values[3] = (uint64_t)block_y << 32 | block_z;
	record->values[4] = (uintptr_t)stream;
	return record_end(record, real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
				       shared_bytes, stream, arguments, extra));
}

int cuMemAlloc_v2(uint64_t *address, size_t size_bytes)
{
	static int (*real)(uint64_t *, size_t);
	struct record *record = record_begin(1);
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
	result = real(address, size_bytes);
	record->values[0] = *address;
	record->values[1] = size_bytes;
	return record_end(record, result);
}
