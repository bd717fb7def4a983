// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define MODE_WORDS 8
#define RING_BYTES (16 << 20)
#define READ_US 1000

const struct library *tool_library(struct bench *bench, const char *path)
{
	const struct library *library;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		bench_die(path, errno);
	err = library_load(&bench->cache, fd, path, &library);
	if (err)
		bench_die(path, err);
	close(fd);
	return library;
}

static int throw_away(void *context, void *record, size_t length)
{
	(void)context, (void)record, (void)length;
	return 0;
}

static void *read_rings(void *context)
{
	struct tool *tool = context;

	while (!tool->ending) {
		merge_drain(programs_merge(tool->programs), UINT64_MAX, throw_away, NULL);
		usleep(READ_US);
	}
	return NULL;
}

#define TABLES_US 300000 /* to make the tables of the target's files in */

/* So that stacks can be walked. Names are not looked for. */
static void open_stacks(struct tool *tool, const struct programs_options *options, pid_t pid)
{
	struct stack_taker_options taker = {
		.table_bytes = 64 << 20,
		.map_files = true,
		.native = true,
		.feed = throw_away,
	};
	int err;

	tool->stacks = NULL;
	if (!options->stack_ops)
		return;
	taker.generation = programs_stacks(tool->programs, &taker.ranges_fd, &taker.tables_fd);
	err = stack_taker_open(&tool->stacks, &taker);
	if (err)
		bench_die("preparing for stacks", err);
	stack_taker_look(tool->stacks, pid);
	usleep(TABLES_US);
}

void tool_attach(struct bench *bench, struct tool *tool, const char *path,
		 const struct programs_options *options, bool in_file)
{
	const pid_t pid = bench->targets[TARGET_FIRST].pid;
	struct attachment_site site = { .path = path,
					.library = tool_library(bench, path),
					.pid = in_file ? 0 : pid,
					.below = ~0u };
	struct programs_options sized = *options;
	int err;

	sized.ring_bytes = RING_BYTES;
	err = programs_open(&tool->programs, &sized);
	if (err)
		bench_die("loading the BPF programs", err);
	if (in_file) {
		site.file = programs_new_file(tool->programs);
		programs_open_file(tool->programs, site.file);
		err = programs_set_target(tool->programs, pid, MS_TARGET_TRACED);
	}
	if (!err)
		err = attachment_open(&tool->attachment, tool->programs, &site, NULL);
	if (err)
		bench_die("attaching", err);
	open_stacks(tool, options, pid);
	tool->ending = false;
	err = pthread_create(&tool->reader, NULL, read_rings, tool);
	if (err)
		bench_die("starting a thread", err);
}

void tool_detach(struct tool *tool)
{
	tool->ending = true;
	pthread_join(tool->reader, NULL);
	attachment_close(&tool->attachment);
	stack_taker_close(tool->stacks);
	programs_close(tool->programs);
}

/* ---- as a command ---------------------------------------------------------------------------- */

pid_t tool_start(struct bench *bench, const char *const *mode, size_t targets)
{
	const char *words[MODE_WORDS + 6] = { "memscope-bpf", mode[0], "-q" };
	size_t count = 3, i;
	char pids[32];
	pid_t tool;

	for (i = 1; mode[i] && i < MODE_WORDS; i++)
		words[count++] = mode[i];
	snprintf(pids, sizeof(pids), targets > 1 ? "%d,%d" : "%d", bench->targets[TARGET_FIRST].pid,
		 bench->targets[TARGET_SECOND].pid);
	words[count++] = "-p";
	words[count] = pids;
	for (i = 0; i < targets; i++)
		target_await_peace(&bench->targets[i], BENCH_LAUNCH);
	tool = fork();
	if (tool == 0) {
		if (!freopen(bench->errors_path, "w", stderr))
			_exit(127);
		execv(bench->memscope_path, (char *const *)words);
		_exit(127);
	}
	for (i = 0; i < targets; i++)
		while (!target_has_probe(&bench->targets[i], BENCH_LAUNCH)) {
			if (waitpid(tool, NULL, WNOHANG) != 0)
				bench_die("memscope-bpf failed (trace.err says why)", EIO);
			usleep(10000);
		}
	return tool;
}

int tool_end(pid_t tool)
{
	int status;

	kill(tool, SIGINT);
	if (waitpid(tool, &status, 0) != tool)
		bench_die("memscope-bpf failed (trace.err says why)", errno);
	return status;
}

uint64_t tool_cpu_ns(pid_t tool)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(tool, &clock) || clock_gettime(clock, &used))
		bench_die("memscope-bpf failed (trace.err says why)", ESRCH);
	return used.tv_sec * 1000000000ull + used.tv_nsec;
}
