// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/detacher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "capture/attach/exit_detach.h"
#include "capture/attach/helper.h"

#define NAME "memscope-detach"

/*
 * What closing a link takes is almost all waiting for the kernel, and many can wait for the same.
 * So many sets of descriptors are closed at a time.
 */
#define CREW 64

/* So many of a set are closed at a time. */
#define SET_AT_ONCE 32

/* How often it is looked whether the tool has been killed while it waited. */
#define HANGUP_NS 10000000

struct detacher {
	struct helper helper;
	enum detacher_way way;
	uint32_t last_set;  /* the number of the one held last */
	uint32_t *released; /* sets that the helper has yet to be told of */
	size_t count, capacity;
	size_t unanswered;
	bool gone; /* that was logged */
};

enum action {
	ACTION_HOLD,    /* these descriptors are of the set, from `begin` on */
	ACTION_RELEASE, /* close the set */
	ACTION_WAIT,    /* answer when all sets are closed that were released */
};

struct message {
	enum action action;
	enum detacher_way way;
	uint32_t set;
	size_t begin, count; /* of the descriptors that come with it, if they can be received */
};

/* What was opened first goes last. */
static void close_all(const int *fds, size_t count)
{
	while (count)
		close(fds[--count]);
}

/* ---- the helper ------------------------------------------------------------------------------ */

struct set {
	struct set *next;
	uint32_t number;
	enum detacher_way way;
	bool refused; /* not all of it came: it is closed where there are other copies */
	int *fds;
	size_t count, capacity;
};

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t less;
	size_t busy;         /* threads */
	struct set *waiting; /* for one of them */
	struct set *left;    /* by them, when they were told to stop */
	bool stopping;
	pthread_mutex_t in_turn;
};

/* Whether no program is left to ask for anything; then only ending closes anything. */
static bool is_hung_up(int fd)
{
	struct pollfd polled = { .fd = fd };

	return poll(&polled, 1, 0) > 0 && polled.revents & POLLHUP;
}

/* Returns whether the crew has closed everything; `fd` -1: it must. */
static bool wait_for_crew(struct crew *crew, int fd)
{
	size_t busy;

	do {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += HANGUP_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&crew->lock);
		if (crew->busy)
			pthread_cond_timedwait(&crew->less, &crew->lock, &until);
		busy = crew->busy;
		pthread_mutex_unlock(&crew->lock);
	} while (busy && !is_hung_up(fd));
	return !busy;
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
static void close_at_once(struct set *set)
{
	pthread_t threads[SET_AT_ONCE];
	size_t others = set->count - 1, started = 0;

	while (others > 1 && started < SET_AT_ONCE &&
	       !pthread_create(&threads[started], NULL, close_one, &set->fds[others])) {
		started++;
		others--;
	}
	close_all(set->fds + 1, others);
	while (started)
		pthread_join(threads[--started], NULL);
	close(set->fds[0]);
	set->count = 0;
}

static bool is_stopping(struct crew *crew)
{
	bool stopping;

	pthread_mutex_lock(&crew->lock);
	stopping = crew->stopping;
	pthread_mutex_unlock(&crew->lock);
	return stopping;
}

/* And one such set at a time. */
static void close_in_turn(struct crew *crew, struct set *set)
{
	pthread_mutex_lock(&crew->in_turn);
	while (set->count && !is_stopping(crew))
		close(set->fds[--set->count]);
	pthread_mutex_unlock(&crew->in_turn);
}

