// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library to be preloaded into the tool, which lacks what LACKING names, as on a machine that has
 * none of it, or no more:
 *
 *   verifier      the kernel refuses one of the BPF programs, with the number in REFUSAL
 *   fork          no process can be started
 *   descriptors   memscope-attach cannot send the third one
 *   files         memscope-attach has no room for those that it is sent
 *   answers       memscope-attach cannot send anything
 *   library       libcuda.so.1 cannot be opened, as if it were on another user's FUSE mount
 *   iterator      no iterator of BPF can be made as long as there is a file "refused"
 *   speed         attaching to the driver takes half a second
 *   function      the kernel has no probe in the driver's bytes from REFUSED on, which are 16 or
 *                 REFUSED_BYTES; with a REFUSAL only as long as there is a file "refused"
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
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

/* The beginning of union bpf_attr's link_create with its uprobe_multi arm, as of Linux 6.6. */
struct multi_attr {
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count;
};

/* By default, the kernel's ENOTSUPP: of instructions that it refuses. */
static int refusal(void)
{
	const char *number = getenv("REFUSAL");

	return number ? atoi(number) : 524;
}

/* `path` leads to the file that functions are to be probed in. */
static bool is_driver(uint64_t path)
{
	char file[PATH_MAX] = "";

	return readlink((const char *)(uintptr_t)path, file, sizeof(file) - 1) > 0 &&
	       strstr(file, "/libcuda.so");
}

static bool is_refused(uint64_t offset)
{
	const char *bytes = getenv("REFUSED_BYTES");

	if (getenv("REFUSAL") && access("refused", F_OK))
		return false;
	return offset - strtoull(getenv("REFUSED"), NULL, 0) <
	       (bytes ? strtoull(bytes, NULL, 0) : 16);
}

/* Only of links on uprobes. */
static bool has_refused(const struct multi_attr *attr)
{
	const uint64_t *offsets = (const uint64_t *)(uintptr_t)attr->offsets;
	uint32_t i;

	if (attr->attach_type < 48 /* BPF_TRACE_UPROBE_MULTI */ || !is_driver(attr->path))
		return false;
	for (i = 0; i < attr->count; i++)
		if (is_refused(offsets[i]))
			return true;
	return false;
}

static bool refuses(long number, const long *arguments)
{
	const struct perf_event_attr *event = (const struct perf_event_attr *)arguments[0];

	if (number == SYS_bpf && arguments[0] == BPF_LINK_CREATE)
		return has_refused((const struct multi_attr *)arguments[1]);
	return number == SYS_perf_event_open && event->type != PERF_TYPE_SOFTWARE &&
	       is_driver(event->uprobe_path) && is_refused(event->probe_offset);
}

/* `path` is its name, or a link to it, as in /proc/PID/map_files. */
static bool is_hidden(const char *path)
{
	char file[PATH_MAX] = "";

	if (!lacks("library"))
		return false;
	return strstr(path, "libcuda.so") ||
	       (readlink(path, file, sizeof(file) - 1) > 0 && strstr(file, "/libcuda.so"));
}

API int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	va_list list;
	int mode;

	va_start(list, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
	va_end(list);
	if (!is_hidden(path))
		return real(path, flags, mode);
	errno = EACCES;
	return -1;
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
		errno = refusal();
		return -1;
	}
	if (number == SYS_openat2 && is_hidden((const char *)arguments[1])) {
		errno = EACCES;
		return -1;
	}
	if (lacks("iterator") && number == SYS_bpf && arguments[0] == BPF_ITER_CREATE &&
	    !access("refused", F_OK)) {
		errno = ENOMEM;
		return -1;
	}
	if (lacks("speed") && number == SYS_bpf && arguments[0] == BPF_LINK_CREATE &&
	    is_driver(((const struct multi_attr *)attr)->path))
		usleep(500000);
	if (lacks("function") && refuses(number, arguments)) {
		errno = refusal();
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
				  (lacks("descriptors") && message->msg_controllen && ++sent == 3));

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
