/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CUPTI's clock: the one it was given, or its own, which may be off, drift and be read badly.
 */
#include <time.h>

#include "simcupti.h"

static clock_fn *given;
static uint64_t began_ns;
static int64_t realtime_ns; /* ahead of CLOCK_MONOTONIC */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_ours(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

__attribute__((constructor)) static void begin(void)
{
	began_ns = clock_ours();
	realtime_ns = (int64_t)(read_clock(CLOCK_REALTIME) - began_ns);
}

bool clock_register(clock_fn *clock)
{
	if (settings()->refuses_clock)
		return false;
	if (!settings()->ignores_clock)
		given = clock;
	return true;
}

uint64_t clock_at(uint64_t ns)
{
	const int64_t passed_ns = (int64_t)(ns - began_ns);

	if (given)
		return ns;
	return ns + (uint64_t)(settings()->offset_ns + (settings()->realtime ? realtime_ns : 0) +
			       passed_ns * settings()->drift_ppm / 1000000);
}

/* A reading is late by up to `noise`: the same numbers for the same `seed`. */
uint64_t clock_now(void)
{
	static __thread uint32_t seed = 12345;
	uint64_t now;

	if (given)
		return given();
	now = clock_at(clock_ours());
	seed = (seed + (uint32_t)settings()->seed) * 1103515245 + 12345;
	if (settings()->noise_ns)
		now += (seed >> 8) % (uint64_t)settings()->noise_ns;
	return now;
}
