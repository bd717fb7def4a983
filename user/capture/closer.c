// SPDX-License-Identifier: BSD-2-Clause
#include "capture/closer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "capture/helper.h"

#define NAME "memscope-close"

/*
 * What closing a link takes is almost all waiting for the kernel, and many can wait for the same.
 * So many sets of descriptors are closed at a time.
 */
#define CREW 16

#define END (-1) /* of what closer_add() was given at a time */

struct closer {
	struct helper helper;
	int *fds; /* not handed over yet */
	size_t count, capacity;
	bool owes; /* the message that the helper is the only one to have what it was given */
	size_t unanswered;
};

/* A message brings descriptors, or says that nobody else has those any more that came before. */
struct message {
	bool ends;   /* the descriptors of one closer_add() */
	bool wanted; /* an answer, when all are closed */
};

static int keep(struct closer *closer, const int *fds, size_t count, bool ends)
{
	int err = memory_grow(&closer->fds, &closer->capacity, closer->count + count + ends,
			      sizeof(*closer->fds));

	if (err)
		return err;
	memcpy(closer->fds + closer->count, fds, count * sizeof(*fds));
	closer->count += count;
	if (ends)
		closer->fds[closer->count++] = END;
	return 0;
}

/* How many there are before the end of a set. */
static size_t set_length(const int *fds, size_t count)
{
	size_t length = 0;

	while (length < count && fds[length] != END)
		length++;
	return length;
}

static void close_all(const int *fds, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		close(fds[i]);
}

/* ---- the helper ------------------------------------------------------------------------------ */

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t less;
	size_t busy; /* threads */
};

struct job {
	struct crew *crew;
	size_t count;
	int fds[];
};

static void count_busy(struct crew *crew, int change)
{
	pthread_mutex_lock(&crew->lock);
	crew->busy += change;
	pthread_cond_signal(&crew->less);
	pthread_mutex_unlock(&crew->lock);
}

