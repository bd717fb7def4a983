// SPDX-License-Identifier: BSD-2-Clause
/*
 * What tracing costs: `make bench`. All costs per call are ratios, taken round by round, to REF: an
 * empty BPF program on a perf-event uprobe on a `push`, which is what the kernel charges for being
 * there at all. Absolute numbers depend on the machine, ratios hardly do.
 *
 * usage: bench TARGET MEMSCOPE LIBCUDA [ROUNDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/features.h"
#include "capture/library.h"
#include "capture/link.h"
#include "capture/programs.h"
#include "reference.skel.h"
#include "symbols/elf_symbols.h"
#include "target.h"

#define CALLS 3000
#define PACED_NS 4000000000ull
#define MAX_ROUNDS 200
#define CONSUMER_ROUNDS 3

struct bench {
	const char *target_path, *memscope_path, *libcuda_path;
	struct bench_order *order;
	pid_t target;
	struct library_cache cache;
	struct features features;
	struct reference_bpf *reference;
	uint64_t reference_offset;
	int rounds;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double quantile(double *values, int count, double at)
{
	qsort(values, count, sizeof(*values), compare);
	return values[(int)(at * (count - 1) + 0.5)];
}

/* ---- the target ------------------------------------------------------------------------------ */

static void start_target(struct bench *bench)
{
	int fd = memfd_create("bench", 0);
	char number[16];

	if (fd < 0 || ftruncate(fd, sizeof(*bench->order)))
		die("shared memory", errno);
	bench->order = mmap(NULL, sizeof(*bench->order), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bench->order == MAP_FAILED)
		die("shared memory", errno);
	snprintf(number, sizeof(number), "%d", fd);
	bench->target = fork();
	if (bench->target == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* it would spin for ever */
		execl(bench->target_path, bench->target_path, number, NULL);
		_exit(127);
	}
	close(fd);
}

static void order(struct bench *bench, enum bench_call call, uint64_t pace_ns)
{
	bench->order->call = call;
	bench->order->calls = CALLS;
	bench->order->pace_ns = pace_ns;
	bench->order->duration_ns = PACED_NS;
	atomic_fetch_add(&bench->order->sequence, 1);
}

static void wait_done(struct bench *bench)
{
	while (atomic_load(&bench->order->done) != atomic_load(&bench->order->sequence))
		usleep(500);
}

/* Median nanoseconds per call, after a warm-up. */
static double measure(struct bench *bench, enum bench_call call)
{
	order(bench, call, 0);
	wait_done(bench);
	order(bench, call, 0);
	wait_done(bench);
	return quantile(bench->order->ns, BENCH_BATCHES, 0.5);
}

/* ---- what is attached ------------------------------------------------------------------------ */

static int find_reference(const struct elf_function *function, void *context)
{
	if (strcmp(function->name, "bench_reference") != 0)
		return 0;
	*(uint64_t *)context = function->file_offset;
	return 1;
}

static int attach_reference(struct bench *bench)
{
	const uint64_t cookie = 0;
	const struct link_site site = { .path = bench->target_path,
					.offsets = &bench->reference_offset,
					.cookies = &cookie,
					.count = 1,
					.pid = bench->target };

	return link_create_single(bpf_program__fd(bench->reference->progs.reference), &site, false);
}

static const struct library *load_library(struct bench *bench, const char *path)
{
	const struct library *library;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		die(path, errno);
	err = library_load(&bench->cache, fd, path, &library);
	if (err)
		die(path, err);
	close(fd);
	return library;
}

struct tool {
	struct programs *programs;
	struct attachment attachment;
};

static void attach_tool(struct bench *bench, struct tool *tool, enum strategy strategy,
			const char *path, uint32_t ops, uint32_t return_ops, bool count_launches)
{
	const struct programs_options options = {
		.strategy = strategy,
		.ops = ops,
		.return_ops = return_ops,
		.layers = ~0u,
		.count_launches = count_launches,
		.ring_bytes = { 16 << 20, 16 << 20 },
	};
	int err = programs_open(&tool->programs, &options);

	if (err)
		die("loading the BPF programs", err);
	err = attachment_open(&tool->attachment, tool->programs, path, load_library(bench, path),
			      bench->target);
	if (err)
		die("attaching", err);
}

