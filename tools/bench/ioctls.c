// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the probe of ioctl() costs: the process that is traced, for files that are not NVIDIA's and
 * for an ioctl that is decoded, and any other process; beside that, what an empty pair of
 * tracepoints on the system call would cost them all. The states follow one another in each round.
 *
 * usage: ioctls MEMSCOPE_BPF SIMNV_DEVICES [ROUNDS]    as root; SIMNV_DEVICES: tests/simnv/devices
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "reference.skel.h"

#define FOREIGN 200000 /* ioctls in one measurement */
#define DECODED 5000
#define ROUNDS_MOST 101
#define RM_FREE 0xc0104629ul
#define WAIT_US 10000
#define CODE_BYTES 128 /* of ioctl(), in which a probe is */
#define IDLE_S 5

enum state { NOTHING, TRACEPOINTS, TRACED, STATES };
enum what { FOREIGN_OF_TARGET, DECODED_OF_TARGET, FOREIGN_OF_OTHER, WHATS };

static const char *const state_names[STATES] = { "nothing", "an empty pair of tracepoints",
						 "memscope-bpf record -p TARGET" };

static double measured[STATES][WHATS][ROUNDS_MOST];

/* A process that does as it is told: 'f', 'd' or 'p'. */
struct puppet {
	pid_t pid;
	int to, from;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- what is measured ------------------------------------------------------------------------ */

static double time_foreign(int file)
{
	char window[64];
	uint64_t began_ns;
	int i;

	began_ns = clock_monotonic_ns();
	for (i = 0; i < FOREIGN; i++)
		ioctl(file, TIOCGWINSZ, window);
	return (double)(clock_monotonic_ns() - began_ns) / FOREIGN;
}

/* Of an object that is not there: the driver says that it was freed all the same. */
static double time_decoded(int file)
{
	uint32_t argument[4] = { 0xc1d00001, 0x5c000001, 0x5c000010, 0 };
	uint64_t began_ns;
	int i;

	began_ns = clock_monotonic_ns();
	for (i = 0; i < DECODED; i++)
		if (ioctl(file, RM_FREE, argument))
			die("ioctl");
	return (double)(clock_monotonic_ns() - began_ns) / DECODED;
}

/* Whether its code is another than it was: a breakpoint. */
static double has_probe(void)
{
	static unsigned char original[CODE_BYTES];
	const unsigned char *code = (const unsigned char *)(uintptr_t)ioctl;

	if (!original[0])
		memcpy(original, code, sizeof(original));
	return memcmp(original, code, sizeof(original)) != 0;
}

static void obey(int from, int to, const char *device)
{
	const int control = open(device, O_RDWR | O_CLOEXEC), null = open("/dev/null", O_RDONLY);
	double answer = 0;
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (control < 0 || null < 0)
		die(device);
	while (read(from, &order, 1) == 1) {
		answer = order == 'f' ? time_foreign(null) :
			 order == 'd' ? time_decoded(control) :
					has_probe();
		if (write(to, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

static struct puppet puppet_start(const char *device)
{
	struct puppet puppet;
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		die("pipe");
	puppet.pid = fork();
	if (puppet.pid < 0)
		die("fork");
	if (!puppet.pid) {
		close(to[1]);
		obey(to[0], from[1], device);
	}
	close(to[0]);
	close(from[1]);
	puppet.to = to[1];
	puppet.from = from[0];
	return puppet;
}

static double tell(const struct puppet *puppet, char order)
{
	double answer;

	if (write(puppet->to, &order, 1) != 1 ||
	    read(puppet->from, &answer, sizeof(answer)) != sizeof(answer))
		die("a process has ended");
	return answer;
}

/* ---- states ---------------------------------------------------------------------------------- */

static pid_t start(const char *const *words, bool quietly)
{
	const pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (quietly && !freopen("/dev/null", "w", stderr))
		die("/dev/null");
	execv(words[0], (char *const *)(uintptr_t)words);
	die(words[0]);
	return 0;
}

static void end(pid_t pid)
{
	kill(pid, SIGINT);
	waitpid(pid, NULL, 0);
}

static void await(const struct puppet *target, double wanted)
{
	while (tell(target, 'p') != wanted)
		usleep(WAIT_US);
}

static pid_t trace(const char *memscope, const struct puppet *target, const char *recording)
{
	char number[16];
	const char *const words[] = { memscope,  "record", "--nvml=off", "-q", "-o",
				      recording, "-p",     number,       NULL };
	pid_t pid;

	snprintf(number, sizeof(number), "%d", target->pid);
	unlink(recording);
	pid = start(words, true);
	await(target, 1);
	usleep(20 * WAIT_US); /* until it has nothing else to do */
	return pid;
}

static void measure(const struct puppet *target, const struct puppet *other, enum state state,
		    int round)
{
	measured[state][FOREIGN_OF_TARGET][round] = tell(target, 'f');
	measured[state][DECODED_OF_TARGET][round] = tell(target, 'd');
	measured[state][FOREIGN_OF_OTHER][round] = tell(other, 'f');
}

/* Seconds of CPU time, its own; -1: not known. */
static double cpu_of(pid_t pid)
{
	unsigned long user, system;
	char path[64], text[1024];
	const char *at;
	size_t got = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file) {
		got = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[got] = '\0';
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			  &system) != 2)
		return -1;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* The share of one CPU that it takes while nothing happens. */
static double idle_share(pid_t memscope)
{
	const double before = cpu_of(memscope);

	sleep(IDLE_S);
	return (cpu_of(memscope) - before) / IDLE_S;
}

static void attach_pair(struct reference_bpf *skeleton, struct bpf_link *links[2])
{
	links[0] = bpf_program__attach(skeleton->progs.reference_ioctl_entry);
	links[1] = bpf_program__attach(skeleton->progs.reference_ioctl_exit);
	if (!links[0] || !links[1])
		die("the tracepoints of ioctl");
}

/* ---- results --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(enum state state, enum what what, int rounds)
{
	double sorted[ROUNDS_MOST];

	memcpy(sorted, measured[state][what], sizeof(*sorted) * (size_t)rounds);
	qsort(sorted, (size_t)rounds, sizeof(*sorted), compare);
	return sorted[rounds / 2];
}

static void print(int rounds)
{
	static const char *const whats[WHATS] = { "of the target, not NVIDIA's",
						  "of the target, decoded", "of another process" };
	enum state state;
	enum what what;

	printf("\nioctl(), medians of %d rounds in ns; in brackets: times nothing; times the pair\n"
	       "  %-31s",
	       rounds, "");
	for (what = 0; what < WHATS; what++)
		printf(" %28s", whats[what]);
	printf("\n");
	for (state = 0; state < STATES; state++) {
		printf("  %-31s", state_names[state]);
		for (what = 0; what < WHATS; what++)
			printf("   %9.0f (%5.2f; %5.2f)", median(state, what, rounds),
			       median(state, what, rounds) / median(NOTHING, what, rounds),
			       median(state, what, rounds) / median(TRACEPOINTS, what, rounds));
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/bench-ioctls-XXXXXX", device[64], recording[64];
	const int rounds = argc > 3 ? atoi(argv[3]) : 15;
	struct reference_bpf *skeleton;
	struct puppet target, other;
	double idle = 0;
	pid_t driver;
	int round;

	if (argc < 3 || rounds < 1 || rounds > ROUNDS_MOST || !mkdtemp(directory))
		return 2;
	snprintf(device, sizeof(device), "%s/nvidiactl", directory);
	snprintf(recording, sizeof(recording), "/tmp/bench-ioctls-%d.mscope", (int)getpid());
	driver = start((const char *const[]){ argv[2], directory, NULL }, false);
	while (access(device, F_OK))
		usleep(WAIT_US);
	setenv("MEMSCOPE_TEST_DEVICES", directory, 1);
	target = puppet_start(device);
	other = puppet_start(device);
	tell(&target, 'p');
	skeleton = reference_bpf__open_and_load();
	if (!skeleton)
		die("loading the reference");
	for (round = 0; round < rounds; round++) {
		struct bpf_link *links[2];
		pid_t memscope;

		measure(&target, &other, NOTHING, round);
		attach_pair(skeleton, links);
		measure(&target, &other, TRACEPOINTS, round);
		bpf_link__destroy(links[0]);
		bpf_link__destroy(links[1]);
		memscope = trace(argv[1], &target, recording);
		measure(&target, &other, TRACED, round);
		if (round == rounds - 1)
			idle = idle_share(memscope);
		end(memscope);
		await(&target, 0);
	}
	print(rounds);
	printf("  memscope-bpf while nothing happens: %.2f %% of a CPU\n", 100 * idle);
	unlink(recording);
	kill(target.pid, SIGKILL);
	kill(other.pid, SIGKILL);
	kill(driver, SIGTERM);
	waitpid(driver, NULL, 0);
	rmdir(directory);
	return 0;
}
