// SPDX-License-Identifier: BSD-2-Clause
#include "host/nvml.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/nvml_survey.h"

#define END_CHILD SIGALRM          /* sent to the starter, and by nobody else */
#define PEER_FD 3                  /* of starter and child */
#define LARGEST_BYTES (1ull << 50) /* of a device whose total is not known */

/*
 * Through the sockets go the numbers of questions, above 0, and of answers to them: a question that
 * a child has not read before it ended is the next one's. From the starter comes ENDED.
 */
#define ENDED 0

/* Of the mapping that all three have. */
struct shared {
	pid_t child; /* 0: none has been started, or it has ended */
	struct nvml_snapshot snapshot;
};

struct nvml {
	pid_t starter;
	int fd;            /* of a pair of sockets, the other of which starter and child have */
	bool asked;        /* and not answered yet */
	uint8_t question;  /* number of the last one */
	uint64_t asked_ns; /* CLOCK_MONOTONIC */
	bool left, ended;  /* the child is left to itself; it has ended */
	bool hung;         /* that is why it is left */
	char end[256];     /* why there is none, in words; "": there is one */
	struct shared *shared;
};

/* ---- the starter and the child --------------------------------------------------------------- */

/*
 * They keep nothing of their parent's: who waits for the end of a pipe must not wait for a child
 * that hangs. What the library prints is of no use to anyone.
 */
