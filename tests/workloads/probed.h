/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For programs that begin once they are observed. What happens between the loading of a library
 * and the probing of it, nobody sees.
 */
#ifndef MEMSCOPE_TESTS_PROBED_H
#define MEMSCOPE_TESTS_PROBED_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROBED_BYTES 8 /* of a function, in which its probe is; none is shorter */

static const struct timespec probed_pause = { 0, 1000000 };

/* Whether both sentences are among the messages of a tool, which may have yet to begin. */
static inline int probed_is_said(const char *messages, const char *first, const char *second)
{
	FILE *file = fopen(messages, "re");
	char line[4096];
	int said = 0;

	while (file && fgets(line, sizeof(line), file)) {
		said |= strstr(line, first) ? 1 : 0;
		said |= strstr(line, second) ? 2 : 0;
	}
	if (file)
		fclose(file);
	return said == 3;
}

/*
 * The first of several functions has its probe before the last one, and a process whose probes are
 * in place may have yet to be let in: the tool says when it is done, in any order.
 */
static inline void probed_wait_said(const char *messages, int has_tensors)
{
	char seen[64], recorded[64];
	int i;

	snprintf(recorded, sizeof(recorded), "process %d: its calls are recorded\n", getpid());
	snprintf(seen, sizeof(seen), "its tensors are seen in process %d\n", getpid());
	for (i = 0; i < 60000; i++) {
		if (probed_is_said(messages, recorded, has_tensors ? seen : recorded))
			return;
		nanosleep(&probed_pause, NULL);
	}
	exit(7);
}

/*
 * If PROBED is set: waits until the function does not begin as its file does any more, which is how
 * a probe shows; or, if that is the path of the messages of a tool with -v, until it says that it
 * has attached.
 */
static inline void probed_wait(const char *path, const void *function)
{
	const char *probed = getenv("PROBED");
	const volatile uint8_t *code = function;
	uint8_t in_file[PROBED_BYTES];
	Dl_info info;
	int fd, i, at;

	if (!probed)
		return;
	if (*probed == '/') {
		probed_wait_said(probed, 1);
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Code lies in the file where it lies in memory, as these libraries are linked. */
	if (fd < 0 || !dladdr(function, &info) ||
	    pread(fd, in_file, PROBED_BYTES, code - (const uint8_t *)info.dli_fbase) !=
		    PROBED_BYTES)
		exit(6);
	close(fd);
	for (i = 0; i < 20000; i++) {
		for (at = 0; at < PROBED_BYTES; at++)
			if (code[at] != in_file[at])
				return;
		nanosleep(&probed_pause, NULL);
	}
	exit(7);
}

#endif /* MEMSCOPE_TESTS_PROBED_H */
