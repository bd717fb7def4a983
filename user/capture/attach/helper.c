// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/helper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

/* Nothing of ours may hold what others wait for: a pipe's end, a terminal. */
static void let_go(void)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

static void run(int fd, const char *name, bool keeps_fds, void (*serve)(int fd))
{
	/* What ends a terminal's programs is not for this one: it ends when nobody needs it. */
	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, name);
	/* While it holds the kernel's locks for uprobes, no process on the machine can fork. */
	setpriority(PRIO_PROCESS, 0, -20);
	let_go();
	if (!keeps_fds) {
		fd = dup2(fd, STDERR_FILENO + 1);
		syscall(SYS_close_range, STDERR_FILENO + 2, ~0u, 0);
	}
	serve(fd);
	helper_exit();
}

int helper_start(struct helper *helper, const char *name, bool keeps_fds, void (*serve)(int fd))
{
	int ends[2], err;

	*helper = (struct helper){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	helper->pid = fork();
	if (helper->pid == 0) {
		close(ends[0]);
		run(ends[1], name, keeps_fds, serve);
	}
	err = helper->pid < 0 ? -errno : 0;
	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		helper->fd = ends[0];
	return err;
}

/*
 * After a SIGKILL that comes while _exit() has only begun, the kernel takes the whole end of the
 * process for cut short. One that comes while the process dies of another it drops.
 */
void helper_exit(void)
{
	kill(getpid(), SIGKILL);
	_exit(0);
}

void helper_warn_missing(const char *name, int err)
{
	log_warning(
		"cannot start the helper process %s: %s; continuing without it. If this program is"
		" killed (SIGKILL) while it attaches or detaches, breakpoints can stay in the"
		" traced process",
		name, strerror(-err));
}

void helper_end(struct helper *helper)
{
	if (helper->pid <= 0)
		return;
	close(helper->fd);
	while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*helper = (struct helper){ .fd = -1 };
}

uint64_t helper_cpu_ns(const struct helper *helper)
{
	struct timespec used = { 0 };
	clockid_t clock;

	if (helper->pid > 0 && !clock_getcpuclockid(helper->pid, &clock))
		clock_gettime(clock, &used);
	return used.tv_sec * 1000000000ull + used.tv_nsec;
}

/* ---- messages -------------------------------------------------------------------------------- */

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(HELPER_FDS * sizeof(int))];
};

int helper_send(int fd, const void *message, size_t bytes, const int *fds, size_t count, bool wait)
{
	struct iovec part = { (void *)message, bytes };
	union control control = { 0 };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	assert(count <= HELPER_FDS);
	if (count) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)),
						   .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	while (sendmsg(fd, &header, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT)) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

ssize_t helper_receive(int fd, void *message, size_t bytes, int *fds, size_t *count)
{
	struct iovec part = { message, bytes };
	union control control = { 0 };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = CMSG_SPACE(*count * sizeof(int)) };
	const struct cmsghdr *first;
	ssize_t length;

	assert(*count <= HELPER_FDS);
	do {
		length = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	} while (length < 0 && errno == EINTR);
	if (length < 0)
		return -errno;
	first = CMSG_FIRSTHDR(&header);
	*count = first ? (first->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	if (*count)
		memcpy(fds, CMSG_DATA(first), *count * sizeof(int));
	return length;
}
