// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/file_protocol.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

int file_protocol_send(int fd, const void *bytes, size_t length)
{
	while (length) {
		const ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -EPIPE;
		bytes = (const char *)bytes + sent;
		length -= sent;
	}
	return 0;
}

int file_protocol_receive(int fd, void *bytes, size_t length, uint64_t until_ns)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	while (length) {
		const uint64_t now = clock_monotonic_ns();
		const int ms = now < until_ns ? (int)((until_ns - now) / 1000000) + 1 : 0;
		const int polled = poll(&ready, 1, ms);
		ssize_t got;

		if (!polled)
			return -ETIMEDOUT;
		got = polled < 0 ? -1 : recv(fd, bytes, length, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EPIPE;
		bytes = (char *)bytes + got;
		length -= got;
	}
	return 0;
}

union file_control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

int file_protocol_ask(int fd, const struct file_question *question, int file)
{
	union file_control control = { .bytes = { 0 } };
	struct iovec part = { (void *)question, sizeof(*question) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (file >= 0) {
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(file)),
						   .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &file, sizeof(file));
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	/* A question is smaller than any buffer: it is sent whole or not at all. */
	if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*question))
		return 0;
	return errno == EAGAIN || errno == ETOOMANYREFS ? -EAGAIN : -EPIPE;
}

int file_protocol_take(int fd, struct file_question *question, int *file)
{
	union file_control control;
	struct iovec part = { question, sizeof(*question) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	const struct cmsghdr *header;

	*file = -1;
	if (recvmsg(fd, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*question))
		return -EPIPE;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(file, CMSG_DATA(header), sizeof(*file));
	return 0;
}
