/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See code.h. The exported functions are in module.c and library.c.
 */
#include <stdlib.h>
#include <string.h>

#include "code.h"

struct slab code_modules = SLAB(struct CUmod_st, 65536);
struct slab code_libraries = SLAB(struct CUlib_st, 65536);
struct slab code_functions = SLAB(struct CUfunc_st, 1 << 20);
struct slab code_kernels = SLAB(struct CUkern_st, 1 << 20);
pthread_mutex_t code_lock = PTHREAD_MUTEX_INITIALIZER;

const struct image *code_image(CUmodule module)
{
	return module->library ? &module->library->image : &module->image;
}

static struct symbol *symbol_find(struct symbol *list, const char *name, size_t length)
{
	for (; list; list = list->next)
		if (!strncmp(list->name, name, length) && !list->name[length])
			return list;
	return NULL;
}

static struct symbol *symbol_get(struct slab *slab, struct symbol **list, const char *name,
				 size_t length, CUmodule module, CUlibrary library)
{
	struct symbol new = { .module = module, .library = library, .next = *list };
	struct symbol *symbol = symbol_find(*list, name, length);

	if (symbol)
		return symbol;
	new.name = strndup(name, length);
	symbol = new.name ? slab_new(slab, &new) : NULL;
	if (symbol)
		*list = symbol;
	else
		free(new.name);
	return symbol;
}

void code_symbols_delete(struct slab *slab, struct symbol *list)
{
	while (list) {
		struct symbol *next = list->next;

		free(list->name);
		slab_delete(slab, list);
		list = next;
	}
}

CUfunction code_function(CUmodule module, const char *name, size_t length)
{
	return (CUfunction)symbol_get(&code_functions, &module->functions, name, length, module,
				      NULL);
}

CUkernel code_kernel(CUlibrary library, const char *name, size_t length)
{
	return (CUkernel)symbol_get(&code_kernels, &library->kernels, name, length, NULL, library);
}

static void variables_delete(CUmodule module)
{
	struct variable *next;

	for (struct variable *v = module->variables; v; v = next) {
		next = v->next;
		arena_free(space_arena(v->block.addr), v->block.addr, ARENA_GLOBAL);
		free(v->name);
		free(v);
	}
}

void code_module_fini(void *object)
{
	CUmodule module = object;

	code_symbols_delete(&code_functions, module->functions);
	variables_delete(module);
	image_fini(&module->image);
}

void module_free_owned(CUcontext owner)
{
	pthread_mutex_lock(&code_lock);
	slab_delete_owned(&code_modules, owner, code_module_fini);
	pthread_mutex_unlock(&code_lock);
}

static struct variable *variable_new(CUmodule module, const char *name)
{
	struct variable *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->name = strdup(name);
	v->block.size_bytes = image_variable_bytes(code_image(module), name);
	v->block.owner = module->object.owner;
	v->block.use = ARENA_GLOBAL;
	if (!v->name || !arena_alloc(module->object.owner->device->memory, &v->block)) {
		free(v->name);
		free(v);
		return NULL;
	}
	memset((void *)(uintptr_t)v->block.addr, 0, v->block.size_bytes);
	v->next = module->variables;
	module->variables = v;
	return v;
}

CUresult code_variable(CUmodule module, const char *name, CUdeviceptr *ptr, size_t *size)
{
	struct variable *v;

	if (!image_variable_bytes(code_image(module), name))
		return CUDA_ERROR_NOT_FOUND;
	for (v = module->variables; v; v = v->next)
		if (!strcmp(v->name, name))
			break;
	if (!v)
		v = variable_new(module, name);
	if (!v)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (ptr)
		*ptr = v->block.addr;
	if (size)
		*size = v->block.size_bytes;
	return CUDA_SUCCESS;
}

/* The library's module in the current context. */
CUmodule code_library_module(CUlibrary library)
{
	CUcontext current = context_current();
	struct CUmod_st new = { .object.owner = current, .library = library };
	CUmodule module = NULL;

	while ((module = slab_next(&code_modules, module)))
		if (module->library == library && module->object.owner == current)
			return module;
	return slab_new(&code_modules, &new);
}

/* A CUkernel is accepted wherever a CUfunction is. NULL: neither. */
struct symbol *code_launchable(CUfunction function)
{
	bool known = slab_has(&code_functions, function) || slab_has(&code_kernels, function);

	return known ? (struct symbol *)function : NULL;
}

const char *module_function_name(CUfunction function)
{
	const struct symbol *symbol = code_launchable(function);

	return symbol ? symbol->name : NULL;
}

CUresult code_name(const char **name, const struct symbol *symbol)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!symbol)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = symbol->name;
	return CUDA_SUCCESS;
}

CUresult code_attribute(int *value, CUfunction_attribute attribute, const struct symbol *symbol)
{
	static const int constants[CU_FUNC_ATTRIBUTE_MAX] = {
		[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
		[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32,
		[CU_FUNC_ATTRIBUTE_PTX_VERSION] = 90,
		[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90,
	};

	if (!value || (unsigned int)attribute >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!symbol)
		return CUDA_ERROR_INVALID_HANDLE;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		*value = symbol->dynamic_shared_bytes;
	else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
		*value = symbol->carveout;
	else
		*value = constants[attribute];
	return CUDA_SUCCESS;
}

CUresult code_set_attribute(struct symbol *symbol, CUfunction_attribute attribute, int value)
{
	if (!symbol)
		return CUDA_ERROR_INVALID_HANDLE;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		symbol->dynamic_shared_bytes = value;
	else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
		symbol->carveout = value;
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
