/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the words that there are is most like one that there is not: "did you mean ...?"
 */
#ifndef MEMSCOPE_BASE_NEAREST_H
#define MEMSCOPE_BASE_NEAREST_H

#include <stddef.h>

/* Begins as { .word = "reprot" }; neither word is copied. */
struct nearest {
	const char *word;
	const char *found; /* NULL: none is like it */
	size_t distance;   /* of what was found */
};

/*
 * How many characters have to be added, left out, replaced or swapped with the next one to make `b`
 * of `a`. Of words that are longer than 31 characters, SIZE_MAX.
 */
size_t nearest_distance(const char *a, const char *b);

/* Takes it if it is alike, and more so than what was found. The first of equals is kept. */
void nearest_offer(struct nearest *nearest, const char *word);

#endif /* MEMSCOPE_BASE_NEAREST_H */
