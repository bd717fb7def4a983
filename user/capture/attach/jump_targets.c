// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/jump_targets.h"

#include <errno.h>
#include <stdlib.h>

#include "elf/elf_code.h"
#include "elf/elf_symbols.h"

#define GRANULE_BYTES 64
#define GRANULES 65536 /* a power of two */

_Static_assert(PROLOGUE_REACH < GRANULE_BYTES,
	       "a function and its point are in two granules at most");

/* The points that are not their function's first byte, by place. */
struct moved {
	struct library_point **points;
	size_t count;
	uint64_t piece_offset; /* of the code that is being looked at */
	/*
	 * What bytes could be branches is a tenth of all; few of them lead to where a point is.
	 * Granules of the file (modulo GRANULES) that have a part of a function up to its point.
	 */
	bool near[GRANULES];
};

static bool *granule_of(struct moved *moved, uint64_t place)
{
	return &moved->near[place / GRANULE_BYTES % GRANULES];
}

static void moved_add(struct moved *moved, struct library_point *point)
{
	moved->points[moved->count++] = point;
	*granule_of(moved, point->file_offset) = true;
	*granule_of(moved, point->file_offset + point->prologue.entry.offset) = true;
}

static int by_place(const void *a, const void *b)
{
	const struct library_point *const *x = a, *const *y = b;

	return (*x)->file_offset < (*y)->file_offset ? -1 : (*x)->file_offset > (*y)->file_offset;
}

/* The file's code is entered at `place`: no function may be entered before its point. */
static void note_target(struct moved *moved, uint64_t place)
{
	size_t low = 0, high = moved->count, middle;
	struct library_point *point;

	if (!*granule_of(moved, place))
		return;
	while (low < high) { /* the last function that begins before `place` */
		middle = (low + high) / 2;
		if (moved->points[middle]->file_offset < place)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return;
	point = moved->points[low - 1];
	if (place - point->file_offset <= point->prologue.entry.offset)
		prologue_distrust(&point->prologue);
}

static int note_function(const struct elf_function *function, void *context)
{
	note_target(context, function->file_offset);
	return 0;
}

static void note_branch(size_t place, int64_t target, void *context)
{
	struct moved *moved = context;

	(void)place;
	note_target(moved, moved->piece_offset + target);
}

/* Branches of two bytes around one of the points, as far as they are in the piece. */
static void note_near(struct moved *moved, const struct library_point *point, const uint8_t *code,
		      uint64_t piece_offset, size_t length)
{
	uint64_t begin = point->file_offset, end = begin + PROLOGUE_REACH + PROLOGUE_NEAR_BYTES;

	begin = begin > PROLOGUE_NEAR_BYTES ? begin - PROLOGUE_NEAR_BYTES : 0;
	if (begin < piece_offset)
		begin = piece_offset;
	if (end > piece_offset + length)
		end = piece_offset + length;
	if (begin >= end)
		return;
	moved->piece_offset = begin;
	prologue_find_branches(code + (begin - piece_offset), end - begin, note_branch, moved);
}

static void note_piece(uint64_t file_offset, const uint8_t *code, size_t length, void *context)
{
	struct moved *moved = context;
	size_t i;

	moved->piece_offset = file_offset;
	prologue_find_far_branches(code, length, note_branch, moved);
	for (i = 0; i < moved->count; i++)
		note_near(moved, moved->points[i], code, file_offset, length);
}

int jump_targets_distrust(struct library *library, int fd)
{
	struct moved *moved = calloc(1, sizeof(*moved));
	size_t i;
	int err = 0;

	if (moved)
		moved->points = calloc(library->points_count + library->frameworks_count,
				       sizeof(*moved->points));
	if (!moved || !moved->points) {
		free(moved);
		return -ENOMEM;
	}
	for (i = 0; i < library->points_count; i++)
		if (library->points[i].prologue.entry.offset)
			moved_add(moved, &library->points[i]);
	for (i = 0; i < library->frameworks_count; i++)
		if (library->frameworks[i].prologue.entry.offset)
			moved_add(moved, &library->frameworks[i]);
	qsort(moved->points, moved->count, sizeof(*moved->points), by_place);
	if (moved->count)
		err = elf_each_function(fd, note_function, moved, NULL);
	if (!err && moved->count)
		err = elf_code_each(fd, note_piece, moved);
	for (i = 0; err && i < moved->count; i++)
		prologue_distrust(&moved->points[i]->prologue);
	free(moved->points);
	free(moved);
	return err == -ENOMEM ? err : 0;
}
