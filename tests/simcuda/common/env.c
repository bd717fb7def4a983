/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads numbers from the environment. Which variables exist is the callers' business.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"

void env_fatal(const char *variable, const char *value, const char *why)
{
	fprintf(stderr, "simcuda: %s=%s: %s\n", variable, value, why);
	abort();
}

static unsigned int suffix_shift(const char *variable, const char *value, const char *suffix)
{
	static const char letters[] = "KMGT";
	const char *letter;

	if (!*suffix)
		return 0;
	letter = strchr(letters, *suffix);
	if (!letter || suffix[1])
		env_fatal(variable, value, "expected a size such as 64K, 512M or 8G");
	return 10 * (unsigned int)(letter - letters + 1);
}

static uint64_t parse_number(const char *variable, const char *value, char **end)
{
	unsigned long long number;

	errno = 0;
	number = strtoull(value, end, 10);
	if (*value < '0' || *value > '9' || errno)
		env_fatal(variable, value, "expected a number");
	return number;
}

uint64_t env_size_bytes(const char *variable, uint64_t fallback)
{
	const char *value = getenv(variable);
	unsigned int shift;
	uint64_t number;
	char *end;

	if (!value)
		return fallback;
	number = parse_number(variable, value, &end);
	shift = suffix_shift(variable, value, end);
	if (!number || number > UINT64_MAX >> shift)
		env_fatal(variable, value, "out of range");
	return number << shift;
}

unsigned int env_count(const char *variable, unsigned int fallback, unsigned int max)
{
	const char *value = getenv(variable);
	uint64_t number;
	char *end;

	if (!value)
		return fallback;
	number = parse_number(variable, value, &end);
	if (*end || number > max)
		env_fatal(variable, value, "out of range");
	return (unsigned int)number;
}
