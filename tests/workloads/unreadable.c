// SPDX-License-Identifier: BSD-2-Clause
/*
 * Passes pointers that lead nowhere: structures the tool would like to read and cannot. Functions
 * of our own with the driver's names take the place of the driver, which would crash.
 */
#include <stdint.h>

#define API __attribute__((noinline, noclone, visibility("default")))

int cuLaunchKernelEx(const void *config, void *function, void **arguments, void **extra);
int cuMemcpy2D_v2(const void *copy);
int cuMemAlloc_v2(uint64_t *address, uint64_t size_bytes);

API int cuLaunchKernelEx(const void *config, void *function, void **arguments, void **extra)
{
	asm volatile("" : : "r"(config), "r"(function), "r"(arguments), "r"(extra) : "memory");
	return 1;
}

API int cuMemcpy2D_v2(const void *copy)
{
	asm volatile("" : : "r"(copy) : "memory");
	return 1;
}

/* Succeeds, and yet there is nothing where the address should be. */
API int cuMemAlloc_v2(uint64_t *address, uint64_t size_bytes)
{
	asm volatile("" : : "r"(address), "r"(size_bytes) : "memory");
	return 0;
}

int main(void)
{
	cuLaunchKernelEx((void *)0x10, (void *)0x1234, 0, 0);
	cuMemcpy2D_v2((void *)0x7ffffffff000);
	cuMemAlloc_v2((uint64_t *)0x10, 4096);
	return 0;
}
