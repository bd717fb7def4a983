// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stands for the devices of NVIDIA's driver: a file system with the files nvidiactl, nvidia0 and
 * nvidia-uvm, whose ioctls succeed and leave the argument as it is. So a program that puts the
 * answer of a real driver into the argument gets that answer. It speaks to /dev/fuse itself.
 *
 * usage: devices DIRECTORY    until it is unmounted or a signal comes
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define BUFFER_BYTES (1 << 20)
#define FILES 3
#define FIRST_NODE 2 /* 1 is the directory */

static const char *const names[FILES] = { "nvidiactl", "nvidia0", "nvidia-uvm" };
static const char *directory;
static int device;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void unmount(int number)
{
	(void)number;
	umount2(directory, MNT_DETACH);
	_exit(0);
}

static void reply(uint64_t unique, int error, const void *data, size_t bytes)
{
	struct fuse_out_header header = { .len = sizeof(header) + bytes,
					  .error = -error,
					  .unique = unique };
	struct iovec parts[2] = { { &header, sizeof(header) }, { (void *)(uintptr_t)data, bytes } };

	if (writev(device, parts, bytes ? 2 : 1) < 0 && errno != ENOENT)
		die("/dev/fuse");
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){ .ino = node,
				   .mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0666,
				   .nlink = 1,
				   .size = 1ull << 40 };
}

static void look_up(const struct fuse_in_header *request, const char *name)
{
	struct fuse_entry_out entry = { .attr_valid = 3600, .entry_valid = 3600 };
	uint64_t i;

	for (i = 0; i < FILES; i++)
		if (!strcmp(name, names[i]))
			break;
	if (i == FILES) {
		reply(request->unique, ENOENT, NULL, 0);
		return;
	}
	entry.nodeid = FIRST_NODE + i;
	entry.attr = attributes(entry.nodeid);
	reply(request->unique, 0, &entry, sizeof(entry));
}

/* The kernel has copied the argument here, and takes as many bytes back. */
static void do_ioctl(const struct fuse_in_header *request, const struct fuse_ioctl_in *in)
{
	static char answer[sizeof(struct fuse_ioctl_out) + BUFFER_BYTES];
	struct fuse_ioctl_out out = { 0 };
	size_t bytes = in->in_size < in->out_size ? in->in_size : in->out_size;

	memcpy(answer, &out, sizeof(out));
	memcpy(answer + sizeof(out), in + 1, bytes);
	reply(request->unique, 0, answer, sizeof(out) + bytes);
}

static void serve(const struct fuse_in_header *request)
{
	const void *body = request + 1;

	switch (request->opcode) {
	case FUSE_INIT: {
		struct fuse_init_out out = { .major = 7, .minor = 31, .max_write = 4096 };

		reply(request->unique, 0, &out, 24);
		break;
	}
	case FUSE_LOOKUP:
		look_up(request, body);
		break;
	case FUSE_GETATTR: {
		struct fuse_attr_out out = { .attr_valid = 3600,
					     .attr = attributes(request->nodeid) };

		reply(request->unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		struct fuse_open_out out = { 0 };

		reply(request->unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_IOCTL:
		do_ioctl(request, body);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_READDIR:
		reply(request->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* they want no answer */
	default:
		reply(request->unique, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char buffer[BUFFER_BYTES];
	char options[96];

	if (argc != 2) {
		fprintf(stderr, "usage: devices DIRECTORY\n");
		return 2;
	}
	directory = argv[1];
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		die("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	if (mount("simnv", directory, "fuse.simnv", MS_NOSUID | MS_NODEV, options))
		die(directory);
	signal(SIGTERM, unmount);
	signal(SIGINT, unmount);
	for (;;) {
		ssize_t got = read(device, buffer, sizeof(buffer));

		if (got < 0 && errno == ENODEV)
			return 0; /* unmounted */
		if (got < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
			die("/dev/fuse");
		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			serve((const struct fuse_in_header *)buffer);
	}
}
