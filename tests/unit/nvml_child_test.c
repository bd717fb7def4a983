// SPDX-License-Identifier: BSD-2-Clause
/* Who calls NVML: a child that may hang or crash, and the next one after it. */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/nvml.h"
#include "host/nvml_survey.h"

#define CALL_MS 50
#define LONG_MS 60000

/* What all processes share: what the child is to do, and who starts it. */
static struct plan {
	enum { ANSWER, FAIL, HANG, CRASH } what;
	pid_t starter;
} * plan;

static struct nvml *nvml;
static struct nvml_snapshot snapshot;

/* In the child, instead of the real one. */
void nvml_survey_run(struct nvml_survey *survey)
{
	plan->starter = getppid();
	survey->snapshot->call_device = 3;
	snprintf(survey->snapshot->call, sizeof(survey->snapshot->call), "nvmlTest");
	__atomic_add_fetch(&survey->snapshot->step, 1, __ATOMIC_RELEASE);
	while (plan->what == HANG)
		pause();
	if (plan->what == CRASH)
		raise(SIGKILL);
	survey->snapshot->state = plan->what == FAIL ? NVML_FAILING : NVML_READY;
}

static int open_it(void **state)
{
	(void)state;
	plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(plan, MAP_FAILED);
	assert_int_equal(nvml_open(&nvml), 0);
	return 0;
}

static int close_it(void **state)
{
	(void)state;
	nvml_close(nvml);
	munmap(plan, sizeof(*plan));
	return 0;
}

static int answer(int call_ms)
{
	assert_int_equal(nvml_ask(nvml), 0);
	return nvml_take(nvml, call_ms, &snapshot);
}

/* Once the child before it has ended. */
static void renew(void)
{
	int err;

	while ((err = nvml_renew(nvml)) == -EAGAIN)
		usleep(1000);
	assert_int_equal(err, 0);
}

/* Returns the child's pid. */
static pid_t assert_answers(void)
{
	plan->what = ANSWER;
	assert_int_equal(answer(LONG_MS), 0);
	assert_int_equal(snapshot.state, NVML_READY);
	assert_false(snapshot.hangs);
	assert_string_equal(snapshot.problem, "");
	assert_true(*nvml_child(nvml) > 0);
	return *nvml_child(nvml);
}

static void test_one_child_answers_all_questions(void **state)
{
	(void)state;
	assert_int_equal(*nvml_child(nvml), 0);
	assert_int_equal(assert_answers(), assert_answers());
	/* It has not ended, and is asked on. */
	assert_int_equal(nvml_renew(nvml), -EAGAIN);
	assert_answers();
}

static void test_after_one_that_hangs(void **state)
{
	(void)state;
	plan->what = HANG;
	assert_int_equal(answer(CALL_MS), -ETIMEDOUT);
	assert_int_equal(snapshot.state, NVML_FAILING);
	assert_true(snapshot.hangs);
	assert_string_equal(snapshot.problem, "nvmlTest (device 3) does not return");
	/* Nobody is asked until then. */
	assert_int_equal(nvml_ask(nvml), -EPIPE);
	assert_int_equal(nvml_take(nvml, CALL_MS, &snapshot), -EPIPE);
	assert_true(snapshot.hangs);
	renew();
	assert_answers();
}

static void test_after_one_that_crashes(void **state)
{
	(void)state;
	plan->what = CRASH;
	assert_int_equal(answer(LONG_MS), -EPIPE);
	assert_false(snapshot.hangs);
	assert_string_equal(snapshot.problem,
			    "nvmlTest (device 3) has ended the process that called it");
	assert_int_equal(nvml_ask(nvml), -EPIPE);
	assert_int_equal(nvml_renew(nvml), 0);
	assert_int_equal(*nvml_child(nvml), 0);
	/* Time and again. */
	assert_int_equal(answer(LONG_MS), -EPIPE);
	renew();
	assert_answers();
}

