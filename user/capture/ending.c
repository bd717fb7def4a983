// SPDX-License-Identifier: BSD-2-Clause
#include "capture/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * How they agree. All copies are dropped but the last ones, and nobody ends with a last one before
 * there is nobody left who could still drop it otherwise.
 */
struct pipes {
	int begin[2]; /* a byte for each process: all have been started */
	int ready[2]; /* at its end: each process has only its own set */
	int ended[2]; /* at its end: who started them has ended, and has none of theirs */
};

/* Returns whether there was a byte, and not the end of the pipe. */
static bool await(int fd)
{
	ssize_t length;
	char byte;

	do {
		length = read(fd, &byte, 1);
	} while (length < 0 && errno == EINTR);
	return length > 0;
}

/*
 * A copy of the descriptor, with a number above `*highest`, which is raised to it; -1: there can be
 * none. When a process ends, the kernel closes what it has the last copy of from the highest number
 * to the lowest.
 */
static int raise_fd(int fd, int *highest)
{
	int raised = fcntl(fd, F_DUPFD_CLOEXEC, *highest + 1);

	if (raised >= 0)
		*highest = raised;
	return raised;
}

static bool raise_set(const struct ending_set *set, int *highest)
{
	size_t i;

	for (i = 0; i < set->count; i++)
		if (raise_fd(set->fds[i], highest) < 0)
			return false;
	return true;
}

/*
 * A process for one set. Should anything fail, it ends with copies of all sets: others have them,
 * too.
 */
static void end_with(const struct ending_set *set, const struct pipes *pipes, int highest)
{
	int raised = highest, ready, ended;

	close(pipes->begin[1]);
	close(pipes->ended[1]);
	if (!await(pipes->begin[0]) || !raise_set(set, &raised))
		return;
	ready = raise_fd(pipes->ready[1], &raised);
	ended = raise_fd(pipes->ended[0], &raised);
	if (ready < 0 || ended < 0 || syscall(SYS_close_range, STDERR_FILENO + 1, highest, 0))
		return;
	close(ready);
	await(ended);
}

static bool open_pipes(struct pipes *pipes, int *highest)
{
	int *const ends[] = { pipes->begin, pipes->ready, pipes->ended };
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (pipe2(ends[i], O_CLOEXEC))
			return false;
		*highest = ends[i][0] > *highest ? ends[i][0] : *highest;
		*highest = ends[i][1] > *highest ? ends[i][1] : *highest;
	}
	return true;
}

static void tell(int fd, size_t processes)
{
	static const char bytes[512];

	while (processes) {
		ssize_t told =
			write(fd, bytes, processes < sizeof(bytes) ? processes : sizeof(bytes));

		if (told > 0)
			processes -= told;
		else if (errno != EINTR)
			return;
	}
}

/* Starts a process for each set but the first, as long as there can be more. Returns how many. */
static size_t start(const struct ending_set *sets, size_t count, const struct pipes *pipes,
		    int highest)
{
	size_t started = 0;
	pid_t process;

	while (started + 1 < count && (process = fork()) >= 0) {
		if (process == 0) {
			end_with(&sets[started + 1], pipes, highest);
			_exit(0);
		}
		started++;
	}
	return started;
}

/*
 * The calling process keeps the sets that there is no process for. It drops no copy before it ends:
 * as long as it has them all, nobody else's is the last. Of what it ends with, the end of `ended`
 * is closed first.
 */
void ending_prepare(const struct ending_set *sets, size_t count, int highest)
{
	struct pipes pipes;
	size_t started;

	if (count < 2 || !open_pipes(&pipes, &highest))
		return;
	started = start(sets, count, &pipes, highest);
	raise_fd(pipes.ended[1], &highest);
	close(pipes.ended[1]);
	close(pipes.ready[1]);
	tell(pipes.begin[1], started);
	close(pipes.begin[1]);
	await(pipes.ready[0]);
}
