/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hash map from 64-bit keys to 64-bit values: handles, addresses, interned pointers. Open
 * addressing with linear probing; removal shifts the cluster back, so that there are no tombstones.
 */
#ifndef MEMSCOPE_BASE_MAP_H
#define MEMSCOPE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct map {
	struct map_slot *slots;
	size_t capacity; /* 0 or a power of two */
	size_t count;
};

/* A zeroed struct map is empty and ready. */
void map_fini(struct map *map);

/* Sets or replaces. Returns 0 or -ENOMEM (then nothing changed). */
int map_set(struct map *map, uint64_t key, uint64_t value);

/* The value's place, or NULL. Valid until the map changes. */
uint64_t *map_get(const struct map *map, uint64_t key);

/* Returns whether the key was there. */
bool map_remove(struct map *map, uint64_t key);

/* Of memory that it takes. */
static inline size_t map_bytes(const struct map *map)
{
	return map->capacity * sizeof(*map->slots);
}

/* Scatters keys whose low bits are all alike (aligned addresses, small integers). */
static inline uint64_t map_hash(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return key ^ key >> 29;
}

#endif /* MEMSCOPE_BASE_MAP_H */
