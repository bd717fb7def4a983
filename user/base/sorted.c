// SPDX-License-Identifier: BSD-2-Clause
#include "base/sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void sorted_fini(struct sorted *sorted)
{
	while (sorted->count)
		free(sorted->pieces[--sorted->count]);
	free(sorted->pieces);
	*sorted = (struct sorted){ 0 };
}

size_t sorted_bytes(const struct sorted *sorted)
{
	return sorted->capacity * sizeof(*sorted->pieces) +
	       sorted->count * sizeof(struct sorted_piece);
}

/* The last piece that begins with no more than the key; the first one if none does. */
static size_t piece_of(const struct sorted *sorted, uint64_t key)
{
	size_t low = 0, high = sorted->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (sorted->pieces[middle]->keys[0] <= key)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Where in the piece the first key is that is not less; its count: there is none. */
static size_t place_in(const struct sorted_piece *piece, uint64_t key)
{
	size_t low = 0, high = piece->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (piece->keys[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int piece_add(struct sorted *sorted, size_t place)
{
	struct sorted_piece *piece;

	if (memory_grow(&sorted->pieces, &sorted->capacity, sorted->count + 1,
			sizeof(*sorted->pieces)))
		return -ENOMEM;
	piece = malloc(sizeof(*piece));
	if (!piece)
		return -ENOMEM;
	piece->count = 0;
	memmove(&sorted->pieces[place + 1], &sorted->pieces[place],
		(sorted->count - place) * sizeof(*sorted->pieces));
	sorted->pieces[place] = piece;
	sorted->count++;
	return 0;
}

static void piece_remove(struct sorted *sorted, size_t place)
{
	free(sorted->pieces[place]);
	sorted->count--;
	memmove(&sorted->pieces[place], &sorted->pieces[place + 1],
		(sorted->count - place) * sizeof(*sorted->pieces));
}

/* Its second half becomes the next piece. */
static int split(struct sorted *sorted, size_t place)
{
	struct sorted_piece *piece, *half;

	if (piece_add(sorted, place + 1))
		return -ENOMEM;
	piece = sorted->pieces[place];
	half = sorted->pieces[place + 1];
	half->count = piece->count - piece->count / 2;
	piece->count -= half->count;
	memcpy(half->keys, &piece->keys[piece->count], half->count * sizeof(*half->keys));
	return 0;
}

int sorted_add(struct sorted *sorted, uint64_t key)
{
	struct sorted_piece *piece;
	size_t of, place;

	if (!sorted->count && piece_add(sorted, 0))
		return -ENOMEM;
	of = piece_of(sorted, key);
	if (sorted->pieces[of]->count == SORTED_PIECE) {
		if (split(sorted, of))
			return -ENOMEM;
		of += sorted->pieces[of + 1]->keys[0] <= key;
	}
	piece = sorted->pieces[of];
	place = place_in(piece, key);
	if (place < piece->count && piece->keys[place] == key)
		return 0;
	memmove(&piece->keys[place + 1], &piece->keys[place],
		(piece->count - place) * sizeof(*piece->keys));
	piece->keys[place] = key;
	piece->count++;
	return 0;
}

/* Two that fit into one become one, with room for more: so there are not many with few keys. */
static void join(struct sorted *sorted, size_t place)
{
	struct sorted_piece *piece = sorted->pieces[place], *next;

	if (place + 1 >= sorted->count)
		return;
	next = sorted->pieces[place + 1];
	if (piece->count + next->count > SORTED_PIECE / 2)
		return;
	memcpy(&piece->keys[piece->count], next->keys, next->count * sizeof(*next->keys));
	piece->count += next->count;
	piece_remove(sorted, place + 1);
}

void sorted_remove(struct sorted *sorted, uint64_t key)
{
	struct sorted_piece *piece;
	size_t of, place;

	if (!sorted->count)
		return;
	of = piece_of(sorted, key);
	piece = sorted->pieces[of];
	place = place_in(piece, key);
	if (place == piece->count || piece->keys[place] != key)
		return;
	piece->count--;
	memmove(&piece->keys[place], &piece->keys[place + 1],
		(piece->count - place) * sizeof(*piece->keys));
	if (!piece->count)
		piece_remove(sorted, of);
	else
		join(sorted, of ? of - 1 : of);
}

bool sorted_next(const struct sorted *sorted, uint64_t from, uint64_t *key)
{
	size_t of, place;

	if (!sorted->count)
		return false;
	of = piece_of(sorted, from);
	place = place_in(sorted->pieces[of], from);
	if (place == sorted->pieces[of]->count) {
		if (++of == sorted->count)
			return false;
		place = 0;
	}
	*key = sorted->pieces[of]->keys[place];
	return true;
}
