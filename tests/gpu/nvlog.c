// SPDX-License-Identifier: BSD-2-Clause
/*
 * To be preloaded: writes down what a program asks the NVIDIA driver by open, ioctl, mmap and
 * close, a line of JSON each, with the bytes before and after and those of the nested parameters of
 * RM_CONTROL and RM_ALLOC. $NVLOG: the file. nvlog_mark(): a line of the program's own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FDS 4096
#define BYTES 2048

static char kinds[FDS]; /* of the descriptors: 'c'ontrol, 'd'evice, 'u'vm, 'o'ther of NVIDIA's */
static FILE *log_file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("NVLOG");

	if (path)
		log_file = fopen(path, "ae");
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void put_hex(const char *name, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	size_t i;

	fprintf(log_file, ",\"%s\":\"", name);
	for (i = 0; i < size && i < BYTES; i++)
		fprintf(log_file, "%02x", bytes[i]);
	fputc('"', log_file);
}

static void line_begin(const char *what)
{
	pthread_mutex_lock(&lock);
	fprintf(log_file, "{\"what\":\"%s\",\"ts\":%lld,\"tid\":%ld", what, now_ns(),
		syscall(SYS_gettid));
}

static void line_end(void)
{
	fputs("}\n", log_file);
	fflush(log_file);
	pthread_mutex_unlock(&lock);
}

void nvlog_mark(const char *text)
{
	if (!log_file)
		return;
	line_begin("mark");
	fprintf(log_file, ",\"text\":\"%s\"", text);
	line_end();
}

static int opened(int fd, const char *path)
{
	char kind = 'o';

	if (fd < 0 || fd >= FDS || !log_file)
		return fd;
	kinds[fd] = 0;
	if (strncmp(path, "/dev/nvidia", 11) && strncmp(path, "/dev/dri", 8) &&
	    strncmp(path, "/proc/driver/nvidia", 19))
		return fd;
	if (!strcmp(path, "/dev/nvidiactl"))
		kind = 'c';
	else if (!strncmp(path, "/dev/nvidia-uvm", 15))
		kind = 'u';
	else if (path[11] >= '0' && path[11] <= '9')
		kind = 'd';
	kinds[fd] = kind;
	line_begin("open");
	fprintf(log_file, ",\"fd\":%d,\"path\":\"%s\"", fd, path);
	line_end();
	return fd;
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
	return opened(syscall(SYS_openat, dir, path, flags, mode), path);
}

#define MODE(flags) \
	({ \
		mode_t mode_ = 0; \
		va_list args_; \
		if ((flags) & (O_CREAT | O_TMPFILE)) { \
			va_start(args_, flags); \
			mode_ = va_arg(args_, mode_t); \
			va_end(args_); \
		} \
		mode_; \
	})

int open(const char *path, int flags, ...)
{
	return open_at(AT_FDCWD, path, flags, MODE(flags));
}

int open64(const char *path, int flags, ...)
{
	return open_at(AT_FDCWD, path, flags, MODE(flags));
}

int openat(int dir, const char *path, int flags, ...)
{
	return open_at(dir, path, flags, MODE(flags));
}

int openat64(int dir, const char *path, int flags, ...)
{
	return open_at(dir, path, flags, MODE(flags));
}

int close(int fd)
{
	if (fd >= 0 && fd < FDS && kinds[fd] && log_file) {
		kinds[fd] = 0;
		line_begin("close");
		fprintf(log_file, ",\"fd\":%d", fd);
		line_end();
	}
	return syscall(SYS_close, fd);
}

static void *map(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *result = (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);

	if (fd >= 0 && fd < FDS && kinds[fd] && log_file) {
		line_begin("mmap");
		fprintf(log_file,
			",\"fd\":%d,\"addr\":\"%p\",\"size\":%zu,\"prot\":%d,\"flags\":%d", fd,
			result, size, prot, flags);
		fprintf(log_file, ",\"offset\":%lld", (long long)offset);
		line_end();
	}
	return result;
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	return map(addr, size, prot, flags, fd, offset);
}