static void detach_tool(struct tool *tool)
{
	attachment_close(&tool->attachment);
	programs_close(tool->programs);
}

/* ---- cost per call --------------------------------------------------------------------------- */

#define OP(name) (1u << MS_OP_##name)

static const struct measured {
	const char *name;
	enum bench_call call;
	enum bench_call bare; /* what it costs without tracing */
	uint32_t ops, return_ops;
	int strategy; /* -1: the reference */
	bool count_launches;
} measured[] = {
	{ "REF: empty program, perf-event uprobe", BENCH_REF, BENCH_REF, 0, 0, -1, false },
	{ "launch, entry alone (--no-return)", BENCH_LAUNCH, BENCH_LAUNCH, OP(LAUNCH), 0,
	  STRATEGY_MULTI, false },
	{ "launch, counted at entry (--no-return -c)", BENCH_LAUNCH, BENCH_LAUNCH, OP(LAUNCH), 0,
	  STRATEGY_MULTI, true },
	{ "launch with result, counted (-c)", BENCH_LAUNCH, BENCH_LAUNCH, OP(LAUNCH), ~0u,
	  STRATEGY_SESSION, true },
	{ "launch with result and duration", BENCH_LAUNCH, BENCH_LAUNCH, OP(LAUNCH), ~0u,
	  STRATEGY_SESSION, false },
	{ "the same, entry alone, beginning with endbr64", BENCH_LAUNCH_ENDBR, BENCH_LAUNCH_ENDBR,
	  OP(LAUNCH), 0, STRATEGY_MULTI, false },
	{ "... with sub", BENCH_LAUNCH_SUB, BENCH_LAUNCH_SUB, OP(LAUNCH), 0, STRATEGY_MULTI,
	  false },
	{ "... with mov", BENCH_LAUNCH_MOV, BENCH_LAUNCH_MOV, OP(LAUNCH), 0, STRATEGY_MULTI,
	  false },
	{ "the same, with result, beginning with endbr64", BENCH_LAUNCH_ENDBR, BENCH_LAUNCH_ENDBR,
	  OP(LAUNCH), ~0u, STRATEGY_SESSION, false },
	{ "... with sub (single-stepped)", BENCH_LAUNCH_SUB, BENCH_LAUNCH_SUB, OP(LAUNCH), ~0u,
	  STRATEGY_SESSION, false },
	{ "... with mov", BENCH_LAUNCH_MOV, BENCH_LAUNCH_MOV, OP(LAUNCH), ~0u, STRATEGY_SESSION,
	  false },
	{ "allocation", BENCH_ALLOC, BENCH_ALLOC, OP(ALLOC), ~0u, STRATEGY_SESSION, false },
	{ "allocation + free", BENCH_ALLOC_FREE, BENCH_ALLOC_FREE, OP(ALLOC) | OP(FREE), ~0u,
	  STRATEGY_SESSION, false },
	{ "allocation, uprobe_multi", BENCH_ALLOC, BENCH_ALLOC, OP(ALLOC), ~0u, STRATEGY_MULTI,
	  false },
	{ "allocation, uprobe_single", BENCH_ALLOC, BENCH_ALLOC, OP(ALLOC), ~0u, STRATEGY_SINGLE,
	  false },
};

#define MEASURED (sizeof(measured) / sizeof(*measured))

static double added_ns(struct bench *bench, const struct measured *what)
{
	double bare = measure(bench, what->bare), traced;
	struct tool tool;
	int fd;

	if (what->strategy < 0) {
		fd = attach_reference(bench);
		if (fd < 0)
			die("attaching the reference", fd);
		traced = measure(bench, what->call);
		close(fd);
	} else {
		attach_tool(bench, &tool, what->strategy, bench->target_path, what->ops,
			    what->return_ops, what->count_launches);
		traced = measure(bench, what->call);
		detach_tool(&tool);
	}
	return traced - bare;
}

