/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linkers. What is linked is not looked into: the result is what was added first. It is memory of
 * the host, and lasts as long as its linker.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

struct CUlinkState_st {
	struct object object;
	char *image; /* NULL: nothing was added */
	size_t size_bytes;
};

static struct slab linkers = SLAB(struct CUlinkState_st, 65536);

CU_DEFINE_V2(INIT, cuLinkCreate,
	     (unsigned int count, CUjit_option *options, void **values, CUlinkState *linker),
	     (count, options, values, linker), OUT_HEX(handle, linker))
{
	const struct CUlinkState_st new = { .image = NULL };

	(void)count, (void)options, (void)values;
	if (!linker)
		return CUDA_ERROR_INVALID_VALUE;
	*linker = slab_new(&linkers, &new);
	return *linker ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Takes over the image. */
static CUresult add(CUlinkState linker, char *image, size_t size)
{
	if (linker->image) {
		free(image);
		return CUDA_SUCCESS;
	}
	linker->image = image;
	linker->size_bytes = size;
	return CUDA_SUCCESS;
}

CU_DEFINE_V2(INIT, cuLinkAddData,
	     (CUlinkState linker, CUjitInputType type, void *data, size_t size, const char *name,
	      unsigned int count, CUjit_option *options, void **values),
	     (linker, type, data, size, name, count, options, values), HEX(handle, linker),
	     DEC(size, size))
{
	char *image;

	(void)type, (void)name, (void)count, (void)options, (void)values;
	if (!slab_has(&linkers, linker))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || !size)
		return CUDA_ERROR_INVALID_VALUE;
	image = malloc(size);
	if (!image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(image, data, size);
	return add(linker, image, size);
}

static CUresult read_file(const char *path, char **image, size_t *size)
{
	FILE *file = fopen(path, "re");
	CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
	long length;

	*image = NULL;
	if (!file)
		return result;
	if (!fseek(file, 0, SEEK_END) && (length = ftell(file)) > 0) {
		rewind(file);
		*size = (size_t)length;
		*image = malloc(*size);
		if (*image && fread(*image, 1, *size, file) == *size)
			result = CUDA_SUCCESS;
	}
	fclose(file);
	if (result != CUDA_SUCCESS)
		free(*image);
	return result;
}

CU_DEFINE_V2(INIT, cuLinkAddFile,
	     (CUlinkState linker, CUjitInputType type, const char *path, unsigned int count,
	      CUjit_option *options, void **values),
	     (linker, type, path, count, options, values), HEX(handle, linker), STR(name, path))
{
	size_t size = 0;
	char *image;
	CUresult result;

	(void)type, (void)count, (void)options, (void)values;
	if (!slab_has(&linkers, linker))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	result = read_file(path, &image, &size);
	return result == CUDA_SUCCESS ? add(linker, image, size) : result;
}

CU_DEFINE(INIT, cuLinkComplete, (CUlinkState linker, void **image, size_t *size),
	  (linker, image, size), HEX(handle, linker))
{
	if (!slab_has(&linkers, linker))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!image || !linker->image)
		return CUDA_ERROR_INVALID_VALUE;
	*image = linker->image;
	if (size)
		*size = linker->size_bytes;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuLinkDestroy, (CUlinkState linker), (linker), HEX(handle, linker))
{
	if (!slab_has(&linkers, linker))
		return CUDA_ERROR_INVALID_HANDLE;
	free(linker->image);
	slab_delete(&linkers, linker);
	return CUDA_SUCCESS;
}
