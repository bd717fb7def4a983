/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of cuBLAS that does something: a handle has memory, and a multiplication launches a
 * kernel. stand-ins includes this into what it writes, with a row GEMM for each function that
 * multiplies.
 */
#include <stdlib.h>

#include "blas.h"

#define GEMM(name) \
	int name(const struct blas *blas); \
	int name(const struct blas *blas) \
	{ \
		return blas_launch(blas, blas->stream); \
	}

static const char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			    ".visible .entry gemm()\n{\n\tret;\n}\n";

int cublasCreate_v2(struct blas **handle);
int cublasCreate_v2(struct blas **handle)
{
	struct blas *blas = calloc(1, sizeof(*blas));

	if (!blas || DRIVER(cuMemAlloc_v2)(&blas->workspace, BLAS_WORKSPACE_BYTES) ||
	    DRIVER(cuModuleLoadData)(&blas->module, image) ||
	    DRIVER(cuModuleGetFunction)(&blas->gemm, blas->module, "gemm")) {
		free(blas);
		return 3; /* CUBLAS_STATUS_ALLOC_FAILED */
	}
	*handle = blas;
	return 0;
}

int cublasDestroy_v2(struct blas *blas);
int cublasDestroy_v2(struct blas *blas)
{
	DRIVER(cuMemFree_v2)(blas->workspace);
	DRIVER(cuModuleUnload)(blas->module);
	free(blas);
	return 0;
}

int cublasSetStream_v2(struct blas *blas, CUstream stream);
int cublasSetStream_v2(struct blas *blas, CUstream stream)
{
	blas->stream = stream;
	return 0;
}
