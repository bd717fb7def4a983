// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stands for libc10.so: the functions that PyTorch's allocator calls about itself, by the names
 * that its versions have, and nothing in them.
 */
#include <stdint.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* c10::Device: two bytes by value. */
struct c10_device {
	int8_t type, index;
};

#ifdef __x86_64__
/* As PyTorch's own begin: with what the kernel single-steps, then with what it emulates. */
#define FUNCTION(name, ...) \
	__attribute__((visibility("default"), naked)) void name(__VA_ARGS__); \
	void name(__VA_ARGS__) \
	{ \
		__asm__("mov probed@GOTPCREL(%rip), %rax\n" \
			"push %r14\n" \
			".cfi_adjust_cfa_offset 8\n" \
			"mov %r8d, %r14d\n" \
			"pop %r14\n" \
			".cfi_adjust_cfa_offset -8\n" \
			"ret"); \
	}
#else
#define FUNCTION(name, ...) \
	__attribute__((visibility("default"), noinline)) void name(__VA_ARGS__); \
	void name(__VA_ARGS__) \
	{ \
		__asm__ volatile("" ::: "memory"); \
	}
#endif

__attribute__((visibility("default"))) int probed;

/* clang-format off */
FUNCTION(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE, void *block, int64_t size,
	 uint64_t allocated, uint64_t reserved, struct c10_device device)
FUNCTION(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE, void *block, int64_t size,
	 int64_t allocated, int64_t reserved, struct c10_device device)
FUNCTION(_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE, int64_t size, uint64_t allocated,
	 uint64_t reserved, struct c10_device device)
FUNCTION(_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE, int64_t size, int64_t allocated,
	 int64_t reserved, struct c10_device device)
/* clang-format on */
