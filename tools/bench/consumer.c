// SPDX-License-Identifier: BSD-2-Clause
/*
 * What `memscope-bpf trace` itself takes of a CPU, at given rates of calls.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "bench.h"
#include "quantile.h"

#define PACED_NS 4000000000ull
#define ROUNDS 3

static const char *const mode_summary[] = { "trace", "-c", "-o", "/dev/null", NULL };
static const char *const mode_json[] = { "trace", "--json", "-o", "/dev/null", NULL };

/* CPU time that the tool takes for what the target does meanwhile, ns. */
static double consume(struct bench *bench, enum bench_call call, uint64_t pace_ns,
		      const char *const *mode)
{
	struct target *target = &bench->targets[TARGET_FIRST];
	pid_t tool = tool_start(bench, mode, 1);
	uint64_t before, after;

	usleep(300000); /* it has settled */
	before = tool_cpu_ns(tool);
	target_pace(target, call, pace_ns, PACED_NS);
	target_wait(target);
	usleep(200000); /* it has drained the rings */
	after = tool_cpu_ns(tool);
	if (tool_end(tool))
		bench_die("memscope-bpf trace failed (trace.err says why)", EIO);
	return after - before;
}

void bench_consumer(struct bench *bench)
{
	static const struct {
		const char *name;
		uint64_t rate; /* of calls, or of pairs of them */
		enum bench_call call;
		const char *const *mode;
	} loads[] = {
		{ "-c, 50,000 launches/s", 50000, BENCH_LAUNCH, mode_summary },
		{ "-c, 500,000 launches/s", 500000, BENCH_LAUNCH, mode_summary },
		{ "-c, 50,000 alloc+free pairs/s", 50000, BENCH_ALLOC_FREE, mode_summary },
		{ "-c, 50,000 calls/s of training steps", 50000, BENCH_STEP, mode_summary },
		{ "-c, 500,000 calls/s of training steps", 500000, BENCH_STEP, mode_summary },
		{ "--json, 50,000 launches/s", 50000, BENCH_LAUNCH, mode_json },
		{ "--json, 300,000 launches/s", 300000, BENCH_LAUNCH, mode_json },
	};
	const struct bench_order *order = bench->targets[TARGET_FIRST].order;
	size_t i;

	printf("\n| consumer: `trace` | calls/s reached | CPU ns/call | %% of a core |\n"
	       "|---|---|---|---|\n");
	for (i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		const int calls = loads[i].call == BENCH_STEP ? BENCH_STEP_CALLS : 1;
		const uint64_t pace_ns = 1000000000 / loads[i].rate * calls;
		double used[ROUNDS], median, made;
		int round;

		for (round = 0; round < ROUNDS; round++)
			used[round] = consume(bench, loads[i].call, pace_ns, loads[i].mode);
		median = quantile(used, ROUNDS, 0.5);
		made = (double)order->made * calls;
		printf("| %s | %.0f | %.0f | %.2f |\n", loads[i].name,
		       made / (order->elapsed_ns / 1e9), median / made,
		       100 * median / order->elapsed_ns);
	}
	printf("| -c, nothing happens | 0 | - | %.2f |\n",
	       100 * consume(bench, BENCH_IDLE, 1, mode_summary) / PACED_NS);
}
