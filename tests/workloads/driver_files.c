// SPDX-License-Identifier: BSD-2-Clause
/*
 * Has clients of NVIDIA's driver by two files, and goes a step for each line of standard input,
 * after which it writes a line:
 *
 *   1  it has a child, and says which
 *   2  16 MiB by one file, 32 MiB by another; the child imports the first of them. A range of 2 MiB
 *      by a file of /dev/nvidia-uvm, by which the child has one of 1 MiB, before it closes it
 *   3  the first file has two descriptors, and one of them is closed
 *   4  the other one is closed, too, and the one of /dev/nvidia-uvm
 *   5  the child ends
 *
 * usage: driver_files DIRECTORY
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda.h"

#define MIB (1ull << 20)
#define ALLOC 0xc030462b
#define CONTROL 0xc020462a
#define EXPORT_OBJECT_TO_FD 0x3d05
#define IMPORT_OBJECT_FROM_FD 0x3d06
#define DEVICE 0x5c000001u
#define MEMORY 0x5c000010u
#define UVM_CREATE_EXTERNAL_RANGE 73

static const char *directory;
static uint32_t base; /* of clients' handles, which no other process has */

static int open_file(const char *name)
{
	char path[512];
	int file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0) {
		perror(path);
		exit(1);
	}
	return file;
}

static void request(int file, uint32_t number, void *argument)
{
	if (ioctl(file, number, argument)) {
		perror("driver_files");
		exit(1);
	}
}

static void make(int file, uint32_t client, uint32_t parent, uint32_t handle, uint32_t class,
		 uint64_t value)
{
	unsigned char argument[0x30] = { 0 }, params[0x80] = { 0 };
	const void *place = params;

	memcpy(argument, &client, 4);
	memcpy(argument + 4, &parent, 4);
	memcpy(argument + 8, &handle, 4);
	memcpy(argument + 12, &class, 4);
	memcpy(argument + 16, &place, sizeof(place));
	memcpy(params + (class == 0x80 ? 0 : 0x40), &value, sizeof(value));
	request(file, ALLOC, argument);
}

static void make_client(int file, uint32_t client)
{
	make(file, client, 0, client, 0x41, 0);
	make(file, client, client, DEVICE, 0x80, 0);
}

/* `at`: where in the parameters the descriptor and the handle are. */
static void pass(int file, uint32_t client, uint32_t command, int by, const size_t at[2])
{
	unsigned char argument[0x20] = { 0 }, params[0x20] = { 0 };
	const uint32_t handle = MEMORY, parent = DEVICE;
	const void *place = params;

	memcpy(argument, &client, 4);
	memcpy(argument + 4, &client, 4);
	memcpy(argument + 8, &command, 4);
	memcpy(argument + 16, &place, sizeof(place));
	if (command == IMPORT_OBJECT_FROM_FD)
		memcpy(params + 12, &parent, 4);
	memcpy(params + at[0], &by, 4);
	memcpy(params + at[1], &handle, 4);
	request(file, CONTROL, argument);
}

static void make_range(int file, uint64_t bytes)
{
	const uint64_t place[3] = { 0x7e0000000000ull + (bytes << 8), bytes };
	unsigned char argument[sizeof(place)];

	memcpy(argument, place, sizeof(place));
	request(file, UVM_CREATE_EXTERNAL_RANGE, argument);
}

static void tell(int pipe)
{
	if (write(pipe, "", 1) != 1)
		exit(1);
}

static void wait_for(int pipe)
{
	char byte;

	if (read(pipe, &byte, 1) != 1)
		exit(1);
}

/* It has two files of its parent's: the device's, by which the memory comes, and that of ranges. */
static void be_a_child(int by, int uvm, int from, int to)
{
	int file;

	wait_for(from);
	file = open_file("nvidiactl");
	make_client(file, base + 2);
	pass(file, base + 2, IMPORT_OBJECT_FROM_FD, by, (const size_t[]){ 0, 16 });
	make_range(uvm, MIB);
	close(uvm);
	tell(to);
	for (;;)
		pause();
}

static void share(int first, int second, int by)
{
	make_client(first, base);
	make(first, base, DEVICE, MEMORY, 0x40, 16 * MIB);
	make_client(second, base + 1);
	make(second, base + 1, DEVICE, MEMORY, 0x40, 32 * MIB);
	pass(first, base, EXPORT_OBJECT_TO_FD, by, (const size_t[]){ 16, 12 });
}

int main(int argc, char **argv)
{
	int first = -1, second, other = -1, by, uvm, to[2], from[2];
	CUdevice device;
	char line[64];
	pid_t child = 0;

	if (argc != 2 || pipe(to) || pipe(from))
		return 2;
	directory = argv[1];
	base = 0xc2000000u | ((uint32_t)getpid() << 2 & 0xffffff);
	if (cuInit(0) || cuDeviceGet(&device, 0))
		return 1;
	by = open_file("nvidia0");
	uvm = open_file("nvidia-uvm");
	for (int step = 1; fgets(line, sizeof(line), stdin); step++) {
		if (step == 1) {
			child = fork();
			if (!child)
				be_a_child(by, uvm, to[0], from[1]);
		} else if (step == 2) {
			first = open_file("nvidiactl");
			second = open_file("nvidiactl");
			share(first, second, by);
			make_range(uvm, 2 * MIB);
			tell(to[1]);
			wait_for(from[0]);
		} else if (step == 3) {
			other = dup(first);
			close(first);
		} else if (step == 4) {
			close(other);
			close(uvm);
		} else if (child) {
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
			child = 0;
		}
		printf("child %d\n", (int)child);
		fflush(stdout);
	}
	if (child)
		kill(child, SIGKILL);
	return 0;
}
