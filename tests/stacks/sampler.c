// SPDX-License-Identifier: BSD-2-Clause
/*
 * A CUDA driver of one function, to be preloaded into any program. It interrupts the program at
 * random places of its own work (SIGPROF), copies the thread's registers and stack, and calls
 * cuMemAlloc_v2() with the sample's number as the size. So a trace has, of each sample, the stack
 * as the kernel side walked it, and libdw can walk the copy (walk_copies.c).
 *
 * SAMPLER_FILE: where the copies go. SAMPLER_COUNT: how many. It begins when FILE.go is there.
 * After the last sample it copies the process's mappings to FILE.maps and ends the process.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "sample.h"

static char go[4096], maps[4096];
static int copies = -1;
static int count;
static atomic_int next = 1;
static atomic_int done;

int cuInit(unsigned int flags);
int cuMemAlloc_v2(unsigned long long *block, size_t bytes);

__attribute__((noinline)) int cuMemAlloc_v2(unsigned long long *block, size_t bytes)
{
	*block = bytes << 12;
	return 0;
}

int cuInit(unsigned int flags)
{
	(void)flags;
	return 0;
}

/* What cannot be read is the end of the stack: the kernel writes up to there. */
static void copy_stack(const struct sample *sample)
{
	const off_t place = (off_t)(sample->number - 1) * SAMPLE_BYTES;
	const char *from = (const char *)sample->registers[SAMPLE_SP] - SAMPLE_RED_ZONE;
	size_t copied = 0;

	if (pwrite(copies, sample, sizeof(*sample), place) != (ssize_t)sizeof(*sample))
		abort();
	while (copied < SAMPLE_STACK_BYTES) {
		const ssize_t got = pwrite(copies, from + copied, SAMPLE_STACK_BYTES - copied,
					   place + (off_t)sizeof(*sample) + (off_t)copied);

		if (got <= 0)
			break;
		copied += (size_t)got;
	}
}

static void end(void)
{
	char bytes[65536];
	int from = open("/proc/self/maps", O_RDONLY);
	int to = open(maps, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)got) != got)
			abort();
	_exit(0);
}

static void take_sample(int signal, siginfo_t *info, void *context)
{
	/* In the order of DWARF's numbers. */
	static const int of[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				  REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
	const ucontext_t *at = context;
	struct sample sample = { 0 };
	unsigned long long block;
	int number, i;

	(void)signal;
	(void)info;
	if (access(go, F_OK))
		return;
	number = atomic_fetch_add(&next, 1);
	if (number > count)
		return;
	sample.number = (uint32_t)number;
	for (i = 0; i < SAMPLE_REGISTERS; i++)
		sample.registers[i] = (uint64_t)at->uc_mcontext.gregs[of[i]];
	copy_stack(&sample);
	cuMemAlloc_v2(&block, (size_t)number);
	if (atomic_fetch_add(&done, 1) + 1 == count)
		end();
}

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("SAMPLER_FILE"), *wanted = getenv("SAMPLER_COUNT");
	const struct itimerval interval = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction action = { .sa_sigaction = take_sample,
				    .sa_flags = SA_SIGINFO | SA_RESTART };

	if (!file || !wanted)
		return;
	count = atoi(wanted);
	snprintf(go, sizeof(go), "%s.go", file);
	snprintf(maps, sizeof(maps), "%s.maps", file);
	copies = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (copies < 0)
		abort();
	/* Programs that this one starts are not sampled. */
	unsetenv("SAMPLER_FILE");
	sigfillset(&action.sa_mask);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &interval, NULL);
}
