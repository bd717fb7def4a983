/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device code: modules (of one context) and libraries (of none; a module of theirs is made in each
 * context that needs one), and the functions, kernels and variables in them. The same name in the
 * same module gives the same handle, as on the real driver.
 */
#ifndef SIMCUDA_CODE_H
#define SIMCUDA_CODE_H

#include "driver.h"
#include "image.h"

/* A function of a module or a kernel of a library. */
struct symbol {
	struct object object;
	struct symbol *next; /* in the same module or library */
	char *name;
	CUmodule module;
	CUlibrary library;
	int dynamic_shared_bytes; /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
	int carveout;
};

struct CUfunc_st {
	struct symbol symbol;
};

struct CUkern_st {
	struct symbol symbol;
};

struct variable {
	struct variable *next;
	char *name;
	struct arena_block block;
};

struct CUmod_st {
	struct object object;
	struct image image;
	CUlibrary library; /* whose module this is, or NULL; the image is then the library's */
	struct symbol *functions;
	struct variable *variables;
};

struct CUlib_st {
	struct object object;
	struct image image;
	struct symbol *kernels;
};

extern struct slab code_modules;
extern struct slab code_libraries;
extern struct slab code_functions;
extern struct slab code_kernels;

/* Guards what hangs on modules and libraries, and their coming and going. */
extern pthread_mutex_t code_lock;

/* With the lock. A name ends where length says; NULL: out of memory. */
CUfunction code_function(CUmodule module, const char *name, size_t length);
CUkernel code_kernel(CUlibrary library, const char *name, size_t length);
CUresult code_variable(CUmodule module, const char *name, CUdeviceptr *ptr, size_t *size);
CUmodule code_library_module(CUlibrary library); /* the one in the current context */
void code_symbols_delete(struct slab *slab, struct symbol *list);
void code_module_fini(void *module);

/* Without it. */
const struct image *code_image(CUmodule module);
struct symbol *code_launchable(CUfunction function); /* NULL: not a function, nor a kernel */
CUresult code_name(const char **name, const struct symbol *symbol);
CUresult code_attribute(int *value, CUfunction_attribute attribute, const struct symbol *symbol);
CUresult code_set_attribute(struct symbol *symbol, CUfunction_attribute attribute, int value);

#endif
