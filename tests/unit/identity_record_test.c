// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/records/identity_record.h"
#include "event/identity.h"
#include "host/proc.h"

static struct identity_maker maker;

/* The program that is known of the process as of a record of that time; NULL: none is. */
static const char *program_of(pid_t pid, uint64_t start_ns, uint64_t ts_ns)
{
	const struct ms_event next = { .ts_ns = ts_ns, .start_ns = start_ns, .pid = (uint32_t)pid };
	const struct ms_identity *made = identity_record_make(&maker, &next);
	struct identity identity;

	assert_non_null(made);
	assert_int_equal(made->event.pid, pid);
	assert_int_equal(identity_parse(made->texts, made->length, &identity), 0);
	return identity.items[IDENTITY_EXE];
}

/* Of a process that has ended, what was read since the time of the record is known, and no more. */
static void test_a_process_that_has_ended_since_it_was_looked_at(void **state)
{
	const uint64_t before_ns = clock_monotonic_ns();
	const pid_t pid = fork();
	struct proc_info info;
	siginfo_t ended;

	(void)state;
	if (!pid) {
		pause();
		_exit(0);
	}
	assert_int_equal(proc_read(pid, &info), 0);
	assert_non_null(program_of(pid, info.start_ns, before_ns));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	/* A zombie; then nothing. */
	assert_non_null(program_of(pid, info.start_ns, before_ns));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_non_null(program_of(pid, info.start_ns, before_ns));
	assert_null(program_of(pid, info.start_ns, clock_monotonic_ns()));
	assert_null(program_of(pid, info.start_ns + 1, before_ns));
	identity_record_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process_that_has_ended_since_it_was_looked_at),
	};

	return cmocka_run_group_tests_name("identity records", tests, NULL, NULL);
}
