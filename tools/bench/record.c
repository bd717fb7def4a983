// SPDX-License-Identifier: BSD-2-Clause
/*
 * What `memscope-bpf record` takes: of the traced program, next to `trace -c`; of a CPU, of memory
 * and of the disk, at given rates of calls.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "quantile.h"
#include "tracers.h"

#define PACED_NS 10000000000ull

static char file[4096];

static const char *const mode_trace[] = { "trace", "-c", "-o", "/dev/null", NULL };
static const char *const mode_summary[] = { "record", "--max-loss=0", "-o", file, NULL };
static const char *const mode_all[] = {
	"record", "--launches=all", "--copies=all", "--max-loss=0", "-o", file, NULL
};

/* ---- of the program -------------------------------------------------------------------------- */

static double added(struct bench *bench, enum bench_call call, const char *const *mode)
{
	const struct row row = { .call = call, .tracer = &tracer_command, .mode = mode };

	unlink(file);
	return row_measure(bench, &row).ratio;
}

static void print_added(struct bench *bench, const char *name, enum bench_call call,
			const char *const *mode)
{
	static double ratio[MAX_ROUNDS];
	int round;

	for (round = 0; round < bench->rounds; round++) {
		double unit = added(bench, call, mode_trace);

		ratio[round] = added(bench, call, mode) / unit;
	}
	printf("| %s | ", name);
	quantile_print(ratio, bench->rounds, 3);
	printf(" |\n");
}

/* ---- of the tool ----------------------------------------------------------------------------- */

static double memory_mib(pid_t tool, const char *name)
{
	char path[64], line[256];
	double kib = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", tool);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), ": %lf", &kib);
	if (status)
		fclose(status);
	return kib / 1024;
}

static void print_load(struct bench *bench, const char *name, enum bench_call call, uint64_t rate,
		       const char *const *mode)
{
	struct target *target = &bench->targets[TARGET_FIRST];
	const struct bench_order *order = target->order;
	uint64_t before, used;
	struct stat status;
	double own, all;
	pid_t tool;
	int code;

	unlink(file);
	tool = tool_start(bench, mode, 1);
	usleep(300000);
	before = tool_cpu_ns(tool);
	target_pace(target, call, 1000000000 / rate, PACED_NS);
	target_wait(target);
	usleep(500000);
	used = tool_cpu_ns(tool) - before;
	own = memory_mib(tool, "RssAnon");
	all = memory_mib(tool, "VmRSS");
	code = tool_end(tool);
	if (stat(file, &status))
		bench_die(file, errno);
	printf("| %s | %.0f | %.2f | %.2f | %.1f, %.1f | %s |\n", name,
	       order->made / (order->elapsed_ns / 1e9), 100.0 * used / order->elapsed_ns,
	       (double)status.st_size / order->made, own, all, code ? "yes" : "no");
}

void bench_record(struct bench *bench)
{
	snprintf(file, sizeof(file), "%s/record.mscope", bench->directory);
	printf("\n| added per call: `record` / `trace -c` | median [p10, p90] |\n|---|---|\n");
	print_added(bench, "allocation + free", BENCH_ALLOC_FREE, mode_summary);
	print_added(bench, "launch", BENCH_LAUNCH, mode_summary);
	printf("\n| `record` | calls/s reached | %% of a core | bytes/call |"
	       " MiB of its own, with the rings | lost |\n|---|---|---|---|---|---|\n");
	print_load(bench, "50,000 launches/s", BENCH_LAUNCH, 50000, mode_summary);
	print_load(bench, "25,000 alloc+free pairs/s", BENCH_ALLOC_FREE, 25000, mode_summary);
	print_load(bench, "500,000 launches/s", BENCH_LAUNCH, 500000, mode_summary);
	print_load(bench, "50,000 launches/s, --launches=all", BENCH_LAUNCH, 50000, mode_all);
	print_load(bench, "250,000 alloc+free pairs/s", BENCH_ALLOC_FREE, 250000, mode_summary);
	print_load(bench, "500,000 launches/s, --launches=all", BENCH_LAUNCH, 500000, mode_all);
	unlink(file);
}
