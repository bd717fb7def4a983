// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/untraced_children.h"

#include <string.h>

#define MAX_GENERATIONS 32   /* between a traced process and its descendant */
#define MAX_DESCENDANTS 4096 /* that are looked at */

/*
 * Whoever uses CUDA has the driver mapped, whatever its runtime is called. Its name will do for a
 * warning: to read every file that anybody maps would not be worth it.
 */
static bool is_driver(const struct proc_mapping *mapping)
{
	static const char driver[] = "libcuda.so";
	const char *slash = strrchr(mapping->path, '/');

	return mapping->executable && slash && !strncmp(slash + 1, driver, sizeof(driver) - 1);
}

bool untraced_children_uses_cuda(const struct targets *targets, pid_t pid,
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

bool untraced_children_inherits(pid_t child, pid_t parent)
{
	const uint64_t driver = driver_of(child), of_parent = driver ? driver_of(parent) : 0;

	return driver && (!of_parent || driver == of_parent);
}

struct search {
	const pid_t *pids; /* those that will be traced */
	size_t pids_count;
	pid_t *found;
	size_t count, max;
	size_t visited;
};

struct parent {
	struct search *search;
	uint64_t driver;
	int generation;
};

static bool is_asked_for(const struct search *search, pid_t pid)
{
	size_t i;

	for (i = 0; i < search->pids_count; i++)
		if (search->pids[i] == pid)
			return true;
	return false;
}

static int visit_child(pid_t pid, void *context)
{
	const struct parent *parent = context;
	struct parent child = { parent->search, 0, parent->generation + 1 };
	struct search *search = parent->search;

	if (++search->visited > MAX_DESCENDANTS)
		return 1;
	if (is_asked_for(search, pid) || child.generation > MAX_GENERATIONS)
		return 0;
	child.driver = driver_of(pid);
	if (child.driver && child.driver != parent->driver) {
		if (search->count < search->max)
			search->found[search->count] = pid;
		search->count++;
	}
	return proc_each_child(pid, visit_child, &child) > 0;
}

size_t untraced_children_find(const pid_t *pids, size_t count, pid_t *found, size_t max)
{
	struct search search = { .pids = pids, .pids_count = count, .found = found, .max = max };
	size_t i;

	for (i = 0; i < count; i++) {
		struct parent parent = { &search, driver_of(pids[i]), 0 };

		proc_each_child(pids[i], visit_child, &parent);
	}
	return search.count;
}
