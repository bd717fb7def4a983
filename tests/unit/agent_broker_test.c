// SPDX-License-Identifier: BSD-2-Clause
/*
 * The broker: what it counts of the children that answer, and of servers, and the last answer.
 */
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "agent/broker.h"
#include "base/clock.h"

static int status, prepared, made_children;

static void prepare(void *context, const struct channel_question *question)
{
	(void)context;
	(void)question;
	prepared++;
}

static void made(void *context)
{
	(void)context;
	made_children++;
	assert_int_equal(prepared, made_children);
}

static int answer(void *context, const struct channel_question *question, int fd)
{
	(void)context;
	(void)question;
	(void)fd;
	while (!status)
		pause();
	return status;
}

static void open_broker(struct broker *broker, int *server, int answers)
{
	*broker = (struct broker){ .prepare = prepare, .made = made, .answer = answer };
	prepared = made_children = 0;
	status = answers;
	assert_int_equal(channel_open(&broker->fd, server), 0);
	assert_int_equal(loop_open(&broker->loop), 0);
	assert_int_equal(broker_start(broker), 0);
}

static void close_broker(struct broker *broker, int server)
{
	broker_stop(broker);
	loop_close(broker->loop);
	close(broker->fd);
	close(server);
}

static int end(void *context, uint64_t data)
{
	(void)context;
	(void)data;
	return 1;
}

/* Runs the loop until a child is there or gone, or for a millisecond. */
static void run(struct broker *broker)
{
	struct loop_source *timer;

	assert_int_equal(loop_add_timer(broker->loop, 1000000, 1000000, end, NULL, 0, &timer), 0);
	loop_run(broker->loop);
	loop_remove(broker->loop, timer);
}

static void ask(struct broker *broker, int server)
{
	const struct channel_question question = { .number = 1 };

	assert_int_equal(channel_ask(server, &question), 0);
	while (!broker->counts.answers)
		run(broker);
}

static uint32_t take_last(int server)
{
	struct channel_message message;
	int fd;

	assert_int_equal(channel_take_message(server, &message, &fd), 0);
	assert_int_equal(message.type, CHANNEL_LAST);
	if (fd >= 0)
		close(fd);
	return message.status;
}

static void answers_that_are_broken_off_have_not_failed(void **unused)
{
	struct broker broker;
	int server;

	(void)unused;
	open_broker(&broker, &server, 0);
	ask(&broker, server);
	assert_true(broker.child > 0);
	assert_int_equal(made_children, 1);
	broker_stop(&broker);
	assert_int_equal(broker.child, 0);
	assert_int_equal(broker.counts.failed, 0);
	close_broker(&broker, server);
	/* One that ends without an answer has. */
	open_broker(&broker, &server, -ENOMEM);
	ask(&broker, server);
	while (broker.child)
		run(&broker);
	assert_int_equal(broker.counts.failed, 1);
	close_broker(&broker, server);
}

static void the_last_answer_has_its_time(void **unused)
{
	struct broker broker;
	int server;

	(void)unused;
	open_broker(&broker, &server, 200);
	broker_begin_last(&broker, 0);
	broker_finish_last(&broker, clock_monotonic_ns() + UINT64_C(60000000000));
	assert_int_equal(take_last(server), 200);
	assert_int_equal(made_children, 1);
	close_broker(&broker, server);
	/* It breaks off the one before, and is broken off itself. */
	open_broker(&broker, &server, 0);
	ask(&broker, server);
	broker_begin_last(&broker, 0);
	broker_finish_last(&broker, clock_monotonic_ns());
	assert_int_equal(broker.child, 0);
	assert_int_equal(take_last(server), 503);
	assert_int_equal(broker.counts.failed, 0);
	broker_finish_last(&broker, 0);
	close_broker(&broker, server);
}

static void renewals_are_no_restarts(void **unused)
{
	const struct channel_question hello = { .is_hello = true };
	struct broker broker;
	int server, i;

	(void)unused;
	open_broker(&broker, &server, 200);
	broker.renewals = 1;
	for (i = 0; i < 2; i++)
		assert_int_equal(channel_ask(server, &hello), 0);
	while (!broker.servers)
		run(&broker);
	assert_int_equal(broker.servers, 1);
	assert_int_equal(broker.renewals, 0);
	close_broker(&broker, server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_that_are_broken_off_have_not_failed),
		cmocka_unit_test(the_last_answer_has_its_time),
		cmocka_unit_test(renewals_are_no_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
