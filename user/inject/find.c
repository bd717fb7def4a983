// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which libcupti: the one that is mapped; else the one beside the CUDA runtime that is mapped, as
 * in a toolkit or in Python's packages; else that of the toolkit that the environment names; else
 * what the loader finds. Two versions in one process are known to end badly, and one that does not
 * fit the driver answers nothing.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/inject.h"

/* The library's directory, as seen from that of a mapped library of CUDA. */
static const char *const beside[] = {
	"%s",
	"%s/../../cuda_cupti/lib",        /* packages of CUDA 12: nvidia/cuda_runtime/lib */
	"%s/../../nvidia/cuda_cupti/lib", /* torch/lib */
	"%s/../../nvidia/cu13/lib",
	"%s/../extras/CUPTI/lib64", /* a toolkit */
	"%s/../../../extras/CUPTI/lib64",
};

static const char *const of_toolkit[] = {
	"%s/extras/CUPTI/lib64",
	"%s/lib64",
	"%s/lib",
};

static const char *const loaders[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
				       "libcupti.so" };

/* The part of a line of /proc/self/maps that is a path, or NULL. */
static char *mapped_path(char *line)
{
	char *path = strchr(line, '/');

	if (path)
		path[strcspn(path, "\n")] = '\0';
	return path;
}

static bool is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return slash && !strncmp(slash + 1, name, strlen(name));
}

/* The first mapped file whose name begins like that. */
static bool find_mapped(const char *name, char path[PATH_MAX])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL, *found = NULL;
	size_t room = 0;

	if (!maps)
		return false;
	while (!found && getline(&line, &room, maps) > 0) {
		found = mapped_path(line);
		if (found && (!is_named(found, name) || strlen(found) >= PATH_MAX))
			found = NULL;
	}
	if (found)
		memcpy(path, found, strlen(found) + 1);
	free(line);
	fclose(maps);
	return found;
}

static void *load(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* "libcupti.so", "libcupti.so.13", "libcupti.so.2025.3.1", but no copy that was put aside. */
static bool is_library(const char *name)
{
	static const char stem[] = "libcupti.so";
	const char *version = name + sizeof(stem) - 1;

	return !strncmp(name, stem, sizeof(stem) - 1) && !version[strspn(version, "0123456789.")];
}

/* The newest one of a directory, by the version in its name. */
static void *load_from(const char *directory)
{
	DIR *entries = opendir(directory);
	char best[NAME_MAX + 1] = "", path[PATH_MAX];
	const struct dirent *entry;

	if (!entries)
		return NULL;
	while ((entry = readdir(entries)))
		if (is_library(entry->d_name) && strverscmp(entry->d_name, best) > 0)
			memcpy(best, entry->d_name, strlen(entry->d_name) + 1);
	closedir(entries);
	if (!*best || snprintf(path, sizeof(path), "%s/%s", directory, best) >= (int)sizeof(path))
		return NULL;
	return load(path);
}

static void *load_around(const char *directory, const char *const *patterns, size_t count)
{
	char path[PATH_MAX];
	void *library = NULL;
	size_t i;

	for (i = 0; i < count && !library; i++)
		if (snprintf(path, sizeof(path), patterns[i], directory) < (int)sizeof(path))
			library = load_from(path);
	return library;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void *load_beside(const char *name)
{
	char path[PATH_MAX], *slash;

	if (!find_mapped(name, path))
		return NULL;
	slash = strrchr(path, '/');
	*slash = '\0';
	return load_around(path, beside, COUNT(beside));
}

static void *find_library(void)
{
	static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT" };
	static const char *const mapped[] = { "libcudart.so", "libcublas.so", "libtorch_cuda.so" };
	char path[PATH_MAX];
	void *library = find_mapped("libcupti.so", path) ? load(path) : NULL;
	size_t i;

	for (i = 0; i < COUNT(mapped) && !library; i++)
		library = load_beside(mapped[i]);
	for (i = 0; i < COUNT(variables) && !library; i++)
		if (getenv(variables[i]))
			library = load_around(getenv(variables[i]), of_toolkit, COUNT(of_toolkit));
	for (i = 0; i < COUNT(loaders) && !library; i++)
		library = load(loaders[i]);
	return library ? library : load_around("/usr/local/cuda", of_toolkit, COUNT(of_toolkit));
}

static void say(char who[MS_GPU_WHO_BYTES], const char *text)
{
	const size_t length = strlen(text);

	/* The end of a path says more than its beginning. */
	snprintf(who, MS_GPU_WHO_BYTES, "%s",
		 length < MS_GPU_WHO_BYTES ? text : text + length - (MS_GPU_WHO_BYTES - 1));
}

/* Returns the name of a function that is needed and not there, or NULL. */
static const char *find_functions(struct cupti *cupti)
{
	const struct {
		const char *name;
		bool needed;
		void **place;
	} functions[] = {
#define X(function, is_needed, parameters) \
	{ "cupti" #function, is_needed, (void **)&cupti->function },
		CUPTI_FUNCTIONS(X)
#undef X
	};
	size_t i;

	for (i = 0; i < COUNT(functions); i++) {
		*functions[i].place = dlsym(cupti->library, functions[i].name);
		if (!*functions[i].place && functions[i].needed)
			return functions[i].name;
	}
	return NULL;
}

enum ms_gpu_reason find_cupti(struct cupti *cupti, char who[MS_GPU_WHO_BYTES], __s32 *result)
{
	const char *missing;
	Dl_info info;

	cupti->library = find_library();
	if (!cupti->library)
		return MS_GPU_REASON_NO_LIBRARY;
	missing = find_functions(cupti);
	if (missing) {
		say(who, missing);
		return MS_GPU_REASON_NO_FUNCTION;
	}
	if (dladdr((void *)cupti->GetVersion, &info) && info.dli_fname)
		say(who, info.dli_fname);
	*result = cupti->GetVersion(&cupti->version);
	if (*result != CUPTI_OK) {
		say(who, "cuptiGetVersion");
		return MS_GPU_REASON_REFUSED;
	}
	return cupti->version < CUPTI_OLDEST ? MS_GPU_REASON_OLD_LIBRARY : MS_GPU_REASON_NONE;
}
