// SPDX-License-Identifier: BSD-2-Clause
#include "report/site_total.h"

void site_total_hold(struct site_total *total, const struct tensor_worth *worth)
{
	total->live_bytes += worth->bytes;
	total->live_count += worth->parts;
	total->chance.live += (double)worth->variance;
	if (total->live_bytes <= total->peak_bytes)
		return;
	total->peak_bytes = total->live_bytes;
	total->chance.peak = total->chance.live;
}

void site_total_add_alloc(struct site_total *total, const struct tensor_worth *worth)
{
	site_total_hold(total, worth);
	total->alloc_bytes += worth->bytes;
	total->allocs += worth->parts;
	total->chance.alloc += (double)worth->variance;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from - (what < from ? what : from);
}

void site_total_release(struct site_total *total, const struct tensor_worth *worth)
{
	total->live_bytes = less(total->live_bytes, worth->bytes);
	total->live_count = less(total->live_count, worth->parts);
	total->chance.live -= (double)worth->variance;
}

void site_total_clear(struct site_total *total)
{
	total->live_bytes = total->live_count = 0;
	total->chance.live = 0;
}

void site_total_note_peak(struct site_total *total)
{
	total->at_peak_bytes = total->live_bytes;
	total->chance.at_peak = total->chance.live;
}

static uint64_t whole(uint64_t parts)
{
	return (parts + TENSOR_WORTH_PARTS / 2) / TENSOR_WORTH_PARTS;
}

void site_total_round(struct site_total *total)
{
	total->live_count = whole(total->live_count);
	total->allocs = whole(total->allocs);
}

void site_total_add(struct site_total *to, const struct site_total *from)
{
	to->live_bytes += from->live_bytes;
	to->live_count += from->live_count;
	to->peak_bytes += from->peak_bytes;
	to->at_peak_bytes += from->at_peak_bytes;
	to->alloc_bytes += from->alloc_bytes;
	to->allocs += from->allocs;
	if (from->chance.most > to->chance.most)
		to->chance.most = from->chance.most;
	to->chance.live += from->chance.live;
	to->chance.peak += from->chance.peak;
	to->chance.at_peak += from->chance.at_peak;
	to->chance.alloc += from->chance.alloc;
}

uint64_t site_total_live_error(const struct site_total *total)
{
	return tensor_worth_error(total->chance.live, total->chance.most);
}

uint64_t site_total_peak_error(const struct site_total *total)
{
	return tensor_worth_error(total->chance.peak, total->chance.most);
}

uint64_t site_total_at_peak_error(const struct site_total *total)
{
	return tensor_worth_error(total->chance.at_peak, total->chance.most);
}

uint64_t site_total_alloc_error(const struct site_total *total)
{
	return tensor_worth_error(total->chance.alloc, total->chance.most);
}