static void wait_for_crew(struct crew *crew, size_t busy)
{
	pthread_mutex_lock(&crew->lock);
	while (crew->busy > busy)
		pthread_cond_wait(&crew->less, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}

static void *run_job(void *argument)
{
	struct job *job = argument;
	struct crew *crew = job->crew;

	close_all(job->fds, job->count);
	free(job);
	count_busy(crew, -1);
	return NULL;
}

static int start_job(struct crew *crew, const int *fds, size_t count)
{
	struct job *job = malloc(sizeof(*job) + count * sizeof(*fds));
	pthread_t thread;
	int err;

	if (!job)
		return -ENOMEM;
	*job = (struct job){ .crew = crew, .count = count };
	memcpy(job->fds, fds, count * sizeof(*fds));
	wait_for_crew(crew, CREW - 1);
	count_busy(crew, 1);
	err = -pthread_create(&thread, NULL, run_job, job);
	if (!err) {
		pthread_detach(thread);
	} else {
		count_busy(crew, -1);
		free(job);
	}
	return err;
}

static void close_held(struct crew *crew, struct closer *held)
{
	size_t begin, length;

	for (begin = 0; begin < held->count; begin += length + 1) {
		const int *fds = held->fds + begin;

		length = set_length(fds, held->count - begin);
		if (length && start_job(crew, fds, length))
			close_all(fds, length);
	}
	held->count = 0;
}

/* Whoever closes the last copy is the one who waits. */
static void serve(int fd)
{
	struct crew crew = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
	struct closer held = { 0 };
	struct message message;
	int fds[HELPER_FDS];
	size_t count = HELPER_FDS;

	for (; helper_receive(fd, &message, sizeof(message), fds, &count) > 0; count = HELPER_FDS) {
		if (count && !keep(&held, fds, count, message.ends))
			continue;
		close_held(&crew, &held);
		if (!count && !message.wanted)
			continue;
		wait_for_crew(&crew, 0);
		close_all(fds, count);
		/* Who waits for an answer that cannot be sent must not wait for ever. */
		if (message.wanted && helper_send(fd, &message, sizeof(message), NULL, 0, true))
			break;
	}
	/* The kernel would close them in its own order. */
	close_held(&crew, &held);
	wait_for_crew(&crew, 0);
}

/* ---- its client ------------------------------------------------------------------------------ */

struct closer *closer_open(void)
{
	struct closer *closer = calloc(1, sizeof(*closer));
	int err = closer ? helper_start(&closer->helper, NAME, false, serve) : -ENOMEM;

	if (!err)
		return closer;
	helper_warn_missing(NAME, err);
	free(closer);
	return NULL;
}

/* As many as there is room for, or all; in their order. */
static void hand_over(struct closer *closer, bool wait)
{
	const struct message nobody_else = { 0 };

	while (closer->count) {
		size_t length = set_length(closer->fds, closer->count);
		const struct message message = { .ends = length <= HELPER_FDS };
		size_t part = message.ends ? length : HELPER_FDS;

		/* Should there be no helper any more, the last copy is closed here. */
		if (helper_send(closer->helper.fd, &message, sizeof(message), closer->fds, part,
				wait) == -EAGAIN)
			return;
		close_all(closer->fds, part);
		part += message.ends;
		closer->count -= part;
		memmove(closer->fds, closer->fds + part, closer->count * sizeof(*closer->fds));
		closer->owes = true;
	}
	if (closer->owes)
		closer->owes = helper_send(closer->helper.fd, &nobody_else, sizeof(nobody_else),
					   NULL, 0, wait) == -EAGAIN;
}

void closer_add(struct closer *closer, const int *fds, size_t count)
{
	if (!count)
		return;
	if (closer && !keep(closer, fds, count, true))
		hand_over(closer, false);
	else
		close_all(fds, count);
}

void closer_flush(struct closer *closer)
{
	if (closer)
		hand_over(closer, false);
}

/* Returns 0 or -errno; -EAGAIN: there is no room yet for all there is to say. */
static int ask(struct closer *closer)
{
	const struct message question = { .wanted = true };
	int err;

	hand_over(closer, false);
	if (closer->count || closer->owes)
		return -EAGAIN;
	err = helper_send(closer->helper.fd, &question, sizeof(question), NULL, 0, false);
	if (!err)
		closer->unanswered++;
	return err;
}

/* Returns how many are still to come, or -errno: nobody is left to answer. */
static ssize_t take_answer(struct closer *closer)
{
	struct message answer;
	size_t none = 0;
	ssize_t bytes = helper_receive(closer->helper.fd, &answer, sizeof(answer), NULL, &none);

	if (bytes <= 0)
		return bytes ? bytes : -EPIPE;
	return --closer->unanswered;
}

bool closer_wait(struct closer *closer, int timeout_ms)
{
	const uint64_t end_ns = clock_monotonic_ns() + timeout_ms * 1000000ull;
	int err = -EAGAIN;
	uint64_t now_ns;

	if (!closer)
		return true;
	while ((now_ns = clock_monotonic_ns()) < end_ns) {
		struct pollfd polled = { .fd = closer->helper.fd, .events = POLLIN };
		ssize_t unanswered = 1;

		if (err == -EAGAIN)
			err = ask(closer);
		if (err == -EAGAIN)
			polled.events |= POLLOUT;
		else if (err)
			return false;
		if (poll(&polled, 1, (end_ns - now_ns) / 1000000 + 1) > 0 &&
		    polled.revents & ~POLLOUT)
			unanswered = take_answer(closer);
		if (unanswered <= 0)
			return !unanswered;
	}
	return false;
}

void closer_close(struct closer *closer)
{
	if (!closer)
		return;
	hand_over(closer, true);
	helper_end(&closer->helper);
	free(closer->fds);
	free(closer);
}

uint64_t closer_cpu_ns(const struct closer *closer)
{
	return closer ? helper_cpu_ns(&closer->helper) : 0;
}
