// SPDX-License-Identifier: BSD-2-Clause
/*
 * Of ioctl_storm.c, how one process hands a file to another.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "ioctl_storm.h"

void send_file(int socket, int file)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = space,
				  .msg_controllen = sizeof(space) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &file, sizeof(file));
	if (sendmsg(socket, &message, 0) != 1)
		perror("sendmsg");
}

int receive_file(int socket)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = space,
				  .msg_controllen = sizeof(space) };
	int file = -1;

	if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(file));
	return file;
}
