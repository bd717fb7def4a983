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
#define PAIRS 1024     /* a power of two */
#define BASE 100       /* pairs: over so many, or fewer, the rate of CUPTI's clock is measured */
#define STEERED 500e-6 /* by which the system makes a clock faster or slower, at most */
#define WRONG_NS 1e8   /* a time with so large an error is none that CUPTI means */

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

/* How far CUPTI's clock is ahead. */
static int64_t ahead(const struct pair *pair)
{
	return (int64_t)(pair->theirs - pair->ours);
}

/* Those that took no longer than the shortest, or twice as long, in the order of ahead(). */
static int choose(const struct pair tries[TRIES], struct pair chosen[TRIES])
{
	uint64_t least = UINT64_MAX;
	int length = 0, i, at;

	for (i = 0; i < TRIES; i++)
		if (tries[i].error < least)
			least = tries[i].error;
	for (i = 0; i < TRIES; i++) {
		if (tries[i].error > 2 * least)
			continue;
		for (at = length++; at && ahead(&chosen[at - 1]) > ahead(&tries[i]); at--)
			chosen[at] = chosen[at - 1];
		chosen[at] = tries[i];
	}
	return length;
}

/*
 * The middle one of several readings. By how much they differ is a part of the error: what CUPTI
 * says can be later than the moment at which it is asked. Returns false if it does not say it.
 */
static bool read_pair(const struct cupti *cupti, struct pair *middle)
{
	struct pair tries[TRIES], chosen[TRIES];
	int length, i;

	for (i = 0; i < TRIES; i++) {
		const uint64_t before = clock_now();
		uint64_t after;

		if (cupti->GetTimestamp(&tries[i].theirs) != CUPTI_OK)
			return false;
		after = clock_now();
		tries[i].ours = before + (after - before) / 2;
		tries[i].error = (after - before + 1) / 2;
	}
	length = choose(tries, chosen);
	*middle = chosen[length / 2];
	middle->error += (uint64_t)(ahead(&chosen[length - 1]) - ahead(&chosen[0]));
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

/* CUPTI's clock as a line, and how wrong that may be. */
struct line {
	const struct pair *from;
	double rate;  /* of ours for theirs */
	double error; /* at `from`, ns; */
	double apart; /* and for each ns from there */
};

static struct line line_of(const struct pair *from, const struct pair *other)
{
	const double theirs = (double)(int64_t)(other->theirs - from->theirs);
	const double ours = (double)(int64_t)(other->ours - from->ours);
	struct line line = { from, 1, (double)from->error, STEERED };
	double apart;

	if (theirs * ours <= 0)
		return line;
	apart = (double)(from->error + other->error) / (ours < 0 ? -ours : ours);
	if (apart < STEERED) {
		line.apart = apart;
		line.rate = ours / theirs;
	}
	return line;
}

/* Between the two pairs around that time of CUPTI's clock, or beyond the last, or the first. */
static struct line line_at(uint64_t theirs)
{
	const unsigned int oldest = count > PAIRS ? count - PAIRS : 0, newest = count - 1;
	unsigned int at = newest;
	struct line line;

	while (at > oldest && pair_at(at)->theirs > theirs)
		at--;
	if (pair_at(at)->theirs > theirs)
		return line_of(pair_at(oldest),
			       pair_at(newest - oldest > BASE ? oldest + BASE : newest));
	if (at == newest)
		return line_of(pair_at(newest),
			       pair_at(newest - oldest > BASE ? newest - BASE : oldest));
	line = (struct line){ pair_at(at), 1, (double)pair_at(at)->error, 0 };
	if (pair_at(at + 1)->error > pair_at(at)->error)
		line.error = (double)pair_at(at + 1)->error;
	if (pair_at(at + 1)->theirs > pair_at(at)->theirs)
		line.rate = (double)(pair_at(at + 1)->ours - pair_at(at)->ours) /
			    (double)(pair_at(at + 1)->theirs - pair_at(at)->theirs);
	return line;
}

static uint64_t convert(uint64_t theirs)
{
	const struct line line = line_at(theirs);
	const double distance = (double)(int64_t)(theirs - line.from->theirs);
	const double error = line.error + line.apart * (distance < 0 ? -distance : distance);

	if (error > (double)worst_ns && error < WRONG_NS)
		worst_ns = (uint64_t)error;
	return line.from->ours + (uint64_t)(int64_t)(distance * line.rate);
}

uint64_t clock_convert(uint64_t ns)
{
	uint64_t converted;

	if (!converts)
		return ns;
	pthread_mutex_lock(&lock);
	converted = convert(ns);
	pthread_mutex_unlock(&lock);
	return converted;
}
