// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/eh_frame.h"

#include <errno.h>

/* How an address is written. */
enum {
	PE_ABSOLUTE = 0x00,
	PE_ULEB = 0x01,
	PE_U16 = 0x02,
	PE_U32 = 0x03,
	PE_U64 = 0x04,
	PE_SLEB = 0x09,
	PE_S16 = 0x0a,
	PE_S32 = 0x0b,
	PE_S64 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_RELATIVE = 0x10, /* to where it is written */
	PE_BASE = 0x70,
	PE_OMITTED = 0xff,
};

struct entry {
	struct cursor content; /* behind the length and the number */
	uint32_t offset;       /* where it begins */
	uint32_t id_offset;    /* where the number is */
	uint64_t id;           /* 0: a CIE; else how far it is back to the CIE from here */
};

static uint32_t offset_of(const struct eh_section *section, const uint8_t *at)
{
	return at - section->bytes;
}

/* Returns 1, 0 at the end, or -EBADMSG. */
static int next_entry(const struct eh_section *section, struct cursor *all, struct entry *entry)
{
	uint64_t length;

	if (all->end - all->at < 4)
		return 0;
	entry->offset = offset_of(section, all->at);
	length = cursor_number(all, 4);
	if (!length)
		return 0;
	if (length == UINT32_MAX)
		length = cursor_number(all, 8);
	entry->content = *all;
	if (!cursor_skip(all, length) || length < 4)
		return -EBADMSG;
	entry->content.end = all->at;
	entry->id_offset = offset_of(section, entry->content.at);
	entry->id = cursor_number(&entry->content, 4);
	return 1;
}

/* The value alone: what it is relative to is the caller's to add. */
static uint64_t read_encoded(struct cursor *cursor, uint8_t format)
{
	switch (format & PE_FORMAT) {
	case PE_ULEB:
		return cursor_uleb(cursor);
	case PE_SLEB:
		return cursor_sleb(cursor);
	case PE_U16:
		return cursor_number(cursor, 2);
	case PE_S16:
		return cursor_signed(cursor, 2);
	case PE_U32:
		return cursor_number(cursor, 4);
	case PE_S32:
		return cursor_signed(cursor, 4);
	case PE_ABSOLUTE:
	case PE_U64:
	case PE_S64:
		return cursor_number(cursor, 8);
	}
	cursor->failed = true;
	return 0;
}

/* ---- what is common -------------------------------------------------------------------------- */

/* The letters say what follows, in their order. */
static void read_augmentation(struct cursor *content, const char *letters, struct eh_common *common)
{
	for (; *letters && !content->failed; letters++) {
		switch (*letters) {
		case 'R':
			common->encoding = cursor_number(content, 1);
			break;
		case 'L':
			cursor_skip(content, 1);
			break;
		case 'P':
			read_encoded(content, cursor_number(content, 1));
			break;
		case 'S':
			common->is_signal = true;
			break;
		case 'B': /* of arm64: return addresses are signed */
			break;
		default: /* what else is in it, its length says */
			return;
		}
	}
}

int eh_frame_common(const struct eh_section *section, uint32_t offset, struct eh_common *common)
{
	struct cursor all = { section->bytes, section->bytes + section->length, false };
	struct entry entry;
	struct cursor *content = &entry.content;
	const char *letters;
	uint64_t version;

	*common = (struct eh_common){ 0 };
	if (!cursor_skip(&all, offset) || next_entry(section, &all, &entry) <= 0 || entry.id)
		return -EBADMSG;
	version = cursor_number(content, 1);
	letters = (const char *)content->at;
	if (!memchr(letters, '\0', content->end - content->at) || (version != 1 && version != 3))
		return -EBADMSG;
	cursor_skip(content, strlen(letters) + 1);
	common->code_step = cursor_uleb(content);
	common->data_step = cursor_sleb(content);
	common->return_register = version == 1 ? cursor_number(content, 1) : cursor_uleb(content);
	if (*letters == 'z') {
		const uint64_t length = cursor_uleb(content);
		struct cursor augmentation = *content;

		common->has_augmentation = true;
		if (!cursor_skip(content, length))
			return -EBADMSG;
		augmentation.end = content->at;
		read_augmentation(&augmentation, letters + 1, common);
		content->failed |= augmentation.failed;
	} else if (*letters) {
		return -EBADMSG; /* of compilers from before 2000 */
	}
	common->instructions = *content;
	return content->failed ? -EBADMSG : 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

static int read_function(const struct eh_section *section, struct entry *entry,
			 const struct eh_common *common, struct eh_function *function)
{
	struct cursor *content = &entry->content;
	const uint64_t place = section->address + offset_of(section, content->at);
	uint64_t bytes;

	if (common->encoding == PE_OMITTED ||
	    ((common->encoding & PE_BASE) && (common->encoding & PE_BASE) != PE_RELATIVE))
		return -EBADMSG;
	function->begin = read_encoded(content, common->encoding);
	if (common->encoding & PE_RELATIVE)
		function->begin += place;
	bytes = read_encoded(content, common->encoding);
	if (common->has_augmentation)
		cursor_skip(content, cursor_uleb(content));
	if (content->failed || __builtin_add_overflow(function->begin, bytes, &function->end))
		return -EBADMSG;
	function->offset = offset_of(section, content->at);
	function->end_offset = offset_of(section, content->end);
	return 0;
}

int eh_frame_each(const struct eh_section *section,
		  int (*visit)(const struct eh_function *function, void *context), void *context)
{
	struct cursor all = { section->bytes, section->bytes + section->length, false };
	struct eh_function function = { 0 };
	struct eh_common common = { 0 };
	uint32_t known = UINT32_MAX; /* the CIE that `common` is; those of one follow each other */
	struct entry entry;
	int result;

	while ((result = next_entry(section, &all, &entry)) > 0) {
		if (!entry.id)
			continue;
		if (entry.id > entry.id_offset)
			return -EBADMSG;
		function.common = entry.id_offset - entry.id;
		if (function.common != known &&
		    eh_frame_common(section, function.common, &common)) {
			known = UINT32_MAX;
			continue;
		}
		known = function.common;
		if (read_function(section, &entry, &common, &function))
			continue;
		result = visit(&function, context);
		if (result)
			return result;
	}
	return result;
}
