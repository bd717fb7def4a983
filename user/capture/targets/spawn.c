// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/log.h"

static bool is_number(const char *name)
{
	return *name && !name[strspn(name, "0123456789")];
}

/* What is taken for a command was perhaps meant for an option. */
static int complain(const char *name, int err)
{
	static const char *const words[] = { "alloc", "full", "native", "python", "waits", "all" };
	static const char *const units[] = { "ms", "s", "sec", "m", "min", "h" };
	static const char *const kinds[] = { "pods", "pod", "nodes", "node" };
	const char *hint = "", *tail = name;
	uint64_t ns;
	size_t i;

	if (strchr(name, ' ')) {
		hint = "; without the quotes, its arguments are words of their own";
		tail = "";
	}
	if (is_number(name))
		hint = "; a running process is -p ";
	else if (!duration_parse(name, &ns))
		hint = "; a time for --gpu-time stands behind \"=\": --gpu-time=";
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(name, words[i]))
			hint = "; what --stack takes stands behind \"=\": --stack=";
	for (i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(name, units[i]))
			hint = "; a time is one word: 100";
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(name, kinds[i])) {
			hint = "; all processes of this machine are -a, and those of a pod are --pod"
			       " NAMESPACE/NAME of memscope-bpf who";
			tail = "";
		}
	log_error("cannot execute \"%s\": %s%s%s", name, strerror(-err), hint, *hint ? tail : "");
	return err;
}

static bool is_in(const char *directory, size_t length, const char *name)
{
	char path[PATH_MAX];

	/* An empty one is the working directory. */
	if (snprintf(path, sizeof(path), "%.*s%s%s", (int)length, directory, length ? "/" : "",
		     name) >= (int)sizeof(path))
		return true; /* execvp() will say what it thinks of it */
	return !access(path, F_OK) || errno == EACCES;
}

int spawn_find(const char *name)
{
	const char *path = getenv("PATH"), *end;
	bool found = *name && (strchr(name, '/') ? is_in("", 0, name) : !path);

	if (!*name || strchr(name, '/'))
		path = NULL;
	for (; path && !found; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		found = is_in(path, end - path, name);
	}
	return found ? 0 : complain(name, -ENOENT);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Async-signal-safe. Returns 0 or -1. */
static int leave_terminal(void)
{
	struct termios settings;
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), fd;

	if (null_fd < 0)
		return -1;
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (!tcgetattr(fd, &settings) && dup2(null_fd, fd) < 0)
			return -1;
	return 0;
}

/* In the child: all that happens before execvp() is async-signal-safe. */
static void run(int wait_fd, int error_fd, char *const *command,
		const struct spawn_options *options)
{
	int err;
	char byte;

	sigprocmask(SIG_SETMASK, options->mask, NULL);
	setrlimit(RLIMIT_NOFILE, options->files);
	if (options->to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(126);
	if (options->no_terminal && leave_terminal())
		_exit(126);
	/* A byte: go. End of file: the tracer is gone. */
	if (read(wait_fd, &byte, 1) != 1)
		_exit(127);
	execvp(command[0], command);
	err = errno;
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(err == ENOENT ? 127 : 126);
}

int spawn_prepare(struct spawn *spawn, char *const *command, const struct spawn_options *options)
{
	int wait_pipe[2], error_pipe[2], err;

	*spawn = (struct spawn){ .pid = -1, .release_fd = -1, .error_fd = -1 };
	if (pipe2(wait_pipe, O_CLOEXEC))
		goto fail;
	if (pipe2(error_pipe, O_CLOEXEC)) {
		err = errno;
		close(wait_pipe[0]);
		close(wait_pipe[1]);
		errno = err;
		goto fail;
	}
	spawn->pid = fork();
	if (spawn->pid == 0) {
		close(wait_pipe[1]);
		run(wait_pipe[0], error_pipe[1], command, options);
	}
	err = errno;
	close(wait_pipe[0]);
	close(error_pipe[1]);
	spawn->release_fd = wait_pipe[1];
	spawn->error_fd = error_pipe[0];
	if (spawn->pid > 0)
		return 0;
	close_fd(&spawn->release_fd);
	close_fd(&spawn->error_fd);
	errno = err;
fail:
	err = -errno;
	log_error("cannot start %s: %s", command[0], strerror(-err));
	return err;
}

int spawn_release(struct spawn *spawn, const char *name)
{
	int err = 0;
	ssize_t length;

	if (write(spawn->release_fd, "", 1) != 1)
		return -errno;
	close_fd(&spawn->release_fd);
	do
		length = read(spawn->error_fd, &err, sizeof(err));
	while (length < 0 && errno == EINTR);
	close_fd(&spawn->error_fd);
	if (length != sizeof(err))
		return 0; /* closed by a successful exec */
	return complain(name, -err);
}

void spawn_abort(struct spawn *spawn)
{
	if (spawn->release_fd < 0)
		return;
	kill(spawn->pid, SIGKILL);
	waitpid(spawn->pid, NULL, 0);
	close_fd(&spawn->release_fd);
	close_fd(&spawn->error_fd);
}
