// SPDX-License-Identifier: BSD-2-Clause
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

static uint64_t offset_of(clockid_t clock)
{
	uint64_t before = read_ns(CLOCK_MONOTONIC);
	uint64_t other = read_ns(clock);
	uint64_t after = read_ns(CLOCK_MONOTONIC);

	return other - (before + (after - before) / 2);
}

uint64_t clock_realtime_offset_ns(void)
{
	return offset_of(CLOCK_REALTIME);
}

uint64_t clock_boottime_offset_ns(void)
{
	return offset_of(CLOCK_BOOTTIME);
}

uint64_t clock_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

const char *clock_utc_text(char out[CLOCK_TEXT_BYTES], uint64_t realtime_ns)
{
	const time_t seconds = (time_t)(realtime_ns / 1000000000);
	struct tm parts;
	size_t length;

	*out = '\0';
	if (!gmtime_r(&seconds, &parts))
		return out;
	length = strftime(out, CLOCK_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(out + length, CLOCK_TEXT_BYTES - length, ".%03uZ",
		 (unsigned int)(realtime_ns % 1000000000 / 1000000));
	return out;
}
