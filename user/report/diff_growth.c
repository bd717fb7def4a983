// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a process or a device holds more than before, whatever kinds of memory that is.
 */
#include "report/diff.h"

/* Kinds of memory on devices that it ever had. */
static uint32_t kinds_of(const struct diff_process *side)
{
	uint32_t kinds = 0, space;

	for (space = 0; side->process && space < MS_SPACES_COUNT; space++)
		if (diff_is_device_memory(space) && report_has_space(side->process, space))
			kinds |= 1u << space;
	return kinds;
}

uint32_t diff_kinds(const struct diff_pair *pair)
{
	return kinds_of(&pair->a) | kinds_of(&pair->b);
}

static void take_growth(struct diff_growth *largest, struct diff_growth growth)
{
	growth.bytes = growth.b > growth.a ? growth.b - growth.a : 0;
	if (growth.bytes > largest->bytes)
		*largest = growth;
}

uint64_t diff_peak_on_devices(const struct diff_process *side)
{
	const struct process *process = side->process;
	const struct holdings_process *holding;
	uint64_t peak;
	uint32_t space;

	if (!process)
		return 0;
	holding = holdings_find(&side->recording->holdings, process->pid, process->start_ns);
	peak = holding && side->shown ? holding->peak_bytes : report_held_on_devices(process);
	/* What was before the recording's beginning is known of each kind alone. */
	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (diff_is_device_memory(space) && process->spaces[space].peak_bytes > peak)
			peak = process->spaces[space].peak_bytes;
	return peak;
}

/* The kind that all of it is. */
static uint8_t only_kind(const struct diff_pair *pair)
{
	const uint32_t kinds = diff_kinds(pair);

	return __builtin_popcount(kinds) == 1 ? (uint8_t)__builtin_ctz(kinds) : MS_SPACE_NONE;
}

static void take_pair_growth(struct diff_growth *largest, const struct diff_pair *pair)
{
	const struct process *a = pair->a.process, *b = pair->b.process;
	struct diff_growth growth = { .pair = pair,
				      .device = -1,
				      .a = a ? report_held_on_devices(a) : 0,
				      .b = b ? report_held_on_devices(b) : 0,
				      .uncertain = diff_pair_lacks_memory(pair) };

	if (pair->no_levels || pair->not_compared >> MS_OP_ALLOC & 1)
		return;
	/* The first of equals is kept: the end says more than a peak. */
	take_growth(largest, growth);
	growth.peak = true;
	growth.space = only_kind(pair);
	growth.a = diff_peak_on_devices(&pair->a);
	growth.b = diff_peak_on_devices(&pair->b);
	take_growth(largest, growth);
}

static void take_device_growth(struct diff_growth *largest, const struct diff *diff,
			       const struct report_device *b)
{
	const struct report_device *a =
		diff_device(diff->a->recordings[0], diff->b->recordings[0], b);

	take_growth(largest,
		    (struct diff_growth){
			    .device = b->device,
			    .peak = true,
			    .a = a ? a->peak_bytes : 0,
			    .b = b->peak_bytes,
			    .uncertain = diff_is_inexact(diff->a) || diff_is_inexact(diff->b),
		    });
}

struct diff_growth diff_growth(const struct diff *diff)
{
	struct diff_growth largest = { .device = -1 };
	size_t i;

	for (i = 0; i < diff->pairs_count; i++)
		take_pair_growth(&largest, &diff->pairs[i]);
	for (i = 0; !diff->devices_skipped && i < diff->b->recordings[0]->devices_count; i++)
		take_device_growth(&largest, diff, &diff->b->recordings[0]->devices[i]);
	return largest;
}
