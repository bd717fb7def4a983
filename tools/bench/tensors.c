// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the record of a tensor costs the program that is traced, without its call stack and with it,
 * beside what an empty uprobe at the same place of the same function costs it (REF), and one at the
 * function's first byte. The states follow one another in each round.
 *
 * usage: tensors MEMSCOPE_BPF LIBC10 LIBCUDA [ROUNDS]   as root; LIBC10: the stand-in
 */
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "reference.skel.h"

#define REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define EVENTS 4000 /* in one measurement: fewer than the rings have room for */
#define ROUNDS_MOST 101
#define SETTLE_US 300000
#define RECORDING "/tmp/bench-tensors-%d.mscope"

#ifdef __x86_64__
#define PLACE 7 /* of the probe: behind the first instruction of c10.c */
#else
#define PLACE 0
#endif

enum state { NOTHING, FIRST_BYTE, EMPTY_UPROBE, WITHOUT_STACKS, WITH_STACKS, STATES };

static const char *const names[STATES] = {
	"nothing",
	"an empty uprobe at the first byte",
	"an empty uprobe (REF)",
	"record --tensors=all --stacks=off",
	"record --tensors=all",
};

static double measured[STATES][ROUNDS_MOST];

typedef void report_fn(void *block, int64_t size, uint64_t allocated, uint64_t reserved,
		       uint16_t device);

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Nanoseconds for a block that is given or taken back. */
static double time_blocks(report_fn *report)
{
	const uint16_t cuda = 1; /* device 0 */
	uint64_t began_ns, i;

	began_ns = clock_monotonic_ns();
	for (i = 0; i < EVENTS / 2; i++) {
		report((void *)0x7f0000000000, 512, 512, 1 << 20, cuda);
		report((void *)0x7f0000000000, -512, 0, 1 << 20, cuda);
	}
	return (double)(clock_monotonic_ns() - began_ns) / EVENTS;
}

static void be_target(const char *library, const char *cuda, int from, int to)
{
	report_fn *report;
	void *handle;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	handle = dlopen(cuda, RTLD_NOW) ? dlopen(library, RTLD_NOW) : NULL;
	report = handle ? (report_fn *)(uintptr_t)dlsym(handle, REPORT) : NULL;
	if (!report) {
		fprintf(stderr, "tensors: %s\n", dlerror());
		_exit(1);
	}
	while (read(from, &byte, 1) == 1) {
		const double ns = time_blocks(report);

		if (write(to, &ns, sizeof(ns)) != sizeof(ns))
			break;
	}
	_exit(0);
}

static pid_t start_target(char **argv, int *to, int *from)
{
	int commands[2], answers[2];
	pid_t pid;

	if (pipe2(commands, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(commands[1]);
		be_target(argv[2], argv[3], commands[0], answers[1]);
	}
	close(commands[0]);
	close(answers[1]);
	*to = commands[1];
	*from = answers[0];
	return pid;
}

static double ask(int to, int from)
{
	double ns;

	if (write(to, "b", 1) != 1 || read(from, &ns, sizeof(ns)) != sizeof(ns))
		die("the target");
	return ns;
}

/* Returns once it records. */
static pid_t start_tool(const char *tool, pid_t target, enum state state)
{
	char pid_text[16], file[64], line[512];
	int messages[2];
	FILE *said;
	pid_t pid;

	snprintf(pid_text, sizeof(pid_text), "%d", target);
	snprintf(file, sizeof(file), RECORDING, (int)getpid());
	unlink(file);
	if (pipe2(messages, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(messages[1], 2);
		execl(tool, tool, "record", "--tensors=all",
		      state == WITH_STACKS ? "--stacks=alloc" : "--stacks=off", "-o", file, "-p",
		      pid_text, (char *)NULL);
		die(tool);
	}
	close(messages[1]);
	said = fdopen(messages[0], "r");
	while (said && fgets(line, sizeof(line), said))
		if (strstr(line, "recording; "))
			return pid;
	fprintf(stderr, "tensors: %s does not record\n", tool);
	exit(1);
}

static double measure(char **argv, struct reference_bpf *skeleton, enum state state)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = REPORT);
	struct bpf_link *link = NULL;
	pid_t target, tool = 0;
	int to, from;
	double ns;

	target = start_target(argv, &to, &from);
	ask(to, from);
	if (state == FIRST_BYTE || state == EMPTY_UPROBE)
		link = bpf_program__attach_uprobe_opts(skeleton->progs.reference, target, argv[2],
						       state == EMPTY_UPROBE ? PLACE : 0, &options);
	if (state < WITHOUT_STACKS && state != NOTHING && !link)
		die("attaching the reference");
	if (state >= WITHOUT_STACKS)
		tool = start_tool(argv[1], target, state);
	ask(to, from);
	usleep(SETTLE_US);
	ns = ask(to, from);
	bpf_link__destroy(link);
	if (tool) {
		kill(tool, SIGINT);
		waitpid(tool, NULL, 0);
	}
	close(to);
	close(from);
	waitpid(target, NULL, 0);
	return ns;
}

static int compare(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static void print(int rounds)
{
	double medians[STATES];
	int state;

	for (state = 0; state < STATES; state++) {
		qsort(measured[state], rounds, sizeof(double), compare);
		medians[state] = measured[state][rounds / 2];
	}
	printf("%-36s %10s %10s %8s\n", "a block given or taken back", "median ns", "least ns",
	       "REF");
	for (state = 0; state < STATES; state++)
		printf("%-36s %10.0f %10.0f %8.2f\n", names[state], medians[state],
		       measured[state][0],
		       (medians[state] - medians[NOTHING]) /
			       (medians[EMPTY_UPROBE] - medians[NOTHING]));
}

int main(int argc, char **argv)
{
	const int rounds = argc > 4 ? atoi(argv[4]) : 7;
	struct reference_bpf *skeleton;
	char file[64];
	int round, state;

	if (argc < 4 || rounds < 1 || rounds > ROUNDS_MOST)
		return 2;
	skeleton = reference_bpf__open_and_load();
	if (!skeleton)
		die("loading the reference");
	for (round = 0; round < rounds; round++)
		for (state = 0; state < STATES; state++)
			measured[state][round] = measure(argv, skeleton, state);
	snprintf(file, sizeof(file), RECORDING, (int)getpid());
	unlink(file);
	print(rounds);
	reference_bpf__destroy(skeleton);
	return 0;
}
