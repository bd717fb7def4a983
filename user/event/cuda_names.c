// SPDX-License-Identifier: BSD-2-Clause
#include "event/cuda_names.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const char *names[] = {
#define DRIVER(name) #name,
#define INTEROP(name) #name,
#define RUNTIME(name) #name,
#define UNDECLARED(name) #name,
#define OLDER(name) #name,
#include "event/cuda_names.def"
#undef DRIVER
#undef INTEROP
#undef RUNTIME
#undef UNDECLARED
#undef OLDER
};
/* clang-format on */

#define NAMES (sizeof(names) / sizeof(*names))

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_known(const char *name)
{
	static bool ready;

	if (!ready)
		qsort(names, NAMES, sizeof(*names), compare);
	ready = true;
	return bsearch(&name, names, NAMES, sizeof(*names), compare);
}

bool cuda_name_is_new(const char *name, enum ms_layer layer)
{
	const char *prefix = layer == MS_LAYER_DRIVER ? "cu" : "cuda";
	const size_t length = strlen(prefix);

	return !strncmp(name, prefix, length) && isupper((unsigned char)name[length]) &&
	       !is_known(name);
}

bool cuda_name_is_about_memory(const char *name)
{
	static const char *const parts[] = { "Mem",  "Cpy",   "Copy",   "Alloc", "alloc",
					     "Free", "Array", "Import", "Map" };
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

bool cuda_name_is_library(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "libcuda.so", strlen("libcuda.so")) ||
	       !strncmp(name, "libcudart.so", strlen("libcudart.so"));
}
