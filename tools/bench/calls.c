// SPDX-License-Identifier: BSD-2-Clause
/*
 * What tracing adds to a call. All costs are ratios to REF: an empty BPF program on a perf-event
 * uprobe on a `push`, what the kernel charges for being there at all. It is measured in turn with
 * each, 500 calls of the one and 500 of the other, since the speed of a machine that others use too
 * changes that fast. Absolute numbers depend on the machine, ratios hardly do.
 */
#include <stdio.h>

#include "quantile.h"
#include "tracers.h"

#define UNTRACED_CALLS 300000 /* they take a hundredth of the time */
#define TRAPPED_CALLS 3000
#define OP(name) (1u << MS_OP_##name)
#define DRIVER (1u << MS_LAYER_DRIVER)
#define RUNTIME (1u << MS_LAYER_RUNTIME)

/* clang-format off */
static const struct row rows[] = {
	{ .name = "launch, entry alone (--no-return)", .call = BENCH_LAUNCH,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_MULTI, OP(LAUNCH), 0, DRIVER } },
	{ .name = "launch, counted at entry (--no-return -c)", .call = BENCH_LAUNCH,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_MULTI, OP(LAUNCH), 0, DRIVER, .count_launches = true } },
	{ .name = "launch with result, counted (-c)", .call = BENCH_LAUNCH,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(LAUNCH), ~0u, DRIVER, .count_launches = true } },
	{ .name = "launch with result and duration", .call = BENCH_LAUNCH,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(LAUNCH), ~0u, DRIVER } },
	{ .name = "... with probes in the file (-a, -f)", .call = BENCH_LAUNCH,
	  .tracer = &tracer_memscope, .in_file = true,
	  .options = { STRATEGY_SESSION, OP(LAUNCH), ~0u, DRIVER } },
	{ .name = "allocation, entry alone", .call = BENCH_ALLOC, .tracer = &tracer_memscope,
	  .options = { STRATEGY_MULTI, OP(ALLOC), 0, DRIVER } },
	{ .name = "launch, entry alone, beginning with endbr64", .call = BENCH_LAUNCH_ENDBR,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_MULTI, OP(LAUNCH), 0, DRIVER } },
	{ .name = "... with sub", .call = BENCH_LAUNCH_SUB,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_MULTI, OP(LAUNCH), 0, DRIVER } },
	{ .name = "... with mov", .call = BENCH_LAUNCH_MOV,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_MULTI, OP(LAUNCH), 0, DRIVER } },
	{ .name = "launch with result, beginning with endbr64", .call = BENCH_LAUNCH_ENDBR,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(LAUNCH), ~0u, DRIVER } },
	{ .name = "... with sub (single-stepped)", .call = BENCH_LAUNCH_SUB,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(LAUNCH), ~0u, DRIVER } },
	{ .name = "... with mov", .call = BENCH_LAUNCH_MOV,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(LAUNCH), ~0u, DRIVER } },
	{ .name = "allocation", .call = BENCH_ALLOC, .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(ALLOC), ~0u, DRIVER } },
	{ .name = "allocation with its stack", .call = BENCH_ALLOC, .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(ALLOC), ~0u, DRIVER, .stack_ops = OP(ALLOC),
		       .stack_depth = MS_STACK_MOST } },
	{ .name = "... of one frame", .call = BENCH_ALLOC, .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(ALLOC), ~0u, DRIVER, .stack_ops = OP(ALLOC),
		       .stack_depth = 1 } },
	{ .name = "allocation + free", .call = BENCH_ALLOC_FREE, .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(ALLOC) | OP(FREE), ~0u, DRIVER } },
	{ .name = "allocation, uprobe_multi", .call = BENCH_ALLOC, .tracer = &tracer_memscope,
	  .options = { STRATEGY_MULTI, OP(ALLOC), ~0u, DRIVER } },
	{ .name = "allocation, uprobe_single", .call = BENCH_ALLOC, .tracer = &tracer_memscope,
	  .options = { STRATEGY_SINGLE, OP(ALLOC), ~0u, DRIVER } },
	{ .name = "cudaMalloc, --layer=auto", .call = BENCH_RUNTIME_ALLOC,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(ALLOC), ~0u, DRIVER | RUNTIME } },
	{ .name = "cudaMalloc, --layer=driver", .call = BENCH_RUNTIME_ALLOC,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(ALLOC), ~0u, DRIVER } },
	{ .name = "cudaMalloc, --layer=runtime", .call = BENCH_RUNTIME_ALLOC,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(ALLOC), ~0u, RUNTIME } },
	{ .name = "cudaLaunchKernel, --layer=auto", .call = BENCH_RUNTIME_LAUNCH,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(LAUNCH), ~0u, DRIVER | RUNTIME, OP(LAUNCH) } },
	{ .name = "cudaLaunchKernel, --layer=both", .call = BENCH_RUNTIME_LAUNCH,
	  .tracer = &tracer_memscope,
	  .options = { STRATEGY_SESSION, OP(LAUNCH), ~0u, DRIVER | RUNTIME } },
	{ .name = "launch, bpftrace counts", .call = BENCH_LAUNCH, .tracer = &tracer_bpftrace,
	  .script = "uprobe:%s:cuLaunchKernel { @ = count(); }" },
	{ .name = "launch, bpftrace prints", .call = BENCH_LAUNCH, .tracer = &tracer_bpftrace,
	  .script = "uprobe:%s:cuLaunchKernel { printf(\"%%d %%p %%d %%d\\n\", tid, arg0, arg1, arg4); }" },
	{ .name = "allocation, bpftrace adds up sizes by result", .call = BENCH_ALLOC,
	  .tracer = &tracer_bpftrace,
	  .script = "uprobe:%s:cuMemAlloc_v2 { @size[tid] = arg1; }"
		    "uretprobe:%s:cuMemAlloc_v2 { @bytes[retval] = sum(@size[tid]); delete(@size[tid]); }" },
	{ .name = "launch, perf record", .call = BENCH_LAUNCH, .tracer = &tracer_perf },
	{ .name = "launch, LD_PRELOAD interposer", .call = BENCH_LAUNCH,
	  .tracer = &tracer_interposer, .preloaded = true },
	{ .name = "allocation, LD_PRELOAD interposer", .call = BENCH_ALLOC,
	  .tracer = &tracer_interposer, .preloaded = true },
};
/* clang-format on */

