// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/proc.h"
#include "host/process_facts.h"

static const char *const names[] = { "RANK", "WORLD_SIZE" };
static const struct process_facts_wish wish = { .variables = names, .variables_count = 2 };

static void test_this_process(void **state)
{
	static struct process_facts facts;
	struct proc_info info;
	char exe[PROCESS_FACTS_TEXT_BYTES] = "";

	(void)state;
	assert_int_equal(proc_read(getpid(), &info), 0);
	assert_int_equal(process_facts_read(getpid(), info.start_ns, &wish, &facts), 0);
	assert_true(facts.has_status);
	assert_int_equal(facts.uid, geteuid());
	assert_int_equal(facts.parent, getppid());
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(facts.exe, exe);
	assert_string_equal(facts.script, "");
	assert_string_equal(facts.line, "");
}

/* Another process with the same pid is not that one. */
static void test_a_process_that_began_at_another_time(void **state)
{
	static struct process_facts facts;
	struct proc_info info;

	(void)state;
	assert_int_equal(proc_read(getpid(), &info), 0);
	assert_int_equal(process_facts_read(getpid(), info.start_ns + 10000000, &wish, &facts),
			 -ESRCH);
	assert_string_equal(facts.exe, "");
	assert_int_equal(process_facts_read(1 << 22, info.start_ns, &wish, &facts), -ESRCH);
}

static bool has_arguments(pid_t pid)
{
	char path[64], byte;
	int fd;
	bool has;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	has = fd >= 0 && read(fd, &byte, 1) == 1;
	close(fd);
	return has;
}

static pid_t start(char *const arguments[], char *const environment[])
{
	const struct timespec pause = { 0, 1000000 };
	int tries;
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		execve("/bin/sh", arguments, environment);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0); /* it is being executed */
	close(ready[0]);
	/* The kernel closes files before it puts the arguments into the new memory. */
	for (tries = 0; !has_arguments(pid) && tries < 20000; tries++)
		nanosleep(&pause, NULL);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_arguments_and_environment(void **state)
{
	char *const arguments[] = { "sh", "-c", "kill -STOP $$", NULL };
	char *const environment[] = { "RANK=3", "PASSWORD=x", "WORLD_SIZE=", NULL };
	struct process_facts_wish line = wish;
	static struct process_facts facts;
	struct proc_info info;
	pid_t pid;

	(void)state;
	pid = start(arguments, environment);
	assert_int_equal(proc_read(pid, &info), 0);
	assert_int_equal(process_facts_read(pid, info.start_ns, &wish, &facts), 0);
	assert_string_equal(facts.script, "-c");
	assert_string_equal(facts.line, "");
	assert_true(facts.has_variable[0] && facts.has_variable[1]);
	assert_string_equal(facts.variables[0], "3");
	assert_string_equal(facts.variables[1], "");
	assert_int_equal(facts.parent, getpid());
	line.line = true;
	assert_int_equal(process_facts_read(pid, info.start_ns, &line, &facts), 0);
	assert_string_equal(facts.line, "sh -c kill -STOP $$");
	end(pid);
	assert_int_equal(process_facts_read(pid, info.start_ns, &wish, &facts), -ESRCH);
}

/* More than is looked at, and a variable that does not end there. */
static void test_an_environment_of_megabytes(void **state)
{
	char *const arguments[] = { "sh", "-c", "kill -STOP $$", NULL };
	const size_t each = 100000;
	char *environment[32] = { 0 };
	static struct process_facts facts;
	struct proc_info info;
	size_t i;
	pid_t pid;

	(void)state;
	for (i = 0; i < 14; i++) {
		environment[i] = malloc(each + 1);
		assert_non_null(environment[i]);
		memset(environment[i], 'x', each);
		environment[i][each] = '\0';
		memcpy(environment[i], i == 3 ? "RANK=" : "OTHER=", i == 3 ? 5 : 6);
	}
	environment[i] = "WORLD_SIZE=2";
	pid = start(arguments, environment);
	assert_int_equal(proc_read(pid, &info), 0);
	assert_int_equal(process_facts_read(pid, info.start_ns, &wish, &facts), 0);
	assert_int_equal(strlen(facts.variables[0]), PROCESS_FACTS_TEXT_BYTES - 1);
	assert_false(facts.has_variable[1]);
	end(pid);
	for (i = 0; i < 14; i++)
		free(environment[i]);
}

static void test_status(void **state)
{
	static struct process_facts facts;

	(void)state;
	process_facts_status("Name:\tUid: 5 5 5 5\nUmask:\t0022\nPPid:\t77\nUid:\t1\t2\t3\t4\n"
			     "Gid:\t5\t6\t7\t8\nNSpid:\t4711\t20\t7\nNSpgid:\t1\n",
			     &facts);
	assert_true(facts.has_status);
	assert_int_equal(facts.parent, 77);
	assert_int_equal(facts.uid, 2);
	assert_int_equal(facts.ns_pid, 7);
	facts = (struct process_facts){ 0 };
	process_facts_status("PPid:\t77\nUid:\t1", &facts);
	assert_false(facts.has_status);
}

