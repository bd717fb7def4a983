/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the stand-in runtime share, and those of them that are in a file of their own.
 */
#ifndef SIMCUDA_SELFTEST_RUNTIME_H
#define SIMCUDA_SELFTEST_RUNTIME_H

#include "selftest.h"
#include "simcudart.h"

#define MIB (1ul << 20)
#define OK(call) CHECK((call) == cudaSuccess)
#define FAILS(error, call) CHECK((call) == cudaError##error)

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define PTDS "_ptds"
#define PTSZ "_ptsz"
#else
#define PTDS
#define PTSZ
#endif

static inline size_t used(void)
{
	size_t free_bytes, total_bytes;

	OK(cudaMemGetInfo(&free_bytes, &total_bytes));
	return total_bytes - free_bytes;
}

/* selftest-runtime-memory.c */
void test_arrays(void);
void log_arrays(const char *lines);
void test_shared(void);
void test_batches(void);
void log_batches(const char *lines);

#endif
