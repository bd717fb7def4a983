/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether some bytes are one JSON value (RFC 8259), in UTF-8 and with no name twice in an object.
 * It shares nothing with what writes JSON.
 */
#ifndef MEMSCOPE_TESTS_JSON_CHECK_H
#define MEMSCOPE_TESTS_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JSON_CHECK_DEPTH 64
#define JSON_CHECK_NAMES 64

struct json_check {
	const unsigned char *place, *end;
	int depth;
};

static inline bool json_check_value(struct json_check *check);

static inline int json_check_peek(const struct json_check *check)
{
	return check->place < check->end ? *check->place : -1;
}

/* Byte by byte: it is a few bytes, and sanitizers make memcmp() slow. */
static inline bool json_check_take(struct json_check *check, const char *text)
{
	const unsigned char *place = check->place;

	for (; *text; text++, place++)
		if (place >= check->end || *place != (unsigned char)*text)
			return false;
	check->place = place;
	return true;
}

static inline void json_check_space(struct json_check *check)
{
	int c = json_check_peek(check);

	while (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
		check->place++;
		c = json_check_peek(check);
	}
}

/* One character beyond ASCII: decoded, unless it is a code point that must not be written so. */
static inline bool json_check_utf8(struct json_check *check)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int first = *check->place++, length, i;
	uint32_t point;

	length = first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
	if (!length)
		return false;
	point = first & (0x7f >> length);
	for (i = 1; i < length; i++) {
		if (json_check_peek(check) >> 6 != 2)
			return false;
		point = point << 6 | (*check->place++ & 0x3f);
	}
	return point >= least[length] && point <= 0x10ffff && point >> 11 != 0x1b;
}

static inline bool json_check_escape(struct json_check *check)
{
	int i, c = json_check_peek(check);

	if (c == -1 || !c || !strchr("\"\\/bfnrtu", c))
		return false;
	check->place++;
	for (i = 0; c == 'u' && i < 4; i++) {
		int digit = json_check_peek(check);

		if (digit == -1 || !digit || !strchr("0123456789abcdefABCDEF", digit))
			return false;
		check->place++;
	}
	return true;
}

static inline bool json_check_string(struct json_check *check)
{
	if (!json_check_take(check, "\""))
		return false;
	while (json_check_peek(check) != '"') {
		int c = json_check_peek(check);

		if (c < 0x20) /* or the end */
			return false;
		if (c >= 0x80) {
			if (!json_check_utf8(check))
				return false;
			continue;
		}
		check->place++;
		if (c == '\\' && !json_check_escape(check))
			return false;
	}
	check->place++;
	return true;
}

static inline bool json_check_digits(struct json_check *check)
{
	const unsigned char *begin = check->place;

	while (json_check_peek(check) >= '0' && json_check_peek(check) <= '9')
		check->place++;
	return check->place > begin;
}

static inline bool json_check_number(struct json_check *check)
{
	json_check_take(check, "-");
	if (!json_check_take(check, "0") && !json_check_digits(check))
		return false;
	if (json_check_take(check, ".") && !json_check_digits(check))
		return false;
	if (json_check_take(check, "e") || json_check_take(check, "E")) {
		if (!json_check_take(check, "+"))
			json_check_take(check, "-");
		return json_check_digits(check);
	}
	return true;
}

static inline bool json_check_array(struct json_check *check)
{
	json_check_space(check);
	if (json_check_take(check, "]"))
		return true;
	do {
		if (!json_check_value(check))
			return false;
	} while (json_check_take(check, ","));
	return json_check_take(check, "]");
}

/* The names as they are spelled, quotes included; 0: another one like it was there. */
static inline bool json_check_is_new(const char **names, size_t *lengths, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (lengths[i] == lengths[count] && names[i][1] == names[count][1] &&
		    !memcmp(names[i], names[count], lengths[i]))
			return false;
	return true;
}

static inline bool json_check_object(struct json_check *check)
{
	const char *names[JSON_CHECK_NAMES];
	size_t lengths[JSON_CHECK_NAMES], count = 0;

	json_check_space(check);
	if (json_check_take(check, "}"))
		return true;
	do {
		json_check_space(check);
		names[count] = (const char *)check->place;
		if (!json_check_string(check))
			return false;
		lengths[count] = (const char *)check->place - names[count];
		if (!json_check_is_new(names, lengths, count) || ++count == JSON_CHECK_NAMES)
			return false;
		json_check_space(check);
		if (!json_check_take(check, ":") || !json_check_value(check))
			return false;
	} while (json_check_take(check, ","));
	return json_check_take(check, "}");
}

static inline bool json_check_value(struct json_check *check)
{
	bool good;

	json_check_space(check);
	if (++check->depth > JSON_CHECK_DEPTH)
		return false;
	if (json_check_take(check, "{"))
		good = json_check_object(check);
	else if (json_check_take(check, "["))
		good = json_check_array(check);
	else if (json_check_peek(check) == '"')
		good = json_check_string(check);
	else
		good = json_check_take(check, "true") || json_check_take(check, "false") ||
		       json_check_take(check, "null") || json_check_number(check);
	check->depth--;
	json_check_space(check);
	return good;
}

static inline bool json_check(const char *text, size_t length)
{
	struct json_check check = { .place = (const unsigned char *)text,
				    .end = (const unsigned char *)text + length };

	return json_check_value(&check) && check.place == check.end;
}

#endif /* MEMSCOPE_TESTS_JSON_CHECK_H */
