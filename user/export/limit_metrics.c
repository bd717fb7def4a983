// SPDX-License-Identifier: BSD-2-Clause
#include "export/limit_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/device_limits.h"

static int by_cgroup(const struct ms_limit *a, const struct ms_limit *b)
{
	const int paths = strncmp(a->path, b->path, sizeof(a->path));

	return paths ? paths : strncmp(a->region, b->region, sizeof(a->region));
}

/* The newest of each cgroup and region comes first. */
static int compare(const void *left, const void *right)
{
	const struct ms_limit *const *a = left, *const *b = right;
	const int order = by_cgroup(*a, *b);

	if (order)
		return order;
	return ((*a)->event.ts_ns < (*b)->event.ts_ns) - ((*a)->event.ts_ns > (*b)->event.ts_ns);
}

static void put(struct metrics *metrics, size_t family, const struct ms_limit *limit,
		uint64_t bytes)
{
	char text[MS_LIMIT_PATH_BYTES + 1] = "";

	memcpy(text, limit->path, strnlen(limit->path, MS_LIMIT_PATH_BYTES));
	metrics_label(metrics, "cgroup", text);
	memset(text, 0, sizeof(text));
	memcpy(text, limit->region, strnlen(limit->region, MS_LIMIT_REGION_BYTES));
	metrics_label(metrics, "region", text);
	metrics_highest(metrics, family, bytes);
}

static void add(struct metrics *metrics, size_t first, const struct ms_limit *limit)
{
	put(metrics, first, limit, limit->used_bytes);
	if (!(limit->known & MS_LIMIT_MEMORY))
		return;
	put(metrics, first + 1, limit, limit->limit_bytes);
	put(metrics, first + 2, limit, device_limits_left(limit));
}

/* Of a process that has ended, those that it had then. */
static size_t count_of(const struct report_recording *recording, const struct process *process,
		       bool live)
{
	if (live && process->exited)
		return 0;
	return device_limits_count(&process->limits, report_held_ns(recording, process));
}

static size_t count_all(const struct report_recording *recording, bool live)
{
	size_t i, count = 0;

	for (i = 0; i < recording->processes_count; i++)
		count += count_of(recording, recording->processes[i].process, live);
	return count;
}

void limit_metrics_add(struct metrics *metrics, size_t first,
		       const struct report_recording *recording, bool live)
{
	const size_t most = count_all(recording, live);
	const struct ms_limit **limits;
	size_t i, j, count = 0;

	if (!most)
		return;
	limits = calloc(most, sizeof(const struct ms_limit *));
	if (!limits) {
		metrics_lack(metrics);
		return;
	}
	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;
		const size_t limits_count = count_of(recording, process, live);

		for (j = 0; j < limits_count; j++)
			limits[count++] = &process->limits.list[j];
	}
	qsort(limits, count, sizeof(const struct ms_limit *), compare);
	for (i = 0; i < count; i++)
		if (!i || by_cgroup(limits[i - 1], limits[i]))
			add(metrics, first, limits[i]);
	free(limits);
}
