// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/frame_found.h"

#include <string.h>

#include "base/string.h"

#define MOST (MS_FRAME_TEXTS_MAX / MS_FRAME_TEXTS_COUNT - 1) /* of one that is found, bytes */

/* As much of the text as fits, without a part of a character of UTF-8 at its end. */
static size_t length_of(const char *text)
{
	size_t length = strnlen(text, MOST), back;

	if (!text[length])
		return length;
	for (back = 1; back <= 3 && back < length; back++)
		if (((unsigned char)text[length - back] & 0xc0) != 0x80)
			break;
	return string_utf8_length(text + length - back, back) == back ? length : length - back;
}

static void append(struct string *texts, const char *own, const char *found)
{
	if (found)
		string_append(texts, found, length_of(found));
	else
		string_append_text(texts, own);
	string_append_char(texts, '\0');
}

void frame_found_put(const struct frame_found *found, struct ms_frame_record *record, size_t room)
{
	const char *const news[MS_FRAME_TEXTS_COUNT] = {
		[MS_FRAME_FUNCTION] = found->function, [MS_FRAME_SOURCE] = found->source
	};
	const char *own = record->texts;
	struct string texts = { 0 };
	int i;

	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++, own += strlen(own) + 1)
		append(&texts, own, news[i]);
	if (!texts.failed && texts.length <= MS_FRAME_TEXTS_MAX &&
	    texts.length <= room - sizeof(*record)) {
		memcpy(record->texts, texts.bytes, texts.length);
		record->length = (uint32_t)texts.length;
		record->event.size = (uint16_t)(sizeof(*record) + texts.length);
		if (found->function)
			record->offset = found->offset;
		if (found->source)
			record->line = found->line;
	}
	string_fini(&texts);
}
