// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/exit_detach.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/attach/helper.h"

#define NAME "memscope-end"

/*
 * How none of them drops a last copy otherwise. The caller keeps what it has until it ends. The
 * others are not its children, for these would have copies of everything, and would have to drop
 * what is not theirs: a process without any, the starter, starts them, and they are sent theirs.
 *
 * And how they end at the same time: each waits for the end of its socket. What the caller ends
 * with is closed in two steps: the kernel drops all its copies first, and then closes those that
 * were the last ones, such as the other ends of these sockets.
 *
 * And how one descriptor of a set goes last although each of the others has a process of its own:
 * its process has the other ends of their sockets, too. When it is to end it tells them to, waits
 * until these sockets are closed, and ends then. (Each has its socket under a lower number than
 * what it ends with, so that it is closed later.)
 */

/* Sets share processes, one each, if there are more descriptors than this in all. */
#define PROCESSES_MOST 64

enum request {
	REQUEST_START, /* a process with the socket that comes along */
	REQUEST_ANSWER,
};

/* ---- the starter, and who it starts ---------------------------------------------------------- */

enum parcel {
	PARCEL_OWN,    /* descriptors to end with */
	PARCEL_OTHERS, /* sockets of processes that are to end before */
};

/* Each has told nothing and is told nothing but that it is to end. */
static void end_others(const int *sockets, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		shutdown(sockets[i], SHUT_WR);
	for (i = 0; i < count; i++) {
		size_t none = 0;
		char byte;

		while (helper_receive(sockets[i], &byte, 1, NULL, &none) > 0)
			;
	}
}

static void end_with_what_comes(int socket)
{
	int fds[HELPER_FDS], others[PROCESSES_MOST];
	size_t count = HELPER_FDS, others_count = 0, i;
	char parcel;

	for (; helper_receive(socket, &parcel, 1, fds, &count) > 0; count = HELPER_FDS)
		for (i = 0; parcel == PARCEL_OTHERS && i < count && others_count < PROCESSES_MOST;
		     i++)
			others[others_count++] = fds[i];
	end_others(others, others_count);
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

/* Returns whether it could be started. */
static bool start_here(int fd, int socket)
{
	pid_t child;

	stay_on_this_cpu();
	child = fork();
	if (child == 0) {
		dup2(socket, fd); /* a lower number than anything that comes */
		close(socket);
		end_with_what_comes(fd);
	}
	return child > 0;
}

static void serve(int fd)
{
	enum request request;
	size_t count = 1, started = 0;
	bool failed = false;
	int socket;

	for (; helper_receive(fd, &request, sizeof(request), &socket, &count) > 0; count = 1) {
		if (request == REQUEST_ANSWER)
			helper_send(fd, &started, sizeof(started), NULL, 0, true);
		if (!count)
			continue;
		/* So that who asks knows which of them there are. */
		failed = failed || !start_here(fd, socket);
		started += !failed;
		close(socket);
	}
	/* No other may: in a container, the first process need not care about others. */
	while (wait(NULL) >= 0 || errno == EINTR)
		;
}

/* ---- the caller ------------------------------------------------------------------------------ */

void exit_detach_open(struct helper *starter)
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
 * How many of those that were asked for have been started, from the first on. If the starter was
 * killed before, some of their sockets may still be on the way to it, to be closed by whoever else
 * has a copy of its own: then it is none, and nothing may be in them.
 */
static size_t ask_how_many(const struct helper *starter)
{
	const enum request request = REQUEST_ANSWER;
	size_t none = 0, started;
	int err = helper_send(starter->fd, &request, sizeof(request), NULL, 0, true);

	if (err || helper_receive(starter->fd, &started, sizeof(started), NULL, &none) <= 0)
		return 0;
	return started;
}

/* To a process that is gone, or was not started, nothing can be sent. Returns whether it could. */
static bool send_parcels(int socket, char parcel, const int *fds, size_t count)
{
	size_t sent, part;
	int err = 0;

	for (sent = 0; sent < count && !err; sent += part) {
		part = count - sent < HELPER_FDS ? count - sent : HELPER_FDS;
		err = helper_send(socket, &parcel, 1, fds + sent, part, true);
	}
	return !err;
}

/* The first socket is that of the process that ends last. */
static void send_set(const int *sockets, size_t processes, const struct exit_detach_set *set)
{
	const size_t apart = set->first_apart ? 1 : 0;
	size_t i;

	for (i = 1; i < processes; i++)
		send_parcels(sockets[i], PARCEL_OWN, &set->fds[i], 1);
	if (processes > 1)
		send_parcels(sockets[0], PARCEL_OTHERS, sockets + 1, processes - 1);
	if (send_parcels(sockets[0], PARCEL_OWN, set->fds, apart) && processes == 1)
		send_parcels(sockets[0], PARCEL_OWN, set->fds + apart, set->count - apart);
}

/* One for each descriptor, if the first is to go last and there are others that can go together. */
static size_t processes_for(const struct exit_detach_set *set, bool many)
{
	return !many && set->first_apart && set->count > 2 ? set->count : 1;
}

static size_t processes_for_all(const struct exit_detach_set *sets, size_t count, bool many)
{
	size_t all = 0, i;

	for (i = 0; i < count; i++)
		all += processes_for(&sets[i], many);
	return all;
}

void exit_detach_prepare(const struct helper *starter, const struct exit_detach_set *sets,
			 size_t count)
{
	const bool many = processes_for_all(sets, count, false) > PROCESSES_MOST;
	const size_t all = processes_for_all(sets, count, many);
	int *sockets = all > 1 ? calloc(all, sizeof(*sockets)) : NULL;
	size_t started = 0, place = 0, i;

	while (sockets && started < all && (sockets[started] = start(starter)) >= 0)
		started++;
	if (started)
		started = ask_how_many(starter);
	for (i = 0; started && i < count; i++) {
		size_t processes = processes_for(&sets[i], many);

		if (place + processes <= started)
			send_set(sockets + place, processes, &sets[i]);
		place += processes;
	}
	free(sockets);
}
