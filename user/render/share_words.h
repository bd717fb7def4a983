/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of an amount a part of it is, in words that hold for every share.
 */
#ifndef MEMSCOPE_RENDER_SHARE_WORDS_H
#define MEMSCOPE_RENDER_SHARE_WORDS_H

#include <stdint.h>

/* "all", "most", "half" or "the largest part": of the parts, this is the largest. */
static inline const char *share_words(uint64_t part, uint64_t whole)
{
	if (part >= whole)
		return "all";
	if (part == whole - part)
		return "half";
	return part > whole - part ? "most" : "the largest part";
}

#endif /* MEMSCOPE_RENDER_SHARE_WORDS_H */
