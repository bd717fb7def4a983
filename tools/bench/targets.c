// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "quantile.h"

#define PEACE_TRIES 6000 /* of 10 ms */
#define BREAKPOINT 0xcc  /* x86: int3 */

static void start(struct bench *bench, struct target *target, const char *preload)
{
	int fd = memfd_create("bench", 0);
	char number[16];

	if (fd < 0 || ftruncate(fd, sizeof(*target->order)))
		bench_die("shared memory", errno);
	target->order =
		mmap(NULL, sizeof(*target->order), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (target->order == MAP_FAILED)
		bench_die("shared memory", errno);
	snprintf(number, sizeof(number), "%d", fd);
	target->pid = fork();
	if (target->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* it would spin for ever */
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execl(bench->target_path, bench->target_path, number, bench->library_path, NULL);
		_exit(127);
	}
	close(fd);
}

static void order(struct target *target, enum bench_call call)
{
	target->order->call = call;
	atomic_fetch_add(&target->order->sequence, 1);
}

void targets_start(struct bench *bench)
{
	start(bench, &bench->targets[TARGET_FIRST], NULL);
	start(bench, &bench->targets[TARGET_SECOND], NULL);
	start(bench, &bench->targets[TARGET_PRELOADED], bench->interposer_path);
	/* When it has carried out the first order, it has also told its places. */
	if (target_measure(&bench->targets[TARGET_FIRST], BENCH_REF, 1000) <= 0 ||
	    !bench->targets[TARGET_FIRST].order->places[BENCH_REF])
		bench_die(bench->target_path, ENOEXEC);
}

void targets_end(struct bench *bench)
{
	size_t i;

	for (i = 0; i < TARGETS_COUNT; i++) {
		order(&bench->targets[i], BENCH_EXIT);
		waitpid(bench->targets[i].pid, NULL, 0);
	}
}

void target_pace(struct target *target, enum bench_call call, uint64_t pace_ns,
		 uint64_t duration_ns)
{
	target->order->pace_ns = pace_ns;
	target->order->duration_ns = duration_ns;
	order(target, call);
}

void target_wait(struct target *target)
{
	while (atomic_load(&target->order->done) != atomic_load(&target->order->sequence)) {
		if (waitpid(target->pid, NULL, WNOHANG) != 0)
			bench_die("the target is gone", ESRCH);
		usleep(500);
	}
}

static void measure(struct target *target, enum bench_call call, uint64_t calls,
		    uint64_t unit_calls)
{
	target->order->pace_ns = 0;
	target->order->calls = calls;
	target->order->unit_calls = unit_calls;
	order(target, call);
	target_wait(target);
	order(target, call);
	target_wait(target);
}

double target_measure(struct target *target, enum bench_call call, uint64_t calls)
{
	measure(target, call, calls, 0);
	return quantile(target->order->ns, BENCH_BATCHES, 0.5);
}

void target_measure_both(struct target *target, enum bench_call call, uint64_t calls,
			 struct costs *costs)
{
	measure(target, call, calls, calls);
	memcpy(costs->ns, target->order->ns, sizeof(costs->ns));
	memcpy(costs->unit_ns, target->order->unit_ns, sizeof(costs->unit_ns));
}

bool target_has_probe(const struct target *target, enum bench_call call)
{
	unsigned char byte = 0;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", target->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &byte, 1, target->order->places[call]) != 1)
		bench_die(path, errno);
	close(fd);
	return byte == BREAKPOINT;
}

void target_await_peace(const struct target *target, enum bench_call call)
{
	int i;

	for (i = 0; i < PEACE_TRIES; i++) {
		if (!target_has_probe(target, call))
			return;
		usleep(10000);
	}
	bench_die("somebody else traces the targets", EBUSY);
}
