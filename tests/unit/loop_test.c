// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/loop.h"

#define MS 1000000ull

/* A loop, a pipe that it watches, and what has been called. */
struct fixture {
	struct loop *loop;
	struct loop_source *sources[2];
	int pipes[2][2];
	uint64_t calls[4];
	int result;
	bool more;
};

static void fixture_open(struct fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	assert_int_equal(loop_open(&fixture->loop), 0);
	assert_int_equal(pipe(fixture->pipes[0]), 0);
	assert_int_equal(pipe(fixture->pipes[1]), 0);
}

static void fixture_close(struct fixture *fixture)
{
	int i;

	loop_close(fixture->loop);
	for (i = 0; i < 4; i++)
		close(fixture->pipes[i / 2][i % 2]);
}

static int stop(void *context, uint64_t data)
{
	struct fixture *fixture = context;

	fixture->calls[data]++;
	loop_stop(fixture->loop);
	return fixture->result;
}

static void watch(struct fixture *fixture, int i, loop_fn *fn)
{
	assert_int_equal(write(fixture->pipes[i][1], "", 1), 1);
	assert_int_equal(loop_add_fd(fixture->loop, fixture->pipes[i][0], EPOLLIN, fn, fixture, i,
				     &fixture->sources[i]),
			 0);
}

static void test_a_descriptor(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	watch(&fixture, 0, stop);
	watch(&fixture, 1, stop);
	assert_int_equal(loop_run(fixture.loop), 0);
	/* All of a round are called. */
	assert_int_equal(fixture.calls[0], 1);
	assert_int_equal(fixture.calls[1], 1);
	fixture.result = -EIO;
	assert_int_equal(loop_run(fixture.loop), -EIO);
	fixture_close(&fixture);
}

/* Either of the two removes both: the other one, whose event has come too, is not called. */
static int remove_both(void *context, uint64_t data)
{
	struct fixture *fixture = context;

	loop_remove(fixture->loop, fixture->sources[0]);
	loop_remove(fixture->loop, fixture->sources[1]);
	return stop(context, data);
}

static void test_sources_that_are_removed_are_not_called(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	watch(&fixture, 0, remove_both);
	watch(&fixture, 1, remove_both);
	loop_remove(fixture.loop, NULL);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_int_equal(fixture.calls[0] + fixture.calls[1], 1);
	assert_int_equal(loop_add_timer(fixture.loop, MS, 0, stop, &fixture, 2, NULL), 0);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_int_equal(fixture.calls[0] + fixture.calls[1], 1);
	fixture_close(&fixture);
}

static int count_to_three(void *context, uint64_t data)
{
	struct fixture *fixture = context;

	if (++fixture->calls[data] == 3)
		loop_stop(fixture->loop);
	return 0;
}

static void test_timers(void **state)
{
	struct loop_source *timer;
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	assert_int_equal(loop_add_timer(fixture.loop, MS, MS, count_to_three, &fixture, 0, &timer),
			 0);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_int_equal(fixture.calls[0], 3);
	/* One that is not set is silent; set, it is called once. */
	assert_int_equal(loop_set_timer(timer, 0, 0), 0);
	assert_int_equal(loop_add_timer(fixture.loop, 20 * MS, 0, stop, &fixture, 1, NULL), 0);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_int_equal(fixture.calls[0], 3);
	assert_int_equal(loop_set_timer(timer, MS, 0), 0);
	assert_int_equal(loop_add_timer(fixture.loop, 20 * MS, 0, stop, &fixture, 1, NULL), 0);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_int_equal(fixture.calls[0], 4);
	assert_int_equal(fixture.calls[1], 2);
	fixture_close(&fixture);
}

static int handle(void *context, const struct signalfd_siginfo *info)
{
	return stop(context, info->ssi_signo == SIGUSR1);
}

static void test_signals(void **state)
{
	struct fixture fixture;
	sigset_t signals, before;

	(void)state;
	fixture_open(&fixture);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, &before);
	assert_int_equal(loop_add_signals(fixture.loop, &signals, handle, &fixture, NULL), 0);
	raise(SIGUSR1);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_int_equal(fixture.calls[1], 1);
	fixture_close(&fixture);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* As long as it has more to do, the loop goes round without waiting. */
static bool three_rounds(void *context)
{
	struct fixture *fixture = context;

	if (++fixture->calls[3] == 3)
		loop_stop(fixture->loop);
	return fixture->more;
}

static void test_checks(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	fixture.more = true;
	assert_int_equal(loop_add_check(fixture.loop, three_rounds, &fixture), 0);
	watch(&fixture, 0, remove_both);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_int_equal(fixture.calls[3], 1);
	assert_int_equal(loop_add_timer(fixture.loop, MS, 0, count_to_three, &fixture, 1, NULL), 0);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_int_equal(fixture.calls[3], 3);
	fixture_close(&fixture);
}

static int stop_late(void *context, uint64_t data)
{
	usleep(3000);
	return stop(context, data);
}

static void test_the_longest_round(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	assert_int_equal(loop_longest_ns(fixture.loop), 0);
	/* Waiting is none of it. */
	assert_int_equal(loop_add_timer(fixture.loop, 10 * MS, 0, stop_late, &fixture, 0, NULL), 0);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_true(loop_longest_ns(fixture.loop) >= 3 * MS);
	/* A short one does not make it shorter. */
	watch(&fixture, 0, stop);
	assert_int_equal(loop_run(fixture.loop), 0);
	assert_true(loop_longest_ns(fixture.loop) >= 3 * MS);
	fixture_close(&fixture);
}

static void test_what_cannot_be_watched(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	assert_int_equal(loop_add_fd(fixture.loop, -1, EPOLLIN, stop, &fixture, 0, NULL), -EBADF);
	fixture_close(&fixture);
	loop_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_descriptor),
		cmocka_unit_test(test_sources_that_are_removed_are_not_called),
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_the_longest_round),
		cmocka_unit_test(test_what_cannot_be_watched),
	};

	return unit_run("loop", tests);
}
