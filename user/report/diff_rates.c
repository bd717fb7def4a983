// SPDX-License-Identifier: BSD-2-Clause
/*
 * How fast things were done, and how long they took.
 */
#include "report/diff.h"

static const struct {
	const char *name, *title;
	enum finding_unit unit;
} rates[] = {
#define X(rate, name, title, unit) { name, title, FINDING_##unit },
	DIFF_RATES(X)
#undef X
};

const char *diff_rate_name(enum diff_rate rate)
{
	return rates[rate].name;
}

const char *diff_rate_title(enum diff_rate rate)
{
	return rates[rate].title;
}

enum finding_unit diff_rate_unit(enum diff_rate rate)
{
	return rates[rate].unit;
}

static struct call_total copies_of(const struct process *process)
{
	struct call_total sum = { 0 };
	size_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		sum.bytes += process->copies[i].bytes;
		sum.duration_ns += process->copies[i].duration_ns;
	}
	return sum;
}

static uint64_t allocs_of(const struct process *process)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++)
		if (diff_is_memory(i))
			sum += process->spaces[i].allocs;
	return sum;
}

uint64_t diff_rate_of(const struct diff_process *side, enum diff_rate rate)
{
	switch (rate) {
	case DIFF_RATE_ALLOCS:
		return finding_rate(allocs_of(side->process), side->length_ns);
	case DIFF_RATE_LAUNCHES:
		return finding_rate(side->process->launches, side->length_ns);
	case DIFF_RATE_COPY_BYTES:
		return finding_rate(copies_of(side->process).bytes, side->length_ns);
	case DIFF_RATE_COPY_NS:
		return copies_of(side->process).duration_ns;
	case DIFF_RATE_SYNC_NS:
		return side->process->syncs.duration_ns;
	case DIFF_RATES_COUNT:
		break;
	}
	return 0;
}

bool diff_rates_differ(const struct diff_pair *pair)
{
	enum diff_rate rate;

	if (pair->presence != DIFF_IN_BOTH)
		return false;
	for (rate = 0; rate < DIFF_RATES_COUNT; rate++)
		if (diff_rate_of(&pair->a, rate) != diff_rate_of(&pair->b, rate))
			return true;
	return false;
}
