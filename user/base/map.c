// SPDX-License-Identifier: BSD-2-Clause
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define FIRST_CAPACITY 16

/* The kernel gives each program that it executes 16 random bytes, for such purposes. */
uint64_t map_secret(void)
{
	const char *bytes = (const char *)getauxval(AT_RANDOM);
	uint64_t secret = 0x9e3779b97f4a7c15ull;

	if (bytes)
		memcpy(&secret, bytes, sizeof(secret));
	return secret | 1;
}

void map_fini(struct map *map)
{
	free(map->slots);
	*map = (struct map){ 0 };
}

static struct map_slot *find(const struct map *map, uint64_t key)
{
	const uint64_t masked = key ^ map->secret;
	size_t mask = map->capacity - 1, i = map_hash(map->secret, key) & mask;

	while (map->slots[i].masked && map->slots[i].masked != masked)
		i = (i + 1) & mask;
	return &map->slots[i];
}

static int grow(struct map *map)
{
	struct map larger = { .capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
			      .secret = map->capacity ? map->secret : map_secret() };
	size_t i;

	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (i = 0; i < map->capacity; i++)
		if (map_is_used(map, i))
			*find(&larger, map_key_at(map, i)) = map->slots[i];
	larger.count = map->count;
	free(map->slots);
	*map = larger;
	return 0;
}

int map_set(struct map *map, uint64_t key, uint64_t value)
{
	struct map_slot *slot;
	int err;

	if (map->count * 4 >= map->capacity * 3) {
		err = grow(map);
		if (err)
			return err;
	}
	if (key == map->secret)
		return -ENOMEM;
	slot = find(map, key);
	map->count += !slot->masked;
	*slot = (struct map_slot){ .masked = key ^ map->secret, .value = value };
	return 0;
}

uint64_t *map_get(const struct map *map, uint64_t key)
{
	struct map_slot *slot;

	if (!map->count)
		return NULL;
	slot = find(map, key);
	return slot->masked ? &slot->value : NULL;
}

bool map_remove(struct map *map, uint64_t key)
{
	size_t mask = map->capacity - 1, hole, i;

	if (!map_get(map, key))
		return false;
	hole = find(map, key) - map->slots;
	for (i = (hole + 1) & mask; map_is_used(map, i); i = (i + 1) & mask) {
		size_t home = map_hash(map->secret, map_key_at(map, i)) & mask;

		/* An entry may move into the hole if that does not put it before its home. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole] = (struct map_slot){ 0 };
	map->count--;
	return true;
}

static int by_key(const void *a, const void *b)
{
	const struct map_pair *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

struct map_pair *map_sorted(const struct map *map)
{
	struct map_pair *sorted = map->count ? malloc(map->count * sizeof(*sorted)) : NULL;
	size_t count = 0, i;

	for (i = 0; sorted && i < map->capacity; i++)
		if (map_is_used(map, i))
			sorted[count++] =
				(struct map_pair){ map_key_at(map, i), map->slots[i].value };
	if (sorted)
		qsort(sorted, count, sizeof(*sorted), by_key);
	return sorted;
}
