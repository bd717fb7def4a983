/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See bitset.h. Not locked: each set belongs to one arena and is used under that arena's lock.
 */
#include "bitset.h"
#include "reserve.h"

static uint64_t bit(uint64_t index)
{
	return 1ull << (index & 63);
}

static uint64_t highest(uint64_t word_index, uint64_t word)
{
	return word_index * 64 + 63 - (uint64_t)__builtin_clzll(word);
}

void bitset_init(struct bitset *set, uint64_t limit)
{
	for (int i = 0; i < BITSET_LEVELS; i++) {
		limit = (limit + 63) / 64;
		set->level[i] = reserve_space(limit * sizeof(uint64_t));
	}
}

void bitset_add(struct bitset *set, uint64_t member)
{
	for (int i = 0; i < BITSET_LEVELS; i++, member /= 64) {
		uint64_t *word = &set->level[i][member / 64];
		uint64_t before = *word;

		*word = before | bit(member);
		if (before)
			return;
	}
}

void bitset_remove(struct bitset *set, uint64_t member)
{
	for (int i = 0; i < BITSET_LEVELS; i++, member /= 64) {
		uint64_t *word = &set->level[i][member / 64];

		*word &= ~bit(member);
		if (*word)
			return;
	}
}

/* The greatest member under word `index` of `level`'s parent bit. */
static int64_t descend(const struct bitset *set, int level, uint64_t index)
{
	while (level-- > 0)
		index = highest(index, set->level[level][index]);
	return (int64_t)index;
}

int64_t bitset_find_at_or_below(const struct bitset *set, uint64_t number)
{
	for (int i = 0; i < BITSET_LEVELS; i++) {
		uint64_t index = number / 64;
		uint64_t upto = bit(number) | (bit(number) - 1);
		uint64_t word = set->level[i][index] & upto;

		if (word)
			return descend(set, i, highest(index, word));
		if (!index)
			return -1;
		number = index - 1;
	}
	return -1;
}
