// SPDX-License-Identifier: BSD-2-Clause
/*
 * How long it takes to attach to all functions of a driver library, and to detach.
 */
#include <stdio.h>

#include "base/clock.h"
#include "bench.h"
#include "quantile.h"

static void print(const char *name, double *ms, int rounds)
{
	printf("| %s | ", name);
	quantile_print(ms, rounds, 1);
	printf(" |\n");
}

void bench_attach(struct bench *bench)
{
	static double attach_ms[MAX_ROUNDS], detach_ms[MAX_ROUNDS];
	const struct attachment_site site = { .path = bench->libcuda_path,
					      .library = tool_library(bench, bench->libcuda_path),
					      .pid = bench->targets[TARGET_FIRST].pid };
	const struct programs_options options = {
		.strategy = strategy_choose(&bench->features, false),
		.ops = ~0u,
		.return_ops = ~0u,
		.layers = ~0u,
	};
	struct tool tool;
	int round;

	tool_attach(bench, &tool, bench->libcuda_path, &options, false);
	for (round = 0; round < bench->rounds; round++) {
		uint64_t start = clock_monotonic_ns(), attached;
		int err;

		attachment_close(&tool.attachment);
		detach_ms[round] = (clock_monotonic_ns() - start) / 1e6;
		start = clock_monotonic_ns();
		err = attachment_open(&tool.attachment, tool.programs, &site, NULL);
		attached = clock_monotonic_ns();
		if (err)
			bench_die("attaching", err);
		attach_ms[round] = (attached - start) / 1e6;
	}
	printf("\n| %zu functions of a driver library | ms, median [p10, p90] |\n|---|---|\n",
	       tool.attachment.functions);
	print("attach", attach_ms, round);
	print("detach", detach_ms, round);
	tool_detach(&tool);
}
