// SPDX-License-Identifier: BSD-2-Clause
/*
 * Closing descriptors in another process.
 */
#include "capture/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture/helper.h"
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

static void add_some(struct closer *closer, size_t count, size_t times, int *ends)
{
	int fds[MANY];
	size_t i;

	for (i = 0; i < times; i++) {
		ends[i] = open_copies(fds, count);
		assert_true(is_open(ends[i]));
		closer_add(closer, fds, count);
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

static void wait_for_all(struct closer *closer)
{
	assert_true(closer_wait(closer, 20000));
}

static void test_all_are_closed(void **state)
{
	static const size_t counts[] = { 1, 3, HELPER_FDS, HELPER_FDS + 1, MANY };
	struct closer *closer = closer_open();
	int ends[50];
	size_t i;

	(void)state;
	assert_non_null(closer);
	closer_add(closer, NULL, 0);
	wait_for_all(closer);
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		add_some(closer, counts[i], 1, ends);
		wait_for_all(closer);
		assert_closed(ends, 1);
	}
	/* More sets than are closed at a time. */
	add_some(closer, 2, 50, ends);
	closer_flush(closer);
	wait_for_all(closer);
	assert_closed(ends, 50);
	/* It ends when it has done all it was asked to. */
	add_some(closer, MANY, 2, ends);
	closer_close(closer);
	assert_closed(ends, 2);
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

static void test_one_set_does_not_wait_for_another_and_keeps_its_order(void **state)
{
	struct closer *closer = closer_open();
	int set[3], peer, before, behind, other;

	(void)state;
	before = open_copies(&set[0], 1);
	set[1] = open_slow(&peer);
	behind = open_copies(&set[2], 1);
	closer_add(closer, set, 3);
	add_some(closer, 1, 1, &other);
	wait_until_closed(before);
	wait_until_closed(other);
	assert_true(is_open(behind));
	assert_false(closer_wait(closer, 0));
	assert_false(closer_wait(closer, 10));
	assert_false(closer_wait(closer, 10));
	close(peer);
	wait_for_all(closer);
	assert_false(is_open(behind));
	close(before);
	close(behind);
	close(other);
	closer_close(closer);
}

static void test_without_one_they_are_closed_at_once(void **state)
{
	int end;

	(void)state;
	add_some(NULL, 3, 1, &end);
	assert_closed(&end, 1);
	closer_flush(NULL);
	assert_true(closer_wait(NULL, 0));
	closer_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_closed),
		cmocka_unit_test(test_one_set_does_not_wait_for_another_and_keeps_its_order),
		cmocka_unit_test(test_without_one_they_are_closed_at_once),
	};

	return unit_run("closer", tests);
}
