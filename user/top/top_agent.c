// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_agent.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define WAIT_NS 2000000000ull
#define PIECE 65536
#define ANSWER_MOST (32u << 20)

static int open_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Until there is something to be done. */
static int wait_for(int fd, short events, uint64_t until_ns)
{
	const uint64_t now_ns = clock_monotonic_ns();
	struct pollfd descriptor = { .fd = fd, .events = events };
	int ready;

	if (now_ns >= until_ns)
		return -ETIMEDOUT;
	ready = poll(&descriptor, 1, (int)((until_ns - now_ns) / 1000000) + 1);
	return ready > 0 || (ready < 0 && errno == EINTR) ? 0 : ready < 0 ? -errno : -ETIMEDOUT;
}

/* HTTP 1.0: the agent ends the connection behind the answer. */
static int send_request(int fd, const char *path, uint64_t until_ns)
{
	struct string request = { 0 };
	size_t sent = 0;
	int err;

	string_append_format(&request, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
	err = request.failed ? -ENOMEM : 0;
	while (!err && sent < request.length) {
		const ssize_t length =
			send(fd, request.bytes + sent, request.length - sent, MSG_NOSIGNAL);

		if (length >= 0)
			sent += (size_t)length;
		else
			err = errno == EAGAIN ? wait_for(fd, POLLOUT, until_ns) : -errno;
	}
	string_fini(&request);
	return err;
}

static int receive(int fd, struct string *answer, uint64_t until_ns)
{
	for (;;) {
		const size_t begin = answer->length;
		char *place = string_extend(answer, PIECE);
		ssize_t length;
		int err = 0;

		if (!place)
			return -ENOMEM;
		length = recv(fd, place, PIECE, 0);
		answer->length = begin + (length > 0 ? (size_t)length : 0);
		if (!length)
			return 0;
		if (length < 0)
			err = errno == EAGAIN ? wait_for(fd, POLLIN, until_ns) : -errno;
		if (err)
			return err;
		if (answer->length > ANSWER_MOST)
			return -EMSGSIZE;
	}
}

/* "HTTP/1.x 200 ...", and where the body begins. */
static int find_body(const struct string *answer, size_t *body)
{
	static const char end[] = "\r\n\r\n";
	const char *found =
		answer->length ? memmem(answer->bytes, answer->length, end, sizeof(end) - 1) : NULL;

	if (!found || answer->length < 12 || memcmp(answer->bytes, "HTTP/1.", 7) != 0)
		return -EPROTO;
	if (memcmp(answer->bytes + 8, " 200", 4) != 0)
		return memcmp(answer->bytes + 8, " 404", 4) ? -EPROTO : -ESRCH;
	*body = (size_t)(found - answer->bytes) + sizeof(end) - 1;
	return 0;
}

int top_agent_ask(const char *socket, const char *path, struct string *answer, size_t *body)
{
	const uint64_t until_ns = clock_monotonic_ns() + WAIT_NS;
	int fd = open_socket(socket), err = fd < 0 ? fd : 0;

	string_clear(answer);
	if (!err)
		err = send_request(fd, path, until_ns);
	if (!err)
		err = receive(fd, answer, until_ns);
	if (fd >= 0)
		close(fd);
	if (!err)
		err = find_body(answer, body);
	return err;
}

void top_agent_tell(const char *socket, int err)
{
	if (err == -ENOENT || err == -ECONNREFUSED)
		log_error("%s: no agent listens there; `memscope-bpf agent --socket %s` starts one",
			  socket, *socket == '/' ? socket : "PATH");
	else
		log_error("%s: cannot ask the agent: %s", socket, strerror(-err));
}
