/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A handle of the stand-in cuBLAS, which is one of its cuBLASLt, too: a workspace, as the real one
 * takes, and a kernel to launch. The driver is opened at the first use: a library that is linked
 * with it would have it mapped when PyTorch is imported.
 */
#ifndef TORCH_BLAS_H
#define TORCH_BLAS_H

#include <dlfcn.h>

#include "simcuda.h"

#define BLAS_WORKSPACE_BYTES (4u << 20)

struct blas {
	CUdeviceptr workspace;
	CUmodule module;
	CUfunction gemm;
	CUstream stream;
};

/* A function of the driver. */
#define DRIVER(name) ((__typeof__(&name))dlsym(dlopen("libcuda.so.1", RTLD_NOW), #name))

static inline int blas_launch(const struct blas *blas, CUstream stream)
{
	return DRIVER(cuLaunchKernel)(blas->gemm, 1, 1, 1, 128, 1, 1, 0, stream, NULL, NULL);
}

#endif
