// SPDX-License-Identifier: BSD-2-Clause
/*
 * What it costs to ask on which NUMA nodes page-locked memory lies: as live_placement.c asks, about
 * 10 GiB in 64 blocks, the most blocks that are asked for at a time. And whether a process that is
 * asked about notices: how long its own mmap() and munmap() take meanwhile, which need the lock
 * that the kernel takes for the question.
 *
 * usage: placement [GIB [ROUNDS]]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/page_nodes.h"

#define BLOCKS 64
#define CALLS 20000

static char *blocks[BLOCKS];

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

/* How long a map and unmap take, in `times`. */
static void map_and_unmap(uint64_t times[CALLS])
{
	size_t i;

	for (i = 0; i < CALLS; i++) {
		const uint64_t begin_ns = clock_monotonic_ns();
		void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(page, 4096);
		times[i] = clock_monotonic_ns() - begin_ns;
	}
	qsort(times, CALLS, sizeof(*times), compare);
}

/* The program that is asked about: for a while by itself, then while it is. */
static void target(int from, int to)
{
	static uint64_t times[CALLS];
	const char *const when[] = { "by itself", "while it is asked about" };
	size_t i;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < 2; i++) {
		map_and_unmap(times);
		printf("mmap and munmap of a page, %s: median %.1f us, 99.9 %% %.1f us, longest %.0f us\n",
		       when[i], (double)times[CALLS / 2] / 1e3,
		       (double)times[CALLS - CALLS / 1000] / 1e3, (double)times[CALLS - 1] / 1e3);
		fflush(stdout);
		if (write(to, "", 1) != 1 || (!i && read(from, &byte, 1) != 1))
			exit(1);
	}
	exit(0);
}

static int ask(pid_t pid, size_t bytes, uint64_t *pages)
{
	struct page_nodes nodes = { .asked = 0 };
	int err = 0;
	size_t i;

	for (i = 0; !err && i < BLOCKS; i++)
		err = page_nodes_ask(pid, (uintptr_t)blocks[i], bytes, &nodes);
	*pages = nodes.asked - nodes.absent;
	return err;
}

int main(int argc, char **argv)
{
	const size_t gib = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	const int rounds = argc > 2 ? atoi(argv[2]) : 20;
	const size_t bytes = (gib << 30) / BLOCKS;
	uint64_t begin_ns, pages = 0, looks = 0;
	int there[2], back[2], i;
	char byte;
	pid_t pid;

	for (i = 0; i < BLOCKS; i++) {
		blocks[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (blocks[i] == MAP_FAILED)
			return 1;
	}
	if (pipe(there) || pipe(back))
		return 1;
	pid = fork();
	if (!pid) {
		for (i = 0; i < BLOCKS; i++) /* a page that was not touched here is not mapped */
			madvise(blocks[i], bytes, MADV_POPULATE_READ);
		target(there[0], back[1]);
	}
	if (pid < 0 || read(back[0], &byte, 1) != 1)
		return 1;
	begin_ns = clock_cpu_ns();
	for (i = 0; i < rounds; i++)
		if (ask(pid, bytes, &pages))
			return 1;
	printf("%zu GiB in %d blocks, %llu pages: %.2f ms of CPU time\n", gib, BLOCKS,
	       (unsigned long long)pages, (double)(clock_cpu_ns() - begin_ns) / rounds / 1e6);
	fflush(stdout);
	if (write(there[1], "", 1) != 1)
		return 1;
	begin_ns = clock_monotonic_ns();
	signal(SIGCHLD, SIG_IGN);
	while (!kill(pid, 0) && !ask(pid, bytes, &pages))
		looks++;
	printf("%.0f times a second\n",
	       (double)looks * 1e9 / (double)(clock_monotonic_ns() - begin_ns));
	return 0;
}
