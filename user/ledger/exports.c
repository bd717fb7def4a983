// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/exports.h"

void exports_fini(struct exports *exports)
{
	map_fini(&exports->now);
	map_fini(&exports->before);
}

size_t exports_bytes(const struct exports *exports)
{
	return map_bytes(&exports->now) + map_bytes(&exports->before);
}

bool exports_find(const struct exports *exports, uint64_t handle, uint64_t *size_bytes)
{
	const uint64_t *found = map_get(&exports->now, handle);

	if (!found)
		found = map_get(&exports->before, handle);
	if (found)
		*size_bytes = *found;
	return found;
}

int exports_add(struct exports *exports, uint64_t handle, uint64_t size_bytes)
{
	if (exports->now.count >= LIMIT_EXPORTS && !map_get(&exports->now, handle)) {
		map_fini(&exports->before);
		exports->before = exports->now;
		exports->now = (struct map){ 0 };
	}
	return map_set(&exports->now, handle, size_bytes);
}

int exports_apply(struct state *state, struct process *process, const struct ms_call *call)
{
	const struct allocation *block;

	if (!(call->known & MS_KNOWN_SRC) || !call->src || !(call->known & MS_KNOWN_ADDR))
		return 0;
	block = state_containing(process, call->addr);
	return block && block->size_known ?
		       exports_add(&state->exports, call->src, block->size_bytes) :
		       0;
}
