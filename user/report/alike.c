// SPDX-License-Identifier: BSD-2-Clause
#include "report/alike.h"

#include <stdlib.h>

#include "base/memory.h"
#include "report/report_devices.h"

struct list {
	struct alike *list;
	size_t count, capacity;
};

static int by_bytes(const void *one, const void *other)
{
	const struct alike *a = one, *b = other;

	if (a->group.bytes != b->group.bytes)
		return a->group.bytes < b->group.bytes ? 1 : -1;
	return (a->group.one.id > b->group.one.id) - (a->group.one.id < b->group.one.id);
}

static int add(struct list *all, const struct report_recording *recording,
	       const struct process *process)
{
	size_t count, i;
	struct alike_group *groups = alike_of(process, SIZE_MAX, &count);
	int err = groups ? 0 : -1;

	for (i = 0; !err && i < count; i++) {
		if (!report_devices_asked(recording, groups[i].one.device))
			continue;
		err = memory_grow(&all->list, &all->capacity, all->count + 1, sizeof(*all->list));
		if (!err)
			all->list[all->count++] = (struct alike){ process, groups[i] };
	}
	free(groups);
	return err;
}

struct alike *alike_find(const struct report_recording *recording, size_t *count)
{
	struct list all = { 0 };
	int err = memory_grow(&all.list, &all.capacity, 1, sizeof(*all.list));
	size_t i;

	for (i = 0; !err && i < recording->processes_count; i++)
		err = add(&all, recording, recording->processes[i].process);
	if (err) {
		free(all.list);
		return NULL;
	}
	if (all.count)
		qsort(all.list, all.count, sizeof(*all.list), by_bytes);
	*count = all.count;
	return all.list;
}
