/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of cuBLASLt that does something: it has an algorithm for whatever is asked, and a
 * multiplication launches a kernel. stand-ins includes this into what it writes.
 */
#include "blas.h"

int cublasLtMatmulAlgoGetHeuristic(void *blas, void *operation, void *a, void *b, void *c, void *d,
				   void *preference, int requested, void *results, int *count);
int cublasLtMatmulAlgoGetHeuristic(void *blas, void *operation, void *a, void *b, void *c, void *d,
				   void *preference, int requested, void *results, int *count)
{
	(void)blas, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
	(void)results;
	*count = requested > 0;
	return 0;
}

int cublasLtMatmul(struct blas *blas, void *operation, void *alpha, void *a, void *a_layout,
		   void *b, void *b_layout, void *beta, void *c, void *c_layout, void *d,
		   void *d_layout, void *algorithm, void *workspace, size_t workspace_bytes,
		   CUstream stream);
int cublasLtMatmul(struct blas *blas, void *operation, void *alpha, void *a, void *a_layout,
		   void *b, void *b_layout, void *beta, void *c, void *c_layout, void *d,
		   void *d_layout, void *algorithm, void *workspace, size_t workspace_bytes,
		   CUstream stream)
{
	(void)operation, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout;
	(void)beta, (void)c, (void)c_layout, (void)d, (void)d_layout, (void)algorithm;
	(void)workspace, (void)workspace_bytes;
	return blas_launch(blas, stream);
}
