// SPDX-License-Identifier: BSD-2-Clause
#include "store/properties.h"

#include <stddef.h>
#include <string.h>

void texts_fini(struct texts *texts)
{
	string_fini(&texts->bytes);
}

void texts_put(struct texts *texts, const char *name, const char *value)
{
	string_append(&texts->bytes, name, strlen(name) + 1);
	string_append(&texts->bytes, value, strlen(value) + 1);
}

void texts_put_u64(struct texts *texts, const char *name, uint64_t value)
{
	string_append(&texts->bytes, name, strlen(name) + 1);
	string_append_u64(&texts->bytes, value);
	string_append_char(&texts->bytes, '\0');
}

/* The text at `at`, and where it ends; NULL: there is no whole one. */
static const char *text_end(const char *at, const char *end)
{
	return at < end ? memchr(at, '\0', end - at) : NULL;
}

const char *texts_find(const char *bytes, size_t length, const char *name)
{
	const char *at = bytes, *const end = length ? bytes + length : bytes;
	const char *value, *value_end, *name_end;

	while ((name_end = text_end(at, end))) {
		value = name_end + 1;
		value_end = text_end(value, end);
		if (!value_end)
			return NULL;
		if (!strcmp(at, name))
			return value;
		at = value_end + 1;
	}
	return NULL;
}

uint64_t texts_find_u64(const char *bytes, size_t length, const char *name, uint64_t otherwise)
{
	const char *value = texts_find(bytes, length, name);
	uint64_t number;

	return value && !string_parse_u64(value, 0, UINT64_MAX, &number) ? number : otherwise;
}
