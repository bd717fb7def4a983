// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes with the same pid, one after the other. The n-th allocates n KiB, frees that if n is
 * even, and exits with n modulo 200. No two begin within 10 ms: /proc does not tell their starts
 * apart then (and no kernel reuses a pid so soon by itself).
 *
 * usage: reuse COUNT    three of four when they are traced, or after a second, the others at once
 *        reuse          each when told by a line of standard input, another line for it to
 *                       allocate; says "ready" when it could, and "done" when it has ended
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda.h"

#define START_STEP_US 11000
#define PATIENCE_MS 1000

#define CODE_BYTES 64 /* of a function: the probe is in its prologue */

static bool told;

static void die(const char *what)
{
	fprintf(stderr, "reuse: %s: %s\n", what, strerror(errno));
	_exit(250);
}

static void say(const char *line)
{
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		_exit(251);
}

/* No buffer: parent and child read in turns. */
static bool wait_for_line(void)
{
	char byte = 0;

	while (byte != '\n')
		if (read(STDIN_FILENO, &byte, 1) <= 0)
			return false;
	return true;
}

/* By name, for nothing is linked: the library is mapped by the child alone. */
static void *function(void *driver, const char *name)
{
	void *found = driver ? dlsym(driver, name) : NULL;

	if (!found)
		die(name);
	return found;
}

struct place {
	uintptr_t address;
	long offset; /* in the file */
};

static int find_place(struct dl_phdr_info *object, size_t size, void *wanted)
{
	struct place *place = wanted;
	uint16_t i;

	(void)size;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t into = place->address - object->dlpi_addr - segment->p_vaddr;

		if (segment->p_type != PT_LOAD || into >= segment->p_filesz)
			continue;
		place->offset = segment->p_offset + into;
		return 1;
	}
	return 0;
}

/* Until the function's code is not that of the file any more: there is a probe in it. */
static void wait_for_probe(void *driver, void *function)
{
	struct place place = { .address = (uintptr_t)function };
	unsigned char code[CODE_BYTES];
	struct link_map *library;
	int file, i;

	if (dlinfo(driver, RTLD_DI_LINKMAP, &library) || !dl_iterate_phdr(find_place, &place))
		die("no code");
	file = open(library->l_name, O_RDONLY);
	if (pread(file, code, sizeof(code), place.offset) != sizeof(code))
		die(library->l_name);
	close(file);
	for (i = 0; i < PATIENCE_MS && !memcmp(code, function, sizeof(code)); i++)
		usleep(1000);
}

static void live(unsigned int number)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned int) = function(driver, "cuInit");
	CUresult (*create)(CUcontext *, unsigned int, CUdevice) =
		function(driver, "cuCtxCreate_v2");
	CUresult (*allocate)(CUdeviceptr *, size_t) = function(driver, "cuMemAlloc_v2");
	CUresult (*release)(CUdeviceptr) = function(driver, "cuMemFree_v2");
	CUcontext context;
	CUdeviceptr block;

	if (init(0) || create(&context, 0, 0))
		die("no context");
	if (told) {
		say("ready\n");
		wait_for_line();
	} else if (number % 4) {
		wait_for_probe(driver, allocate);
	}
	if (allocate(&block, number * (size_t)1024) || (number % 2 == 0 && release(block)))
		die("no memory");
	_exit(number % 200);
}

static void start(pid_t *pid, unsigned int number)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = *pid ? (uintptr_t)pid : 0,
				   .set_tid_size = *pid ? 1 : 0 };
	long child = syscall(SYS_clone3, &args, sizeof(args));
	int status;

	if (child == 0)
		live(number);
	if (child < 0)
		die("clone3");
	*pid = child;
	usleep(START_STEP_US);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != (int)(number % 200))
		die("a child failed");
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 0) : 0;
	unsigned int number;
	pid_t pid = 0;

	told = argc == 1;
	for (number = 1; told ? wait_for_line() : number <= count; number++) {
		start(&pid, number);
		if (told)
			say("done\n");
	}
	return 0;
}
