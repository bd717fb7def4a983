// SPDX-License-Identifier: BSD-2-Clause
#include "agent/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define PAUSE_MOST_S 60
#define BEGINS_NS 1000000000ull
#define RUNS_NS 60000000000ull /* then it is as good as one that has not failed */

static bool is_needed(const struct keeper *keeper, int fd)
{
	size_t i;

	for (i = 0; i < keeper->fds_count; i++)
		if (keeper->fds[i] == fd)
			return true;
	return false;
}

/* It keeps nothing of its parent's but what it serves with. */
static void let_go(const struct keeper *keeper)
{
	sigset_t none;
	int fd, null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	for (fd = STDERR_FILENO + 1; fd < 1024; fd++)
		if (!is_needed(keeper, fd))
			close(fd);
	close_range(1024, ~0u, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, keeper->parent_name);
	signal(SIGINT, SIG_IGN); /* the agent ends it when it is done */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Of one that has failed time and again, it is known by now why it cannot begin. */
static void say_later(void *context, const char *line)
{
	const uint64_t *start_ns = context;

	if (clock_monotonic_ns() - *start_ns > BEGINS_NS)
		dprintf(STDERR_FILENO, "%s\n", line);
}

unsigned int keeper_pause_s(unsigned int failures)
{
	return failures > 6 ? PAUSE_MOST_S : 1u << (failures ? failures - 1 : 0);
}

bool keeper_is_renewal(const struct keeper *keeper, int status)
{
	return keeper->renews && WIFEXITED(status) && WEXITSTATUS(status) == KEEPER_AGAIN;
}

/* Waits before the next start. What goes on like that is said once. */
static void pause_after(const struct keeper *keeper, unsigned int failures)
{
	const struct timespec pause = { .tv_sec = keeper_pause_s(failures) };

	if (failures < 2)
		log_error("the process that %s has ended; starting it again", keeper->task);
	else if (failures == 2)
		log_error("the process that %s ends again and again; it is started again after"
			  " longer and longer pauses, of up to a minute",
			  keeper->task);
	nanosleep(&pause, NULL);
}

/* Returns what to exit with. */
static int supervise(const struct keeper *keeper)
{
	const pid_t parent = getpid();
	unsigned int failures = 0;
	bool again = false;

	for (;; again = true) {
		const uint64_t start_ns = clock_monotonic_ns();
		const pid_t child = fork();
		int status = 0;

		if (!child) {
			prctl(PR_SET_NAME, keeper->name);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (failures > 2)
				log_divert(say_later, (void *)&start_ns);
			_exit(getppid() != parent ? KEEPER_AGENT_GONE :
						    keeper->serve(keeper->context));
		}
		while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (child > 0 && WIFEXITED(status) &&
		    (WEXITSTATUS(status) == KEEPER_AGENT_GONE ||
		     (!again && WEXITSTATUS(status) == KEEPER_CANNOT)))
			return WEXITSTATUS(status);
		if (child > 0 && keeper_is_renewal(keeper, status))
			continue;
		failures = clock_monotonic_ns() - start_ns < RUNS_NS ? failures + 1 : 1;
		pause_after(keeper, failures);
	}
}

pid_t keeper_start(const struct keeper *keeper)
{
	const pid_t parent = getpid(), child = fork();

	if (child < 0)
		log_error("cannot start the process that %s: %s", keeper->task, strerror(errno));
	if (child)
		return child < 0 ? -errno : child;
	let_go(keeper);
	if (getppid() != parent)
		_exit(0);
	_exit(supervise(keeper));
}