/* What was loaded may be of another driver by now. */
static void test_after_one_that_is_left(void **state)
{
	pid_t first;

	(void)state;
	first = assert_answers();
	plan->what = FAIL;
	assert_int_equal(answer(LONG_MS), 0);
	assert_int_equal(snapshot.state, NVML_FAILING);
	nvml_leave(nvml);
	nvml_leave(nvml);
	assert_int_equal(nvml_ask(nvml), -EPIPE);
	renew();
	assert_int_not_equal(assert_answers(), first);
}

/* While a call has not returned, there is no second process that could hang in it, too. */
static void test_while_one_has_not_ended(void **state)
{
	(void)state;
	plan->what = HANG;
	assert_int_equal(nvml_ask(nvml), 0);
	while (!plan->starter)
		usleep(1000);
	kill(plan->starter, SIGSTOP);
	assert_int_equal(nvml_take(nvml, CALL_MS, &snapshot), -ETIMEDOUT);
	assert_int_equal(nvml_renew(nvml), -EAGAIN);
	assert_int_equal(nvml_ask(nvml), -EPIPE);
	kill(plan->starter, SIGCONT);
	renew();
	assert_answers();
}

/* Waits for a byte, as a loop does. */
static void await_byte(void)
{
	struct pollfd byte = { .fd = nvml_fd(nvml), .events = POLLIN };

	assert_int_equal(poll(&byte, 1, -1), 1);
}

/*
 * A question that nobody has read before the child was killed is read by the next one, and its
 * answer is none to the question after that.
 */
static void test_one_that_is_killed(void **state)
{
	pid_t killed;

	(void)state;
	killed = assert_answers();
	kill(plan->starter, SIGSTOP);
	kill(killed, SIGKILL);
	assert_int_equal(nvml_ask(nvml), 0);
	kill(plan->starter, SIGCONT);
	assert_int_equal(nvml_take(nvml, LONG_MS, &snapshot), -EPIPE);
	assert_int_equal(nvml_renew(nvml), 0);
	await_byte();
	plan->what = FAIL;
	assert_int_equal(nvml_ask(nvml), 0);
	assert_int_equal(nvml_take(nvml, 0, &snapshot), -EAGAIN);
	await_byte();
	assert_int_equal(nvml_take(nvml, 0, &snapshot), 0);
	assert_int_equal(snapshot.state, NVML_FAILING);
	assert_int_not_equal(assert_answers(), killed);
}

/* A service manager sends it to all processes: the capture ends, and these two with it. */
static void test_signals_for_all_processes(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	pid_t child;
	size_t i;

	(void)state;
	child = assert_answers();
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		kill(plan->starter, signals[i]);
		kill(child, signals[i]);
	}
	assert_int_equal(assert_answers(), child);
}

/* It is known when it is asked for the next time. */
static void test_one_that_is_killed_while_it_is_idle(void **state)
{
	(void)state;
	kill(assert_answers(), SIGKILL);
	await_byte();
	assert_int_equal(nvml_take(nvml, 0, &snapshot), -EPIPE);
	assert_string_equal(snapshot.problem, "the process that called it has ended");
	nvml_leave(nvml);
	renew();
	assert_answers();
}

static void test_a_starter_that_is_killed(void **state)
{
	(void)state;
	assert_answers();
	kill(plan->starter, SIGKILL);
	while (nvml_ask(nvml) == 0 && nvml_take(nvml, LONG_MS, &snapshot) == 0)
		;
	assert_int_equal(nvml_take(nvml, LONG_MS, &snapshot), -EPIPE);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_it, close_it)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_child_answers_all_questions),
		TEST(test_after_one_that_hangs),
		TEST(test_after_one_that_crashes),
		TEST(test_after_one_that_is_left),
		TEST(test_while_one_has_not_ended),
		TEST(test_one_that_is_killed),
		TEST(test_signals_for_all_processes),
		TEST(test_one_that_is_killed_while_it_is_idle),
		TEST(test_a_starter_that_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
