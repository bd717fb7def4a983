// SPDX-License-Identifier: BSD-2-Clause
#include "agent/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int channel_open(int *capture, int *server)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	*capture = pair[0];
	*server = pair[1];
	return 0;
}

static int result_of(ssize_t length, size_t expected)
{
	if (length < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (!length)
		return -EPIPE;
	return (size_t)length == expected ? 0 : -EPROTO;
}

int channel_ask(int fd, const struct channel_question *question)
{
	return result_of(send(fd, question, sizeof(*question), MSG_NOSIGNAL), sizeof(*question));
}

int channel_take_question(int fd, struct channel_question *question)
{
	return result_of(recv(fd, question, sizeof(*question), 0), sizeof(*question));
}

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int channel_send(int fd, const void *message, size_t size, int passed_fd)
{
	struct iovec part = { (void *)message, size };
	union control control = { 0 };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	if (passed_fd >= 0) {
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &passed_fd, sizeof(int));
	}
	return result_of(sendmsg(fd, &header, MSG_NOSIGNAL), size);
}

int channel_receive(int fd, void *message, size_t size, int *passed_fd)
{
	struct iovec part = { message, size };
	union control control = { 0 };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control) };
	int err = result_of(recvmsg(fd, &header, MSG_CMSG_CLOEXEC), size);
	const struct cmsghdr *first = err == -EAGAIN ? NULL : CMSG_FIRSTHDR(&header);

	*passed_fd = -1;
	if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS)
		memcpy(passed_fd, CMSG_DATA(first), sizeof(int));
	if (err && *passed_fd >= 0) {
		close(*passed_fd);
		*passed_fd = -1;
	}
	return err;
}

int channel_say(int fd, const struct channel_message *message, int passed_fd)
{
	return channel_send(fd, message, sizeof(*message), passed_fd);
}

int channel_take_message(int fd, struct channel_message *message, int *passed_fd)
{
	return channel_receive(fd, message, sizeof(*message), passed_fd);
}
