// SPDX-License-Identifier: BSD-2-Clause
/*
 * Clients of the agent's socket, which ask for a document again and again, and how long it took
 * them to get it: for tools/bench/clients.
 *
 * usage: asking SOCKET PATH CLIENTS PERIOD_MS SECONDS
 *
 * All clients stay connected. Each asks once in each period: the first one at its beginning, the
 * others one after the other in it; with a period of 0, each asks as soon as it has its answer.
 * Prints, on one line: how many answers there were, how many of them by another status than 200,
 * the bytes of the last one, and the median, 99th percentile and maximum of the time from a request
 * (if it is late, from when it was to be sent) to the last byte of its answer, in microseconds.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "quantile.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define MOST_CLIENTS 1024
#define BUFFER (1 << 20)

struct client {
	int fd;
	uint64_t due_ns; /* of the next request, or of the one that is under way */
	bool asks;
	size_t got_bytes, whole_bytes; /* of the answer; 0: how long it is, is not known yet */
	char head[4096];
};

struct run {
	const char *path;
	struct client *clients;
	int count, epoll_fd;
	uint64_t period_ns, end_ns;
	double *times_us;
	size_t times_count, times_capacity;
	uint64_t bad, last_bytes;
};

static char buffer[BUFFER];

static void fail(const char *what)
{
	fprintf(stderr, "asking: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void note(struct run *run, uint64_t ns)
{
	if (run->times_count == run->times_capacity) {
		run->times_capacity = run->times_capacity ? 2 * run->times_capacity : 4096;
		run->times_us =
			realloc(run->times_us, run->times_capacity * sizeof(*run->times_us));
		if (!run->times_us)
			fail("memory");
	}
	run->times_us[run->times_count++] = (double)ns / 1000;
}

static void send_request(struct run *run, struct client *client)
{
	char request[512];
	const int length = snprintf(request, sizeof(request),
				    "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", run->path);

	if (send(client->fd, request, (size_t)length, MSG_NOSIGNAL) != length)
		fail("send");
	client->asks = true;
	client->got_bytes = client->whole_bytes = 0;
}

static void finish(struct run *run, struct client *client)
{
	const uint64_t now = now_ns();

	note(run, now - client->due_ns);
	run->bad += strncmp(client->head, "HTTP/1.1 200", 12) != 0;
	run->last_bytes = client->whole_bytes;
	client->asks = false;
	client->due_ns = run->period_ns ? client->due_ns + run->period_ns : now;
}

/* The head is taken to come with the first bytes. */
static void take(struct run *run, struct client *client)
{
	const ssize_t got = recv(client->fd, buffer, sizeof(buffer) - 1, MSG_DONTWAIT);
	const char *body, *length;

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0)
		fail("the agent has closed a connection");
	if (!client->got_bytes) {
		buffer[got] = '\0';
		body = strstr(buffer, "\r\n\r\n");
		length = strcasestr(buffer, "content-length:");
		if (!body || !length || length > body)
			fail("no head of an answer");
		client->whole_bytes = (size_t)(body + 4 - buffer) + strtoul(length + 15, NULL, 10);
		memcpy(client->head, buffer, 16);
	}
	client->got_bytes += (size_t)got;
	if (client->got_bytes == client->whole_bytes)
		finish(run, client);
}

static void connect_all(struct run *run, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const uint64_t begin_ns = now_ns();
	int i;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	for (i = 0; i < run->count; i++) {
		struct client *client = &run->clients[i];
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };

		client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (client->fd < 0 ||
		    connect(client->fd, (struct sockaddr *)&address, sizeof(address)) ||
		    epoll_ctl(run->epoll_fd, EPOLL_CTL_ADD, client->fd, &event))
			fail(path);
		client->due_ns = begin_ns + (uint64_t)i * run->period_ns / (uint64_t)run->count;
	}
}

/* Sends what is due. Returns when the next one is. */
static uint64_t send_due(struct run *run)
{
	uint64_t next_ns = UINT64_MAX;
	int i;

	for (i = 0; i < run->count; i++) {
		struct client *client = &run->clients[i];

		if (!client->asks && client->due_ns < run->end_ns && client->due_ns <= now_ns())
			send_request(run, client);
		if (!client->asks && client->due_ns < next_ns)
			next_ns = client->due_ns;
	}
	return next_ns;
}

static bool any_asks(const struct run *run)
{
	int i;

	for (i = 0; i < run->count; i++)
		if (run->clients[i].asks)
			return true;
	return false;
}

static void ask(struct run *run)
{
	struct epoll_event events[128];

	while (now_ns() < run->end_ns || any_asks(run)) {
		const uint64_t next_ns = send_due(run), now = now_ns();
		const uint64_t wait_ns = next_ns > now ? next_ns - now : 0;
		const struct timespec wait = { 0, (long)(wait_ns < MS_NS ? wait_ns : MS_NS) };
		const int ready = epoll_pwait2(run->epoll_fd, events, 128, &wait, NULL);
		int i;

		for (i = 0; i < ready; i++)
			take(run, events[i].data.ptr);
	}
}

int main(int argc, char **argv)
{
	struct run run = { 0 };

	if (argc != 6 || atoi(argv[3]) < 1 || atoi(argv[3]) > MOST_CLIENTS) {
		fprintf(stderr, "usage: asking SOCKET PATH CLIENTS PERIOD_MS SECONDS\n");
		return 2;
	}
	run.path = argv[2];
	run.count = atoi(argv[3]);
	run.period_ns = strtoull(argv[4], NULL, 10) * MS_NS;
	run.clients = calloc((size_t)run.count, sizeof(*run.clients));
	run.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!run.clients || run.epoll_fd < 0)
		fail("cannot begin");
	connect_all(&run, argv[1]);
	run.end_ns = now_ns() + strtoull(argv[5], NULL, 10) * SECOND_NS;
	ask(&run);
	if (!run.times_count)
		fail("no answers");
	printf("%zu %llu %llu %.0f %.0f %.0f\n", run.times_count, (unsigned long long)run.bad,
	       (unsigned long long)run.last_bytes,
	       quantile(run.times_us, (int)run.times_count, 0.5),
	       quantile(run.times_us, (int)run.times_count, 0.99),
	       quantile(run.times_us, (int)run.times_count, 1));
	return 0;
}
