// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/gpu_busy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int by_begin(const void *a, const void *b)
{
	const struct gpu_call *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Unites what overlaps; sorted before or not, it is afterwards. Returns how many are left. */
static size_t unite(struct gpu_call *intervals, size_t count)
{
	size_t last = 0, i;

	if (!count)
		return 0;
	qsort(intervals, count, sizeof(*intervals), by_begin);
	for (i = 1; i < count; i++) {
		if (intervals[i].begin_ns > intervals[last].end_ns)
			intervals[++last] = intervals[i];
		else if (intervals[i].end_ns > intervals[last].end_ns)
			intervals[last].end_ns = intervals[i].end_ns;
	}
	return last + 1;
}

static uint64_t sum_of(const struct gpu_call *intervals, size_t count)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0; i < count; i++)
		ns += intervals[i].end_ns - intervals[i].begin_ns;
	return ns;
}

/* They are united; to be freed. NULL without memory. */
static struct gpu_call *copy_of(const struct gpu_busy *busy, size_t *count)
{
	struct gpu_call *copy = malloc((busy->count ? busy->count : 1) * sizeof(*copy));

	if (!copy)
		return NULL;
	if (busy->count)
		memcpy(copy, busy->intervals, busy->count * sizeof(*copy));
	*count = unite(copy, busy->count);
	return copy;
}

uint64_t gpu_busy_ns(const struct gpu_busy *busy)
{
	struct gpu_call *copy;
	uint64_t ns;
	size_t count;

	if (busy->united == busy->count)
		return busy->settled_ns + sum_of(busy->intervals, busy->count);
	copy = copy_of(busy, &count);
	ns = busy->settled_ns + (copy ? sum_of(copy, count) : 0);
	free(copy);
	return ns;
}

int gpu_busy_gaps(const struct gpu_busy *busy, const struct gpu_host_calls *calls,
		  struct gpu_gaps *gaps)
{
	struct gpu_host_calls calls_copy;
	struct gpu_call *copy;
	size_t count;
	int err = gpu_gaps_copy(gaps, &busy->gaps);

	if (err)
		return err;
	copy = copy_of(busy, &count);
	err = copy ? gpu_host_calls_copy(&calls_copy, calls) : -ENOMEM;
	if (!err) {
		err = gpu_gaps_take(gaps, &calls_copy, busy->settled_until_ns, copy, count);
		gpu_host_calls_fini(&calls_copy);
	}
	free(copy);
	if (err)
		gpu_gaps_fini(gaps);
	return err;
}

/* So many of the oldest, which are united, become a sum. */
static int settle(struct gpu_busy *busy, struct gpu_host_calls *calls, size_t gone)
{
	int err;

	if (!gone)
		return 0;
	err = gpu_gaps_take(&busy->gaps, calls, busy->settled_until_ns, busy->intervals, gone);
	if (err)
		return err;
	busy->settled_ns += sum_of(busy->intervals, gone);
	busy->settled_until_ns = busy->intervals[gone - 1].end_ns;
	memmove(busy->intervals, busy->intervals + gone,
		(busy->count - gone) * sizeof(*busy->intervals));
	busy->count -= gone;
	busy->united = busy->count;
	return 0;
}

int gpu_busy_settle(struct gpu_busy *busy, struct gpu_host_calls *calls, uint64_t until_ns)
{
	size_t gone = 0;

	busy->count = busy->united = unite(busy->intervals, busy->count);
	while (gone < busy->count && busy->intervals[gone].end_ns <= until_ns)
		gone++;
	return settle(busy, calls, gone);
}

/* What is older than CUPTI's buffers can be becomes a sum: at least half, if it has to be. */
static int settle_old(struct gpu_busy *busy, struct gpu_host_calls *calls)
{
	const uint64_t newest_ns = busy->intervals[busy->count - 1].end_ns;
	size_t gone = 0;

	while (gone < busy->count &&
	       (gone < busy->count / 2 || busy->intervals[gone].end_ns + GPU_LATE_NS < newest_ns))
		gone++;
	return settle(busy, calls, gone);
}

/* It doubles as long as what is in it is not old, up to GPU_INTERVALS_MOST. */
static int make_room(struct gpu_busy *busy, struct gpu_host_calls *calls)
{
	const size_t before = busy->count;

	busy->count = busy->united = unite(busy->intervals, busy->count);
	if (busy->count <= before / 2)
		return 0;
	if (before >= GPU_INTERVALS_MOST ||
	    busy->intervals[0].end_ns + GPU_LATE_NS < busy->intervals[busy->count - 1].end_ns)
		return settle_old(busy, calls);
	return memory_grow(&busy->intervals, &busy->capacity, 2 * before, sizeof(*busy->intervals));
}

int gpu_busy_add(struct gpu_busy *busy, struct gpu_host_calls *calls, struct gpu_call interval)
{
	int err = 0;

	if (interval.begin_ns < busy->settled_until_ns) {
		busy->late++;
		interval.begin_ns = busy->settled_until_ns;
		if (interval.end_ns <= interval.begin_ns)
			return 0;
	}
	if (!busy->capacity)
		err = memory_grow(&busy->intervals, &busy->capacity, GPU_INTERVALS_LEAST,
				  sizeof(*busy->intervals));
	else if (busy->count == busy->capacity)
		err = make_room(busy, calls);
	if (err)
		return err;
	busy->intervals[busy->count++] = interval;
	return 0;
}

void gpu_busy_fini(struct gpu_busy *busy)
{
	free(busy->intervals);
	gpu_gaps_fini(&busy->gaps);
	*busy = (struct gpu_busy){ 0 };
}

size_t gpu_busy_bytes(const struct gpu_busy *busy)
{
	return busy->capacity * sizeof(*busy->intervals) + gpu_gaps_bytes(&busy->gaps);
}
