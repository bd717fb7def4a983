// SPDX-License-Identifier: BSD-2-Clause
/*
 * Closing descriptors in another process.
 */
#include "capture/attach/detacher.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/attach/helper.h"
#include "unit.h"

#define MANY (2 * HELPER_FDS + 50)

/* Copies of a pipe's end for writing, which is closed: the other end is at its end without them. */
static int open_copies(int *fds, size_t count)
{
	int ends[2];
	size_t i;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	for (i = 0; i < count; i++) {
		fds[i] = fcntl(ends[1], F_DUPFD_CLOEXEC, 0);
		assert_true(fds[i] >= 0);
	}
	close(ends[1]);
	return ends[0];
}

static bool is_open(int end)
{
	char byte;
	ssize_t length = read(end, &byte, 1);

	assert_true(length == 0 || (length < 0 && errno == EAGAIN));
	return length < 0;
}

/* Held by the detacher, and open here, too. */
static uint32_t hold_copies(struct detacher *detacher, int *fds, size_t count, int *end)
{
	*end = open_copies(fds, count);
	assert_true(is_open(*end));
	return detacher_hold(detacher, fds, count);
}

static void release_some(struct detacher *detacher, size_t count, size_t times, int *ends)
{
	int fds[MANY];
	size_t i;

	for (i = 0; i < times; i++) {
		uint32_t set = hold_copies(detacher, fds, count, &ends[i]);

		detacher_release(detacher, set, fds, count);
	}
}

static void assert_closed(int *ends, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		assert_false(is_open(ends[i]));
		close(ends[i]);
	}
}

static void wait_for_all(struct detacher *detacher)
{
	assert_int_equal(detacher_wait(detacher, 20000), 0);
}

static void test_all_are_closed(void **state)
{
	static const size_t counts[] = { 1, 3, HELPER_FDS, HELPER_FDS + 1, MANY };
	struct detacher *detacher = detacher_open(DETACHER_AT_ONCE);
	int ends[150];
	size_t i;

	(void)state;
	assert_non_null(detacher);
	assert_int_equal(detacher_hold(detacher, NULL, 0), 0);
	detacher_release(detacher, 0, NULL, 0);
	wait_for_all(detacher);
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		release_some(detacher, counts[i], 1, ends);
		wait_for_all(detacher);
		assert_closed(ends, 1);
	}
	/* More sets than are closed at a time. */
	release_some(detacher, 2, 150, ends);
	detacher_flush(detacher);
	wait_for_all(detacher);
	assert_closed(ends, 150);
	/* It ends when it has done all it was asked to. */
	release_some(detacher, MANY, 2, ends);
	detacher_close(detacher);
	assert_closed(ends, 2);
}

static void test_what_is_held_stays_open(void **state)
{
	struct detacher *detacher = detacher_open(DETACHER_AT_ONCE);
	int first[2], second[2], ends[2];
	uint32_t sets[2];

	(void)state;
	sets[0] = hold_copies(detacher, first, 2, &ends[0]);
	sets[1] = hold_copies(detacher, second, 2, &ends[1]);
	detacher_release(detacher, sets[1], second, 2);
	wait_for_all(detacher);
	assert_false(is_open(ends[1]));
	close(first[0]);
	close(first[1]);
	wait_for_all(detacher);
	assert_true(is_open(ends[0]));
	detacher_release(detacher, sets[0], NULL, 0);
	wait_for_all(detacher);
	assert_closed(ends, 2);
	detacher_close(detacher);
}

