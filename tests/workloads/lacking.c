// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library to be preloaded into the tool, which lacks what LACKING names, as on a machine that has
 * none of it, or no more:
 *
 *   verifier      the kernel refuses one of the BPF programs, with the number in REFUSAL
 *   fork          no process can be started
 *   descriptors   memscope-attach cannot send the second one
 *   files         memscope-attach has no room for those that it is sent
 *   answers       memscope-attach cannot send anything
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

static bool lacks(const char *what)
{
	const char *lacking = getenv("LACKING");

	return lacking && !strcmp(lacking, what);
}

static bool is_attacher(void)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	return !strcmp(name, "memscope-attach");
}

API long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const union bpf_attr *attr;
	long arguments[6];
	va_list list;
	size_t i;

	va_start(list, number);
	for (i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	attr = (const union bpf_attr *)arguments[1];
	if (lacks("verifier") && number == SYS_bpf && arguments[0] == BPF_PROG_LOAD &&
	    !strcmp(attr->prog_name, "ms_exec")) {
		errno = atoi(getenv("REFUSAL"));
		return -1;
	}
	return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		    arguments[5]);
}

API pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	if (!lacks("fork"))
		return real();
	errno = EAGAIN;
	return -1;
}

API ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int) =
		(ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
	static int sent;
	bool fails =
		is_attacher() && (lacks("answers") ||
				  (lacks("descriptors") && message->msg_controllen && ++sent == 2));

	if (!fails)
		return real(fd, message, flags);
	errno = ETOOMANYREFS;
	return -1;
}

/* What the kernel does then: the message comes, without them. */
API ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int) =
		(ssize_t(*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");

	if (lacks("files") && is_attacher())
		message->msg_controllen = 0;
	return real(fd, message, flags);
}
