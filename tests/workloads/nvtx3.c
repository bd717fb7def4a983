// SPDX-License-Identifier: BSD-2-Clause
/*
 * As version 3 of NVTX is in a module, which has a copy of its own: at the first call it loads what
 * NVTX_INJECTION64_PATH names, and lets it fill in a table of functions; without, nothing is done.
 * Written from its documentation.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "nvtx.h"

typedef void function(void);

#define CORE 1
#define CORE2 5
#define FUNCTIONS 17

static function *core[FUNCTIONS], *core2[FUNCTIONS];
static function **core_table[FUNCTIONS], **core2_table[FUNCTIONS];
static uint32_t tool_version;

static int module_table(uint32_t module, function ***table[], unsigned int *count)
{
	if (module != CORE && module != CORE2)
		return 0;
	*table = module == CORE ? core_table : core2_table;
	*count = FUNCTIONS - 1;
	return 1;
}

static void set_version(uint32_t version)
{
	tool_version = version;
}

static const struct {
	size_t size;
	int (*module_table)(uint32_t module, function ***table[], unsigned int *count);
} callbacks = { sizeof(callbacks), module_table };

static const struct {
	size_t size;
	uint32_t version, reserved;
	void (*set)(uint32_t version);
} version = { sizeof(version), 3, 0, set_version };

static const void *export_table(uint32_t number)
{
	return number == 1 ? (const void *)&callbacks : number == 3 ? (const void *)&version : NULL;
}

static void load_tool(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	int (*initialize)(const void *(*get)(uint32_t number));
	void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
	int i;

	for (i = 1; i < FUNCTIONS - 1; i++) {
		core_table[i] = &core[i];
		core2_table[i] = &core2[i];
	}
	if (!tool)
		return;
	*(void **)&initialize = dlsym(tool, "InitializeInjectionNvtx2");
	if (initialize && initialize(export_table) && tool_version == 3)
		return;
	for (i = 0; i < FUNCTIONS; i++)
		core[i] = core2[i] = NULL;
}

static function *of(function **table, int number)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_tool);
	return table[number];
}

#define CALL(table, number, otherwise, type, ...) \
	(of(table, number) ? ((type)of(table, number))(__VA_ARGS__) : (otherwise))

typedef int push_text(const char *name);
typedef int push_wide(const wchar_t *name);
typedef int push_attributes(const nvtxEventAttributes_t *attributes);
typedef int pop_function(void);
typedef nvtxRangeId_t start_text(const char *name);
typedef nvtxRangeId_t start_attributes(const nvtxEventAttributes_t *attributes);
typedef void end_function(nvtxRangeId_t id);
typedef void mark_text(const char *name);
typedef void *create_text(const char *name);
typedef void *register_text(nvtxDomainHandle_t domain, const char *name);
typedef int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);
typedef int domain_pop(nvtxDomainHandle_t domain);

int nvtxRangePushA(const char *name)
{
	return CALL(core, 9, -2, push_text *, name);
}

int nvtxRangePushW(const wchar_t *name)
{
	return CALL(core, 10, -2, push_wide *, name);
}

int nvtxRangePushEx(const nvtxEventAttributes_t *attributes)
{
	return CALL(core, 8, -2, push_attributes *, attributes);
}

int nvtxRangePop(void)
{
	return CALL(core, 11, -2, pop_function *);
}

nvtxRangeId_t nvtxRangeStartA(const char *name)
{
	return CALL(core, 5, 0, start_text *, name);
}

nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *attributes)
{
	return CALL(core, 4, 0, start_attributes *, attributes);
}

void nvtxRangeEnd(nvtxRangeId_t id)
{
	if (of(core, 7))
		((end_function *)of(core, 7))(id);
}

void nvtxMarkA(const char *name)
{
	if (of(core, 2))
		((mark_text *)of(core, 2))(name);
}

nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
	return CALL(core2, 12, NULL, create_text *, name);
}

const void *nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *name)
{
	return CALL(core2, 10, NULL, register_text *, domain, name);
}

int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
	return CALL(core2, 4, -2, domain_push *, domain, attributes);
}

int nvtxDomainRangePop(nvtxDomainHandle_t domain)
{
	return CALL(core2, 5, -2, domain_pop *, domain);
}
