// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/gpu_gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/call_times.h"
#include "ledger/limits.h"

/* ---- calls ----------------------------------------------------------------------------------- */

static enum gpu_gap_in kind_of(uint8_t op)
{
	switch (op) {
	case MS_OP_LAUNCH:
		return GPU_GAP_LAUNCH;
	case MS_OP_COPY:
	case MS_OP_MEMSET:
		return GPU_GAP_COPY;
	case MS_OP_SYNC:
		return GPU_GAP_SYNC;
	case MS_OP_ALLOC:
	case MS_OP_FREE:
		return GPU_GAP_ALLOC;
	}
	return GPU_GAP_OTHER_CALL;
}

int gpu_host_calls_add(struct gpu_host_calls *calls, const struct event *event)
{
	int err;

	if (event->header->type == MS_TYPE_CALLS) {
		calls->summed = true;
		return 0;
	}
	/* The time of one that another call made is a part of that one's. */
	if (event->call->flags & (MS_CALL_NESTED | MS_CALL_PART) ||
	    !(event->call->known & MS_KNOWN_RESULT))
		return 0;
	err = memory_grow(&calls->list, &calls->capacity, calls->count + 1, sizeof(*calls->list));
	if (!err)
		calls->list[calls->count++] =
			(struct gpu_host_call){ .begin_ns = event_begin_ns(event),
						.end_ns = event_end_ns(event),
						.in = kind_of(event->probe->spec.op) };
	return err;
}

