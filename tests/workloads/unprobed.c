// SPDX-License-Identifier: BSD-2-Clause
/*
 * Has two functions of the driver, one of which begins with an instruction that the kernel does not
 * let be probed (x86-64: one with a ds prefix), and calls both, once for each line that it reads.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int cuMemAlloc_v2(uint64_t *address, size_t size_bytes);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);

__attribute__((noinline)) int cuMemAlloc_v2(uint64_t *address, size_t size_bytes)
{
	*address = 0x700000000000 + size_bytes;
	return 0;
}

#ifdef __x86_64__
__asm__(".globl cuMemGetInfo_v2\n"
	".type cuMemGetInfo_v2, @function\n"
	"cuMemGetInfo_v2:\n"
	"	.byte 0x3e\n"
	"	movq $0, (%rdi)\n"
	"	movq $0, (%rsi)\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size cuMemGetInfo_v2, . - cuMemGetInfo_v2\n");
#else
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	*free_bytes = *total_bytes = 0;
	return 0;
}
#endif

int main(void)
{
	size_t free_bytes, total_bytes;
	uint64_t address;

	while (getchar() == '\n') {
		if (cuMemAlloc_v2(&address, 4096) || cuMemGetInfo_v2(&free_bytes, &total_bytes))
			return 1;
		printf("%#llx\n", (unsigned long long)address);
	}
	return 0;
}