/* A socket whose close() waits for its peer, which reads nothing. */
static int open_slow(int *peer)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 60 };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int slow = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[4096] = { 0 };

	assert_int_equal(bind(listening, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(connect(slow, (struct sockaddr *)&address, length), 0);
	*peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	assert_true(*peer >= 0);
	close(listening);
	assert_int_equal(setsockopt(slow, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(slow, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return slow;
}

static void wait_until_closed(int end)
{
	struct pollfd polled = { .fd = end };

	assert_int_equal(poll(&polled, 1, 20000), 1);
	assert_false(is_open(end));
}

/* A set: one that goes last, the one at `slow` that takes long to close, and the rest. */
static uint32_t hold_slow(struct detacher *detacher, int *fds, size_t count, size_t slow,
			  int *first, int *peer, int *rest)
{
	size_t i;

	*rest = open_copies(fds, count);
	for (i = 0; i <= slow; i += slow)
		close(fds[i]);
	*first = open_copies(&fds[0], 1);
	fds[slow] = open_slow(peer);
	return detacher_hold(detacher, fds, count);
}

static void test_one_set_does_not_wait_for_another(void **state)
{
	/* The last one has more than are closed at a time. */
	static const size_t counts[] = { 3, 10, 40 }, slow[] = { 2, 1, 1 };
	enum { SLOW_SETS = sizeof(counts) / sizeof(*counts) };
	struct detacher *detacher = detacher_open(DETACHER_AT_ONCE);
	int set[40], peers[SLOW_SETS], first[SLOW_SETS], rest[SLOW_SETS], other;
	size_t i;

	(void)state;
	for (i = 0; i < SLOW_SETS; i++) {
		uint32_t held = hold_slow(detacher, set, counts[i], slow[i], &first[i], &peers[i],
					  &rest[i]);

		detacher_release(detacher, held, set, counts[i]);
	}
	release_some(detacher, 1, 1, &other);
	for (i = 0; i < SLOW_SETS; i++)
		wait_until_closed(rest[i]);
	wait_until_closed(other);
	assert_int_equal(detacher_wait(detacher, 0), -ETIMEDOUT);
	assert_int_equal(detacher_wait(detacher, 10), -ETIMEDOUT);
	assert_int_equal(detacher_wait(detacher, 10), -ETIMEDOUT);
	for (i = 0; i < SLOW_SETS; i++) {
		assert_true(is_open(first[i]));
		close(peers[i]);
		wait_until_closed(first[i]);
	}
	wait_for_all(detacher);
	assert_closed(first, SLOW_SETS);
	assert_closed(rest, SLOW_SETS);
	close(other);
	detacher_close(detacher);
}

/* From the last descriptor to the first, and nothing of another set meanwhile. */
static void test_in_turn_one_waits_for_another(void **state)
{
	struct detacher *detacher = detacher_open(DETACHER_IN_TURN);
	int set[10], peer, first, rest, other;
	uint32_t held;

	(void)state;
	held = hold_slow(detacher, set, 10, 1, &first, &peer, &rest);
	detacher_release(detacher, held, set, 10);
	wait_until_closed(rest);
	release_some(detacher, 1, 1, &other);
	assert_int_equal(detacher_wait(detacher, 50), -ETIMEDOUT);
	assert_true(is_open(first));
	assert_true(is_open(other));
	close(peer);
	wait_until_closed(first);
	wait_until_closed(other);
	wait_for_all(detacher);
	close(first);
	close(rest);
	close(other);
	detacher_close(detacher);
}

static void test_they_are_closed_when_the_process_is_killed(void **state)
{
	static const size_t counts[] = { 1, 3, MANY };
	int fds[3][MANY], ends[3], status;
	size_t i, k;
	pid_t child;

	(void)state;
	for (i = 0; i < 3; i++)
		ends[i] = open_copies(fds[i], counts[i]);
	child = fork();
	if (child == 0) {
		struct detacher *detacher = detacher_open(DETACHER_AT_ONCE);

		for (i = 0; i < 3; i++)
			if (!detacher_hold(detacher, fds[i], counts[i]))
				_exit(1);
		kill(getpid(), SIGKILL);
	}
	for (i = 0; i < 3; i++)
		for (k = 0; k < counts[i]; k++)
			close(fds[i][k]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	for (i = 0; i < 3; i++)
		wait_until_closed(ends[i]);
	assert_closed(ends, 3);
}

#define SETS 9
#define FILES 4
#define ANYBODY 54321 /* a user without other processes */

/* Files of the set in the current directory, "SET.PLACE". */
static uint32_t hold_files(struct detacher *detacher, int set, int *fds)
{
	char name[32];
	int i;

	for (i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%d.%d", set, i);
		fds[i] = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fds[i] < 0)
			_exit(2);
	}
	return detacher_hold(detacher, fds, FILES);
}

static pid_t only_child(pid_t process)
{
	char path[64];
	FILE *children;
	pid_t child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)process, (int)process);
	children = fopen(path, "r");
	if (!children || fscanf(children, "%d", &child) != 1)
		_exit(3);
	fclose(children);
	return child;
}

/* What the process that starts others for the helper is like. */
enum starter { STARTER_FORBIDDEN, STARTER_KILLED, STARTER_WELL, STARTERS };

/* Forbidden: its user cannot have more processes than it has. */
static void treat(enum starter treatment)
{
	const struct rlimit none = { 0 };
	pid_t starter = only_child(only_child(getpid()));

	if (treatment == STARTER_FORBIDDEN && prlimit(starter, RLIMIT_NPROC, &none, NULL))
		_exit(3);
	if (treatment == STARTER_KILLED && kill(starter, SIGKILL))
		_exit(3);
}

/*
 * Holds sets, of which some are released at once, so that the helper's numbers have gaps, and is
 * killed.
 */
static void hold_and_die(enum starter starter)
{
	struct detacher *detacher;
	uint32_t held[SETS];
	int fds[SETS][FILES], i;

	if (starter == STARTER_FORBIDDEN && geteuid() == 0 && setresuid(ANYBODY, ANYBODY, ANYBODY))
		_exit(1);
	detacher = detacher_open(DETACHER_AT_ONCE);
	for (i = 0; i < SETS; i++)
		held[i] = hold_files(detacher, i, fds[i]);
	for (i = 0; i < SETS; i += 3)
		detacher_release(detacher, held[i], fds[i], FILES);
	if (detacher_wait(detacher, 20000))
		_exit(4);
	for (i = 0; i < SETS; i += 3)
		hold_files(detacher, i, fds[i]);
	if (detacher_wait(detacher, 20000))
		_exit(5);
	treat(starter);
	kill(getpid(), SIGKILL);
}

/* Reads the names of files as the last copies of their descriptors are closed. */
static void expect_the_first_to_go_last(int watch, int files)
{
	char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	int gone[SETS] = { 0 };

	while (files > 0) {
		struct pollfd polled = { .fd = watch, .events = POLLIN };
		ssize_t length, at = 0;

		assert_int_equal(poll(&polled, 1, 20000), 1);
		length = read(watch, buffer, sizeof(buffer));
		assert_true(length > 0);
		while (at < length) {
			const struct inotify_event *event = (const void *)(buffer + at);
			int set = event->name[0] - '0', place = event->name[2] - '0';

			assert_int_equal(place == 0, ++gone[set] % FILES == 0);
			at += sizeof(*event) + event->len;
			files--;
		}
	}
}

static void test_the_first_of_a_set_goes_last_when_the_process_is_killed(void **state)
{
	char directory[] = "/tmp/detacher.XXXXXX", command[64];
	enum starter starter;
	int watch, status;
	pid_t child;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chmod(directory, 0777), 0);
	for (starter = 0; starter < STARTERS; starter++) {
		watch = inotify_init1(IN_CLOEXEC);
		assert_true(inotify_add_watch(watch, directory, IN_CLOSE_WRITE) >= 0);
		child = fork();
		if (child == 0) {
			if (chdir(directory))
				_exit(1);
			hold_and_die(starter);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		expect_the_first_to_go_last(watch, (SETS + SETS / 3) * FILES);
		close(watch);
		snprintf(command, sizeof(command), "rm -f %s/*", directory);
		assert_int_equal(system(command), 0);
	}
	rmdir(directory);
}

/* As the name of its descriptor says. */
static void find_file(int fd, int *set, int *place)
{
	char link[64], name[128] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, name, sizeof(name) - 1) > 0);
	*set = strrchr(name, '/')[1] - '0';
	*place = strrchr(name, '/')[3] - '0';
}

