// SPDX-License-Identifier: BSD-2-Clause
/*
 * What tracing adds to a call. All costs are ratios to REF, which is measured again right before
 * each: an empty BPF program on a perf-event uprobe on a `push`, what the kernel charges for being
 * there at all. Absolute numbers depend on the machine, ratios hardly do.
 */
#include <stdio.h>

#include "quantile.h"
#include "tracers.h"

#define CALLS 3000
#define UNTRACED_CALLS 300000 /* they take a hundredth of the time */
#define OP(name) (1u << MS_OP_##name)
#define DRIVER (1u << MS_LAYER_DRIVER)
#define RUNTIME (1u << MS_LAYER_RUNTIME)

/* clang-format off */
static const struct row reference = {
	.name = "REF: empty program, perf-event uprobe", .call = BENCH_REF,
	.tracer = &tracer_reference,
};

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

static double added_ns(struct bench *bench, const struct row *row)
{
	struct target *first = &bench->targets[TARGET_FIRST];
	double bare, traced;

	target_await_peace(first, row->call);
	bare = target_measure(first, row->call, CALLS);
	if (row->tracer->start)
		row->tracer->start(bench, row);
	traced = target_measure(row->preloaded ? &bench->targets[TARGET_PRELOADED] : first,
				row->call, CALLS);
	if (row->tracer->stop)
		row->tracer->stop(bench, row);
	return traced - bare;
}

static void print_unit(const char *name, double *ns, int count)
{
	printf("| %s | %.1f | 1 |\n", name, quantile(ns, count, 0.5));
}

static void print(const char *name, double *ns, double *ratio, int count)
{
	printf("| %s | %.1f | %.2f [%.2f, %.2f] |\n", name, quantile(ns, count, 0.5),
	       quantile(ratio, count, 0.5), quantile(ratio, count, 0.1),
	       quantile(ratio, count, 0.9));
}

void bench_calls(struct bench *bench)
{
	static double ns[ROWS][MAX_ROUNDS], ratio[ROWS][MAX_ROUNDS];
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
			double unit;

			if (missing[row])
				continue;
			unit = reference_ns[references++] = added_ns(bench, &reference);
			ns[row][round] = added_ns(bench, &rows[row]);
			ratio[row][round] = ns[row][round] / unit;
		}
	}
	printf("| added per call | ns, median | x REF, median [p10, p90] |\n|---|---|---|\n");
	print_unit(reference.name, reference_ns, references);
	for (i = 0; i < ROWS; i++)
		if (missing[i])
			printf("| %s | - | %s |\n", rows[i].name, missing[i]);
		else
			print(rows[i].name, ns[i], ratio[i], bench->rounds);
}

/* Of untraced calls, which take so little that what else the core does is most of it. */
static double fastest(struct target *target, enum bench_call call)
{
	target_measure(target, call, UNTRACED_CALLS);
	return quantile(target->order->ns, BENCH_BATCHES, 0);
}

/* A process that is not the target, while another one that uses the same library is traced. */
void bench_bystander(struct bench *bench)
{
	static double bare[MAX_ROUNDS], beside[MAX_ROUNDS], ratio[MAX_ROUNDS];
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
		bare[round] = fastest(second, BENCH_LAUNCH);
		tool_attach(bench, &tool, bench->library_path, &options);
		beside[round] = fastest(second, BENCH_LAUNCH);
		tool_detach(&tool);
		ratio[round] = beside[round] / bare[round];
	}
	printf("\n| a process that is not the target | ns per call, median | x, median [p10, p90] |\n"
	       "|---|---|---|\n");
	print_unit("nothing is traced", bare, bench->rounds);
	print("another process is traced (-p)", beside, ratio, bench->rounds);
}
