/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations that fail when a test wants it, in the whole program that includes this.
 *
 * A program may define malloc() and its kin itself and go on to AddressSanitizer's, which has those
 * names for it (compiler-rt, interception.h); all its checks stay in force.
 */
#ifndef MEMSCOPE_TESTS_FAILING_H
#define MEMSCOPE_TESTS_FAILING_H

#include <stdbool.h>
#include <stddef.h>

void *__interceptor_malloc(size_t size);
void *__interceptor_calloc(size_t count, size_t size);
void *__interceptor_realloc(void *old, size_t size);
void *__interceptor_reallocarray(void *old, size_t count, size_t size);
char *__interceptor_strdup(const char *text);

static long until_failure = -1; /* allocations that still succeed; -1: all of them */
static bool failing_paused;     /* none fails, none is counted */

static bool fails(void)
{
	if (until_failure < 0 || failing_paused)
		return false;
	return until_failure-- == 0;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __interceptor_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __interceptor_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __interceptor_realloc(old, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
	return fails() ? NULL : __interceptor_reallocarray(old, count, size);
}

char *strdup(const char *text)
{
	return fails() ? NULL : __interceptor_strdup(text);
}

/* Whether it came to the failure; from here on all succeed. */
static inline bool stop_failing(void)
{
	bool happened = until_failure < 0;

	until_failure = -1;
	return happened;
}

#define FAILING_ATTEMPTS 100000 /* more allocations than any test makes */

#endif /* MEMSCOPE_TESTS_FAILING_H */