/* Reads who closes the last copies of files' descriptors, the last time that there is one. */
static void read_closers(int watch, int files, pid_t closers[SETS][FILES])
{
	char buffer[4096] __attribute__((aligned(__alignof__(struct fanotify_event_metadata))));

	while (files > 0) {
		struct pollfd polled = { .fd = watch, .events = POLLIN };
		const struct fanotify_event_metadata *event = (const void *)buffer;
		ssize_t length;
		int set, place;

		assert_int_equal(poll(&polled, 1, 20000), 1);
		length = read(watch, buffer, sizeof(buffer));
		assert_true(length > 0);
		for (; FAN_EVENT_OK(event, length); event = FAN_EVENT_NEXT(event, length)) {
			find_file(event->fd, &set, &place);
			closers[set][place] = event->pid;
			close(event->fd);
			files--;
		}
	}
}

static void test_each_descriptor_ends_with_a_process_of_its_own(void **state)
{
	char directory[] = "/tmp/detacher.XXXXXX", command[64];
	int watch = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC), i, k;
	pid_t closers[SETS][FILES], *all = closers[0], child;

	(void)state;
	if (watch < 0 && errno == EPERM)
		skip();
	assert_true(watch >= 0);
	assert_non_null(mkdtemp(directory));
	assert_int_equal(fanotify_mark(watch, FAN_MARK_ADD, FAN_CLOSE_WRITE | FAN_EVENT_ON_CHILD,
				       AT_FDCWD, directory),
			 0);
	child = fork();
	if (child == 0) {
		if (chdir(directory))
			_exit(1);
		hold_and_die(STARTER_WELL);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	read_closers(watch, (SETS + SETS / 3) * FILES, closers);
	for (i = 0; i < SETS * FILES; i++)
		for (k = 0; k < i; k++)
			assert_int_not_equal(all[i], all[k]);
	close(watch);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

static void test_what_it_has_no_room_for_is_closed_at_once(void **state)
{
	struct rlimit files, few = { .rlim_cur = HELPER_FDS + 40 };
	struct detacher *detacher;
	int fds[MANY], ends[2];
	uint32_t set;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &files);
	few.rlim_max = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	detacher = detacher_open(DETACHER_AT_ONCE);
	setrlimit(RLIMIT_NOFILE, &files);
	set = hold_copies(detacher, fds, MANY, &ends[0]);
	wait_for_all(detacher);
	detacher_release(detacher, set, fds, MANY);
	assert_false(is_open(ends[0]));
	/* And what it had of those is gone. */
	set = hold_copies(detacher, fds, 30, &ends[1]);
	detacher_release(detacher, set, NULL, 0);
	wait_for_all(detacher);
	assert_true(is_open(ends[1]));
	detacher_release(detacher, 0, fds, 30);
	wait_for_all(detacher);
	assert_closed(ends, 2);
	detacher_close(detacher);
}

