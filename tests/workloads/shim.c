// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library to be preloaded whose functions jump into those that they stand for, as shims do that
 * a compiler has optimised: both calls begin at the same stack pointer.
 */

#include <dlfcn.h>
#include <stddef.h>

#define API __attribute__((visibility("default")))

static int (*real_malloc)(void **address, size_t bytes);
static int (*real_free)(void *address);
static int (*real_copy)(void *to, const void *from, size_t bytes, int kind);

int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);

__attribute__((constructor)) static void find(void)
{
	real_malloc = dlsym(RTLD_NEXT, "cudaMalloc");
	real_free = dlsym(RTLD_NEXT, "cudaFree");
	real_copy = dlsym(RTLD_NEXT, "cudaMemcpy");
}

API int cudaMalloc(void **address, size_t bytes)
{
	return real_malloc(address, bytes);
}

API int cudaFree(void *address)
{
	return real_free(address);
}

API int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	return real_copy(to, from, bytes, kind);
}
