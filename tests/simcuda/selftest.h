/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulator itself. Each runs in a process of its own, because what the environment
 * says is read once, when a library is loaded.
 */
#ifndef SIMCUDA_SELFTEST_H
#define SIMCUDA_SELFTEST_H

#include <stdio.h>
#include <stdlib.h>

struct selftest {
	const char *name;
	void (*run)(void);
	const char *env[4];                   /* "NAME=VALUE" */
	void (*check_log)(const char *lines); /* with SIMCUDA_LOG: what the process left there */
	int signal;                           /* that it must die of */
};

/* The program's tests; the last one has no name. */
extern const struct selftest selftests[];

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

/* How many of the lines match an extended regular expression. */
unsigned int selftest_count(const char *lines, const char *regex);

/* Runs fn(0) ... fn(count - 1) in threads of their own and waits for all. */
void selftest_threads(unsigned int count, void (*fn)(unsigned int index));

#endif
