/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for the file of this name that cuda_runtime_api.h includes, which is in another package
 * and says how nvcc and other compilers spell attributes: the attributes matter little here.
 */
#define __host__
#define __device__
#define __global__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __no_return__
#define __noinline__
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDARTAPI
#define CUDARTAPI_CDECL
