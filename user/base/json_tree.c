// SPDX-License-Identifier: BSD-2-Clause
#include "base/json_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"

struct reader {
	struct json_tree *tree;
	char *at, *end; /* `*end` is writable */
	int depth;
	int err;
};

static bool fail(struct reader *reader, int err)
{
	if (!reader->err)
		reader->err = err;
	return false;
}

static void skip_space(struct reader *reader)
{
	while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
		reader->at++;
}

static bool take(struct reader *reader, char c)
{
	skip_space(reader);
	if (reader->at == reader->end || *reader->at != c)
		return false;
	reader->at++;
	return true;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static int hex_of(const char *digits, uint32_t *code)
{
	int i;

	for (*code = 0, i = 0; i < 4; i++) {
		const char c = digits[i];
		const uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') :
				       c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10 :
				       c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10 :
							      16;

		if (digit > 15)
			return -EINVAL;
		*code = *code << 4 | digit;
	}
	return 0;
}

/* UTF-8 of it is never longer than its escape. A zero would end the text: it is "?". */
static char *put_code(char *to, uint32_t code)
{
	if (!code)
		code = '?';
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

/* Behind "\u". Half of a pair is U+FFFD. */
static char *take_code(struct reader *reader, char *to)
{
	uint32_t code, low;

	if (reader->end - reader->at < 4 || hex_of(reader->at, &code)) {
		fail(reader, -EINVAL);
		return to;
	}
	reader->at += 4;
	if (code >= 0xd800 && code < 0xdc00 && reader->end - reader->at >= 6 &&
	    reader->at[0] == '\\' && reader->at[1] == 'u' && !hex_of(reader->at + 2, &low) &&
	    low >= 0xdc00 && low < 0xe000) {
		reader->at += 6;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	} else if (code >= 0xd800 && code < 0xe000) {
		code = 0xfffd;
	}
	return put_code(to, code);
}

static char *take_escape(struct reader *reader, char *to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c;

	if (reader->at == reader->end) {
		fail(reader, -EINVAL);
		return to;
	}
	c = *reader->at++;
	if (c == 'u')
		return take_code(reader, to);
	found = c ? strchr(from, c) : NULL;
	if (found)
		*to++ = into[found - from];
	else
		fail(reader, -EINVAL);
	return to;
}

/* Behind the quote; in place. */
static const char *take_text(struct reader *reader)
{
	char *const text = reader->at, *to = text;

	while (!reader->err && reader->at < reader->end && *reader->at != '"') {
		if ((unsigned char)*reader->at < ' ')
			fail(reader, -EINVAL);
		else if (*reader->at == '\\')
			reader->at++, to = take_escape(reader, to);
		else
			*to++ = *reader->at++;
	}
	if (reader->err || reader->at == reader->end) {
		fail(reader, -EINVAL);
		return NULL;
	}
	reader->at++;
	*to = '\0';
	return text;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool take_value(struct reader *reader, size_t *place);

/* Makes one; SIZE_MAX without memory. */
static size_t make(struct reader *reader, enum json_type type)
{
	struct json_tree *tree = reader->tree;

	if (tree->count == JSON_VALUES_MOST) {
		fail(reader, -EINVAL);
		return SIZE_MAX;
	}
	if (memory_grow(&tree->values, &tree->capacity, tree->count + 1, sizeof(*tree->values))) {
		fail(reader, -ENOMEM);
		return SIZE_MAX;
	}
	tree->values[tree->count] = (struct json_value){ .type = type };
	return tree->count++;
}

static bool take_key(struct reader *reader, const char **key)
{
	if (!take(reader, '"'))
		return fail(reader, -EINVAL);
	*key = take_text(reader);
	return *key && (take(reader, ':') || fail(reader, -EINVAL));
}

/* What is in an array or object, up to its end. */
static bool take_members(struct reader *reader, size_t place, bool object, char close)
{
	size_t last = 0, member = 0;
	const char *key = NULL;

	if (take(reader, close))
		return true;
	do {
		if ((object && !take_key(reader, &key)) || !take_value(reader, &member))
			return false;
		reader->tree->values[member].key = key;
		if (last)
			reader->tree->values[last].next = member;
		else
			reader->tree->values[place].first = member;
		last = member;
	} while (take(reader, ','));
	return take(reader, close) || fail(reader, -EINVAL);
}

static bool take_container(struct reader *reader, size_t *place, bool object)
{
	bool taken;

	*place = make(reader, object ? JSON_OBJECT : JSON_ARRAY);
	if (*place == SIZE_MAX)
		return false;
	if (reader->depth == JSON_DEPTH)
		return fail(reader, -EINVAL);
	reader->depth++;
	taken = take_members(reader, *place, object, object ? '}' : ']');
	reader->depth--;
	return taken;
}

static bool take_word(struct reader *reader, const char *word)
{
	const size_t length = strlen(word);

	if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
		return false;
	reader->at += length;
	return true;
}

static size_t digits_at(const struct reader *reader, const char *at)
{
	const char *from = at;

	while (at < reader->end && *at >= '0' && *at <= '9')
		at++;
	return at - from;
}

/* What stands there, as the grammar has it; 0: no number. */
static size_t number_length(const struct reader *reader, bool *plain)
{
	const char *at = reader->at;
	size_t digits;

	*plain = *at != '-';
	at += !*plain;
	digits = digits_at(reader, at);
	if (!digits || (digits > 1 && *at == '0'))
		return 0;
	at += digits;
	if (at < reader->end && *at == '.') {
		digits = digits_at(reader, at + 1);
		*plain = false;
		if (!digits)
			return 0;
		at += 1 + digits;
	}
	if (at < reader->end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < reader->end && (*at == '+' || *at == '-');
		digits = digits_at(reader, at);
		*plain = false;
		if (!digits)
			return 0;
		at += digits;
	}
	return at - reader->at;
}

static bool take_number(struct reader *reader, size_t *place)
{
	struct json_value *value;
	bool plain;
	const size_t length = number_length(reader, &plain);
	size_t i;

	if (!length)
		return fail(reader, -EINVAL);
	*place = make(reader, JSON_NUMBER);
	if (*place == SIZE_MAX)
		return false;
	value = &reader->tree->values[*place];
	for (i = 0; plain && i < length; i++)
		plain = !__builtin_mul_overflow(value->number, 10, &value->number) &&
			!__builtin_add_overflow(value->number, (uint64_t)(reader->at[i] - '0'),
						&value->number);
	value->is_unsigned = plain;
	reader->at += length;
	return true;
}

static bool take_value(struct reader *reader, size_t *place)
{
	const char *text;

	skip_space(reader);
	if (reader->at == reader->end)
		return fail(reader, -EINVAL);
	if (take(reader, '{'))
		return take_container(reader, place, true);
	if (take(reader, '['))
		return take_container(reader, place, false);
	if (take(reader, '"')) {
		text = take_text(reader);
		*place = text ? make(reader, JSON_STRING) : SIZE_MAX;
		if (*place == SIZE_MAX)
			return false;
		reader->tree->values[*place].text = text;
		return true;
	}
	if (take_word(reader, "null")) {
		*place = make(reader, JSON_NULL);
		return *place != SIZE_MAX;
	}
	if (*reader->at == 't' || *reader->at == 'f') {
		const bool is_true = *reader->at == 't';

		if (!take_word(reader, is_true ? "true" : "false"))
			return fail(reader, -EINVAL);
		*place = make(reader, JSON_BOOL);
		if (*place == SIZE_MAX)
			return false;
		reader->tree->values[*place].is_true = is_true;
		return true;
	}
	return take_number(reader, place);
}

int json_tree_read(struct json_tree *tree, char *bytes, size_t length)
{
	struct reader reader = { .tree = tree, .at = bytes, .end = bytes + length };
	size_t place;

	tree->count = 0;
	if (take_value(&reader, &place)) {
		skip_space(&reader);
		if (reader.at != reader.end)
			fail(&reader, -EINVAL);
	}
	if (reader.err)
		tree->count = 0;
	return reader.err;
}

void json_tree_fini(struct json_tree *tree)
{
	free(tree->values);
	*tree = (struct json_tree){ 0 };
}

/* ---- looking --------------------------------------------------------------------------------- */

const struct json_value *json_tree_next(const struct json_tree *tree, const struct json_value *of,
					const struct json_value *value)
{
	const size_t place = value ? value->next :
			     of && (of->type == JSON_ARRAY || of->type == JSON_OBJECT) ? of->first :
											 0;

	return place ? &tree->values[place] : NULL;
}

const struct json_value *json_tree_member(const struct json_tree *tree,
					  const struct json_value *object, const char *key)
{
	const struct json_value *value = NULL;

	while ((value = json_tree_next(tree, object, value)))
		if (value->key && !strcmp(value->key, key))
			return value;
	return NULL;
}

bool json_tree_u64(const struct json_tree *tree, const struct json_value *object, const char *key,
		   uint64_t *number)
{
	const struct json_value *value = json_tree_member(tree, object, key);
	const bool known = value && value->type == JSON_NUMBER && value->is_unsigned;

	*number = known ? value->number : 0;
	return known;
}

const char *json_tree_text(const struct json_tree *tree, const struct json_value *object,
			   const char *key)
{
	const struct json_value *value = json_tree_member(tree, object, key);

	return value && value->type == JSON_STRING ? value->text : NULL;
}

bool json_tree_true(const struct json_tree *tree, const struct json_value *object, const char *key)
{
	const struct json_value *value = json_tree_member(tree, object, key);

	return value && value->type == JSON_BOOL && value->is_true;
}
