// SPDX-License-Identifier: BSD-2-Clause
#include "render/wrap.h"

#include <ctype.h>
#include <string.h>

#include "render/document.h"

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* One character: its bytes, and how many columns it takes. */
struct character {
	size_t length, width;
};

static struct character character_at(const char *text, size_t length)
{
	switch (*text) {
	case DOCUMENT_MARK_STRONG:
	case DOCUMENT_MARK_PLAIN:
	case DOCUMENT_MARK_COMMAND:
		return (struct character){ 1, 0 };
	}
	const size_t utf8 = string_utf8_length(text, length);

	return (struct character){ utf8 ? utf8 : 1, 1 };
}

size_t wrap_width(const char *text, size_t length)
{
	size_t width = 0, i;

	for (i = 0; i < length;) {
		const struct character character = character_at(text + i, length - i);

		width += character.width;
		i += character.length;
	}
	return width;
}

/* Whether a line may end at the space that is there: a number stays with its unit. */
static bool may_end(const char *text, size_t length, size_t at)
{
	static const char *const units[] = { "B",   "KiB", "MiB", "GiB", "TiB", "PiB",
					     "EiB", "s",   "ms",  "us",  "ns",  "%" };
	const char *unit = text + at + 1;
	size_t left = length - at - 1, i;

	if (!at || text[at - 1] < '0' || text[at - 1] > '9')
		return true;
	for (i = 0; i < sizeof(units) / sizeof(*units); i++) {
		const size_t taken = strlen(units[i]);

		if (left >= taken && !memcmp(unit, units[i], taken) &&
		    (left == taken || !isalnum((unsigned char)unit[taken])))
			return false;
	}
	return true;
}

size_t wrap_word_width(const char *text, size_t length)
{
	size_t widest = 0, begin = 0, i;

	for (i = 0; i <= length; i++) {
		size_t width;

		if (i < length && (text[i] != ' ' || !may_end(text, length, i)))
			continue;
		width = wrap_width(text + begin, i - begin);
		widest = width > widest ? width : widest;
		begin = i + 1;
	}
	return widest;
}

size_t wrap_line(const char *text, size_t length, size_t width, size_t *next)
{
	size_t at = 0, columns = 0, space = 0;
	bool in_code = false;

	while (at < length) {
		const struct character character = character_at(text + at, length - at);

		in_code ^= text[at] == DOCUMENT_MARK_CODE || text[at] == DOCUMENT_MARK_COMMAND;
		if (text[at] == ' ' && !in_code && may_end(text, length, at))
			space = at;
		if (columns + character.width > width && at)
			break;
		columns += character.width;
		at += character.length;
	}
	if (at < length && space)
		at = space;
	for (*next = at; *next < length && text[*next] == ' ';)
		++*next;
	return at;
}

void wrap_cut(struct string *out, size_t begin, size_t width)
{
	size_t place = begin, columns = 0, last = begin;

	while (place < out->length && columns < width) {
		last = place;
		place += string_utf8_length(out->bytes + place, out->length - place) ?: 1;
		columns++;
	}
	if (place >= out->length)
		return;
	out->length = last;
	string_append_char(out, '>');
}

/* Those of the second half of Latin-1, too, which some terminals obey. */
static bool is_control(const unsigned char *character)
{
	return *character < 0x20 || *character == 0x7f ||
	       (*character == 0xc2 && character[1] < 0xa0);
}

static void append_character(struct string *out, const char *text, size_t length, bool ascii)
{
	const size_t utf8 = string_utf8_length(text, length);

	if (!utf8 || (ascii && utf8 > 1) || is_control((const unsigned char *)text))
		string_append_char(out, '?');
	else
		string_append(out, text, utf8);
}

void wrap_append(struct string *out, const char *text, size_t length, const struct wrap_look *look)
{
	bool in_cite = false;
	size_t i;

	for (i = 0; i < length; i += character_at(text + i, length - i).length) {
		switch (text[i]) {
		case DOCUMENT_MARK_STRONG:
			string_append_text(out, look->colour ? BOLD : "");
			break;
		case DOCUMENT_MARK_PLAIN:
			string_append_text(out, look->colour ? PLAIN : "");
			break;
		case DOCUMENT_MARK_CODE:
			string_append_char(out, '|');
			break;
		case DOCUMENT_MARK_COMMAND:
			break;
		case DOCUMENT_MARK_CITE:
			in_cite = !in_cite;
			string_append_char(out, in_cite ? '[' : ']');
			break;
		default:
			append_character(out, text + i, length - i, look->ascii);
		}
	}
}
