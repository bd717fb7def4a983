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

#define LARGEST_BYTES (1ull << 50) /* of a device whose total is not known */

struct nvml {
	pid_t child;                   /* 0: it is gone, or left to itself */
	int fd;                        /* of a pair of sockets, the other of which the child has */
	bool asked;                    /* and not answered yet */
	uint64_t asked_ns;             /* CLOCK_MONOTONIC */
	bool hung;                     /* that is why there is no child */
	char end[256];                 /* why there is none, in words; "": there is one */
	struct nvml_snapshot *written; /* by the child: shared */
};

/* ---- the child ------------------------------------------------------------------------------- */

/*
 * It keeps nothing of its parent's: who waits for the end of a pipe must not wait for a child that
 * hangs. What the library prints is of no use to anyone.
 */
static void let_go(int fd)
{
	const int null = open("/dev/null", O_RDWR);
	sigset_t none;
	int i;

	if (null >= 0)
		for (i = 0; i < 3; i++)
			dup2(null, i);
	if (dup2(fd, 3) < 0)
		_exit(1);
	close_range(4, ~0u, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "memscope-nvml");
	signal(SIGINT, SIG_IGN); /* the parent ends it when it is done */
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void serve(int fd, struct nvml_snapshot *snapshot, pid_t parent)
{
	struct nvml_survey survey = { .snapshot = snapshot };
	char byte;

	let_go(fd);
	if (getppid() != parent)
		_exit(0);
	while (read(3, &byte, 1) == 1) {
		nvml_survey_run(&survey);
		if (write(3, &byte, 1) != 1)
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
	opened->written = mmap(NULL, sizeof(*opened->written), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (opened->written == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ||
	    (opened->child = fork()) < 0) {
		err = -errno;
		log_error("cannot start a process for NVML: %s", strerror(-err));
		if (opened->written != MAP_FAILED)
			munmap(opened->written, sizeof(*opened->written));
		if (pair[0] >= 0) {
			close(pair[0]);
			close(pair[1]);
		}
		free(opened);
		return err;
	}
	if (!opened->child)
		serve(pair[1], opened->written, parent);
	close(pair[1]);
	opened->fd = pair[0];
	*nvml = opened;
	return 0;
}

int nvml_ask(struct nvml *nvml)
{
	if (nvml->asked)
		return 0;
	if (!nvml->child || send(nvml->fd, "?", 1, MSG_NOSIGNAL) != 1)
		return -EPIPE;
	nvml->asked = true;
	nvml->asked_ns = clock_monotonic_ns();
	return 0;
}

int nvml_fd(const struct nvml *nvml)
{
	return nvml->fd;
}

pid_t nvml_pid(const struct nvml *nvml)
{
	return nvml->child;
}

/* One that hangs in the kernel dies when that lets it. */
static void leave(struct nvml *nvml)
{
	if (!nvml->child)
		return;
	kill(nvml->child, SIGKILL);
	waitpid(nvml->child, NULL, WNOHANG);
	nvml->child = 0;
}

/* Returns 0, -ETIMEDOUT or -EPIPE. */
static int await(struct nvml *nvml, int call_ms)
{
	struct pollfd answer = { .fd = nvml->fd, .events = POLLIN };
	uint32_t step = __atomic_load_n(&nvml->written->step, __ATOMIC_ACQUIRE), now;
	char byte;
	int ready;

	for (;;) {
		ready = poll(&answer, 1, call_ms);
		if (ready > 0)
			break;
		now = __atomic_load_n(&nvml->written->step, __ATOMIC_ACQUIRE);
		if ((ready < 0 && errno != EINTR) || (!ready && now == step))
			return -ETIMEDOUT;
		step = now;
	}
	return recv(nvml->fd, &byte, 1, 0) == 1 ? 0 : -EPIPE;
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
	} else {
		err = await(nvml, call_ms);
		memcpy(snapshot, nvml->written, sizeof(*snapshot));
		if (err)
			snapshot->ns = clock_monotonic_ns() - nvml->asked_ns;
		nvml_snapshot_check(snapshot);
		nvml->asked = false;
		nvml->hung = err == -ETIMEDOUT;
		if (!err)
			return 0;
		leave(nvml);
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
	leave(nvml);
	close(nvml->fd);
	munmap(nvml->written, sizeof(*nvml->written));
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
