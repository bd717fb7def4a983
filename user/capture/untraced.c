// SPDX-License-Identifier: BSD-2-Clause
#include "capture/untraced.h"

#include <string.h>

#define MAX_GENERATIONS 32 /* between a traced process and its descendant */

/* Whoever uses CUDA has the driver mapped, whatever its runtime is called. */
static bool is_driver(const struct proc_mapping *mapping)
{
	static const char driver[] = "libcuda.so";
	const char *slash = strrchr(mapping->path, '/');

	return mapping->executable && slash && !strncmp(slash + 1, driver, sizeof(driver) - 1);
}

bool untraced_uses_cuda(const struct targets *targets, pid_t pid,
			const struct proc_mapping *mapping)
{
	struct proc_info info = { .parent = pid };
	int generation;

	if (!is_driver(mapping))
		return false;
	for (generation = 0; generation < MAX_GENERATIONS; generation++) {
		if (proc_read(info.parent, &info) || info.parent <= 1)
			return false;
		if (targets_find(targets, info.parent))
			return true;
	}
	return false;
}

/* ---- those that are there already ------------------------------------------------------------ */

static int note_driver(const struct proc_mapping *mapping, void *context)
{
	if (!is_driver(mapping))
		return 0;
	*(uint64_t *)context = mapping->start;
	return 1;
}

/* Where the process has the driver's code; 0: nowhere. */
static uint64_t driver_of(pid_t pid)
{
	uint64_t start = 0;

	proc_each_mapping(pid, note_driver, &start);
	return start;
}

struct search {
	const struct targets *targets;
	pid_t *pids;
	size_t count, max;
	uint64_t parents_driver;
	int generation;
};

static int visit_child(pid_t pid, void *context)
{
	struct search *search = context, below = *search;

	if (targets_find(search->targets, pid) || search->generation >= MAX_GENERATIONS)
		return 0;
	below.generation++;
	below.parents_driver = driver_of(pid);
	/* Where it was mapped anew, it lies elsewhere. */
	if (below.parents_driver && below.parents_driver != search->parents_driver) {
		if (below.count < below.max)
			below.pids[below.count] = pid;
		below.count++;
	}
	proc_each_child(pid, visit_child, &below);
	search->count = below.count;
	return 0;
}

size_t untraced_find(const struct targets *targets, pid_t *pids, size_t max)
{
	struct search search = { .targets = targets, .pids = pids, .max = max };
	size_t i;

	for (i = 0; i < targets->count; i++) {
		search.parents_driver = driver_of(targets->targets[i]->pid);
		proc_each_child(targets->targets[i]->pid, visit_child, &search);
	}
	return search.count;
}
