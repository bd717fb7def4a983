/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Libraries of kernels that a program loads itself, instead of having them compiled in.
 */
#include "runtime.h"

RT_DEFINE(CONTEXT, cudaLibraryLoadData,
	  (cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
	   void **jit_values, unsigned int jit_count, enum cudaLibraryOption *options,
	   void **values, unsigned int count),
	  (library, code, jit_options, jit_values, jit_count, options, values, count),
	  OUT_HEX(handle, library))
{
	(void)jit_options, (void)jit_values, (void)jit_count;
	(void)options, (void)values, (void)count;
	return runtime_error(cu->cuLibraryLoadData(library, code, NULL, NULL, 0, NULL, NULL, 0));
}

RT_DEFINE(CONTEXT, cudaLibraryLoadFromFile,
	  (cudaLibrary_t *library, const char *path, enum cudaJitOption *jit_options,
	   void **jit_values, unsigned int jit_count, enum cudaLibraryOption *options,
	   void **values, unsigned int count),
	  (library, path, jit_options, jit_values, jit_count, options, values, count),
	  OUT_HEX(handle, library))
{
	(void)jit_options, (void)jit_values, (void)jit_count;
	(void)options, (void)values, (void)count;
	return runtime_error(
		cu->cuLibraryLoadFromFile(library, path, NULL, NULL, 0, NULL, NULL, 0));
}

RT_DEFINE(CONTEXT, cudaLibraryUnload, (cudaLibrary_t library), (library), HEX(handle, library))
{
	return runtime_error(cu->cuLibraryUnload(library));
}
