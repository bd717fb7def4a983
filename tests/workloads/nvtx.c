// SPDX-License-Identifier: BSD-2-Clause
/*
 * A stand-in for version 2 of NVTX, libnvToolsExt.so.1, as it is where no tool has been loaded: its
 * functions are called, and do nothing. The ranges that it gives numbers have all the same one with
 * NVTX_NO_NUMBERS.
 */
#include <stdlib.h>

#include "nvtx.h"

#define EXPORT __attribute__((visibility("default"), noinline))

static uint64_t next_number(void)
{
	static uint64_t last;

	return getenv("NVTX_NO_NUMBERS") ? 0 : __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* Nothing is to be left out because it has no effect. */
static int use(const void *argument)
{
	__asm__ volatile("" ::"r"(argument) : "memory");
	return -2;
}

EXPORT int nvtxRangePushA(const char *name)
{
	return use(name);
}

EXPORT int nvtxRangePushW(const wchar_t *name)
{
	return use(name);
}

EXPORT int nvtxRangePushEx(const nvtxEventAttributes_t *attributes)
{
	return use(attributes);
}

EXPORT int nvtxRangePop(void)
{
	return use(NULL);
}

EXPORT nvtxRangeId_t nvtxRangeStartA(const char *name)
{
	use(name);
	return next_number();
}

EXPORT nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *attributes)
{
	use(attributes);
	return next_number();
}

EXPORT void nvtxRangeEnd(nvtxRangeId_t id)
{
	use(&id);
}

EXPORT void nvtxMarkA(const char *name)
{
	use(name);
}

EXPORT nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
	return (nvtxDomainHandle_t)(uintptr_t)(name[0] | 0x1000);
}

EXPORT const void *nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *name)
{
	use(domain);
	use(name);
	return NULL;
}

EXPORT int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
	use(domain);
	return use(attributes);
}

EXPORT int nvtxDomainRangePop(nvtxDomainHandle_t domain)
{
	return use(domain);
}
