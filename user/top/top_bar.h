/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drawings of one line: the ladder of a device, and what a process held in the last minute.
 */
#ifndef MEMSCOPE_TOP_TOP_BAR_H
#define MEMSCOPE_TOP_TOP_BAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"
#include "top/top_devices.h"

/* How the text that follows looks (enum top_style), as control characters; text has no others. */
#define TOP_STYLE_PLAIN "\1"
#define TOP_STYLE_STRONG "\2"
#define TOP_STYLE_SELECTED "\3"
#define TOP_STYLE_LIVE "\4"
#define TOP_STYLE_TRACED "\5"
#define TOP_STYLE_OTHERS "\6"
#define TOP_STYLE_DIM "\7"
#define TOP_STYLE_WARNING "\10"

enum top_style {
	TOP_STYLES_PLAIN = 1,
	TOP_STYLES_STRONG,
	TOP_STYLES_SELECTED,
	TOP_STYLES_LIVE,
	TOP_STYLES_TRACED,
	TOP_STYLES_OTHERS,
	TOP_STYLES_DIM,
	TOP_STYLES_WARNING,
	TOP_STYLES_COUNT,
};

/* Appends `width` columns, each for its share of the device, with the parts in their order. */
void top_bar_ladder(struct string *out, const struct top_device *device, size_t width, bool ascii);

/* Appends one column of a part, with its style. */
void top_bar_sample(struct string *out, enum top_part part, bool ascii);

/*
 * Appends `width` columns with the newest samples on the right. If there are more samples than
 * columns, a column shows the highest of its share.
 */
void top_bar_samples(struct string *out, const uint64_t *samples, size_t count, size_t width,
		     bool ascii);

#endif /* MEMSCOPE_TOP_TOP_BAR_H */
