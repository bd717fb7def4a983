// SPDX-License-Identifier: BSD-2-Clause
#include "agent/front.h"

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

static int start_server(struct front *front)
{
	int capture = -1, err = channel_open(&capture, &front->server.channel);
	pid_t child;

	if (err)
		return err;
	child = http_server_start(&front->server);
	close(front->server.channel);
	front->server.channel = -1;
	if (child < 0) {
		close(capture);
		return (int)child;
	}
	front->broker.fd = capture;
	front->child = child;
	front->child_fd = (int)syscall(SYS_pidfd_open, child, 0);
	return front->child_fd < 0 ? -errno : 0;
}

/* It says so by a question without a number. */
static int wait_for_server(struct front *front)
{
	struct pollfd poll_fd = { .fd = front->broker.fd, .events = POLLIN };
	struct channel_question question;
	const int ready = poll(&poll_fd, 1, START_MS);

	if (ready > 0)
		return channel_take_question(front->broker.fd, &question);
	return ready ? -errno : -ETIMEDOUT;
}

static void end_server(struct front *front)
{
	broker_stop(&front->broker);
	if (front->broker.fd >= 0)
		close(front->broker.fd); /* which ends it */
	front->broker.fd = -1;
	if (front->child > 0) {
		kill(front->child, SIGKILL);
		waitpid(front->child, NULL, 0);
	}
	front->child = 0;
	if (front->child_fd >= 0)
		close(front->child_fd);
	front->child_fd = -1;
}

int front_open(struct front *front)
{
	int err;

	front->child_fd = front->broker.fd = front->broker.child_fd = -1;
	if (!front->server.listeners_count)
		return 0;
	err = start_server(front);
	if (!err)
		err = wait_for_server(front);
	if (err) {
		log_error("cannot start the process that serves clients%s%s",
			  err == -EPIPE ? "" : ": ", err == -EPIPE ? "" : strerror(-err));
		front_close(front);
	}
	return err;
}

/* ---- while it runs --------------------------------------------------------------------------- */

static int server_ended(void *context, uint64_t data)
{
	struct front *front = context;

	(void)data;
	log_error(
		"clients get no more answers: the process that serves them and its parent have ended");
	loop_remove(front->broker.loop, front->child_source);
	front->child_source = NULL;
	end_server(front);
	return 0;
}

int front_start(struct front *front, struct loop *loop)
{
	int err;

	if (!front->server.listeners_count)
		return 0;
	front->broker.loop = loop;
	err = loop_add_fd(loop, front->child_fd, EPOLLIN, server_ended, front, 0,
			  &front->child_source);
	return err ? err : broker_start(&front->broker);
}

void front_say(struct front *front, const struct channel_status *status)
{
	const struct channel_message message = { .type = CHANNEL_STATUS, .state = *status };

	if (front->broker.fd >= 0)
		channel_say(front->broker.fd, &message, -1);
}

void front_close(struct front *front)
{
	size_t i;

	if (front->broker.loop)
		loop_remove(front->broker.loop, front->child_source);
	end_server(front);
	for (i = 0; i < front->server.listeners_count; i++)
		close(front->server.listeners[i].fd);
	front->server.listeners_count = 0;
}
