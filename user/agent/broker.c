// SPDX-License-Identifier: BSD-2-Clause
#include "agent/broker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define ANSWER_SECONDS 10
#define NS_PER_MS 1000000
#define ANSWER_BYTES (64ull << 20)
#define ANSWER_MORE_BYTES (256ull << 20) /* of addresses: in addition to what the agent has */

static int take_question(void *context, uint64_t data);

static void say(const struct broker *broker, uint64_t number, uint32_t status, int fd, off_t bytes)
{
	const struct channel_message message = {
		.type = number ? CHANNEL_ANSWER : CHANNEL_LAST,
		.status = status,
		.number = number,
		.bytes = (uint64_t)bytes,
	};

	channel_say(broker->fd, &message, fd);
}

void broker_counts_add(struct broker_counts *to, const struct broker_counts *counts)
{
	to->answers += counts->answers;
	to->failed += counts->failed;
	to->cpu_ns += counts->cpu_ns;
}

/* ---- the child ------------------------------------------------------------------------------- */

/* 0: not known. */
static uint64_t address_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whatever is asked for, the agent does not run out of memory because of it. */
static void limit_memory(void)
{
	const uint64_t now_bytes = address_bytes();
	struct rlimit most;

	if (!now_bytes || getrlimit(RLIMIT_AS, &most) ||
	    most.rlim_cur <= now_bytes + ANSWER_MORE_BYTES)
		return;
	most.rlim_cur = now_bytes + ANSWER_MORE_BYTES;
	setrlimit(RLIMIT_AS, &most);
}

static void limit(void)
{
	const struct rlimit bytes = { ANSWER_BYTES, ANSWER_BYTES };

	limit_memory();
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	setrlimit(RLIMIT_FSIZE, &bytes);
	alarm(ANSWER_SECONDS);
}

static void answer(const struct broker *broker, const struct channel_question *question,
		   pid_t parent)
{
	int fd, status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "memscope-answer");
	if (getppid() != parent)
		_exit(1);
	limit();
	fd = memfd_create("answer", MFD_CLOEXEC);
	status = fd < 0 ? -errno : broker->answer(broker->context, question, fd);
	if (status == 200)
		say(broker, question->number, 200, fd, lseek(fd, 0, SEEK_END));
	else
		say(broker, question->number, status < 0 ? 500 : (uint32_t)status, -1, 0);
	_exit(status < 0);
}

/* ---- its parent ------------------------------------------------------------------------------ */

static int listen_again(struct broker *broker)
{
	if (broker->source)
		return 0;
	return loop_add_fd(broker->loop, broker->fd, EPOLLIN, take_question, broker, 0,
			   &broker->source);
}

/* Returns how it ended, as wait() says it. */
static int forget_child(struct broker *broker)
{
	struct rusage used = { 0 };
	int status = 0;

	if (broker->loop)
		loop_remove(broker->loop, broker->child_source);
	broker->child_source = NULL;
	if (broker->child_fd >= 0)
		close(broker->child_fd);
	broker->child_fd = -1;
	wait4(broker->child, &status, 0, &used);
	broker->child = 0;
	broker->counts.cpu_ns +=
		(uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
		(uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
	return status;
}

static int child_ended(void *context, uint64_t data)
{
	struct broker *broker = context;

	(void)data;
	broker->counts.failed += forget_child(broker) != 0;
	return listen_again(broker);
}

static int watch_child(struct broker *broker)
{
	broker->child_fd = (int)syscall(SYS_pidfd_open, broker->child, 0);
	if (broker->child_fd < 0)
		return -errno;
	return loop_add_fd(broker->loop, broker->child_fd, EPOLLIN, child_ended, broker, 0,
			   &broker->child_source);
}

static void make_child(struct broker *broker, const struct channel_question *question)
{
	const pid_t parent = getpid();

	broker->prepare(broker->context, question);
	broker->child = fork();
	if (!broker->child)
		answer(broker, question, parent);
	if (broker->made)
		broker->made(broker->context);
}

static void begin(struct broker *broker, const struct channel_question *question)
{
	int err;

	broker->counts.answers++;
	make_child(broker, question);
	if (broker->child < 0) {
		broker->child = 0;
		broker->counts.failed++;
		say(broker, question->number, 503, -1, 0);
		return;
	}
	loop_remove(broker->loop, broker->source);
	broker->source = NULL;
	err = watch_child(broker);
	if (!err)
		return;
	/* It cannot be waited for beside other things. */
	kill(broker->child, SIGKILL);
	say(broker, question->number, 503, -1, 0);
	broker->counts.failed += forget_child(broker) != 0;
	listen_again(broker);
}

static int take_question(void *context, uint64_t data)
{
	struct broker *broker = context;
	struct channel_question question;
	int err = channel_take_question(broker->fd, &question);

	(void)data;
	if (err == -EAGAIN)
		return 0;
	if (err) {
		/* Who serves the server's end finds out by its process. */
		loop_remove(broker->loop, broker->source);
		broker->source = NULL;
		return 0;
	}
	broker->server = question.server;
	if (question.is_hello && broker->renewals)
		broker->renewals--;
	else
		broker->servers += question.is_hello;
	if (broker->note)
		broker->note(broker->note_context, &question);
	if (question.number)
		begin(broker, &question);
	return 0;
}

int broker_start(struct broker *broker)
{
	broker->child_fd = -1;
	return listen_again(broker);
}

void broker_stop(struct broker *broker)
{
	int status;

	if (!broker->loop)
		return;
	if (broker->child) {
		kill(broker->child, SIGKILL);
		status = forget_child(broker);
		broker->counts.failed +=
			status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	loop_remove(broker->loop, broker->source);
	broker->source = NULL;
}

void broker_begin_last(struct broker *broker, uint32_t document)
{
	const struct channel_question question = {
		.request = { .document = document, .uid = REQUEST_EVERYBODY },
	};

	broker_stop(broker);
	make_child(broker, &question);
	if (broker->child > 0) {
		broker->child_fd = (int)syscall(SYS_pidfd_open, broker->child, 0);
		return;
	}
	broker->child = 0;
	say(broker, 0, 503, -1, 0);
}

/* A child that cannot be watched is waited for: it ends by itself. */
void broker_finish_last(struct broker *broker, uint64_t end_ns)
{
	struct pollfd ended = { .fd = broker->child_fd, .events = POLLIN };
	const uint64_t now_ns = clock_monotonic_ns();

	if (!broker->child)
		return;
	if (ended.fd >= 0 &&
	    poll(&ended, 1, end_ns > now_ns ? (int)((end_ns - now_ns) / NS_PER_MS) : 0) <= 0)
		kill(broker->child, SIGKILL);
	if (WIFSIGNALED(forget_child(broker)))
		say(broker, 0, 503, -1, 0);
}
