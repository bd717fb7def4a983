// SPDX-License-Identifier: BSD-2-Clause
#include "capture/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
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
 * And how they end at the same time. When a process ends, the kernel closes its descriptors from
 * the highest number to the lowest. So the starter's socket is the last that the caller closes; the
 * starter then closes a pipe, and that they wait for.
 */
#define LAST STDIN_FILENO

/* ---- the starter, and who it starts ---------------------------------------------------------- */

/* Only ends of pipes and sockets without anything in them are closed here. */
static void end_with_what_comes(int socket, int all)
{
	int fds[HELPER_FDS];
	size_t count = HELPER_FDS;
	char byte;

	while (helper_receive(socket, &byte, 1, fds, &count) > 0)
		count = HELPER_FDS;
	while (read(all, &byte, 1) < 0 && errno == EINTR)
		;
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

/* A message with a socket is for a process to be started, one without is to be answered. */
static void serve(int fd)
{
	int all[2], socket;
	size_t count = 1;
	char byte;

	if (pipe2(all, O_CLOEXEC))
		return;
	for (; helper_receive(fd, &byte, 1, &socket, &count) > 0; count = 1) {
		if (!count) {
			helper_send(fd, &byte, 1, NULL, 0, true);
			continue;
		}
		stay_on_this_cpu();
		if (fork() == 0) {
			close(fd);
			close(all[1]);
			end_with_what_comes(socket, all[0]);
		}
		close(socket);
	}
	close(all[1]);
	/* Nobody else may: in a container, the first process need not care about others. */
	while (wait(NULL) >= 0 || errno == EINTR)
		;
}

/* ---- the caller ------------------------------------------------------------------------------ */

void ending_open(struct helper *starter)
{
	if (helper_start(starter, NAME, false, serve))
		return;
	dup2(starter->fd, LAST);
	close(starter->fd);
	starter->fd = LAST;
}

/* Returns the socket to a process that will have been started, or -errno. */
static int start(const struct helper *starter)
{
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	err = helper_send(starter->fd, "", 1, &ends[1], 1, true);
	close(ends[1]);
	if (!err)
		return ends[0];
	close(ends[0]);
	return err;
}

/* When it returns, all have been started, or there is no starter any more. */
static void wait_for(const struct helper *starter)
{
	size_t none = 0;
	char byte;

	if (!helper_send(starter->fd, "", 1, NULL, 0, true))
		helper_receive(starter->fd, &byte, 1, NULL, &none);
}

/* To a process that is gone, or was not started, nothing can be sent. */
static void send_set(int socket, const struct ending_set *set)
{
	size_t sent, part;
	int err = 0;

	for (sent = 0; sent < set->count && !err; sent += part) {
		part = set->count - sent < HELPER_FDS ? set->count - sent : HELPER_FDS;
		err = helper_send(socket, "", 1, set->fds + sent, part, true);
	}
}

void ending_prepare(const struct helper *starter, const struct ending_set *sets, size_t count)
{
	int *sockets = count > 1 ? calloc(count, sizeof(*sockets)) : NULL;
	size_t started = 0, i;

	while (sockets && started < count && (sockets[started] = start(starter)) >= 0)
		started++;
	if (started)
		wait_for(starter);
	for (i = 0; i < started; i++)
		send_set(sockets[i], &sets[i]);
	free(sockets);
}
