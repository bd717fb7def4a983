// SPDX-License-Identifier: BSD-2-Clause
/*
 * Waits for the device again and again, on one CPU, and says what the kernel says of its thread
 * meanwhile: nanoseconds by the clock, that it ran, and that it waited for a CPU. What a wait is
 * like, the simulated driver is told (SIMCUDA_DELAY, SIMCUDA_SPIN).
 *
 * usage: waits CALLS [RIVALS]
 *   RIVALS: so many processes keep the CPU busy
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "simcuda.h"

#define RIVALS_MAX 8
#define PINNED_BYTES (4 << 20)

struct account {
	uint64_t wall_ns, ran_ns, waited_ns;
};

static void check(CUresult result, const char *what)
{
	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "waits: %s: %d\n", what, (int)result);
		exit(1);
	}
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The second number of schedstat: how long the thread waited for a CPU. */
static uint64_t waited_ns(void)
{
	char line[128] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	uint64_t ran = 0, waited = 0;

	if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0 ||
	    sscanf(line, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2) {
		fprintf(stderr, "waits: no schedstat\n");
		exit(1);
	}
	close(fd);
	return waited;
}

static struct account account(void)
{
	return (struct account){ .wall_ns = clock_ns(CLOCK_MONOTONIC),
				 .ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
				 .waited_ns = waited_ns() };
}

static void add_call(struct account *sum)
{
	const struct account before = account();
	struct account after;

	check(cuCtxSynchronize(), "cuCtxSynchronize");
	after = account();
	sum->wall_ns += after.wall_ns - before.wall_ns;
	sum->ran_ns += after.ran_ns - before.ran_ns;
	sum->waited_ns += after.waited_ns - before.waited_ns;
}

static pid_t start_rival(pid_t parent)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		;
	_exit(0);
}

/* On the last of the CPUs that it may use. */
static void stay_on_one_cpu(void)
{
	cpu_set_t set, one;
	int cpu, last = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			last = cpu;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	const long calls = argc > 1 ? atol(argv[1]) : 10, rivals = argc > 2 ? atol(argv[2]) : 0;
	struct account sum = { 0 };
	pid_t pids[RIVALS_MAX] = { 0 };
	CUcontext context;
	CUdevice device;
	void *pinned;
	long i;

	stay_on_one_cpu();
	for (i = 0; i < rivals && i < RIVALS_MAX; i++)
		pids[i] = start_rival(getpid());
	check(cuInit(0), "cuInit");
	check(cuDeviceGet(&device, 0), "cuDeviceGet");
	check(cuCtxCreate_v2(&context, 0, device), "cuCtxCreate");
	check(cuMemHostAlloc(&pinned, PINNED_BYTES, 0), "cuMemHostAlloc");
	memset(pinned, 1, PINNED_BYTES);
	for (i = 0; i < calls; i++)
		add_call(&sum);
	for (i = 0; i < RIVALS_MAX; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sum.wall_ns, sum.ran_ns, sum.waited_ns);
	return 0;
}
