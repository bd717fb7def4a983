// SPDX-License-Identifier: BSD-2-Clause
#include "timeline/span.h"

/*
 * Misra and Gries: what has more than one part in SPAN_VOTES + 1 of all votes is among those that
 * are left, and what has more than half of them has most of what is left.
 */
static void vote(struct span *span, uint16_t name, float votes)
{
	size_t i, least = 0;
	float taken;

	for (i = 0; i < SPAN_VOTES; i++) {
		if (span->votes[i] > 0 && span->names[i] == name) {
			span->votes[i] += votes;
			return;
		}
		if (span->votes[i] < span->votes[least])
			least = i;
	}
	taken = span->votes[least] < votes ? span->votes[least] : votes;
	for (i = 0; taken > 0 && i < SPAN_VOTES; i++)
		span->votes[i] -= taken;
	if (votes <= taken)
		return;
	span->names[least] = name;
	span->votes[least] = votes - taken;
}

void span_absorb(struct span *into, const struct span *span)
{
	size_t i;

	if (span->begin_ns < into->begin_ns)
		into->begin_ns = span->begin_ns;
	if (span->end_ns > into->end_ns)
		into->end_ns = span->end_ns;
	into->count = span_add_up(into->count, span->count);
	into->bytes = span_add_up(into->bytes, span->bytes);
	into->runnable_ns = span_add_up(into->runnable_ns, span->runnable_ns);
	into->blocked_ns = span_add_up(into->blocked_ns, span->blocked_ns);
	for (i = 0; i < SPAN_VOTES; i++)
		if (span->votes[i] > 0)
			vote(into, span->names[i], span->votes[i]);
}

static bool is_short(const struct span *span, uint8_t shift)
{
	return span->is_several || !((span->end_ns - span->begin_ns) >> shift);
}

bool span_is_too_close(const struct span *a, const struct span *b, uint8_t shift)
{
	return shift && a->is_nested == b->is_nested &&
	       a->begin_ns >> shift == b->begin_ns >> shift && is_short(a, shift) &&
	       is_short(b, shift);
}

int span_by_place(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->is_nested != y->is_nested)
		return x->is_nested ? 1 : -1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

int span_by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (int)x->is_nested - (int)y->is_nested;
}

void span_name(struct span *span)
{
	size_t i, most = 0;

	for (i = 1; i < SPAN_VOTES; i++)
		if (span->votes[i] > span->votes[most])
			most = i;
	span->name = span->names[most];
}
