// SPDX-License-Identifier: BSD-2-Clause
#include "base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

#define ROUND_EVENTS 64
#define LONGEST_PERIOD_NS 10000000000ull

struct loop_source {
	struct loop_source *next;
	int fd;
	bool owns_fd; /* a timer's or the signals': opened here */
	bool removed; /* freed when no event of this round can be of it any more */
	int (*handle)(struct loop_source *source);
	loop_fn *fn;
	loop_signal_fn *signal_fn;
	void *context;
	uint64_t data;
};

struct check {
	loop_check_fn *fn;
	void *context;
};

struct loop {
	int epoll_fd;
	bool stopped;
	bool has_removed; /* sources that wait to be freed */
	struct loop_source *sources;
	struct check *checks;
	size_t checks_count, checks_capacity;
	/* The longest round of this period, which began then, and of the one before. */
	uint64_t period_ns, longest_ns, longest_before_ns;
};

/* ---- sources --------------------------------------------------------------------------------- */

static int handle_fd(struct loop_source *source)
{
	return source->fn(source->context, source->data);
}

static int handle_timer(struct loop_source *source)
{
	uint64_t expirations;

	/* It may have been set anew since the kernel found it over. */
	if (read(source->fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return 0;
	return source->fn(source->context, source->data);
}

static int handle_signals(struct loop_source *source)
{
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return source->signal_fn(source->context, &info);
}

static void source_free(struct loop_source *source)
{
	if (source->owns_fd)
		close(source->fd);
	free(source);
}

/* Takes the descriptor over if it is the source's own. */
static int add(struct loop *loop, const struct loop_source *wanted, uint32_t events,
	       struct loop_source **result)
{
	struct loop_source *source = malloc(sizeof(*source));
	struct epoll_event event = { .events = events, .data.ptr = source };
	int err = -ENOMEM;

	if (source) {
		*source = *wanted;
		err = epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) ? -errno : 0;
	}
	if (err) {
		if (wanted->owns_fd)
			close(wanted->fd);
		free(source);
		return err;
	}
	source->next = loop->sources;
	loop->sources = source;
	if (result)
		*result = source;
	return 0;
}

int loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fn *fn, void *context,
		uint64_t data, struct loop_source **source)
{
	const struct loop_source wanted = {
		.fd = fd, .handle = handle_fd, .fn = fn, .context = context, .data = data
	};

	return add(loop, &wanted, events, source);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

int loop_set_timer(struct loop_source *timer, uint64_t first_ns, uint64_t period_ns)
{
	const struct itimerspec times = { .it_value = timespec_of(first_ns),
					  .it_interval = timespec_of(period_ns) };

	return timerfd_settime(timer->fd, 0, &times, NULL) ? -errno : 0;
}

int loop_add_timer(struct loop *loop, uint64_t first_ns, uint64_t period_ns, loop_fn *fn,
		   void *context, uint64_t data, struct loop_source **source)
{
	struct loop_source wanted = {
		.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.owns_fd = true,
		.handle = handle_timer,
		.fn = fn,
		.context = context,
		.data = data,
	};
	int err;

	if (wanted.fd < 0)
		return -errno;
	err = loop_set_timer(&wanted, first_ns, period_ns);
	if (err) {
		close(wanted.fd);
		return err;
	}
	return add(loop, &wanted, EPOLLIN, source);
}

int loop_add_signals(struct loop *loop, const sigset_t *signals, loop_signal_fn *fn, void *context,
		     struct loop_source **source)
{
	const struct loop_source wanted = {
		.fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK),
		.owns_fd = true,
		.handle = handle_signals,
		.signal_fn = fn,
		.context = context,
	};

	return wanted.fd < 0 ? -errno : add(loop, &wanted, EPOLLIN, source);
}

int loop_add_check(struct loop *loop, loop_check_fn *fn, void *context)
{
	int err = memory_grow(&loop->checks, &loop->checks_capacity, loop->checks_count + 1,
			      sizeof(*loop->checks));

	if (!err)
		loop->checks[loop->checks_count++] = (struct check){ fn, context };
	return err;
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
	if (!source)
		return;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->removed = true;
	loop->has_removed = true;
}

static void free_removed(struct loop *loop)
{
	struct loop_source **place = &loop->sources;

	if (!loop->has_removed)
		return;
	loop->has_removed = false;
	while (*place) {
		struct loop_source *source = *place;

		if (source->removed) {
			*place = source->next;
			source_free(source);
		} else {
			place = &source->next;
		}
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

int loop_open(struct loop **result)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int err;

	if (!loop)
		return -ENOMEM;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		err = -errno;
		free(loop);
		return err;
	}
	*result = loop;
	return 0;
}

void loop_close(struct loop *loop)
{
	if (!loop)
		return;
	while (loop->sources) {
		struct loop_source *source = loop->sources;

		loop->sources = source->next;
		source_free(source);
	}
	free(loop->checks);
	close(loop->epoll_fd);
	free(loop);
}

static int dispatch(const struct epoll_event *events, int count)
{
	int i, err = 0;

	for (i = 0; i < count && !err; i++) {
		struct loop_source *source = events[i].data.ptr;

		if (!source->removed)
			err = source->handle(source);
	}
	return err;
}

static bool check_all(struct loop *loop)
{
	bool more = false;
	size_t i;

	for (i = 0; i < loop->checks_count; i++)
		more |= loop->checks[i].fn(loop->checks[i].context);
	return more;
}

/* Without a round for two periods, none of them counts any more. */
static void reach_period(struct loop *loop, uint64_t now_ns)
{
	const uint64_t passed_ns = now_ns - loop->period_ns;

	if (passed_ns < LONGEST_PERIOD_NS)
		return;
	loop->longest_before_ns = passed_ns < 2 * LONGEST_PERIOD_NS ? loop->longest_ns : 0;
	loop->longest_ns = 0;
	loop->period_ns = now_ns;
}

static void note_round(struct loop *loop, uint64_t begin_ns)
{
	const uint64_t now_ns = clock_monotonic_ns();

	reach_period(loop, now_ns);
	if (now_ns - begin_ns > loop->longest_ns)
		loop->longest_ns = now_ns - begin_ns;
}

uint64_t loop_longest_ns(struct loop *loop)
{
	reach_period(loop, clock_monotonic_ns());
	return loop->longest_ns > loop->longest_before_ns ? loop->longest_ns :
							    loop->longest_before_ns;
}

int loop_run(struct loop *loop)
{
	struct epoll_event events[ROUND_EVENTS];
	bool more = false;
	uint64_t begin_ns;
	int count, err = 0;

	for (loop->stopped = false; !loop->stopped && !err;) {
		count = epoll_wait(loop->epoll_fd, events, ROUND_EVENTS, more ? 0 : -1);
		if (count < 0 && errno != EINTR)
			return -errno;
		begin_ns = clock_monotonic_ns();
		err = dispatch(events, count);
		free_removed(loop);
		more = check_all(loop);
		note_round(loop, begin_ns);
	}
	return err;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
