// SPDX-License-Identifier: BSD-2-Clause
/*
 * General tracers that are asked to watch the same calls: bpftrace and perf. Their output is thrown
 * away, which is the best that can happen to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/elf_symbols.h"
#include "tracers.h"

#define START_TRIES 1000 /* of 10 ms */
#define TRACEFS "/sys/kernel/tracing"
#define PERF_EVENT "memscope_bench/launch"

static pid_t peer;

static bool is_installed(const char *command)
{
	char line[128];

	snprintf(line, sizeof(line), "command -v %s > /dev/null", command);
	return system(line) == 0;
}

/* Returns when there is a breakpoint in the first target. */
static void await_probe(struct bench *bench, const struct row *row)
{
	int i;

	for (i = 0; i < START_TRIES; i++) {
		if (target_has_probe(&bench->targets[TARGET_FIRST], row->call))
			return;
		if (waitpid(peer, NULL, WNOHANG) != 0)
			bench_die(row->name, ECHILD);
		usleep(10000);
	}
	bench_die(row->name, ETIMEDOUT);
}

static void peer_start(struct bench *bench, const struct row *row, const char *const *words)
{
	peer = fork();
	if (peer == 0) {
		int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(fd, STDIN_FILENO);
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		execvp(words[0], (char *const *)words);
		_exit(127);
	}
	await_probe(bench, row);
	usleep(200000); /* its other probe, if it has two */
}

static void peer_stop(struct bench *bench, const struct row *row)
{
	int tries;

	/* One that comes at the wrong moment is ignored. */
	for (tries = 0; waitpid(peer, NULL, WNOHANG) == 0; tries++) {
		if (tries % 100 == 0)
			kill(peer, SIGINT);
		usleep(10000);
	}
	target_await_peace(&bench->targets[TARGET_FIRST], row->call);
}

/* ---- bpftrace -------------------------------------------------------------------------------- */

static const char *bpftrace_missing(struct bench *bench, const struct row *row)
{
	(void)bench, (void)row;
	return is_installed("bpftrace") ? NULL : "bpftrace is not installed";
}

static void bpftrace_start(struct bench *bench, const struct row *row)
{
	char pid[16], script[4096];
	const char *words[] = { "bpftrace", "-p", pid, "-e", script, NULL };

	snprintf(pid, sizeof(pid), "%d", bench->targets[TARGET_FIRST].pid);
	snprintf(script, sizeof(script), row->script, bench->library_path, bench->library_path);
	peer_start(bench, row, words);
}

const struct tracer tracer_bpftrace = {
	.missing = bpftrace_missing,
	.start = bpftrace_start,
	.stop = peer_stop,
};

/* ---- perf ------------------------------------------------------------------------------------ */

static int define_event(const char *line)
{
	int fd = open(TRACEFS "/uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	int err = fd < 0 || write(fd, line, strlen(line)) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

/* Where it is not mounted, it is for this benchmark alone. */
static const char *perf_missing(struct bench *bench, const struct row *row)
{
	(void)bench, (void)row;
	if (!is_installed("perf"))
		return "perf is not installed";
	if (access(TRACEFS "/uprobe_events", W_OK) == 0)
		return NULL;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tracefs", TRACEFS, "tracefs", 0, NULL) || access(TRACEFS "/uprobe_events", W_OK))
		return "no tracefs";
	return NULL;
}

static int find_launch(const struct elf_function *function, void *context)
{
	if (strcmp(function->name, "cuLaunchKernel") != 0)
		return 0;
	*(uint64_t *)context = function->file_offset;
	return 1;
}

static void perf_start(struct bench *bench, const struct row *row)
{
	const char *words[] = { "perf", "record",    "-q", "-e", "memscope_bench:launch",
				"-o",   "/dev/null", "-p", NULL, NULL };
	int fd = open(bench->library_path, O_RDONLY | O_CLOEXEC);
	char pid[16], line[4096];
	uint64_t offset = 0;
	int err;

	if (fd < 0 || elf_each_function(fd, find_launch, &offset, NULL) != 1)
		bench_die(bench->library_path, ENOEXEC);
	close(fd);
	snprintf(line, sizeof(line), "p:" PERF_EVENT " %s:0x%llx\n", bench->library_path,
		 (unsigned long long)offset);
	define_event("-:" PERF_EVENT "\n"); /* that a run which was cut short has left */
	err = define_event(line);
	if (err)
		bench_die(TRACEFS "/uprobe_events", err);
	snprintf(pid, sizeof(pid), "%d", bench->targets[TARGET_FIRST].pid);
	words[8] = pid;
	peer_start(bench, row, words);
}

static void perf_stop(struct bench *bench, const struct row *row)
{
	peer_stop(bench, row);
	define_event("-:" PERF_EVENT "\n");
}

const struct tracer tracer_perf = {
	.missing = perf_missing,
	.start = perf_start,
	.stop = perf_stop,
};
