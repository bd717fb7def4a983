// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "top/top_bar.h"

int top_lines_begin(struct top_lines *lines, size_t width, size_t height)
{
	size_t i;

	lines->width = width;
	lines->height = 0;
	i = lines->capacity;
	if (memory_grow(&lines->lines, &lines->capacity, height + 1, sizeof(*lines->lines)))
		return -ENOMEM;
	for (; i < lines->capacity; i++)
		lines->lines[i] = (struct string){ 0 };
	lines->height = height;
	for (i = 0; i < height; i++)
		string_clear(&lines->lines[i]);
	return 0;
}

void top_lines_fini(struct top_lines *lines)
{
	size_t i;

	for (i = 0; i < lines->capacity; i++)
		string_fini(&lines->lines[i]);
	free(lines->lines);
	*lines = (struct top_lines){ 0 };
}

bool top_lines_failed(const struct top_lines *lines)
{
	size_t i;

	for (i = 0; i < lines->height; i++)
		if (lines->lines[i].failed)
			return true;
	return false;
}

/* The bytes of the character there, and its columns; names are ASCII by then. */
static size_t character_at(const char *text, size_t length, size_t *columns)
{
	const size_t bytes = string_utf8_length(text, length);

	*columns = *text < 1 || *text >= TOP_STYLES_COUNT;
	return bytes ? bytes : 1;
}

size_t top_lines_width(const char *text, size_t length)
{
	size_t width = 0, columns, i;

	for (i = 0; i < length; i += character_at(text + i, length - i, &columns)) {
		character_at(text + i, length - i, &columns);
		width += columns;
	}
	return width;
}

size_t top_lines_cut(const char *text, size_t length, size_t width)
{
	size_t i = 0, columns;

	while (i < length) {
		const size_t bytes = character_at(text + i, length - i, &columns);

		if (columns > width)
			break;
		width -= columns;
		i += bytes;
	}
	return i;
}

static void fill(struct string *line, size_t width)
{
	for (; width; width--)
		string_append_char(line, ' ');
}

void top_lines_put(struct string *line, const struct string *text, size_t width, bool right)
{
	const size_t cut = top_lines_cut(text->bytes, text->length, width);
	const size_t taken = top_lines_width(text->bytes, cut);

	if (right)
		fill(line, width - taken);
	string_append(line, text->bytes, cut);
	if (!right)
		fill(line, width - taken);
	line->failed |= text->failed;
}

static size_t count_lines(const struct string *text)
{
	size_t count = 0, i;

	for (i = 0; i < text->length; i++)
		count += text->bytes[i] == '\n';
	return count;
}

size_t top_lines_scroll(struct top_lines *lines, size_t from, size_t height,
			const struct string *text, size_t *scroll)
{
	const size_t count = count_lines(text), most = count > height ? count - height : 0;
	const char *at = text->bytes, *end;
	size_t i;

	if (*scroll > most)
		*scroll = most;
	for (i = 0; i < count && i < *scroll + height; i++, at = end + 1) {
		struct string *line;

		end = memchr(at, '\n', text->length - (at - text->bytes));
		if (i < *scroll || from + i - *scroll >= lines->height)
			continue;
		line = &lines->lines[from + i - *scroll];
		string_append(line, at, end - at);
		line->failed |= text->failed;
	}
	return count;
}
