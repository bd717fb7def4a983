// SPDX-License-Identifier: BSD-2-Clause
/*
 * How long after its start `trace -p` sees the first call of a process that calls all the time:
 * when that call began, and not when it was printed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"
#include "quantile.h"

#define PACE_NS 20000
#define PACED_NS 1000000000ull

/* Its standard output is to be read from `*output`. */
static pid_t start(struct bench *bench, pid_t target, FILE **output)
{
	char pid[16];
	int ends[2];
	pid_t tool;

	if (pipe(ends))
		bench_die("pipe", errno);
	snprintf(pid, sizeof(pid), "%d", target);
	tool = fork();
	if (tool < 0)
		bench_die("fork", errno);
	if (!tool) {
		dup2(ends[1], STDOUT_FILENO);
		if (!freopen(bench->errors_path, "a", stderr))
			_exit(126);
		close(ends[0]);
		close(ends[1]);
		execl(bench->memscope_path, "memscope-bpf", "trace", "--json", "-p", pid, NULL);
		_exit(127);
	}
	close(ends[1]);
	*output = fdopen(ends[0], "r");
	if (!*output)
		bench_die("fdopen", errno);
	return tool;
}

/* CLOCK_MONOTONIC; 0: there was none. */
static uint64_t first_call(FILE *output)
{
	unsigned long long ts_ns = 0;
	size_t capacity = 0;
	char *line = NULL, *field;

	while (!ts_ns && getline(&line, &capacity, output) > 0) {
		field = strstr(line, "\"ts_ns\":");
		if (strstr(line, "\"type\":\"call\"") && field)
			sscanf(field, "\"ts_ns\":%llu", &ts_ns);
	}
	free(line);
	return ts_ns;
}

static double measure(struct bench *bench)
{
	struct target *target = &bench->targets[TARGET_FIRST];
	uint64_t start_ns, call_ns;
	FILE *output;
	char rest[4096];
	pid_t tool;

	target_await_peace(target, BENCH_ALLOC_FREE);
	target_pace(target, BENCH_ALLOC_FREE, PACE_NS, PACED_NS);
	start_ns = clock_monotonic_ns();
	tool = start(bench, target->pid, &output);
	call_ns = first_call(output);
	if (!call_ns)
		bench_die("the tool saw no call", ENODATA);
	kill(tool, SIGINT);
	while (fread(rest, 1, sizeof(rest), output))
		;
	fclose(output);
	waitpid(tool, NULL, 0);
	target_wait(target);
	return (call_ns - start_ns) / 1e6;
}

void bench_first(struct bench *bench)
{
	static double ms[MAX_ROUNDS];
	int round;

	for (round = 0; round < bench->rounds; round++)
		ms[round] = measure(bench);
	printf("\n| from the start of `trace -p` | ms, median [p10, p90] |\n|---|---|\n"
	       "| to the first call that is seen | ");
	quantile_print(ms, bench->rounds, 0);
	printf(" |\n");
}