static bool is_possible(struct bench *bench, const struct measured *what)
{
	static const enum feature features[] = {
		[STRATEGY_SESSION] = FEATURE_UPROBE_SESSION,
		[STRATEGY_MULTI] = FEATURE_UPROBE_MULTI,
		[STRATEGY_SINGLE] = FEATURE_UPROBE_SINGLE,
	};

	return what->strategy < 0 || !feature_test(&bench->features, features[what->strategy]);
}

static void bench_calls(struct bench *bench)
{
	static double ns[MEASURED][MAX_ROUNDS], ratio[MEASURED][MAX_ROUNDS];
	int round;
	size_t i;

	for (round = 0; round < bench->rounds; round++) {
		for (i = 0; i < MEASURED; i++) {
			/* Rounds begin at different places, so that no row always comes after the same. */
			size_t row = i == 0 ? 0 : 1 + (i + round) % (MEASURED - 1);

			if (is_possible(bench, &measured[row])) {
				ns[row][round] = added_ns(bench, &measured[row]);
				ratio[row][round] = ns[row][round] / ns[0][round];
			}
		}
	}
	printf("| added per call | ns, median | x REF, median [p10, p90] |\n|---|---|---|\n");
	for (i = 0; i < MEASURED; i++)
		if (is_possible(bench, &measured[i]))
			printf("| %s | %.0f | %.2f [%.2f, %.2f] |\n", measured[i].name,
			       quantile(ns[i], bench->rounds, 0.5),
			       quantile(ratio[i], bench->rounds, 0.5),
			       quantile(ratio[i], bench->rounds, 0.1),
			       quantile(ratio[i], bench->rounds, 0.9));
}

/* ---- attaching and detaching ----------------------------------------------------------------- */

static void bench_attach(struct bench *bench)
{
	static double attach_ms[MAX_ROUNDS], detach_ms[MAX_ROUNDS];
	const struct library *library = load_library(bench, bench->libcuda_path);
	struct tool tool;
	int round;

	attach_tool(bench, &tool, STRATEGY_SESSION, bench->libcuda_path, ~0u, ~0u, false);
	for (round = 0; round < bench->rounds; round++) {
		uint64_t start = clock_monotonic_ns(), attached;
		int err;

		attachment_close(&tool.attachment);
		detach_ms[round] = (clock_monotonic_ns() - start) / 1e6;
		start = clock_monotonic_ns();
		err = attachment_open(&tool.attachment, tool.programs, bench->libcuda_path, library,
				      bench->target);
		attached = clock_monotonic_ns();
		if (err)
			die("attaching", err);
		attach_ms[round] = (attached - start) / 1e6;
	}
	printf("\n| %zu functions of a driver library | ms, median [p10, p90] |\n|---|---|\n",
	       tool.attachment.functions);
	printf("| attach | %.1f [%.1f, %.1f] |\n", quantile(attach_ms, round, 0.5),
	       quantile(attach_ms, round, 0.1), quantile(attach_ms, round, 0.9));
	printf("| detach | %.1f [%.1f, %.1f] |\n", quantile(detach_ms, round, 0.5),
	       quantile(detach_ms, round, 0.1), quantile(detach_ms, round, 0.9));
	detach_tool(&tool);
}

/* ---- the consumer ---------------------------------------------------------------------------- */

static pid_t start_tool(struct bench *bench, bool json)
{
	char pid[16];
	pid_t tool;

	snprintf(pid, sizeof(pid), "%d", bench->target);
	tool = fork();
	if (tool == 0) {
		execl(bench->memscope_path, "memscope-bpf", "trace", "-q", json ? "--json" : "-c",
		      "-o", "/dev/null", "-p", pid, NULL);
		_exit(127);
	}
	usleep(500000); /* it is attached */
	return tool;
}

