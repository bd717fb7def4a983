// SPDX-License-Identifier: BSD-2-Clause
#include "agent/history_writer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/channel.h"
#include "agent/keeper.h"
#include "host/sandbox.h"
#include "base/clock.h"
#include "base/log.h"

#define BATCH_MOST (64u << 20)
#define END_MS 5000

/* What goes to the process, with a descriptor of the batch. */
struct message {
	uint64_t bytes;
};

/* What it says after each. */
struct report {
	struct history_counts counts;
	uint64_t cpu_ns;
};

/* ---- the process ----------------------------------------------------------------------------- */

static int read_batch(int fd, uint64_t bytes, void **out)
{
	uint64_t done = 0;
	char *to;

	if (fd < 0 || bytes > BATCH_MOST)
		return -EPROTO;
	to = malloc(bytes + 1);
	if (!to)
		return -ENOMEM;
	while (done < bytes) {
		const ssize_t length = pread(fd, to + done, bytes - done, (off_t)done);

		if (length <= 0) {
			free(to);
			return -EPROTO;
		}
		done += (uint64_t)length;
	}
	*out = to;
	return 0;
}

static void take(struct history_database *database, int fd, const struct message *message)
{
	struct history_batch batch;
	void *bytes = NULL;
	int err = read_batch(fd, message->bytes, &bytes);

	if (!err)
		err = history_batch_parse(&batch, bytes, message->bytes);
	if (err) {
		log_error("a batch of the history cannot be read: %s", strerror(-err));
		history_database_count_failed(database);
	} else {
		history_database_put(database, &batch);
	}
	free(bytes);
}

static enum keeper_end write_batches(struct history_database *database, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct report report;
	struct message message;
	int err, passed_fd;

	for (;;) {
		err = channel_receive(fd, &message, sizeof(message), &passed_fd);
		if (err == -EAGAIN) {
			if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
				return KEEPER_FAILED;
			continue;
		}
		if (err)
			return err == -EPIPE ? KEEPER_AGENT_GONE : KEEPER_FAILED;
		take(database, passed_fd, &message);
		if (passed_fd >= 0)
			close(passed_fd);
		report.counts = history_database_counts(database);
		report.cpu_ns = clock_cpu_ns();
		/* If there is no room, the capture has not read the last ones, and will do. */
		channel_send(fd, &report, sizeof(report), -1);
	}
}

static enum keeper_end serve(void *context)
{
	const struct history_writer *writer = context;
	struct history_database *database;
	enum keeper_end end;

	umask(077);
	if (sandbox_enter_directory(writer->options.directory))
		return KEEPER_CANNOT;
	database = history_database_open(&writer->options);
	if (!database)
		return KEEPER_FAILED;
	end = write_batches(database, writer->other_fd);
	history_database_close(database);
	return end;
}

/* ---- the capture's side ---------------------------------------------------------------------- */

int history_writer_open(struct history_writer *writer, const struct history_options *options)
{
	struct keeper keeper = { .name = "memscope-hist",
				 .parent_name = "memscope-hkeep",
				 .task = "writes the history",
				 .fds = &writer->other_fd,
				 .fds_count = 1,
				 .serve = serve,
				 .context = writer };
	int err;

	*writer = (struct history_writer){
		.options = *options, .fd = -1, .other_fd = -1, .child_fd = -1
	};
	err = channel_open(&writer->fd, &writer->other_fd);
	if (err) {
		log_error("cannot start the process that writes the history: %s", strerror(-err));
		return err;
	}
	writer->child = keeper_start(&keeper);
	close(writer->other_fd);
	writer->other_fd = -1;
	if (writer->child < 0) {
		err = (int)writer->child;
		writer->child = 0;
		history_writer_close(writer);
		return err;
	}
	writer->child_fd = (int)syscall(SYS_pidfd_open, writer->child, 0);
	return writer->child_fd < 0 ? -errno : 0;
}