static void test_without_one_they_are_closed_at_once(void **state)
{
	int end;

	(void)state;
	release_some(NULL, 3, 1, &end);
	assert_closed(&end, 1);
	detacher_flush(NULL);
	assert_int_equal(detacher_wait(NULL, 0), 0);
	detacher_close(NULL);
}

/* Sends a signal to the helper of this process, once that has its name. */
static void signal_helper(const char *name)
{
	char command[64];
	int tries = 1000;

	snprintf(command, sizeof(command), "pkill -%s -P %d memscope-detach", name, (int)getpid());
	while (system(command) && --tries)
		usleep(10000);
	assert_int_not_equal(tries, 0);
}

static void test_what_there_was_no_room_to_say_is_said_later(void **state)
{
	struct detacher *detacher = detacher_open(DETACHER_AT_ONCE);
	int ends[600], kept[MANY], kept_end;
	uint32_t set;

	(void)state;
	set = hold_copies(detacher, kept, 2, &kept_end);
	signal_helper("STOP");
	/* The last ones are closed at once, since the helper cannot be given copies. */
	release_some(detacher, 1, 599, ends);
	release_some(detacher, MANY, 1, &ends[599]);
	detacher_release(detacher, set, kept, 2);
	assert_true(is_open(ends[0]));
	assert_false(is_open(ends[598]));
	assert_false(is_open(ends[599]));
	assert_true(is_open(kept_end));
	assert_int_equal(detacher_wait(detacher, 0), -ETIMEDOUT);
	signal_helper("CONT");
	wait_for_all(detacher);
	assert_false(is_open(kept_end));
	assert_closed(ends, 600);
	close(kept_end);
	detacher_close(detacher);
}

static void test_when_it_has_gone_they_are_closed_at_once(void **state)
{
	struct detacher *detacher = detacher_open(DETACHER_AT_ONCE);
	int before[2], after[2], ends[2];
	siginfo_t info;
	uint32_t set;

	(void)state;
	set = hold_copies(detacher, before, 2, &ends[0]);
	signal_helper("KILL");
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	assert_true(is_open(ends[0]));
	detacher_release(detacher, set, before, 2);
	assert_int_equal(hold_copies(detacher, after, 2, &ends[1]), 0);
	detacher_release(detacher, 0, after, 2);
	assert_closed(ends, 2);
	assert_int_equal(detacher_wait(detacher, 20000), -EPIPE);
	detacher_close(detacher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_closed),
		cmocka_unit_test(test_what_is_held_stays_open),
		cmocka_unit_test(test_one_set_does_not_wait_for_another),
		cmocka_unit_test(test_in_turn_one_waits_for_another),
		cmocka_unit_test(test_they_are_closed_when_the_process_is_killed),
		cmocka_unit_test(test_the_first_of_a_set_goes_last_when_the_process_is_killed),
		cmocka_unit_test(test_each_descriptor_ends_with_a_process_of_its_own),
		cmocka_unit_test(test_what_it_has_no_room_for_is_closed_at_once),
		cmocka_unit_test(test_without_one_they_are_closed_at_once),
		cmocka_unit_test(test_what_there_was_no_room_to_say_is_said_later),
		cmocka_unit_test(test_when_it_has_gone_they_are_closed_at_once),
	};

	return unit_run("detacher", tests);
}