static uint64_t cpu_time_ns(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		die("memscope-bpf trace failed", ESRCH);
	return used.tv_sec * 1000000000ull + used.tv_nsec;
}

/* CPU time that the tool takes for what the target does meanwhile, ns. */
static double consume(struct bench *bench, enum bench_call call, uint64_t pace_ns, bool json)
{
	pid_t tool = start_tool(bench, json);
	uint64_t before = cpu_time_ns(tool), after;
	int status;

	order(bench, call, pace_ns);
	wait_done(bench);
	usleep(200000); /* it has drained the rings */
	after = cpu_time_ns(tool);
	kill(tool, SIGINT);
	if (waitpid(tool, &status, 0) != tool || status)
		die("memscope-bpf trace failed", EIO);
	return after - before;
}

static void bench_consumer(struct bench *bench)
{
	static const struct {
		const char *name;
		uint64_t rate;
		enum bench_call call;
		bool json;
	} loads[] = {
		{ "-c, 50,000 launches/s", 50000, BENCH_LAUNCH, false },
		{ "-c, 500,000 launches/s", 500000, BENCH_LAUNCH, false },
		{ "-c, 50,000 alloc+free pairs/s", 50000, BENCH_ALLOC_FREE, false },
		{ "--json, 50,000 launches/s", 50000, BENCH_LAUNCH, true },
		{ "--json, 300,000 launches/s", 300000, BENCH_LAUNCH, true },
	};
	size_t i;

	printf("\n| consumer: `trace` | calls/s reached | CPU ns/call | %% of a core |\n"
	       "|---|---|---|---|\n");
	for (i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		double used[CONSUMER_ROUNDS], median;
		int round;

		for (round = 0; round < CONSUMER_ROUNDS; round++)
			used[round] = consume(bench, loads[i].call, 1000000000 / loads[i].rate,
					      loads[i].json);
		median = quantile(used, CONSUMER_ROUNDS, 0.5);
		printf("| %s | %.0f | %.0f | %.2f |\n", loads[i].name,
		       bench->order->made / (PACED_NS / 1e9), median / bench->order->made,
		       100 * median / PACED_NS);
	}
	printf("| -c, nothing happens | 0 | - | %.2f |\n",
	       100 * consume(bench, BENCH_IDLE, 1, false) / PACED_NS);
}

/* ---------------------------------------------------------------------------------------------- */

static void print_machine(void)
{
	char line[256], model[200] = "unknown";
	FILE *file = fopen("/proc/cpuinfo", "re");
	struct utsname kernel;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "model name : %199[^\n]", model) == 1)
			break;
	if (file)
		fclose(file);
	uname(&kernel);
	printf("%s, %ld CPUs, Linux %s\n\n", model, sysconf(_SC_NPROCESSORS_ONLN), kernel.release);
}

int main(int argc, char **argv)
{
	struct bench bench = { .rounds = argc > 4 ? atoi(argv[4]) : 15 };
	int fd;

	if (argc < 4 || bench.rounds < 1 || bench.rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: bench TARGET MEMSCOPE LIBCUDA [ROUNDS]\n");
		return 2;
	}
	log_set_level(LOG_WARNING);
	bench.target_path = argv[1];
	bench.memscope_path = argv[2];
	bench.libcuda_path = argv[3];
	bench.reference = reference_bpf__open_and_load();
	if (!bench.reference)
		die("loading the reference program", errno);
	fd = open(bench.target_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_each_function(fd, find_reference, &bench.reference_offset, NULL) != 1)
		die(bench.target_path, ENOEXEC);
	close(fd);
	bench.cache.nops = !feature_test(&bench.features, FEATURE_UPROBE_NOPS);
	start_target(&bench);
	print_machine();
	bench_calls(&bench);
	bench_attach(&bench);
	bench_consumer(&bench);
	order(&bench, BENCH_EXIT, 0);
	waitpid(bench.target, NULL, 0);
	reference_bpf__destroy(bench.reference);
	library_cache_fini(&bench.cache);
	return 0;
}
