// SPDX-License-Identifier: BSD-2-Clause
/*
 * Has two functions of the driver, one of which begins with an instruction that the kernel does not
 * let be probed (x86-64: one with a ds prefix). Says that it has begun, and calls both, once for
 * each line that it reads; at an "x" another thread than the first executes it anew.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

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

static void *execute(void *argv)
{
	execv("/proc/self/exe", argv);
	return NULL;
}

static int call_both(void)
{
	size_t free_bytes, total_bytes;
	uint64_t address;

	if (cuMemAlloc_v2(&address, 4096) || cuMemGetInfo_v2(&free_bytes, &total_bytes))
		return 1;
	printf("%#llx\n", (unsigned long long)address);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int c;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("begun");
	while ((c = getchar()) == '\n' || c == 'x') {
		if (c == '\n' ? call_both() : pthread_create(&thread, NULL, execute, argv))
			return 1;
		if (c == 'x')
			pause();
	}
	return 0;
}
