// SPDX-License-Identifier: BSD-2-Clause
/*
 * Small parts of the agent: addresses, the channel between its processes, what a service manager
 * is told, times of clients, and bundles that are left.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/bundles.h"
#include "agent/channel.h"
#include "agent/http_clients.h"
#include "agent/keeper.h"
#include "agent/listener.h"
#include "agent/notify.h"
#include "base/log.h"

static char directory[] = "/tmp/agent_parts_test.XXXXXX";

static void addresses_are_numbers(void **unused)
{
	static const char *const wrong[] = {
		"",
		"9750",
		":9750",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:0",
		"127.0.0.1:65536",
		"localhost:9750",
		"[::1:9750",
		"[]:1",
		"unix:",
		"unix:relative",
		"1.2.3.4.5:1",
		"127.0.0.1:9750x",
	};
	struct listener_address address;
	char path[300] = "unix:/";
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(listener_parse(&address, wrong[i]), -EINVAL);
	assert_int_equal(listener_parse(&address, "127.0.0.1:9750"), 0);
	assert_int_equal(((struct sockaddr_in *)&address.address)->sin_port, htons(9750));
	assert_false(address.is_unix);
	assert_int_equal(listener_parse(&address, "[::1]:1"), 0);
	assert_int_equal(address.address.ss_family, AF_INET6);
	assert_int_equal(listener_parse(&address, "unix:/run/x"), 0);
	assert_true(address.is_unix);
	memset(path + strlen(path), 'a', 200);
	assert_int_equal(listener_parse(&address, path), -EINVAL);
}

/* One that was killed leaves its socket, which is in nobody's way; one that listens is. */
static void left_sockets_are_replaced(void **unused)
{
	struct listener_address address;
	char text[100];
	int first, second;

	(void)unused;
	snprintf(text, sizeof(text), "unix:%s/socket", directory);
	assert_int_equal(listener_parse(&address, text), 0);
	first = listener_open(&address, "listen", text);
	assert_true(first >= 0);
	assert_int_equal(listener_open(&address, "listen", text), -EADDRINUSE);
	close(first);
	second = listener_open(&address, "listen", text);
	assert_true(second >= 0);
	close(second);
	unlink(text + 5);
	/* A file is not taken for one. */
	close(open(text + 5, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(listener_open(&address, "listen", text), -EADDRINUSE);
	unlink(text + 5);
}

static void channel_passes_questions_and_answers(void **unused)
{
	struct channel_question question = { .number = 7, .request.document = REQUEST_WHO }, taken;
	struct channel_message message = { .type = CHANNEL_ANSWER, .number = 7, .status = 200 };
	int capture, server, ends[2], passed;
	char byte = 0;

	(void)unused;
	assert_int_equal(channel_open(&capture, &server), 0);
	assert_int_equal(channel_take_question(capture, &taken), -EAGAIN);
	assert_int_equal(channel_take_message(server, &message, &passed), -EAGAIN);
	assert_int_equal(passed, -1);
	assert_int_equal(channel_ask(server, &question), 0);
	assert_int_equal(channel_take_question(capture, &taken), 0);
	assert_int_equal(taken.number, 7);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(channel_say(capture, &message, ends[0]), 0);
	close(ends[0]);
	message.number = 0;
	assert_int_equal(channel_take_message(server, &message, &passed), 0);
	assert_int_equal(message.number, 7);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(read(passed, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(passed);
	close(ends[1]);
	/* What is not a message is none, and its descriptor does not stay. */
	assert_int_equal(write(capture, "x", 1), 1);
	assert_int_equal(channel_take_message(server, &message, &passed), -EPROTO);
	assert_int_equal(passed, -1);
	close(capture);
	assert_int_equal(channel_take_message(server, &message, &passed), -EPIPE);
	assert_int_equal(channel_ask(server, &question), -EPIPE);
	close(server);
}

static void service_manager_is_told(void **unused)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int manager = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct notify notify;
	char text[100] = "";

	(void)unused;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", directory);
	assert_int_equal(bind(manager, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	setenv("WATCHDOG_USEC", "3000000", 1);
	notify_open(&notify);
	assert_int_equal(notify.watchdog_ns, 3000000000);
	assert_null(getenv("NOTIFY_SOCKET"));
	notify_say(&notify, "STATUS=%d", 7);
	assert_int_equal(recv(manager, text, sizeof(text) - 1, 0), 8);
	assert_string_equal(text, "STATUS=7");
	notify_close(&notify);
	/* Another process's watchdog, and no manager. */
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	setenv("WATCHDOG_USEC", "3000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	notify_open(&notify);
	assert_int_equal(notify.watchdog_ns, 0);
	notify_close(&notify);
	notify_open(&notify);
	assert_int_equal(notify.fd, -1);
	notify_say(&notify, "READY=1");
	close(manager);
	unlink(address.sun_path);
}

static void late_clients_are_dropped(void **unused)
{
	struct http_clients clients = { 0 };
	struct http_client *client;
	int ends[2];
	char byte;

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	client = http_clients_add(&clients, ends[0], 0);
	assert_non_null(client);
	http_clients_drop_late(&clients, client->due_ns - 1);
	assert_int_equal(clients.dropped, 0);
	http_clients_drop_late(&clients, client->due_ns);
	http_clients_drop_late(&clients, UINT64_MAX - 1);
	assert_int_equal(clients.dropped, 1);
	assert_int_equal(read(ends[1], &byte, 1), 0);
	/* Root, who runs this, or else a user who sees what is his. */
	assert_int_equal(http_clients_peer(ends[1], (gid_t)-1),
			 geteuid() ? geteuid() : REQUEST_EVERYBODY);
	assert_int_equal(http_clients_peer(ends[1], getegid()), REQUEST_EVERYBODY);
	assert_int_equal(http_clients_peer(-1, (gid_t)-1), REQUEST_EVERYBODY - 1);
	http_clients_remove(&clients, client);
	assert_int_equal(clients.count, 0);
	close(ends[0]);
	close(ends[1]);
}

static void make_bundle(const char *name, time_t written)
{
	const struct timespec times[2] = { { .tv_sec = written }, { .tv_sec = written } };
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static bool is_there(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return !access(path, F_OK);
}

static void newest_bundles_stay(void **unused)
{
	char name[100];
	int i;

	(void)unused;
	for (i = 0; i < BUNDLES_KEPT + 3; i++) {
		snprintf(name, sizeof(name), "h-%d.oom-1.mscope", i);
		make_bundle(name, 1000 - i);
	}
	make_bundle("run.mscope", 1);
	make_bundle("h.oom-.mscope", 1);
	make_bundle("h.oom-1.mscope.part", 1);
	assert_int_equal(bundles_prune(directory), 3);
	assert_true(is_there("h-0.oom-1.mscope"));
	assert_true(is_there("h-7.oom-1.mscope"));
	assert_false(is_there("h-8.oom-1.mscope"));
	assert_true(is_there("run.mscope"));
	assert_true(is_there("h.oom-.mscope"));
	assert_true(is_there("h.oom-1.mscope.part"));
	assert_int_equal(bundles_prune(directory), 0);
	assert_int_equal(bundles_prune("/nonexistent"), 0);
}

static int remove_directory(void **unused)
{
	char command[100];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command);
}

/* A program that fails again and again, and a restart, push out no other incident. */
static void other_incidents_stay(void **unused)
{
	char name[100];
	int i;

	(void)unused;
	remove_directory(NULL);
	assert_int_equal(mkdir(directory, 0700), 0);
	make_bundle("i.oom-1.mscope", 100000);
	make_bundle("i.signal-1.mscope", 110000);
	make_bundle("i.limit-1.mscope", 110001);
	for (i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "i-%d.oom-%d.mscope", i / 6, 2 + i % 6);
		make_bundle(name, 120000 + 2 * i);
	}
	bundles_prune(directory);
	assert_true(is_there("i.oom-1.mscope"));
	assert_true(is_there("i.signal-1.mscope"));
	assert_true(is_there("i.limit-1.mscope"));
	assert_false(is_there("i-0.oom-2.mscope"));
	assert_false(is_there("i-1.oom-2.mscope"));
	assert_true(is_there("i-1.oom-3.mscope"));
	assert_true(is_there("i-1.oom-7.mscope"));
	/* Of those that are asked for, there are no more than leave room for others. */
	for (i = 2; i < 9; i++) {
		snprintf(name, sizeof(name), "i.signal-%d.mscope", i);
		make_bundle(name, 130000 + i);
	}
	bundles_prune(directory);
	assert_true(is_there("i.oom-1.mscope"));
	assert_true(is_there("i-1.oom-6.mscope"));
	assert_true(is_there("i-1.oom-7.mscope"));
	assert_false(is_there("i.signal-1.mscope"));
	assert_true(is_there("i.signal-8.mscope"));
}

static int make_directory(void **unused)
{
	(void)unused;
	log_set_level(LOG_ERROR);
	return mkdtemp(directory) ? 0 : -1;
}

/* What ends by exit(1), as programs do whose memory a sanitizer finds broken, has failed. */
static void only_one_status_is_a_renewal(void **unused)
{
	struct keeper keeper = { .renews = true };
	int status;

	(void)unused;
	for (status = 0; status < 256; status++)
		assert_int_equal(keeper_is_renewal(&keeper, status << 8), status == 75);
	assert_false(keeper_is_renewal(&keeper, SIGKILL));
	keeper.renews = false;
	assert_false(keeper_is_renewal(&keeper, 75 << 8));
}

static void pauses_become_longer(void **unused)
{
	static const unsigned int seconds[] = { 1, 1, 2, 4, 8, 16, 32, 60, 60 };
	unsigned int i;

	(void)unused;
	for (i = 0; i < sizeof(seconds) / sizeof(*seconds); i++)
		assert_int_equal(keeper_pause_s(i), seconds[i]);
	assert_int_equal(keeper_pause_s(UINT_MAX), 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_numbers),
		cmocka_unit_test(only_one_status_is_a_renewal),
		cmocka_unit_test(pauses_become_longer),
		cmocka_unit_test(left_sockets_are_replaced),
		cmocka_unit_test(channel_passes_questions_and_answers),
		cmocka_unit_test(service_manager_is_told),
		cmocka_unit_test(late_clients_are_dropped),
		cmocka_unit_test(newest_bundles_stay),
		cmocka_unit_test(other_incidents_stay),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
