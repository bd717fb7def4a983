/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuLibrary* and cuKernel*: what the CUDA runtime uses for the kernels compiled into a program.
 */
#include <string.h>

#include "code.h"

static CUresult library_new(CUlibrary *library, struct image *image)
{
	struct CUlib_st new = { .image = *image };

	pthread_mutex_lock(&code_lock);
	*library = slab_new(&code_libraries, &new);
	pthread_mutex_unlock(&code_lock);
	if (*library)
		return CUDA_SUCCESS;
	image_fini(image);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(INIT, cuLibraryLoadData,
	  (CUlibrary *library, const void *data, CUjit_option *jit_options, void **jit_values,
	   unsigned int jit_count, CUlibraryOption *options, void **values, unsigned int count),
	  (library, data, jit_options, jit_values, jit_count, options, values, count),
	  OUT_HEX(handle, library))
{
	struct image image;

	(void)jit_options, (void)jit_values, (void)jit_count;
	(void)options, (void)values, (void)count;
	if (!library || !data)
		return CUDA_ERROR_INVALID_VALUE;
	return image_init(&image, data) ? library_new(library, &image) : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(INIT, cuLibraryLoadFromFile,
	  (CUlibrary *library, const char *path, CUjit_option *jit_options, void **jit_values,
	   unsigned int jit_count, CUlibraryOption *options, void **values, unsigned int count),
	  (library, path, jit_options, jit_values, jit_count, options, values, count),
	  OUT_HEX(handle, library), STR(name, path))
{
	struct image image;

	(void)jit_options, (void)jit_values, (void)jit_count;
	(void)options, (void)values, (void)count;
	if (!library || !path)
		return CUDA_ERROR_INVALID_VALUE;
	return image_init_file(&image, path) ? library_new(library, &image) :
					       CUDA_ERROR_FILE_NOT_FOUND;
}

CU_DEFINE(INIT, cuLibraryUnload, (CUlibrary library), (library), HEX(handle, library))
{
	CUmodule module = NULL;

	if (!slab_has(&code_libraries, library))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&code_lock);
	while ((module = slab_next(&code_modules, module))) {
		if (module->library != library)
			continue;
		code_module_fini(module);
		slab_delete(&code_modules, module);
	}
	code_symbols_delete(&code_kernels, library->kernels);
	image_fini(&library->image);
	slab_delete(&code_libraries, library);
	pthread_mutex_unlock(&code_lock);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuLibraryGetKernel, (CUkernel *kernel, CUlibrary library, const char *name),
	  (kernel, library, name), OUT_HEX(handle, kernel), HEX(library, library), STR(name, name))
{
	if (!kernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_libraries, library))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!image_has_kernel(&library->image, name))
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&code_lock);
	*kernel = code_kernel(library, name, strlen(name));
	pthread_mutex_unlock(&code_lock);
	return *kernel ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(CONTEXT, cuLibraryGetModule, (CUmodule *module, CUlibrary library), (module, library),
	  OUT_HEX(handle, module), HEX(library, library))
{
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_libraries, library))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&code_lock);
	*module = code_library_module(library);
	pthread_mutex_unlock(&code_lock);
	return *module ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(CONTEXT, cuLibraryGetGlobal,
	  (CUdeviceptr *ptr, size_t *size, CUlibrary library, const char *name),
	  (ptr, size, library, name), OUT_HEX(addr, ptr), OUT_DEC(size, size),
	  HEX(library, library), STR(name, name))
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	CUmodule module;

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_libraries, library))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&code_lock);
	module = code_library_module(library);
	if (module)
		result = code_variable(module, name, ptr, size);
	pthread_mutex_unlock(&code_lock);
	return result;
}

CU_DEFINE(INIT, cuLibraryGetKernelCount, (unsigned int *count, CUlibrary library), (count, library),
	  HEX(library, library), OUT_DEC(value, count))
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_libraries, library))
		return CUDA_ERROR_INVALID_HANDLE;
	*count = image_kernel_count(&library->image);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuLibraryEnumerateKernels,
	  (CUkernel *list, unsigned int count, CUlibrary library), (list, count, library),
	  HEX(library, library), DEC(value, count))
{
	const char *name = NULL;
	size_t length;

	if (!list)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_libraries, library))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&code_lock);
	for (unsigned int i = 0; i < count; i++) {
		name = image_next_kernel(&library->image, name, &length);
		if (!name)
			break;
		list[i] = code_kernel(library, name, length);
	}
	pthread_mutex_unlock(&code_lock);
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuKernelGetFunction, (CUfunction *function, CUkernel kernel), (function, kernel),
	  OUT_HEX(handle, function), HEX(kernel_handle, kernel))
{
	CUmodule module;

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_kernels, kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&code_lock);
	module = code_library_module(kernel->symbol.library);
	*function =
		module ? code_function(module, kernel->symbol.name, strlen(kernel->symbol.name)) :
			 NULL;
	pthread_mutex_unlock(&code_lock);
	return *function ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(INIT, cuKernelGetLibrary, (CUlibrary *library, CUkernel kernel), (library, kernel),
	  OUT_HEX(library, library), HEX(handle, kernel))
{
	if (!library)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_kernels, kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	*library = kernel->symbol.library;
	return CUDA_SUCCESS;
}

static struct symbol *kernel_symbol(CUkernel kernel)
{
	return slab_has(&code_kernels, kernel) ? &kernel->symbol : NULL;
}

CU_DEFINE(INIT, cuKernelGetName, (const char **name, CUkernel kernel), (name, kernel),
	  HEX(handle, kernel), OUT_STR(name, name))
{
	return code_name(name, kernel_symbol(kernel));
}

CU_DEFINE(INIT, cuKernelGetAttribute,
	  (int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device),
	  (value, attribute, kernel, device), HEX(handle, kernel), DEC(attribute, attribute),
	  OUT_DEC(value, value))
{
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	return code_attribute(value, attribute, kernel_symbol(kernel));
}

CU_DEFINE(INIT, cuKernelSetAttribute,
	  (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device),
	  (attribute, value, kernel, device), HEX(handle, kernel), DEC(attribute, attribute),
	  DEC(value, value))
{
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	return code_set_attribute(kernel_symbol(kernel), attribute, value);
}
