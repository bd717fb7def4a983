// SPDX-License-Identifier: BSD-2-Clause
/*
 * The highest rate of launches that each mode of `memscope-bpf trace` keeps up with: nothing is
 * lost, and it is done with the last event soon after it happened (or the ring buffers would only
 * hide for how long it falls behind).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

#define DURATION_NS 5000000000ull
#define SETTLE_US 500000     /* after the last call ... */
#define IDLE_US 200000       /* ... in so much time ... */
#define IDLE_CPU_NS 50000000 /* ... it takes less CPU time than if it still had events to eat */
#define ONE_TARGET 600000    /* calls/s; above, two processes make them */

static const uint64_t rates[] = { 50000,  100000, 150000,  200000,  300000,  400000,  500000,
				  600000, 800000, 1000000, 1200000, 1500000, 2000000, 3000000 };

#define RATES (sizeof(rates) / sizeof(*rates))

struct outcome {
	double reached; /* calls/s */
	bool lost, behind;
};

static double rate_of(const struct target *target)
{
	return target->order->made / (target->order->elapsed_ns / 1e9);
}

static struct outcome try(struct bench *bench, const char *const *mode, uint64_t rate)
{
	size_t targets = rate > ONE_TARGET ? 2 : 1, i;
	struct outcome outcome = { 0 };
	pid_t tool = tool_start(bench, mode, targets);
	uint64_t before;
	int status;

	usleep(SETTLE_US);
	for (i = 0; i < targets; i++)
		target_pace(&bench->targets[i], BENCH_LAUNCH, 1000000000 * targets / rate,
			    DURATION_NS);
	for (i = 0; i < targets; i++) {
		target_wait(&bench->targets[i]);
		outcome.reached += rate_of(&bench->targets[i]);
	}
	usleep(SETTLE_US);
	before = tool_cpu_ns(tool);
	usleep(IDLE_US);
	outcome.behind = tool_cpu_ns(tool) - before > IDLE_CPU_NS;
	status = tool_end(tool);
	outcome.lost = WIFEXITED(status) && WEXITSTATUS(status) == 6;
	if (status && !outcome.lost)
		bench_die("memscope-bpf trace failed (trace.err says why)", EIO);
	return outcome;
}

static bool is_kept(const struct outcome *outcome)
{
	return !outcome->lost && !outcome->behind;
}

/* From a rate that it should keep: up while it does, or else down until it does. */
static void search(struct bench *bench, const char *name, const char *const *mode, uint64_t from)
{
	struct outcome kept = { 0 }, failed = { 0 }, outcome;
	size_t at = 0;
	bool up;

	while (rates[at] < from)
		at++;
	outcome = try(bench, mode, rates[at]);
	up = is_kept(&outcome);
	for (;;) {
		/* The targets can do no more. */
		bool limit = outcome.reached < rates[at] * 0.95;

		if (is_kept(&outcome))
			kept = outcome;
		else
			failed = outcome;
		if (is_kept(&outcome) != up || (up && (limit || at == RATES - 1)) ||
		    (!up && at == 0))
			break;
		at += up ? 1 : -1;
		outcome = try(bench, mode, rates[at]);
	}
	printf("| %s | %.0f | ", name, kept.reached);
	if (failed.reached > 0)
		printf("%.0f: %s |\n", failed.reached,
		       failed.lost ? "events are lost" : "it falls behind");
	else
		printf("more was not reached |\n");
}

void bench_rates(struct bench *bench)
{
	char file[4096];
	const char *const summary[] = { "trace", "-c", "--max-loss=0", "-o", file, NULL };
	const char *const json[] = { "trace", "--json", "--max-loss=0", "-o", file, NULL };
	const char *const text[] = { "trace", "--max-loss=0", "-o", file, NULL };

	snprintf(file, sizeof(file), "%s/rates.out", bench->directory);
	printf("\n| highest rate without loss: `trace` | launches/s | the next step |\n|---|---|---|\n");
	search(bench, "-c", summary, 1000000);
	search(bench, "--json -o FILE", json, 300000);
	search(bench, "-o FILE", text, 300000);
	unlink(file);
}
