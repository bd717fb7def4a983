/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuModule* and cuFunc*.
 */
#include <string.h>

#include "code.h"

/* Takes over the image. */
static CUresult module_new(CUmodule *module, struct image *image)
{
	struct CUmod_st new = { .object.owner = context_current(), .image = *image };

	pthread_mutex_lock(&code_lock);
	*module = slab_new(&code_modules, &new);
	pthread_mutex_unlock(&code_lock);
	if (*module)
		return CUDA_SUCCESS;
	image_fini(image);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult module_load(CUmodule *module, const void *data)
{
	struct image image;

	if (!module || !data)
		return CUDA_ERROR_INVALID_VALUE;
	return image_init(&image, data) ? module_new(module, &image) : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(CONTEXT, cuModuleLoad, (CUmodule *module, const char *path), (module, path),
	  OUT_HEX(handle, module), STR(name, path))
{
	struct image image;

	if (!module || !path)
		return CUDA_ERROR_INVALID_VALUE;
	return image_init_file(&image, path) ? module_new(module, &image) :
					       CUDA_ERROR_FILE_NOT_FOUND;
}

CU_DEFINE(CONTEXT, cuModuleLoadData, (CUmodule *module, const void *data), (module, data),
	  OUT_HEX(handle, module))
{
	return module_load(module, data);
}

CU_DEFINE(CONTEXT, cuModuleLoadDataEx,
	  (CUmodule *module, const void *data, unsigned int count, CUjit_option *options,
	   void **values),
	  (module, data, count, options, values), OUT_HEX(handle, module))
{
	(void)count, (void)options, (void)values;
	return module_load(module, data);
}

CU_DEFINE(CONTEXT, cuModuleLoadFatBinary, (CUmodule *module, const void *data), (module, data),
	  OUT_HEX(handle, module))
{
	return module_load(module, data);
}

CU_DEFINE(INIT, cuModuleUnload, (CUmodule module), (module), HEX(handle, module))
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	pthread_mutex_lock(&code_lock);
	if (slab_has(&code_modules, module) && !module->library) {
		code_module_fini(module);
		slab_delete(&code_modules, module);
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&code_lock);
	return result;
}

CU_DEFINE(INIT, cuModuleGetLoadingMode, (CUmoduleLoadingMode *mode), (mode), OUT_DEC(value, mode))
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name),
	  (function, module, name), OUT_HEX(handle, function), HEX(module, module), STR(name, name))
{
	if (!function || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_modules, module))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!image_has_kernel(code_image(module), name))
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&code_lock);
	*function = code_function(module, name, strlen(name));
	pthread_mutex_unlock(&code_lock);
	return *function ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(CONTEXT, cuModuleGetGlobal_v2,
	  (CUdeviceptr *ptr, size_t *size, CUmodule module, const char *name),
	  (ptr, size, module, name), OUT_HEX(addr, ptr), OUT_DEC(size, size), HEX(module, module),
	  STR(name, name))
{
	CUresult result;

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_modules, module))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&code_lock);
	result = code_variable(module, name, ptr, size);
	pthread_mutex_unlock(&code_lock);
	return result;
}

CU_DEFINE(INIT, cuModuleGetFunctionCount, (unsigned int *count, CUmodule module), (count, module),
	  HEX(module, module), OUT_DEC(value, count))
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_modules, module))
		return CUDA_ERROR_INVALID_HANDLE;
	*count = image_kernel_count(code_image(module));
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuModuleEnumerateFunctions,
	  (CUfunction *list, unsigned int count, CUmodule module), (list, count, module),
	  HEX(module, module), DEC(value, count))
{
	const char *name = NULL;
	size_t length;

	if (!list)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_modules, module))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&code_lock);
	for (unsigned int i = 0; i < count; i++) {
		name = image_next_kernel(code_image(module), name, &length);
		if (!name)
			break;
		list[i] = code_function(module, name, length);
	}
	pthread_mutex_unlock(&code_lock);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuFuncGetName, (const char **name, CUfunction function), (name, function),
	  HEX(handle, function), OUT_STR(name, name))
{
	return code_name(name, code_launchable(function));
}

CU_DEFINE(INIT, cuFuncGetModule, (CUmodule *module, CUfunction function), (module, function),
	  HEX(handle, function), OUT_HEX(module, module))
{
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&code_functions, function))
		return CUDA_ERROR_INVALID_HANDLE;
	*module = function->symbol.module;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuFuncGetAttribute,
	  (int *value, CUfunction_attribute attribute, CUfunction function),
	  (value, attribute, function), HEX(handle, function), DEC(attribute, attribute),
	  OUT_DEC(value, value))
{
	return code_attribute(value, attribute, code_launchable(function));
}

CU_DEFINE(INIT, cuFuncSetAttribute,
	  (CUfunction function, CUfunction_attribute attribute, int value),
	  (function, attribute, value), HEX(handle, function), DEC(attribute, attribute),
	  DEC(value, value))
{
	return code_set_attribute(code_launchable(function), attribute, value);
}

CU_DEFINE(INIT, cuFuncSetCacheConfig, (CUfunction function, CUfunc_cache config),
	  (function, config), HEX(handle, function), DEC(value, config))
{
	(void)config;
	return code_launchable(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