static int by_begin(const void *a, const void *b)
{
	const struct gpu_host_call *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

void gpu_host_calls_unite(struct gpu_host_calls *calls)
{
	struct gpu_host_call *list = calls->list;
	size_t count = 0, i;
	uint64_t until_ns = 0;

	if (calls->united == calls->count)
		return;
	qsort(list, calls->count, sizeof(*list), by_begin);
	for (i = 0; i < calls->count; i++) {
		struct gpu_host_call call = list[i];

		if (call.begin_ns < until_ns)
			call.begin_ns = until_ns;
		if (call.end_ns <= call.begin_ns)
			continue;
		until_ns = call.end_ns;
		list[count++] = call;
	}
	calls->count = calls->united = count;
}

bool gpu_host_calls_full(struct gpu_host_calls *calls, uint64_t *from_ns, uint64_t *until_ns)
{
	if (calls->count < LIMIT_GPU_HOST_CALLS)
		return false;
	gpu_host_calls_unite(calls);
	if (calls->count < LIMIT_GPU_HOST_CALLS / 2)
		return false;
	*from_ns = calls->list[calls->count / 4].end_ns;
	*until_ns = calls->list[calls->count / 2].end_ns;
	return true;
}

/* The first that ends after that time, of those that are united. */
static size_t first_after(const struct gpu_host_calls *calls, uint64_t ns)
{
	size_t low = 0, high = calls->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (calls->list[middle].end_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void gpu_host_calls_forget(struct gpu_host_calls *calls, uint64_t until_ns)
{
	size_t gone;

	gpu_host_calls_unite(calls);
	gone = first_after(calls, until_ns);
	memmove(calls->list, calls->list + gone, (calls->count - gone) * sizeof(*calls->list));
	calls->count -= gone;
	calls->united = calls->count;
	calls->since_ns = until_ns;
}

int gpu_host_calls_copy(struct gpu_host_calls *copy, const struct gpu_host_calls *calls)
{
	*copy = *calls;
	copy->list = NULL;
	copy->capacity = 0;
	if (memory_grow(&copy->list, &copy->capacity, calls->count, sizeof(*copy->list)))
		return -ENOMEM;
	if (calls->count)
		memcpy(copy->list, calls->list, calls->count * sizeof(*copy->list));
	return 0;
}

void gpu_host_calls_fini(struct gpu_host_calls *calls)
{
	free(calls->list);
	*calls = (struct gpu_host_calls){ 0 };
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static void note_gap(struct gpu_gaps *gaps, const struct gpu_host_calls *calls, uint64_t begin_ns,
		     uint64_t end_ns)
{
	const uint64_t ns = end_ns - begin_ns;
	struct gpu_gap_sum *sum = &gaps->by_length[call_times_bucket(ns)];
	uint64_t rest_ns = ns;
	size_t i;

	sum->count++;
	sum->ns += ns;
	if (ns > gaps->longest_ns) {
		gaps->longest_ns = ns;
		gaps->longest_begin_ns = begin_ns;
	}
	if (begin_ns < calls->since_ns) {
		const uint64_t until_ns = end_ns < calls->since_ns ? end_ns : calls->since_ns;

		sum->in_ns[GPU_GAP_UNKNOWN] += until_ns - begin_ns;
		rest_ns -= until_ns - begin_ns;
		begin_ns = until_ns;
	}
	for (i = first_after(calls, begin_ns); i < calls->count && calls->list[i].begin_ns < end_ns;
	     i++) {
		const struct gpu_host_call *call = &calls->list[i];
		const uint64_t from = call->begin_ns > begin_ns ? call->begin_ns : begin_ns;
		const uint64_t to = call->end_ns < end_ns ? call->end_ns : end_ns;

		sum->in_ns[call->in] += to - from;
		rest_ns -= to - from;
	}
	sum->in_ns[GPU_GAP_NO_CALL] += rest_ns;
}

int gpu_gaps_take(struct gpu_gaps *gaps, struct gpu_host_calls *calls, uint64_t from_ns,
		  const struct gpu_call *intervals, size_t count)
{
	size_t i;

	if (!gaps->by_length)
		gaps->by_length = calloc(CALL_TIMES_BUCKETS, sizeof(*gaps->by_length));
	if (!gaps->by_length)
		return -ENOMEM;
	gpu_host_calls_unite(calls);
	for (i = 0; i < count; i++) {
		if (from_ns && intervals[i].begin_ns > from_ns)
			note_gap(gaps, calls, from_ns, intervals[i].begin_ns);
		from_ns = intervals[i].end_ns;
	}
	return 0;
}

static void sum_add(struct gpu_gap_sum *sum, const struct gpu_gap_sum *more)
{
	size_t i;

	sum->count += more->count;
	sum->ns += more->ns;
	for (i = 0; i < GPU_GAP_INS; i++)
		sum->in_ns[i] += more->in_ns[i];
}

void gpu_gaps_sums(const struct gpu_gaps *gaps, uint64_t most_ns, struct gpu_gap_sum *shorter,
		   struct gpu_gap_sum *longer)
{
	size_t i;

	*shorter = *longer = (struct gpu_gap_sum){ 0 };
	for (i = 0; gaps->by_length && i < CALL_TIMES_BUCKETS; i++) {
		const struct gpu_gap_sum *sum = &gaps->by_length[i];

		if (sum->count)
			sum_add(sum->ns / sum->count <= most_ns ? shorter : longer, sum);
	}
}

int gpu_gaps_copy(struct gpu_gaps *copy, const struct gpu_gaps *gaps)
{
	*copy = *gaps;
	if (!gaps->by_length)
		return 0;
	copy->by_length = calloc(CALL_TIMES_BUCKETS, sizeof(*copy->by_length));
	if (!copy->by_length)
		return -ENOMEM;
	memcpy(copy->by_length, gaps->by_length, gpu_gaps_bytes(gaps));
	return 0;
}

void gpu_gaps_fini(struct gpu_gaps *gaps)
{
	free(gaps->by_length);
	*gaps = (struct gpu_gaps){ 0 };
}

size_t gpu_gaps_bytes(const struct gpu_gaps *gaps)
{
	return gaps->by_length ? CALL_TIMES_BUCKETS * sizeof(*gaps->by_length) : 0;
}
