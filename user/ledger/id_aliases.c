// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/id_aliases.h"

void id_aliases_fini(struct id_aliases *aliases)
{
	map_fini(&aliases->recent);
	map_fini(&aliases->before);
}

size_t id_aliases_bytes(const struct id_aliases *aliases)
{
	return map_bytes(&aliases->recent) + map_bytes(&aliases->before);
}

int id_aliases_add(struct id_aliases *aliases, uint32_t id, uint32_t place, size_t most)
{
	if (aliases->recent.count >= most) {
		aliases->dropped |= aliases->before.count;
		map_fini(&aliases->before);
		aliases->before = aliases->recent;
		aliases->recent = (struct map){ 0 };
	}
	return map_set(&aliases->recent, id, place);
}

const uint64_t *id_aliases_find(const struct id_aliases *aliases, uint32_t id)
{
	const uint64_t *found = aliases->recent.count ? map_get(&aliases->recent, id) : NULL;

	return found || !aliases->before.count ? found : map_get(&aliases->before, id);
}

void id_aliases_use(struct id_aliases *aliases, uint32_t id, size_t most)
{
	const uint64_t *old = aliases->before.count ? map_get(&aliases->before, id) : NULL;

	if (old && !map_get(&aliases->recent, id))
		id_aliases_add(aliases, id, (uint32_t)*old, most);
}
