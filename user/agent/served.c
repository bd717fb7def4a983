// SPDX-License-Identifier: BSD-2-Clause
#include "agent/served.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

#define START_MS 10000

void served_init(struct served *served)
{
	served->child = 0;
	served->child_fd = served->broker.fd = served->broker.child_fd = -1;
}

static int start_process(struct served *served, pid_t (*start)(void *context, int channel),
			 void *context)
{
	int capture = -1, channel = -1, err = channel_open(&capture, &channel);
	pid_t child;

	if (err)
		return err;
	child = start(context, channel);
	close(channel);
	if (child < 0) {
		close(capture);
		return (int)child;
	}
	served->broker.fd = capture;
	served->child = child;
	served->child_fd = (int)syscall(SYS_pidfd_open, child, 0);
	return served->child_fd < 0 ? -errno : 0;
}

/* It says so by a question without a number. */
static int wait_for_process(struct served *served)
{
	struct pollfd poll_fd = { .fd = served->broker.fd, .events = POLLIN };
	struct channel_question question;
	const int ready = poll(&poll_fd, 1, START_MS);

	if (ready > 0)
		return channel_take_question(served->broker.fd, &question);
	return ready ? -errno : -ETIMEDOUT;
}

static void end_process(struct served *served)
{
	broker_stop(&served->broker);
	if (served->broker.fd >= 0)
		close(served->broker.fd); /* which ends it */
	served->broker.fd = -1;
	if (served->child > 0) {
		kill(served->child, SIGKILL);
		waitpid(served->child, NULL, 0);
	}
	served->child = 0;
	if (served->child_fd >= 0)
		close(served->child_fd);
	served->child_fd = -1;
}

int served_open(struct served *served, pid_t (*start)(void *context, int channel), void *context)
{
	int err = start_process(served, start, context);

	if (!err)
		err = wait_for_process(served);
	if (err) {
		log_error("cannot start the process that %s%s%s", served->task,
			  err == -EPIPE ? "" : ": ", err == -EPIPE ? "" : strerror(-err));
		end_process(served);
	}
	return err;
}

static int ended(void *context, uint64_t data)
{
	struct served *served = context;

	(void)data;
	log_error(
		"%s: the process that %s and its parent have ended; the agent ends, too, so that it"
		" can be started again",
		served->gone, served->task);
	loop_remove(served->broker.loop, served->child_source);
	served->child_source = NULL;
	end_process(served);
	return -ECHILD;
}

int served_start(struct served *served, struct loop *loop)
{
	int err;

	if (served->child <= 0)
		return 0;
	served->broker.loop = loop;
	err = loop_add_fd(loop, served->child_fd, EPOLLIN, ended, served, 0, &served->child_source);
	return err ? err : broker_start(&served->broker);
}

void served_close(struct served *served)
{
	if (served->broker.loop)
		loop_remove(served->broker.loop, served->child_source);
	served->child_source = NULL;
	end_process(served);
}
