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
#define CREW 64

/* And of one set as many. Of single uprobes the kernel removes one at a time whatever we do. */
#define SET_AT_ONCE 4

struct closer {
	struct helper helper;
	uint32_t last_set;  /* the number of the one held last */
	uint32_t *released; /* sets that the helper has yet to be told of */
	size_t count, capacity;
	size_t unanswered;
};

enum action {
	ACTION_HOLD,    /* these descriptors are of the set, or more of it */
	ACTION_RELEASE, /* close the set */
	ACTION_WAIT,    /* answer when all sets are closed that were released */
};

struct message {
	enum action action;
	uint32_t set;
	size_t count; /* of the descriptors that come with it, if they can be received */
};

/* What was opened first goes last. */
static void close_all(const int *fds, size_t count)
{
	while (count)
		close(fds[--count]);
}

/* ---- the helper ------------------------------------------------------------------------------ */

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t less;
	size_t busy; /* threads */
};

struct set {
	struct set *next;
	struct crew *crew;
	uint32_t number;
	bool refused; /* not all of it came: it is closed where there are other copies */
	int *fds;
	size_t count, capacity;
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

static void *close_one(void *fd)
{
	close(*(int *)fd);
	return NULL;
}

static void set_free(struct set *set)
{
	free(set->fds);
	free(set);
}

/* The first one when all others are closed. */
static void close_set(struct set *set)
{
	pthread_t threads[SET_AT_ONCE];
	size_t others = set->count - 1, started = 0;

	while (set->count <= SET_AT_ONCE && others > 1 &&
	       !pthread_create(&threads[started], NULL, close_one, &set->fds[others])) {
		started++;
		others--;
	}
	close_all(set->fds + 1, others);
	while (started)
		pthread_join(threads[--started], NULL);
	close(set->fds[0]);
	set_free(set);
}

static void *run_set(void *argument)
{
	struct set *set = argument;
	struct crew *crew = set->crew;

	close_set(set);
	count_busy(crew, -1);
	return NULL;
}

static int start_set(struct set *set)
{
	pthread_t thread;
	int err;

	wait_for_crew(set->crew, CREW - 1);
	count_busy(set->crew, 1);
	err = -pthread_create(&thread, NULL, run_set, set);
	if (!err)
		pthread_detach(thread);
	else
		count_busy(set->crew, -1);
	return err;
}

/* Where the set is in the list, or would be added. */
static struct set **find(struct set **sets, uint32_t number)
{
	while (*sets && (*sets)->number != number)
		sets = &(*sets)->next;
	return sets;
}

static void refuse(struct set *set)
{
	close_all(set->fds, set->count);
	set->count = 0;
	set->refused = true;
}

static struct set *get(struct set **sets, struct crew *crew, uint32_t number)
{
	struct set **place = find(sets, number);

	if (*place)
		return *place;
	*place = calloc(1, sizeof(**place));
	if (*place) {
		(*place)->crew = crew;
		(*place)->number = number;
	}
	return *place;
}

static void hold(struct set *set, const struct message *message, const int *fds, size_t count)
{
	if (set && !set->refused && count == message->count &&
	    !memory_grow(&set->fds, &set->capacity, set->count + count, sizeof(*fds))) {
		memcpy(set->fds + set->count, fds, count * sizeof(*fds));
		set->count += count;
		return;
	}
	close_all(fds, count);
	if (set)
		refuse(set);
}

static void release(struct set **place)
{
	struct set *set = *place;

	if (!set)
		return;
	*place = set->next;
	if (!set->count)
		set_free(set);
	else if (start_set(set))
		close_set(set);
}

static void serve(int fd)
{
	struct crew crew = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
	struct set *sets = NULL;
	struct message message;
	int fds[HELPER_FDS], err = 0;
	size_t count = HELPER_FDS;

	/* Who waits for an answer that cannot be sent must not wait for ever. */
	for (; !err && helper_receive(fd, &message, sizeof(message), fds, &count) > 0;
	     count = HELPER_FDS) {
		switch (message.action) {
		case ACTION_HOLD:
			hold(get(&sets, &crew, message.set), &message, fds, count);
			break;
		case ACTION_RELEASE:
			release(find(&sets, message.set));
			break;
		case ACTION_WAIT:
			wait_for_crew(&crew, 0);
			err = helper_send(fd, &message, sizeof(message), NULL, 0, true);
			break;
		}
	}
	/* Whoever had them, too, may have been killed. */
	while (sets)
		release(&sets);
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

static int say(const struct closer *closer, enum action action, uint32_t set, bool wait)
{
	const struct message message = { .action = action, .set = set };

	return helper_send(closer->helper.fd, &message, sizeof(message), NULL, 0, wait);
}

/* As many as there is room for, or all. Should there be no helper any more, it holds nothing. */
static void say_released(struct closer *closer, bool wait)
{
	while (closer->count) {
		if (say(closer, ACTION_RELEASE, closer->released[closer->count - 1], wait) ==
		    -EAGAIN)
			return;
		closer->count--;
	}
}

static void release_later(struct closer *closer, uint32_t set)
{
	if (memory_grow(&closer->released, &closer->capacity, closer->count + 1,
			sizeof(*closer->released))) {
		say(closer, ACTION_RELEASE, set, true);
		return;
	}
	closer->released[closer->count++] = set;
	say_released(closer, false);
}

uint32_t closer_hold(struct closer *closer, const int *fds, size_t count)
{
	struct message message = { .action = ACTION_HOLD };
	size_t sent;

	if (!closer || !count)
		return 0;
	closer->last_set += closer->last_set == UINT32_MAX ? 2 : 1;
	message.set = closer->last_set;
	for (sent = 0; sent < count; sent += message.count) {
		message.count = count - sent < HELPER_FDS ? count - sent : HELPER_FDS;
		if (helper_send(closer->helper.fd, &message, sizeof(message), fds + sent,
				message.count, false)) {
			release_later(closer, message.set);
			return 0;
		}
	}
	return message.set;
}

/* Whoever closes the last copy is the one who waits: the helper, if it has them. */
void closer_release(struct closer *closer, uint32_t set, const int *fds, size_t count)
{
	close_all(fds, count);
	if (set)
		release_later(closer, set);
}

void closer_flush(struct closer *closer)
{
	if (closer)
		say_released(closer, false);
}

/* Returns 0 or -errno; -EAGAIN: there is no room yet for all there is to say. */
static int ask(struct closer *closer)
{
	int err;

	say_released(closer, false);
	if (closer->count)
		return -EAGAIN;
	err = say(closer, ACTION_WAIT, 0, false);
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
	say_released(closer, true);
	helper_end(&closer->helper);
	free(closer->released);
	free(closer);
}

uint64_t closer_cpu_ns(const struct closer *closer)
{
	return closer ? helper_cpu_ns(&closer->helper) : 0;
}
