// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_bar.h"

#include "top/top.h"

#define LEVELS 8

struct look {
	const char *style, *narrow, *wide;
};

static const struct look looks[TOP_PARTS] = {
	[TOP_ALLOCATED] = { TOP_STYLE_LIVE, "#", "\xe2\x96\x88" },
	[TOP_OF_TRACED] = { TOP_STYLE_TRACED, "+", "\xe2\x96\x93" },
	[TOP_OF_OTHERS] = { TOP_STYLE_OTHERS, "o", "\xe2\x96\x92" },
	[TOP_OF_NONE] = { TOP_STYLE_DIM, "-", "\xe2\x96\x91" },
	[TOP_RESERVED] = { TOP_STYLE_DIM, "=", "\xe2\x96\x91" },
	[TOP_FREE] = { TOP_STYLE_DIM, ".", "\xc2\xb7" },
};

static void append_times(struct string *out, enum top_part part, size_t times, bool ascii)
{
	if (!times)
		return;
	string_append_text(out, looks[part].style);
	for (; times; times--)
		string_append_text(out, ascii ? looks[part].narrow : looks[part].wide);
}

void top_bar_sample(struct string *out, enum top_part part, bool ascii)
{
	append_times(out, part, 1, ascii);
	string_append_text(out, TOP_STYLE_PLAIN);
}

/* Where a part ends is rounded, so that no error adds up. */
static size_t columns_of(uint64_t bytes, uint64_t total, size_t width)
{
	return total ? (size_t)(((unsigned __int128)bytes * width + total / 2) / total) : 0;
}

void top_bar_ladder(struct string *out, const struct top_device *device, size_t width, bool ascii)
{
	uint64_t bytes = 0, parts[TOP_PARTS] = { 0 };
	size_t drawn = 0, part;

	for (part = 0; part < TOP_PARTS; part++)
		parts[part] = device->parts[part];
	if (!top_device_is_divided(device)) {
		parts[TOP_ALLOCATED] = device->live_bytes < device->total_bytes ?
					       device->live_bytes :
					       device->total_bytes;
		parts[TOP_FREE] = device->total_bytes - parts[TOP_ALLOCATED];
	}
	for (part = 0; part < TOP_PARTS; part++) {
		size_t end;

		bytes += parts[part];
		end = columns_of(bytes, device->total_bytes, width);
		append_times(out, part, end - drawn, ascii);
		drawn = end;
	}
	string_append_text(out, TOP_STYLE_PLAIN);
}

static void append_level(struct string *out, uint64_t value, uint64_t highest, bool ascii)
{
	static const char *const narrow[] = { "_", ".", ",", "-", "=", "+", "*", "#" };
	size_t level = 0;

	if (highest)
		level = (size_t)((unsigned __int128)value * (LEVELS - 1) / highest);
	if (ascii)
		string_append_text(out, value ? narrow[level] : narrow[0]);
	else /* U+2581 and on */
		string_append_format(out, "\xe2\x96%c", (char)(0x81 + level));
}

void top_bar_samples(struct string *out, const uint64_t *samples, size_t count, size_t width,
		     bool ascii)
{
	/* Of how many samples a column is. */
	const size_t each = width && width < TOP_SAMPLES ? (TOP_SAMPLES + width - 1) / width : 1;
	const size_t filled = (count + each - 1) / each;
	uint64_t highest = 0;
	size_t i, column;

	for (i = 0; i < count; i++)
		highest = samples[i] > highest ? samples[i] : highest;
	for (column = filled; column < width; column++)
		string_append_char(out, ' ');
	for (column = filled < width ? filled : width; column; column--) {
		const size_t end = count - (column - 1) * each;
		uint64_t value = 0;

		for (i = end > each ? end - each : 0; i < end; i++)
			value = samples[i] > value ? samples[i] : value;
		append_level(out, value, highest, ascii);
	}
}
