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
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PROBED_BYTES 8 /* of a function, in which its probe is; none is shorter */

/*
 * If PROBED is set: waits until the function does not begin as its file does any more, which is how
 * a probe shows.
 */
static inline void probed_wait(const char *path, const void *function)
{
	const struct timespec while_ns = { 0, 1000000 };
	const volatile uint8_t *code = function;
	uint8_t in_file[PROBED_BYTES];
	Dl_info info;
	int fd, i, at;

	if (!getenv("PROBED"))
		return;
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
		nanosleep(&while_ns, NULL);
	}
	exit(7);
}

#endif /* MEMSCOPE_TESTS_PROBED_H */