#define ROWS (sizeof(rows) / sizeof(*rows))

void bench_calls(struct bench *bench)
{
	static double ratio[ROWS][MAX_ROUNDS];
	static double reference_ns[ROWS * MAX_ROUNDS];
	const char *missing[ROWS];
	int references = 0;
	int round;
	size_t i;

	for (i = 0; i < ROWS; i++)
		missing[i] =
			rows[i].tracer->missing ? rows[i].tracer->missing(bench, &rows[i]) : NULL;
	for (round = 0; round < bench->rounds; round++) {
		for (i = 0; i < ROWS; i++) {
			/* Rounds begin at different rows: none always comes after the same. */
			size_t row = (i + round) % ROWS;
			struct added added;

			if (missing[row])
				continue;
			added = row_measure(bench, &rows[row]);
			reference_ns[references++] = added.unit_ns;
			ratio[row][round] = added.ratio;
		}
	}
	printf("REF, an empty program on a perf-event uprobe, ns: ");
	quantile_print(reference_ns, references, 0);
	printf("\n\n| added per call | x REF, median [p10, p90] |\n|---|---|\n");
	for (i = 0; i < ROWS; i++) {
		printf("| %s | ", rows[i].name);
		if (missing[i])
			printf("%s", missing[i]);
		else
			quantile_print(ratio[i], bench->rounds, 2);
		printf(" |\n");
	}
}

/* Of untraced calls, which take so little that what else the core does is most of it. */
static double fastest(struct target *target, enum bench_call call, int calls)
{
	target_measure(target, call, calls);
	return quantile(target->order->ns, BENCH_BATCHES, 0);
}

/* A process that is not the target, while another one that uses the same library is traced. */
void bench_bystander(struct bench *bench)
{
	static double bare[MAX_ROUNDS], beside[MAX_ROUNDS], ratio[MAX_ROUNDS];
	static double in_file[MAX_ROUNDS], file_ratio[MAX_ROUNDS];
	const struct programs_options options = {
		.strategy = strategy_choose(&bench->features, false),
		.ops = ~0u,
		.return_ops = ~0u,
		.layers = DRIVER | RUNTIME,
	};
	struct target *second = &bench->targets[TARGET_SECOND];
	struct tool tool;
	int round;

	for (round = 0; round < bench->rounds; round++) {
		target_await_peace(second, BENCH_LAUNCH);
		bare[round] = fastest(second, BENCH_LAUNCH, UNTRACED_CALLS);
		tool_attach(bench, &tool, bench->library_path, &options, false);
		beside[round] = fastest(second, BENCH_LAUNCH, UNTRACED_CALLS);
		tool_detach(&tool);
		target_await_peace(second, BENCH_LAUNCH);
		tool_attach(bench, &tool, bench->library_path, &options, true);
		in_file[round] = fastest(second, BENCH_LAUNCH, TRAPPED_CALLS);
		tool_detach(&tool);
		file_ratio[round] = in_file[round] / bare[round];
		ratio[round] = beside[round] / bare[round];
	}
	printf("\n| a process that is not the target | ns per call, median | x, median [p10, p90] |\n"
	       "|---|---|---|\n");
	printf("| nothing is traced | %.1f | 1 |\n", quantile(bare, bench->rounds, 0.5));
	printf("| another process is traced (-p) | %.1f | ", quantile(beside, bench->rounds, 0.5));
	quantile_print(ratio, bench->rounds, 2);
	printf(" |\n| another process is traced, probes in the file (-f, --cgroup) | %.1f | ",
	       quantile(in_file, bench->rounds, 0.5));
	quantile_print(file_ratio, bench->rounds, 2);
	printf(" |\n");
}