static void expect_wished(const char *text, const char *wished, const char *expected,
			  const char *runtime)
{
	static struct process_facts facts;
	char copy[256];

	facts = (struct process_facts){ 0 };
	snprintf(copy, sizeof(copy), "%s", text);
	process_facts_cgroup(copy, &(struct process_facts_wish){ .cgroup = wished }, &facts);
	assert_string_equal(facts.cgroup, expected);
	assert_string_equal(facts.container.runtime, runtime);
}

static void expect_cgroup(const char *text, const char *expected, const char *runtime)
{
	expect_wished(text, NULL, expected, runtime);
}

static void test_cgroups(void **state)
{
	(void)state;
	expect_cgroup("0::/a/b\n", "/a/b", "");
	expect_cgroup("12:pids:/lxc/a\n1:name=systemd:/lxc/b\n0::/\n", "/lxc/a", "lxc");
	expect_cgroup("12:memory:/manager/1\n1:name=systemd:/lxc/b\n0::/\n", "/lxc/b", "lxc");
	expect_cgroup("12:pids:/\n0::/user.slice\n", "/user.slice", "");
	expect_cgroup("12:pids:/a\n0::/\n", "/a", "");
	expect_cgroup("0::/a:b\n", "/a:b", "");
	expect_cgroup("garbage\n::", "", "");
	expect_cgroup("", "", "");
}

static void expect_others(const char *text, const char *wished, const char *expected,
			  const char *others)
{
	static struct process_facts facts;
	char copy[4096];

	facts = (struct process_facts){ 0 };
	snprintf(copy, sizeof(copy), "%s", text);
	process_facts_cgroup(copy, &(struct process_facts_wish){ .cgroup = wished }, &facts);
	assert_string_equal(facts.cgroup, expected);
	assert_string_equal(facts.other_cgroups, others);
}

/* Version 2 has what systemd shows; of version 1, each can be another one. */
static void test_several_hierarchies(void **state)
{
	static const char text[] = "4:memory:/user.slice\n3:pids:/user.slice/s.scope\n"
				   "2:freezer:/\n1:name=systemd:/user.slice/s.scope\n"
				   "0::/user.slice/s.scope\n";
	char longest[3 * 700 + 64], expected[704];

	(void)state;
	expect_others(text, NULL, "/user.slice/s.scope", "/user.slice");
	expect_others(text, "/user.slice", "/user.slice", "/user.slice/s.scope");
	expect_others("2:pids:/a\n1:cpu:/b\n0::/\n", NULL, "/a", "/b");
	expect_others("2:pids:/a\n1:cpu:/b\n0::/c\n", NULL, "/c", "/a\n/b");
	expect_others("2:pids:/a\n1:cpu:/b\n0::/c\n", "/b", "/b", "/a\n/c");
	expect_others("2:pids:/lxc/a\n0::/c\n", NULL, "/lxc/a", "/c");
	expect_others("0::/c\n", NULL, "/c", "");
	expect_others("0::/\n", NULL, "/", "");

	/* What has no room is left out as a whole. */
	snprintf(expected, 701, "/%0699d", 1);
	snprintf(longest, sizeof(longest), "3:pids:%s\n2:cpu:/%0699d\n1:memory:/m\n0::/c\n",
		 expected, 2);
	expect_others(longest, "/m", "/m", strcat(expected, "\n/c"));
}

/* So that a recording of a cgroup has that in the words in which it was asked for. */
static void test_the_cgroup_that_was_asked_for(void **state)
{
	static const char text[] = "3:pids:/a/b\n2:memory:/m/1\n1:name=systemd:/lxc/b\n0::/m\n";

	(void)state;
	expect_wished(text, "/m", "/m/1", "lxc");
	expect_wished(text, "/m/1", "/m/1", "lxc");
	expect_wished(text, "/a", "/a/b", "lxc");
	expect_wished(text, "/m/", "/lxc/b", "lxc");
	expect_wished(text, "/lx", "/lxc/b", "lxc");
	expect_wished(text, "", "/lxc/b", "lxc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_process),
		cmocka_unit_test(test_a_process_that_began_at_another_time),
		cmocka_unit_test(test_arguments_and_environment),
		cmocka_unit_test(test_an_environment_of_megabytes),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_cgroups),
		cmocka_unit_test(test_several_hierarchies),
		cmocka_unit_test(test_the_cgroup_that_was_asked_for),
	};

	return unit_run("process_facts", tests);
}