/* A new process counts from 0. */
static void note(struct history_writer *writer, const struct report *report)
{
	const struct history_counts *now = &report->counts;
	const struct history_counts *last = &writer->counts;

	if (report->cpu_ns < writer->cpu_ns || now->written < last->written ||
	    now->failed < last->failed || now->set_aside < last->set_aside) {
		writer->earlier.written += last->written;
		writer->earlier.failed += last->failed;
		writer->earlier.set_aside += last->set_aside;
		writer->earlier_cpu_ns += writer->cpu_ns;
	}
	writer->counts = *now;
	writer->cpu_ns = report->cpu_ns;
}

static int take_counts(void *context, uint64_t data)
{
	struct history_writer *writer = context;
	struct report report;
	int passed_fd, err;

	(void)data;
	while (!(err = channel_receive(writer->fd, &report, sizeof(report), &passed_fd))) {
		if (passed_fd >= 0)
			close(passed_fd);
		note(writer, &report);
	}
	if (err == -EAGAIN)
		return 0;
	loop_remove(writer->loop, writer->source);
	writer->source = NULL;
	return 0;
}

/* A parent that has exited has said why there is no history here: a new one would do the same. */
static int ended(void *context, uint64_t data)
{
	struct history_writer *writer = context;
	siginfo_t how = { 0 };
	bool killed;

	(void)data;
	waitid(P_PID, (id_t)writer->child, &how, WEXITED | WNOHANG | WNOWAIT);
	killed = how.si_code == CLD_KILLED || how.si_code == CLD_DUMPED;
	log_error("the history ends: the process that writes it and its parent have ended%s",
		  killed ? "; the agent ends, too, so that it can be started again" : "");
	loop_remove(writer->loop, writer->child_source);
	writer->child_source = NULL;
	return killed ? -ECHILD : 0;
}

int history_writer_start(struct history_writer *writer, struct loop *loop)
{
	int err;

	if (!writer->child)
		return 0;
	writer->loop = loop;
	err = loop_add_fd(loop, writer->fd, EPOLLIN, take_counts, writer, 0, &writer->source);
	if (!err)
		err = loop_add_fd(loop, writer->child_fd, EPOLLIN, ended, writer, 0,
				  &writer->child_source);
	return err;
}

static int put(const struct history_writer *writer, const struct string *batch)
{
	const struct message message = { .bytes = batch->length };
	int err = 0, fd;

	if (batch->length > BATCH_MOST)
		return -EMSGSIZE;
	fd = memfd_create("history", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, batch->bytes, batch->length) != (ssize_t)batch->length)
		err = -ENOSPC;
	if (!err)
		err = channel_send(writer->fd, &message, sizeof(message), fd);
	close(fd);
	return err;
}

void history_writer_put(struct history_writer *writer, const struct string *batch)
{
	int err = writer->child ? put(writer, batch) : -EPIPE;

	if (!err)
		return;
	if (!writer->lost++)
		log_error(
			"an interval of the history is lost, because it is too large, or what writes"
			" it is too slow or has ended (%s); more are only counted",
			strerror(-err));
}

struct history_counts history_writer_counts(const struct history_writer *writer)
{
	struct history_counts counts = writer->counts;

	counts.written += writer->earlier.written;
	counts.failed += writer->earlier.failed;
	counts.set_aside += writer->earlier.set_aside;
	return counts;
}

uint64_t history_writer_cpu_ns(const struct history_writer *writer)
{
	return writer->earlier_cpu_ns + writer->cpu_ns;
}

void history_writer_close(struct history_writer *writer)
{
	struct pollfd poll_fd = { .fd = writer->child_fd, .events = POLLIN };

	if (!writer->options.directory)
		return;
	if (writer->loop) {
		loop_remove(writer->loop, writer->source);
		loop_remove(writer->loop, writer->child_source);
		writer->source = writer->child_source = NULL;
		writer->loop = NULL;
	}
	/* This ends it, when it has written what it has. Children may have copies of the end. */
	if (writer->fd >= 0) {
		shutdown(writer->fd, SHUT_WR);
		close(writer->fd);
	}
	writer->fd = -1;
	if (writer->child > 0) {
		if (writer->child_fd >= 0)
			poll(&poll_fd, 1, END_MS);
		kill(writer->child, SIGKILL);
		waitpid(writer->child, NULL, 0);
	}
	writer->child = 0;
	if (writer->child_fd >= 0)
		close(writer->child_fd);
	writer->child_fd = -1;
}
