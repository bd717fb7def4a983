// SPDX-License-Identifier: BSD-2-Clause
#include "capture/stacks/stack_ids.h"

#include <stdlib.h>

#include "base/memory.h"

void stack_ids_fini(struct stack_ids *ids)
{
	map_fini(&ids->firsts);
	map_fini(&ids->others);
}

uint32_t stack_ids_find(const struct stack_ids *ids, uint32_t id)
{
	const uint64_t *first = map_get(&ids->others, id);

	return first ? (uint32_t)*first : id;
}

uint32_t stack_ids_add(struct stack_ids *ids, struct stack_ids_shared *shared, uint32_t id,
		       uint64_t what)
{
	const uint64_t *first = map_get(&ids->firsts, what);

	if (!first) {
		if (ids->firsts.count < STACK_IDS_MOST)
			(void)map_set(&ids->firsts, what, id); /* or the next is the first */
		return id;
	}
	if (*first == id ||
	    memory_grow((void **)&shared->ids, &shared->capacity, shared->count + 1,
			sizeof(*shared->ids)) ||
	    map_set(&ids->others, id, *first))
		return id;
	shared->ids[shared->count++] = id;
	return (uint32_t)*first;
}

void stack_ids_forget(struct stack_ids *ids, struct stack_ids_shared *shared)
{
	size_t i;

	for (i = 0; i < shared->count; i++)
		map_remove(&ids->others, shared->ids[i]);
	free(shared->ids);
	*shared = (struct stack_ids_shared){ 0 };
}

/* Without memory, none is known: a stack that comes again then is a new one. */
void stack_ids_keep(struct stack_ids *ids, const struct map *wanted)
{
	struct map kept = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ids->firsts.capacity; i++)
		if (map_is_used(&ids->firsts, i) && map_get(wanted, ids->firsts.slots[i].value))
			err = map_set(&kept, map_key_at(&ids->firsts, i),
				      ids->firsts.slots[i].value);
	if (err)
		map_fini(&kept);
	stack_ids_fini(ids);
	*ids = (struct stack_ids){ .firsts = kept };
}
