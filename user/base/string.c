// SPDX-License-Identifier: BSD-2-Clause
#include "base/string.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

/* ---- buffer ---------------------------------------------------------------------------------- */

void string_fini(struct string *string)
{
	free(string->bytes);
	*string = (struct string){ 0 };
}

void string_clear(struct string *string)
{
	string->length = 0;
	string->failed = false;
}

void string_restart(struct string *string, int *err)
{
	if (string->failed)
		*err = -ENOMEM;
	string_clear(string);
}

static inline char *reserve(struct string *string, size_t length)
{
	if (string->length + length > string->capacity &&
	    memory_grow(&string->bytes, &string->capacity, string->length + length, 1)) {
		string->failed = true;
		return NULL;
	}
	return string->bytes + string->length;
}

char *string_extend(struct string *string, size_t length)
{
	char *place = reserve(string, length);

	if (place)
		string->length += length;
	return place;
}

void string_append(struct string *string, const char *bytes, size_t length)
{
	char *place = length ? reserve(string, length) : NULL;

	if (!place)
		return;
	memcpy(place, bytes, length);
	string->length += length;
}

void string_append_text(struct string *string, const char *text)
{
	string_append(string, text, strlen(text));
}

void string_append_char(struct string *string, char c)
{
	char *place = reserve(string, 1);

	if (!place)
		return;
	*place = c;
	string->length++;
}