void *mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	return map(addr, size, prot, flags, fd, offset);
}

/* What can be read of `size` bytes there. */
static size_t read_own(void *to, const void *from, size_t size)
{
	struct iovec local = { to, size < BYTES ? size : BYTES };
	struct iovec remote = { (void *)(uintptr_t)from, local.iov_len };
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return got > 0 ? got : 0;
}

/* RM_ALLOC leaves out the size of the parameters, which their class has. */
static size_t params_size(uint32_t class)
{
	switch (class) {
	case 0x3e:
	case 0x40:
	case 0x50a0:
		return 0x80;
	case 0x71:
		return 0x28;
	case 0x80:
	case 0x90f1:
		return 0x38;
	default:
		return class >= 0xa000 ? 0x170 : 0x40;
	}
}

/* The nested parameters: where they are, and their size. */
static size_t nested(unsigned long request, const unsigned char *arg, const void **data)
{
	uint64_t pointer = 0;
	uint32_t size = 0, class = 0;

	switch (request & 0xff) {
	case 0x2a: /* RM_CONTROL */
		memcpy(&pointer, arg + 16, 8);
		memcpy(&size, arg + 24, 4);
		break;
	case 0x2b: /* RM_ALLOC: two layouts */
		memcpy(&pointer, arg + 16, 8);
		memcpy(&class, arg + 12, 4);
		memcpy(&size, arg + (_IOC_SIZE(request) >= 48 ? 32 : 24), 4);
		if (!size)
			size = params_size(class);
		break;
	}
	*data = (const void *)(uintptr_t)pointer;
	return pointer && size <= 65536 ? size : 0;
}

/* UVM's numbers have no sizes. */
static size_t uvm_size(unsigned long request)
{
	return request == 33 ? 0x2430 : request == 68 ? 0x2420 : 0x60;
}

#define UVM_TAIL 0x2410 /* of the two large structs: count, descriptor, client, memory, status */

int ioctl(int fd, unsigned long request, ...)
{
	static __thread unsigned char before[BYTES], inside[BYTES], after[BYTES];
	size_t size = _IOC_SIZE(request), nested_size = 0, got = 0, got_inside = 0;
	const void *inner = NULL;
	long long began, took;
	int result, error;
	va_list args;
	char *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (fd < 0 || fd >= FDS || !kinds[fd] || !log_file)
		return syscall(SYS_ioctl, fd, request, arg);
	if (kinds[fd] == 'u')
		size = uvm_size(request);
	got = read_own(before, arg, size);
	if (kinds[fd] != 'u' && got >= 32) {
		nested_size = nested(request, before, &inner);
		got_inside = read_own(inside, inner, nested_size);
	}
	began = now_ns();
	result = syscall(SYS_ioctl, fd, request, arg);
	error = errno;
	took = now_ns() - began;
	line_begin("ioctl");
	fprintf(log_file, ",\"took\":%lld,\"fd\":%d,\"kind\":\"%c\",\"request\":\"0x%lx\"", took,
		fd, kinds[fd], request);
	fprintf(log_file, ",\"result\":%d,\"errno\":%d,\"size\":%zu", result,
		result < 0 ? error : 0, size);
	if (size > UVM_TAIL && kinds[fd] == 'u') {
		put_hex("in", before, got < 0x60 ? got : 0x60);
		put_hex("out_tail", after, read_own(after, arg + UVM_TAIL, size - UVM_TAIL));
	} else {
		put_hex("in", before, got);
		put_hex("out", after, read_own(after, arg, size));
	}
	if (nested_size) {
		fprintf(log_file, ",\"nested\":%zu", nested_size);
		put_hex("nested_in", inside, got_inside);
		put_hex("nested_out", after, read_own(after, inner, nested_size));
	}
	line_end();
	errno = error;
	return result;
}