static void *work(void *argument)
{
	struct crew *crew = argument;
	struct set *set;

	pthread_mutex_lock(&crew->lock);
	while ((set = crew->waiting)) {
		crew->waiting = set->next;
		pthread_mutex_unlock(&crew->lock);
		if (set->way == DETACHER_IN_TURN)
			close_in_turn(crew, set);
		else if (set->count)
			close_at_once(set);
		pthread_mutex_lock(&crew->lock);
		if (set->count) {
			set->next = crew->left;
			crew->left = set;
		} else {
			set_free(set);
		}
	}
	crew->busy--;
	pthread_cond_signal(&crew->less);
	pthread_mutex_unlock(&crew->lock);
	return NULL;
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

static struct set *get(struct set **sets, uint32_t number)
{
	struct set **place = find(sets, number);

	if (!*place)
		*place = calloc(1, sizeof(**place));
	if (*place)
		(*place)->number = number;
	return *place;
}

/* As ending.h wants them. What is closed here is not the last copy. */
static void put_in_order(int *fds, size_t count, int highest)
{
	size_t i;

	for (i = 0; i < count; highest = fds[i++]) {
		int higher = fds[i] < highest ? fcntl(fds[i], F_DUPFD_CLOEXEC, highest + 1) : -1;

		if (higher < 0)
			continue;
		close(fds[i]);
		fds[i] = higher;
	}
}

static void hold(struct set *set, const struct message *message, int *fds, size_t count)
{
	if (set && !set->refused && count == message->count && set->count == message->begin &&
	    !memory_grow(&set->fds, &set->capacity, set->count + count, sizeof(*fds))) {
		put_in_order(fds, count, set->count ? set->fds[set->count - 1] : 0);
		memcpy(set->fds + set->count, fds, count * sizeof(*fds));
		set->count += count;
		set->way = message->way;
		return;
	}
	close_all(fds, count);
	if (set)
		refuse(set);
}

static void release(struct crew *crew, struct set **place)
{
	struct set *set = *place, **last = &crew->waiting;
	bool start = false;
	pthread_t thread;

	if (!set)
		return;
	*place = set->next;
	set->next = NULL;
	pthread_mutex_lock(&crew->lock);
	while (*last)
		last = &(*last)->next;
	*last = set;
	start = crew->busy < CREW;
	crew->busy += start;
	pthread_mutex_unlock(&crew->lock);
	if (start && !pthread_create(&thread, NULL, work, crew))
		pthread_detach(thread);
	else if (start)
		work(crew);
}

/* ---- when the tool has been killed ----------------------------------------------------------- */

static void take_all(struct set **from, struct set **to)
{
	while (*to)
		to = &(*to)->next;
	*to = *from;
	*from = NULL;
}

/* What is not being closed yet gets back into the list. */
static void stop_crew(struct crew *crew, struct set **sets)
{
	pthread_mutex_lock(&crew->lock);
	crew->stopping = true;
	take_all(&crew->waiting, sets);
	pthread_mutex_unlock(&crew->lock);
	wait_for_crew(crew, -1);
	take_all(&crew->left, sets);
}

/*
 * Until all other threads have ended, and not only done their work: a SIGKILL of the process makes
 * one that is just ending close its descriptors as if cut short, if it is the last that has them.
 */
static void wait_for_threads(void)
{
	struct stat threads;

	while (!stat("/proc/self/task", &threads) && threads.st_nlink > 3)
		usleep(100);
}

/*
 * What has killed the tool may be about to kill this process, too, as at the end of a container:
 * nothing is closed from here on but by processes that end. This one is the first.
 */
static void close_by_ending(const struct helper *starter, const struct set *sets)
{
	struct exit_detach_set *ending;
	const struct set *set;
	size_t count = 0;

	for (set = sets; set; set = set->next)
		count++;
	ending = calloc(count, sizeof(*ending));
	if (!ending)
		return;
	for (count = 0, set = sets; set; set = set->next)
		if (set->count)
			ending[count++] = (struct exit_detach_set){ set->fds, set->count,
								    set->way == DETACHER_AT_ONCE };
	exit_detach_prepare(starter, ending, count);
	free(ending);
}

static void serve(int fd)
{
	struct crew crew = { .lock = PTHREAD_MUTEX_INITIALIZER,
			     .less = PTHREAD_COND_INITIALIZER,
			     .in_turn = PTHREAD_MUTEX_INITIALIZER };
	struct set *sets = NULL;
	struct message message;
	struct helper starter;
	size_t count = HELPER_FDS;
	int fds[HELPER_FDS], err = 0;

	exit_detach_open(&starter);
	/* Who waits for an answer that cannot be sent must not wait for ever. */
	for (; !err && helper_receive(fd, &message, sizeof(message), fds, &count) > 0;
	     count = HELPER_FDS) {
		switch (message.action) {
		case ACTION_HOLD:
			hold(get(&sets, message.set), &message, fds, count);
			break;
		case ACTION_RELEASE:
			if (!is_hung_up(fd))
				release(&crew, find(&sets, message.set));
			break;
		case ACTION_WAIT:
			if (wait_for_crew(&crew, fd))
				err = helper_send(fd, &message, sizeof(message), NULL, 0, true);
			break;
		}
	}
	stop_crew(&crew, &sets);
	wait_for_threads();
	if (sets)
		close_by_ending(&starter, sets);
	else
		helper_end(&starter);
}

/* ---- its client ------------------------------------------------------------------------------ */

struct detacher *detacher_open(enum detacher_way way)
{
	struct detacher *detacher = calloc(1, sizeof(*detacher));
	int err = detacher ? helper_start(&detacher->helper, NAME, false, serve) : -ENOMEM;

	if (!err) {
		detacher->way = way;
		return detacher;
	}
	helper_warn_missing(NAME, err);
	free(detacher);
	return NULL;
}

static bool is_gone(int err)
{
	return err == -EPIPE || err == -ECONNRESET;
}

/* Returns 0 or -errno, as helper_send() does. */
static int say(struct detacher *detacher, const struct message *message, const int *fds, bool wait)
{
	int err = helper_send(detacher->helper.fd, message, sizeof(*message), fds,
			      fds ? message->count : 0, wait);

	if (is_gone(err) && !detacher->gone) {
		log_warning("the helper process " NAME
			    " has been killed; detaching without it takes longer");
		detacher->gone = true;
	}
	return err;
}

/* As many as there is room for, or all. Should there be no helper any more, it holds nothing. */
static void say_released(struct detacher *detacher, bool wait)
{
	while (detacher->count) {
		const struct message message = { .action = ACTION_RELEASE,
						 .set = detacher->released[detacher->count - 1] };
		int err = say(detacher, &message, NULL, wait);

		if (err && !is_gone(err))
			return;
		detacher->count--;
	}
}

static void release_later(struct detacher *detacher, uint32_t set)
{
	const struct message message = { .action = ACTION_RELEASE, .set = set };

	if (memory_grow(&detacher->released, &detacher->capacity, detacher->count + 1,
			sizeof(*detacher->released))) {
		say(detacher, &message, NULL, true);
		return;
	}
	detacher->released[detacher->count++] = set;
	say_released(detacher, false);
}

uint32_t detacher_hold(struct detacher *detacher, const int *fds, size_t count)
{
	struct message message = { .action = ACTION_HOLD };
	size_t sent;

	if (!detacher || !count)
		return 0;
	message.way = detacher->way;
	detacher->last_set += detacher->last_set == UINT32_MAX ? 2 : 1;
	message.set = detacher->last_set;
	for (sent = 0; sent < count; sent += message.count) {
		message.begin = sent;
		message.count = count - sent < HELPER_FDS ? count - sent : HELPER_FDS;
		if (say(detacher, &message, fds + sent, false)) {
			release_later(detacher, message.set);
			return 0;
		}
	}
	return message.set;
}

/* Closing the last copy is what waits: the helper does, if it has them. */
void detacher_release(struct detacher *detacher, uint32_t set, const int *fds, size_t count)
{
	if (!set)
		set = detacher_hold(detacher, fds, count);
	close_all(fds, count);
	if (detacher && set)
		release_later(detacher, set);
}

void detacher_flush(struct detacher *detacher)
{
	if (detacher)
		say_released(detacher, false);
}

/* Returns 0 or -errno; -EAGAIN: there is no room yet for all there is to say. */
static int ask(struct detacher *detacher)
{
	const struct message message = { .action = ACTION_WAIT };
	int err;

	say_released(detacher, false);
	if (detacher->count)
		return -EAGAIN;
	err = say(detacher, &message, NULL, false);
	if (!err)
		detacher->unanswered++;
	return err;
}

/* Returns how many are still to come, or -errno: no one is left to answer. */
static ssize_t take_answer(struct detacher *detacher)
{
	struct message answer;
	size_t none = 0;
	ssize_t bytes = helper_receive(detacher->helper.fd, &answer, sizeof(answer), NULL, &none);

	if (bytes <= 0)
		return bytes ? bytes : -EPIPE;
	return --detacher->unanswered;
}

int detacher_wait(struct detacher *detacher, int timeout_ms)
{
	const uint64_t end_ns = clock_monotonic_ns() + timeout_ms * 1000000ull;
	int err = -EAGAIN;
	uint64_t now_ns;

	if (!detacher)
		return 0;
	while ((now_ns = clock_monotonic_ns()) < end_ns) {
		struct pollfd polled = { .fd = detacher->helper.fd, .events = POLLIN };
		ssize_t unanswered = 1;

		if (err == -EAGAIN)
			err = ask(detacher);
		if (err == -EAGAIN)
			polled.events |= POLLOUT;
		else if (err)
			return err;
		if (poll(&polled, 1, (end_ns - now_ns) / 1000000 + 1) > 0 &&
		    polled.revents & ~POLLOUT)
			unanswered = take_answer(detacher);
		if (unanswered <= 0)
			return unanswered;
	}
	return -ETIMEDOUT;
}

void detacher_close(struct detacher *detacher)
{
	if (!detacher)
		return;
	say_released(detacher, true);
	while (detacher_wait(detacher, 60000) == -ETIMEDOUT)
		;
	helper_end(&detacher->helper);
	free(detacher->released);
	free(detacher);
}

uint64_t detacher_cpu_ns(const struct detacher *detacher)
{
	return detacher ? helper_cpu_ns(&detacher->helper) : 0;
}
