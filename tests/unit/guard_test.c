// SPDX-License-Identifier: BSD-2-Clause
/* The guard of user/inject against crashes: which crash it survives, and what it leaves behind. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/guard.c" /* NOLINT(bugprone-suspicious-include): the library's */
#include "unit.h"

enum { OWN_HANDLER = 3, GUARDED = 4, NOT_GUARDED = 5 };

static int number;

static void own_handler(int caught)
{
	_exit(caught == number ? OWN_HANDLER : 1);
}

static void *crash(void *unused)
{
	raise(number);
	return unused;
}

static void crash_here(void)
{
	crash(NULL);
}

static void crash_in_another_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, crash, NULL))
		pthread_join(thread, NULL);
}

static void do_nothing(void)
{
}

static void set_handler(void)
{
	signal(number, own_handler);
}

/* How a process ends that does this guarded, with `handler` for the signal before; then `after`. */
static int end_of(void (*what)(void), void (*handler)(int), void (*after)(void))
{
	const struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(number, handler);
		status = guard_run(what) ? NOT_GUARDED : GUARDED;
		if (after)
			after();
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void each_signal(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < SIGNALS; i++) {
		number = signals[i];
		assert_int_equal(end_of(do_nothing, SIG_DFL, NULL), NOT_GUARDED);
		assert_int_equal(end_of(crash_here, SIG_DFL, NULL), GUARDED);
		assert_int_equal(end_of(crash_here, own_handler, NULL), GUARDED);
		/* Afterwards it is as it was. */
		assert_int_equal(end_of(do_nothing, SIG_DFL, crash_here), -number);
		assert_int_equal(end_of(crash_here, SIG_DFL, crash_here), -number);
		assert_int_equal(end_of(crash_here, own_handler, crash_here), OWN_HANDLER);
		/* Unless somebody has set a handler meanwhile. */
		assert_int_equal(end_of(set_handler, SIG_DFL, crash_here), OWN_HANDLER);
	}
}

static void another_thread(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < SIGNALS; i++) {
		number = signals[i];
		assert_int_equal(end_of(crash_in_another_thread, SIG_DFL, NULL), -number);
		assert_int_equal(end_of(crash_in_another_thread, own_handler, NULL), OWN_HANDLER);
	}
}

static void true_crash(void)
{
	*(volatile int *)NULL = 0;
}

/* Not only a signal that is sent: the instruction is not tried for ever. */
static void instruction(void **state)
{
	(void)state;
	number = SIGSEGV;
	assert_int_equal(end_of(true_crash, SIG_DFL, NULL), GUARDED);
	assert_int_equal(end_of(true_crash, SIG_DFL, true_crash), -SIGSEGV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_signal),
		cmocka_unit_test(another_thread),
		cmocka_unit_test(instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
