// SPDX-License-Identifier: BSD-2-Clause
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define LONGEST 31

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The distance of the first `i` characters of `a` and the first `j` of `b`, row by row. */
size_t nearest_distance(const char *a, const char *b)
{
	size_t rows[LONGEST + 1][LONGEST + 1];
	const size_t a_length = strlen(a), b_length = strlen(b);
	size_t i, j;

	if (a_length > LONGEST || b_length > LONGEST)
		return SIZE_MAX;
	for (i = 0; i <= a_length; i++)
		rows[i][0] = i;
	for (j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (i = 1; i <= a_length; i++) {
		for (j = 1; j <= b_length; j++) {
			const size_t one_less = least(rows[i - 1][j], rows[i][j - 1]) + 1;

			rows[i][j] = least(one_less, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
		}
	}
	return rows[a_length][b_length];
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	const size_t distance = nearest_distance(nearest->word, word);
	/* In short words, one character may be wrong. */
	const size_t length = strlen(nearest->word);
	const size_t most = least(1 + length / 4, 3);

	if (distance > most || distance >= length ||
	    (nearest->found && distance >= nearest->distance))
		return;
	nearest->found = word;
	nearest->distance = distance;
}
