// SPDX-License-Identifier: BSD-2-Clause
#include "history/rise.h"

/* Makes one part of two, so that there is place for as many again. */
static void halve(struct rise *rise)
{
	const struct rise_part *pair = rise->parts;
	uint32_t i;

	for (i = 0; i < RISE_PARTS / 2; i++, pair += 2)
		rise->parts[i] = (struct rise_part){
			.start_s = pair[0].start_s,
			.least_bytes = pair[0].least_bytes < pair[1].least_bytes ?
					       pair[0].least_bytes :
					       pair[1].least_bytes,
		};
	rise->count = RISE_PARTS / 2;
	rise->intervals *= 2;
}

void rise_note(struct rise *rise, uint64_t start_s, uint64_t end_s, uint64_t least_bytes)
{
	if (!rise->intervals)
		rise->intervals = 1;
	if (!rise->open)
		rise->current = (struct rise_part){ start_s, least_bytes };
	else if (least_bytes < rise->current.least_bytes)
		rise->current.least_bytes = least_bytes;
	if (++rise->open < rise->intervals)
		return;
	if (rise->count == RISE_PARTS) {
		halve(rise);
		/* What is open is only half of a part now. */
		if (rise->open < rise->intervals)
			return;
	}
	rise->parts[rise->count++] = rise->current;
	rise->end_s = end_s;
	rise->open = 0;
}

bool rise_find(const struct rise *rise, struct rise_found *found)
{
	const struct rise_part *parts = rise->parts;
	uint64_t highest;
	uint32_t i;

	if (rise->count < RISE_PARTS_LEAST)
		return false;
	*found = (struct rise_found){
		.from_s = parts[0].start_s,
		.to_s = rise->end_s,
		.last_s = parts[rise->count - 1].start_s,
		.first_bytes = parts[0].least_bytes,
		.last_bytes = parts[rise->count - 1].least_bytes,
		.parts = rise->count,
	};
	highest = found->first_bytes;
	for (i = 1; i < rise->count; i++) {
		if (parts[i].least_bytes <= highest)
			continue;
		highest = parts[i].least_bytes;
		found->higher++;
	}
	/* What has been given back in the end is not kept for ever. */
	if (rise->open && rise->current.least_bytes < found->last_bytes)
		return false;
	return found->last_bytes == highest && found->higher + 1 + rise->count / 8 >= rise->count &&
	       found->last_bytes - found->first_bytes >= RISE_BYTES &&
	       (found->last_bytes - found->first_bytes) * RISE_SHARE >= found->last_bytes;
}

uint64_t rise_hourly(const struct rise_found *found)
{
	/* What is least is where a part begins: that of the last one was not held at its end. */
	const uint64_t seconds = found->last_s - found->from_s;

	return seconds ? (uint64_t)((double)(found->last_bytes - found->first_bytes) /
				    (double)seconds * 3600) :
			 0;
}