/* Not snprintf: the JSON sink writes a dozen numbers per event. */
static void append_base(struct string *string, uint64_t value, unsigned int base)
{
	char digits[20], *end = digits + sizeof(digits), *place = end;

	do {
		*--place = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	string_append(string, place, end - place);
}

void string_append_u64(struct string *string, uint64_t value)
{
	append_base(string, value, 10);
}

void string_append_i64(struct string *string, int64_t value)
{
	uint64_t magnitude = value;

	if (value < 0) {
		string_append_char(string, '-');
		magnitude = -magnitude;
	}
	append_base(string, magnitude, 10);
}

void string_append_hex(struct string *string, uint64_t value)
{
	string_append(string, "0x", 2);
	append_base(string, value, 16);
}

void string_append_format(struct string *string, const char *format, ...)
{
	va_list args;
	int length;
	char *place;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	place = length < 0 ? NULL : reserve(string, (size_t)length + 1);
	if (!place)
		return;
	va_start(args, format);
	vsnprintf(place, (size_t)length + 1, format, args);
	va_end(args);
	string->length += length;
}

/* What no shell takes for anything else. */
static bool is_bare(const char *text)
{
	static const char bare[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789_@+:,./-";

	return *text && *text != '-' && strspn(text, bare) == strlen(text);
}

static bool is_text(const char *bytes, size_t length)
{
	size_t i, step;

	for (i = 0; i < length; i += step) {
		step = string_utf8_length(bytes + i, length - i);
		if (!step || (unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
			return false;
	}
	return true;
}

static void append_quoted(struct string *string, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			string_append_text(string, "'\\''");
		else
			string_append_char(string, *text);
	}
}

/* As a format for the command printf, which all shells have; interactive ones expand "!". */
static void append_format_of(struct string *string, const char *bytes)
{
	for (; *bytes; bytes++) {
		const unsigned char byte = *bytes;

		if (byte < ' ' || byte >= 0x7f || byte == '\'' || byte == '!')
			string_append_format(string, "\\%03o", byte);
		else if (byte == '\\' || byte == '%')
			string_append_format(string, "%c%c", byte, byte);
		else
			string_append_char(string, (char)byte);
	}
}

void string_append_shell_word(struct string *string, const char *bytes)
{
	if (is_bare(bytes)) {
		string_append_text(string, bytes);
	} else if (is_text(bytes, strlen(bytes))) {
		string_append_char(string, '\'');
		append_quoted(string, bytes);
		string_append_char(string, '\'');
	} else {
		string_append_text(string, "\"$(printf '");
		append_format_of(string, bytes);
		string_append_text(string, "')\"");
	}
}

void string_pad(struct string *string, size_t length)
{
	char *place;

	if (string->length >= length)
		return;
	place = reserve(string, length - string->length);
	if (!place)
		return;
	memset(place, ' ', length - string->length);
	string->length = length;
}

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* Unicode 15, table 3-7. */
size_t string_utf8_length(const void *bytes, size_t length)
{
	const unsigned char *text = bytes;
	unsigned char first = text[0];
	unsigned char low = 0x80, high = 0xbf; /* bounds of the second byte */
	size_t needed, i;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	needed = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (length < needed || text[1] < low || text[1] > high)
		return 0;
	for (i = 2; i < needed; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	return needed;
}

/* ---- interned names -------------------------------------------------------------------------- */

struct string_node {
	struct string_node *next;
	uint64_t hash;
	size_t length;
	char text[];
};

uint64_t string_hash(uint64_t secret, const void *bytes, size_t length)
{
	const char *at = bytes;
	uint64_t hash = map_hash(secret, length), word;

	for (; length >= sizeof(word); length -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = map_hash(secret, hash ^ word);
	}
	word = 0;
	memcpy(&word, at, length);
	return map_hash(secret, hash ^ word);
}

static int table_grow(struct string_table *table)
{
	size_t capacity = table->capacity ? table->capacity * 2 : 64, i;
	struct string_node **buckets = calloc(capacity, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	if (!table->capacity)
		table->secret = map_secret();
	for (i = 0; i < table->capacity; i++) {
		while (table->buckets[i]) {
			struct string_node *node = table->buckets[i];

			table->buckets[i] = node->next;
			node->next = buckets[node->hash & (capacity - 1)];
			buckets[node->hash & (capacity - 1)] = node;
		}
	}
	free(table->buckets);
	table->buckets = buckets;
	table->capacity = capacity;
	return 0;
}

static const char *find(const struct string_table *table, const char *text, size_t length,
			uint64_t hash)
{
	const struct string_node *node = table->buckets[hash & (table->capacity - 1)];

	for (; node; node = node->next)
		if (node->hash == hash && node->length == length &&
		    !memcmp(node->text, text, length))
			return node->text;
	return NULL;
}

const char *string_find(const struct string_table *table, const char *text, size_t length)
{
	return table->capacity ?
		       find(table, text, length, string_hash(table->secret, text, length)) :
		       NULL;
}

const char *string_intern(struct string_table *table, const char *text, size_t length)
{
	bool refused;

	return string_intern_within(table, text, length, SIZE_MAX, &refused);
}

const char *string_intern_within(struct string_table *table, const char *text, size_t length,
				 size_t room, bool *refused)
{
	struct string_node *node, **bucket;
	const char *found;
	uint64_t hash;

	*refused = false;
	if (table->count >= table->capacity && table_grow(table))
		return NULL;
	hash = string_hash(table->secret, text, length);
	found = find(table, text, length, hash);
	*refused = !found && length > room;
	if (found || *refused)
		return found;
	bucket = &table->buckets[hash & (table->capacity - 1)];
	node = malloc(sizeof(*node) + length + 1);
	if (!node)
		return NULL;
	node->hash = hash;
	node->length = length;
	memcpy(node->text, text, length);
	node->text[length] = '\0';
	node->next = *bucket;
	*bucket = node;
	table->count++;
	table->bytes += sizeof(*node) + sizeof(*bucket) + length + 1;
	return node->text;
}

void string_table_fini(struct string_table *table)
{
	size_t i;

	for (i = 0; i < table->capacity; i++) {
		while (table->buckets[i]) {
			struct string_node *node = table->buckets[i];

			table->buckets[i] = node->next;
			free(node);
		}
	}
	free(table->buckets);
	*table = (struct string_table){ 0 };
}

/* ---- numbers for people ---------------------------------------------------------------------- */

/* Three significant digits, as few decimals as that takes. */
static void format_scaled(char out[STRING_NUMBER_BYTES], double value, const char *unit)
{
	int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

	if (value == (uint64_t)value && value < 1024)
		decimals = 0;
	snprintf(out, STRING_NUMBER_BYTES, "%.*f %s", decimals, value, unit);
}

const char *string_size(char out[STRING_NUMBER_BYTES], uint64_t size_bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = size_bytes;
	size_t unit = 0;

	while (value >= 1023.5 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1024;
		unit++;
	}
	format_scaled(out, value, units[unit]);
	return out;
}

const char *string_duration(char out[STRING_NUMBER_BYTES], uint64_t duration_ns)
{
	uint64_t seconds = duration_ns / 1000000000;

	if (duration_ns < 1000)
		snprintf(out, STRING_NUMBER_BYTES, "%u ns", (unsigned int)duration_ns);
	else if (duration_ns < 999500)
		format_scaled(out, duration_ns / 1e3, "us");
	else if (duration_ns < 999500000)
		format_scaled(out, duration_ns / 1e6, "ms");
	else if (duration_ns < 59950000000)
		format_scaled(out, duration_ns / 1e9, "s");
	else if (seconds < 3600)
		snprintf(out, STRING_NUMBER_BYTES, "%um%02us", (unsigned int)(seconds / 60),
			 (unsigned int)(seconds % 60));
	else
		snprintf(out, STRING_NUMBER_BYTES, "%lluh%02um",
			 (unsigned long long)(seconds / 3600), (unsigned int)(seconds / 60 % 60));
	return out;
}

const char *string_count(char out[STRING_NUMBER_BYTES], uint64_t count)
{
	char reversed[STRING_NUMBER_BYTES];
	size_t length = 0, i;

	for (i = 0; !i || count; i++) {
		if (i && i % 3 == 0)
			reversed[length++] = ',';
		reversed[length++] = '0' + count % 10;
		count /= 10;
	}
	for (i = 0; i < length; i++)
		out[i] = reversed[length - 1 - i];
	out[length] = '\0';
	return out;
}

void string_append_count(struct string *string, uint64_t count, const char *one, const char *many)
{
	char number[STRING_NUMBER_BYTES];

	string_append_format(string, "%s %s", string_count(number, count), count == 1 ? one : many);
}

/* What "K", "MiB" and so on multiply with, or 0. */
static uint64_t unit_factor(const char *unit)
{
	static const char units[] = "KMGTPE";
	const char *place = *unit ? strchr(units, toupper((unsigned char)*unit)) : NULL;

	if (place) {
		unit++;
		unit += *unit == 'i';
	}
	unit += *unit == 'B' || *unit == 'b';
	if (*unit)
		return 0;
	return place ? 1ull << 10 * (place - units + 1) : 1;
}

int string_parse_size(const char *text, uint64_t *size_bytes)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t factor, whole, bytes;
	char *end;
	double value;

	if (!digits)
		return -EINVAL;
	errno = 0;
	whole = strtoull(text, NULL, 10);
	if (errno)
		return -ERANGE;
	if (text[digits] != '.') {
		factor = unit_factor(text + digits);
		if (!factor)
			return -EINVAL;
		if (__builtin_mul_overflow(whole, factor, &bytes))
			return -ERANGE;
		*size_bytes = bytes;
		return 0;
	}
	value = strtod(text, &end);
	factor = unit_factor(end);
	if (!factor)
		return -EINVAL;
	if (value * (double)factor >= 18446744073709551616.0)
		return -ERANGE;
	*size_bytes = (uint64_t)(value * (double)factor);
	return 0;
}

int string_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long parsed;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	parsed = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno || parsed < min || parsed > max)
		return -ERANGE;
	*value = parsed;
	return 0;
}

bool string_take_count(const char **text, uint64_t max, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return !errno && *value && *value <= max;
}