static void let_go(int fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	const int null = open("/dev/null", O_RDWR);
	sigset_t none;
	int i;

	if (null >= 0)
		for (i = 0; i < 3; i++)
			dup2(null, i);
	if (dup2(fd, PEER_FD) < 0)
		_exit(1);
	close_range(PEER_FD + 1, ~0u, 0);
	/* Sent to all by shells and service managers: the parent ends these two when it is done. */
	for (i = 0; i < (int)(sizeof(ignored) / sizeof(*ignored)); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Ends with its parent, which is that one. */
static void become(const char *name, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	if (getppid() != parent)
		_exit(0);
}

static void serve(struct nvml_snapshot *snapshot)
{
	struct nvml_survey survey = { .snapshot = snapshot };
	uint8_t question;

	while (read(PEER_FD, &question, 1) == 1) {
		nvml_survey_run(&survey);
		if (write(PEER_FD, &question, 1) != 1)
			break;
	}
	_exit(0);
}

static volatile pid_t started; /* in the starter: the child; 0: there is none */

static void end_child(int signal)
{
	(void)signal;
	if (started)
		kill(started, SIGKILL);
}

/* Until there is a question, which the next child reads. */
static bool await_question(void)
{
	struct pollfd question = { .fd = PEER_FD, .events = POLLIN };

	while (poll(&question, 1, -1) < 0)
		if (errno != EINTR)
			return false;
	return question.revents & POLLIN;
}

static void mask_end(int how)
{
	sigset_t end;

	sigemptyset(&end);
	sigaddset(&end, END_CHILD);
	sigprocmask(how, &end, NULL);
}

/* A signal that comes meanwhile ends the child that it is meant for. */
static void start_child(struct shared *shared)
{
	const pid_t parent = getpid();
	pid_t child;

	mask_end(SIG_BLOCK);
	child = fork();
	if (!child) {
		signal(END_CHILD, SIG_DFL);
		mask_end(SIG_UNBLOCK);
		become("memscope-nvml", parent);
		shared->child = getpid(); /* before anything is loaded */
		serve(&shared->snapshot);
	}
	started = child > 0 ? child : 0;
	mask_end(SIG_UNBLOCK);
}

/* Of a question that no child could be started for. */
static void drop_question(void)
{
	uint8_t question;

	if (read(PEER_FD, &question, 1) != 1)
		_exit(0);
}

/* No signal is sent to it after that, as its pid can be another one's. */
static void await_end(struct shared *shared)
{
	siginfo_t info;

	while (started && waitid(P_PID, (id_t)started, &info, WEXITED | WNOWAIT) < 0 &&
	       errno == EINTR)
		;
	mask_end(SIG_BLOCK);
	if (started)
		waitpid(started, NULL, 0);
	started = shared->child = 0;
	mask_end(SIG_UNBLOCK);
}

/*
 * Starts a child when it is asked for something, and says when it has ended. One that hangs in the
 * kernel ends when that lets it; until then, there is no other. END_CHILD ends the child.
 */
static void start_children(int fd, struct shared *shared, pid_t parent)
{
	const struct sigaction on_end = { .sa_handler = end_child };
	const uint8_t ended = ENDED;

	let_go(fd);
	become("memscope-nkeep", parent);
	sigaction(END_CHILD, &on_end, NULL);
	while (await_question()) {
		start_child(shared);
		if (!started)
			drop_question();
		await_end(shared);
		if (write(PEER_FD, &ended, 1) != 1)
			break;
	}
	_exit(0);
}

/* ---- its parent ------------------------------------------------------------------------------ */

int nvml_open(struct nvml **nvml)
{
	struct nvml *opened = calloc(1, sizeof(*opened));
	const pid_t parent = getpid();
	int pair[2] = { -1, -1 }, err;

	*nvml = NULL;
	if (!opened)
		return -ENOMEM;
	opened->shared = mmap(NULL, sizeof(*opened->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (opened->shared == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ||
	    (opened->starter = fork()) < 0) {
		err = -errno;
		log_error("cannot start a process for NVML: %s", strerror(-err));
		if (opened->shared != MAP_FAILED)
			munmap(opened->shared, sizeof(*opened->shared));
		if (pair[0] >= 0) {
			close(pair[0]);
			close(pair[1]);
		}
		free(opened);
		return err;
	}
	if (!opened->starter)
		start_children(pair[1], opened->shared, parent);
	close(pair[1]);
	opened->fd = pair[0];
	*nvml = opened;
	return 0;
}

int nvml_ask(struct nvml *nvml)
{
	if (nvml->asked)
		return 0;
	nvml->question = nvml->question % UINT8_MAX + 1;
	if (nvml->left || nvml->ended || send(nvml->fd, &nvml->question, 1, MSG_NOSIGNAL) != 1)
		return -EPIPE;
	nvml->asked = true;
	nvml->asked_ns = clock_monotonic_ns();
	return 0;
}

int nvml_fd(const struct nvml *nvml)
{
	return nvml->fd;
}

const pid_t *nvml_child(const struct nvml *nvml)
{
	return &nvml->shared->child;
}

void nvml_leave(struct nvml *nvml)
{
	if (nvml->left || nvml->ended)
		return;
	kill(nvml->starter, END_CHILD);
	nvml->left = true;
}

int nvml_renew(struct nvml *nvml)
{
	uint8_t byte;

	/* An answer may have come after all, and the end after that. */
	while (!nvml->ended && recv(nvml->fd, &byte, 1, MSG_DONTWAIT) == 1)
		nvml->ended = byte == ENDED;
	if (!nvml->ended)
		return -EAGAIN;
	memset(&nvml->shared->snapshot, 0, sizeof(nvml->shared->snapshot));
	nvml->left = nvml->ended = nvml->hung = false;
	nvml->end[0] = '\0';
	return 0;
}

/* Returns 0, -ETIMEDOUT, -EPIPE, or -EAGAIN: an answer to an earlier question was read. */
static int read_answer(struct nvml *nvml)
{
	uint8_t byte = ENDED;

	if (recv(nvml->fd, &byte, 1, 0) == 1 && byte != ENDED)
		return byte == nvml->question ? 0 : -EAGAIN;
	nvml->ended = true;
	return -EPIPE;
}

/* The same. */
static int await(struct nvml *nvml, int call_ms)
{
	const uint32_t *step = &nvml->shared->snapshot.step;
	struct pollfd answer = { .fd = nvml->fd, .events = POLLIN };
	uint32_t before = __atomic_load_n(step, __ATOMIC_ACQUIRE), now;
	int ready, err;

	for (;;) {
		ready = poll(&answer, 1, call_ms);
		err = ready > 0 ? read_answer(nvml) : 0;
		if (ready > 0 && (err != -EAGAIN || !call_ms))
			return err;
		now = __atomic_load_n(step, __ATOMIC_ACQUIRE);
		if ((ready < 0 && errno != EINTR) || (!ready && now == before))
			return -ETIMEDOUT;
		before = now;
	}
}

/* What the child has done last, and how that ended. */
static void note_end(struct nvml *nvml, const struct nvml_snapshot *snapshot)
{
	snprintf(nvml->end, sizeof(nvml->end), "%s (device %u) %s", snapshot->call,
		 snapshot->call_device,
		 nvml->hung ? "does not return" : "has ended the process that called it");
}

int nvml_take(struct nvml *nvml, int call_ms, struct nvml_snapshot *snapshot)
{
	int err;

	if (!nvml->asked) {
		memset(snapshot, 0, sizeof(*snapshot));
		err = -EPIPE;
		if (!nvml->end[0])
			snprintf(nvml->end, sizeof(nvml->end),
				 "the process that called it has ended");
	} else {
		err = await(nvml, call_ms);
		if (err == -EAGAIN)
			return err;
		memcpy(snapshot, &nvml->shared->snapshot, sizeof(*snapshot));
		if (err)
			snapshot->ns = clock_monotonic_ns() - nvml->asked_ns;
		nvml_snapshot_check(snapshot);
		nvml->asked = false;
		nvml->hung = err == -ETIMEDOUT;
		if (!err)
			return 0;
		nvml_leave(nvml);
		note_end(nvml, snapshot);
	}
	if (snapshot->state == NVML_UNASKED)
		snapshot->state = NVML_FAILING;
	snapshot->hangs = nvml->hung;
	snprintf(snapshot->problem, sizeof(snapshot->problem), "%s", nvml->end);
	return err;
}

void nvml_close(struct nvml *nvml)
{
	if (!nvml)
		return;
	kill(nvml->starter, SIGKILL);
	waitpid(nvml->starter, NULL, 0);
	close(nvml->fd);
	munmap(nvml->shared, sizeof(*nvml->shared));
	free(nvml);
}

/* ---- what came ------------------------------------------------------------------------------- */

static void end_text(char *text, size_t bytes)
{
	text[bytes - 1] = '\0';
}

static void check_device(struct nvml_snapshot *snapshot, uint32_t place)
{
	struct nvml_device *device = &snapshot->devices[place];
	const uint64_t total = device->total_bytes;

	end_text(device->uuid, sizeof(device->uuid));
	end_text(device->name, sizeof(device->name));
	end_text(device->pci, sizeof(device->pci));
	if (device->parent < -1 || device->parent >= (int32_t)place)
		device->parent = -1;
	device->absurd = 0;
	if (device->has_memory && (!total || total > LARGEST_BYTES || device->free_bytes > total ||
				   device->used_bytes > total)) {
		device->has_memory = device->has_reserved = false;
		device->absurd++;
	}
	if (device->has_reserved && device->reserved_bytes > total) {
		device->has_reserved = false;
		device->absurd++;
	}
	if (device->has_utilisation &&
	    (device->gpu_percent > 100 || device->memory_percent > 100)) {
		device->has_utilisation = false;
		device->absurd++;
	}
}

/* Returns whether it can be one. */
static bool check_process(struct nvml_snapshot *snapshot, struct nvml_process *process)
{
	struct nvml_device *device;
	uint64_t limit;

	if (process->device >= snapshot->devices_count)
		return false;
	device = &snapshot->devices[process->device];
	limit = device->has_memory ? device->total_bytes : LARGEST_BYTES;
	if (process->has_used && process->used_bytes > limit) {
		process->has_used = false;
		device->absurd++;
	}
	return true;
}

static void check_limit(const struct nvml_snapshot *snapshot, struct nvml_limit *limit)
{
	end_text(limit->path, sizeof(limit->path));
	if (limit->device < snapshot->devices_count && limit->used_bytes <= LARGEST_BYTES &&
	    limit->soft_bytes <= LARGEST_BYTES && *limit->path == '/')
		return;
	limit->known = false;
	limit->device = 0;
}

void nvml_snapshot_check(struct nvml_snapshot *snapshot)
{
	uint32_t i, kept = 0;

	end_text(snapshot->problem, sizeof(snapshot->problem));
	end_text(snapshot->driver, sizeof(snapshot->driver));
	end_text(snapshot->call, sizeof(snapshot->call));
	if (snapshot->state > NVML_READY)
		snapshot->state = NVML_FAILING;
	if (snapshot->devices_count > NVML_DEVICES_MAX)
		snapshot->devices_count = NVML_DEVICES_MAX;
	if (snapshot->processes_count > NVML_PROCESSES_MAX)
		snapshot->processes_count = NVML_PROCESSES_MAX;
	if (snapshot->limits_count > NVML_LIMITS_MAX)
		snapshot->limits_count = NVML_LIMITS_MAX;
	for (i = 0; i < snapshot->devices_count; i++)
		check_device(snapshot, i);
	for (i = 0; i < snapshot->limits_count; i++)
		check_limit(snapshot, &snapshot->limits[i]);
	for (i = 0; i < snapshot->processes_count; i++)
		if (check_process(snapshot, &snapshot->processes[i]))
			snapshot->processes[kept++] = snapshot->processes[i];
	snapshot->processes_count = kept;
}

const char *nvml_result_words(int32_t result)
{
	static const struct {
		int32_t result;
		const char *words;
	} rows[] = {
		{ NVML_SUCCESS, "answered" },
		{ NVML_NOT_SUPPORTED, "not supported by this device" },
		{ NVML_NO_PERMISSION, "no permission" },
		{ NVML_NOT_FOUND, "not found" },
		{ NVML_INSUFFICIENT_SIZE, "more than there is room for" },
		{ NVML_DRIVER_NOT_LOADED, "the NVIDIA driver is not loaded" },
		{ NVML_FUNCTION_NOT_FOUND, "unknown to this version of NVML" },
		{ NVML_GPU_IS_LOST, "the GPU is lost" },
		{ 16, "the GPU must be reset" },
		{ 17, "an error of the operating system" },
		{ NVML_VERSION_MISMATCH, "the library is of another version than the driver" },
		{ 999, "an unknown error" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].result == result)
			return rows[i].words;
	return "an error";
}
