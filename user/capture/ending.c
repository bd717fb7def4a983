// SPDX-License-Identifier: BSD-2-Clause
#include "capture/ending.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/helper.h"

#define NAME "memscope-end"

/*
 * How none of them drops a last copy otherwise. The caller keeps what it has until it ends. The
 * others are not its children, for these would have copies of everything, and would have to drop
 * what is not theirs: a process without any, the starter, starts them, and they are sent theirs.
 *
 * And how they end at the same time: each waits for the end of its socket. What the caller ends
 * with is closed in two steps: the kernel drops all its copies first, and then closes those that
 * were the last ones, such as the other ends of these sockets.
 */

enum request {
	REQUEST_START, /* a process with the socket that comes along */
	REQUEST_ANSWER,
};

/* ---- the starter, and who it starts ---------------------------------------------------------- */

static void end_with_what_comes(int socket)
{
	int fds[HELPER_FDS];
	size_t count = HELPER_FDS;
	char byte;

	while (helper_receive(socket, &byte, 1, fds, &count) > 0)
		count = HELPER_FDS;
	helper_exit();
}

/*
 * The kernel removes one breakpoint at a time, and its lock for that goes to who has waited: to
 * wake that one up on another CPU each time takes a third of the time.
 */
static void stay_on_this_cpu(void)
{
	cpu_set_t this;

	CPU_ZERO(&this);
	CPU_SET(sched_getcpu(), &this);
	sched_setaffinity(0, sizeof(this), &this);
}

static void start_here(int fd, int socket)
{
	stay_on_this_cpu();
	if (fork() == 0) {
		close(fd);
		end_with_what_comes(socket);
	}
	close(socket);
}

static void serve(int fd)
{
	enum request request;
	size_t count = 1;
	int socket;

	for (; helper_receive(fd, &request, sizeof(request), &socket, &count) > 0; count = 1) {
		if (request == REQUEST_ANSWER)
			helper_send(fd, &request, sizeof(request), NULL, 0, true);
		if (count)
			start_here(fd, socket);
	}
	/* Nobody else may: in a container, the first process need not care about others. */
	while (wait(NULL) >= 0 || errno == EINTR)
		;
}

/* ---- the caller ------------------------------------------------------------------------------ */

void ending_open(struct helper *starter)
{
	helper_start(starter, NAME, false, serve);
}

/* Returns the socket to a process that will have been started, or -errno. */
static int start(const struct helper *starter)
{
	const enum request request = REQUEST_START;
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	err = helper_send(starter->fd, &request, sizeof(request), &ends[1], 1, true);
	close(ends[1]);
	if (!err)
		return ends[0];
	close(ends[0]);
	return err;
}

/*
 * Whether all have been started. If the starter was killed before, some of their sockets may still
 * be on the way to it, to be closed by whoever else has a copy of its own: nothing may be in them.
 */
static bool have_started(const struct helper *starter)
{
	enum request request = REQUEST_ANSWER;
	size_t none = 0;

	return !helper_send(starter->fd, &request, sizeof(request), NULL, 0, true) &&
	       helper_receive(starter->fd, &request, sizeof(request), NULL, &none) > 0;
}

/* To a process that is gone, or was not started, nothing can be sent. */
static void send_set(int socket, const struct ending_set *set)
{
	size_t sent, part = set->first_apart ? 1 : HELPER_FDS;
	int err = 0;

	for (sent = 0; sent < set->count && !err; sent += part, part = HELPER_FDS) {
		part = set->count - sent < part ? set->count - sent : part;
		err = helper_send(socket, "", 1, set->fds + sent, part, true);
	}
}

void ending_prepare(const struct helper *starter, const struct ending_set *sets, size_t count)
{
	int *sockets = count > 1 ? calloc(count, sizeof(*sockets)) : NULL;
	size_t started = 0, i;

	while (sockets && started < count && (sockets[started] = start(starter)) >= 0)
		started++;
	if (started && have_started(starter))
		for (i = 0; i < started; i++)
			send_set(sockets[i], &sets[i]);
	free(sockets);
}
