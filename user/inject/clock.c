// SPDX-License-Identifier: BSD-2-Clause
/*
 * CUPTI accepts a clock of its user. If it takes ours, all its times are CLOCK_MONOTONIC. Otherwise
 * they are usually CLOCK_REALTIME, which the system sets and steers. Then this file compares the
 * two clocks again and again, each time between two readings of ours, and interpolates in between.
 */
#include <pthread.h>
#include <time.h>

#include "inject/inject.h"

#define TRIES 10
#define PAIRS 64 /* a power of two */

/* CUPTI's clock said `theirs` when ours said `ours`, give or take `error`. */
struct pair {
	uint64_t theirs, ours, error;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pair pairs[PAIRS];
static unsigned int count;
static bool converts;
static uint64_t worst_ns;

uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The closest of several readings. Returns false if CUPTI does not say the time. */
static bool read_pair(const struct cupti *cupti, struct pair *best)
{
	int i;

	best->error = UINT64_MAX;
	for (i = 0; i < TRIES; i++) {
		uint64_t before = clock_now(), theirs, after;

		if (cupti->GetTimestamp(&theirs) != CUPTI_OK)
			return false;
		after = clock_now();
		if (after - before >= best->error * 2)
			continue;
		best->theirs = theirs;
		best->ours = before + (after - before) / 2;
		best->error = (after - before + 1) / 2;
	}
	return true;
}

enum ms_gpu_reason clock_open(const struct cupti *cupti, bool registered)
{
	struct pair pair;

	if (!read_pair(cupti, &pair))
		return registered ? MS_GPU_REASON_NONE : MS_GPU_REASON_CLOCK;
	converts = pair.theirs + pair.error < pair.ours || pair.theirs > pair.ours + pair.error;
	if (!converts)
		return MS_GPU_REASON_NONE;
	pairs[0] = pair;
	count = 1;
	worst_ns = pair.error;
	return MS_GPU_REASON_NONE;
}

bool clock_converts(void)
{
	return converts;
}

uint64_t clock_error_ns(void)
{
	return worst_ns;
}

void clock_compare(const struct cupti *cupti)
{
	struct pair pair;

	if (!converts || !read_pair(cupti, &pair))
		return;
	pthread_mutex_lock(&lock);
	pairs[count++ & (PAIRS - 1)] = pair;
	pthread_mutex_unlock(&lock);
}

static const struct pair *pair_at(unsigned int number)
{
	return &pairs[number & (PAIRS - 1)];
}

/* Between the two pairs around it, or along the line of the last two. */
static uint64_t interpolate(uint64_t theirs)
{
	const unsigned int oldest = count > PAIRS ? count - PAIRS : 0;
	unsigned int last = count - 1;
	const struct pair *from, *to;
	double rate = 1;

	while (last > oldest + 1 && pair_at(last - 1)->theirs > theirs)
		last--;
	to = pair_at(last);
	from = last > oldest ? pair_at(last - 1) : to;
	if (to->theirs > from->theirs)
		rate = (double)(to->ours - from->ours) / (double)(to->theirs - from->theirs);
	return from->ours + (uint64_t)(int64_t)((double)(int64_t)(theirs - from->theirs) * rate);
}

uint64_t clock_convert(uint64_t ns)
{
	uint64_t converted;

	if (!converts)
		return ns;
	pthread_mutex_lock(&lock);
	converted = interpolate(ns);
	pthread_mutex_unlock(&lock);
	return converted;
}
