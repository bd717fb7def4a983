/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hash map from 64-bit keys to 64-bit values: handles, addresses, interned pointers. Open
 * addressing with linear probing; removal shifts the cluster back, so that there are no tombstones.
 *
 * Keys come from programs and files that may mean harm. So where a key lies depends on a number
 * that is another one in every run: no keys can be chosen to lie in one place. A caller that walks
 * the slots finds them in another order each time; what is shown goes by map_sorted().
 */
#ifndef MEMSCOPE_BASE_MAP_H
#define MEMSCOPE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Free if it is masked as 0: no key is but the secret itself, and that one is refused. */
struct map_slot {
	uint64_t masked; /* the key ^ the secret */
	uint64_t value;
};

struct map {
	struct map_slot *slots;
	size_t capacity; /* 0 or a power of two */
	size_t count;
	uint64_t secret; /* from the first key on */
};

/* A zeroed struct map is empty and ready. */
void map_fini(struct map *map);

/* Sets or replaces. Returns 0 or -ENOMEM (then nothing changed; also for the secret itself). */
int map_set(struct map *map, uint64_t key, uint64_t value);

/* The value's place, or NULL. Valid until the map changes. */
uint64_t *map_get(const struct map *map, uint64_t key);

/* Returns whether the key was there. */
bool map_remove(struct map *map, uint64_t key);

/* For walking the slots, from 0 to the capacity. */
static inline bool map_is_used(const struct map *map, size_t slot)
{
	return map->slots[slot].masked;
}

static inline uint64_t map_key_at(const struct map *map, size_t slot)
{
	return map->slots[slot].masked ^ map->secret;
}

/* The bytes of memory that it takes. */
static inline size_t map_bytes(const struct map *map)
{
	return map->capacity * sizeof(*map->slots);
}

struct map_pair {
	uint64_t key, value;
};

/* What is there, by key, in an array to be freed; NULL: there is nothing, or no memory. */
struct map_pair *map_sorted(const struct map *map);

/* What the tables of this run are scattered by: odd, and no program that is traced can know it. */
uint64_t map_secret(void);

/*
 * Scatters keys whose low bits are all alike (aligned addresses, small integers): both halves of a
 * product by the secret, so that each bit of the key changes half of those of the result.
 */
static inline uint64_t map_hash(uint64_t secret, uint64_t key)
{
	unsigned __int128 product = (unsigned __int128)(key ^ secret >> 1) * secret;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif /* MEMSCOPE_BASE_MAP_H */
