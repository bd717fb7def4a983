/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of records.h that is about the libraries of frameworks, which includes it.
 */
#ifndef MEMSCOPE_TESTS_RECORD_FRAMEWORKS_H
#define MEMSCOPE_TESTS_RECORD_FRAMEWORKS_H

#include "records.h"

/* A block of PyTorch's on device 0: given, or (negative) taken back. Twice as much is reserved. */
static inline union record record_tensor(uint64_t addr, int64_t bytes, uint64_t allocated)
{
	union record record = record_event(MS_TYPE_TENSOR, sizeof(struct ms_tensor));

	record.tensor.addr = addr;
	record.tensor.size = bytes;
	record.tensor.allocated = allocated;
	record.tensor.reserved = 2 * allocated;
	return record;
}

/* A call of NCCL that has just returned, with float32 elements, or of rank 7. */
static inline union record record_nccl(enum ms_nccl_function function, uint64_t comm,
				       uint64_t count)
{
	union record record = record_event(MS_TYPE_NCCL, sizeof(struct ms_nccl));

	record.nccl.function = function;
	record.nccl.comm = comm;
	record.nccl.count = count;
	record.nccl.detail = 7;
	record.nccl.duration_ns = 1000;
	return record;
}

#endif /* MEMSCOPE_TESTS_RECORD_FRAMEWORKS_H */
