// SPDX-License-Identifier: BSD-2-Clause
#include "store/properties.h"

#include <stddef.h>
#include <string.h>

void properties_fini(struct properties *properties)
{
	string_fini(&properties->bytes);
}

void properties_put(struct properties *properties, const char *name, const char *value)
{
	string_append(&properties->bytes, name, strlen(name) + 1);
	string_append(&properties->bytes, value, strlen(value) + 1);
}

void properties_put_u64(struct properties *properties, const char *name, uint64_t value)
{
	string_append(&properties->bytes, name, strlen(name) + 1);
	string_append_u64(&properties->bytes, value);
	string_append_char(&properties->bytes, '\0');
}

/* The text at `at`, and where it ends; NULL: there is no whole one. */
static const char *text_end(const char *at, const char *end)
{
	return at < end ? memchr(at, '\0', end - at) : NULL;
}

const char *properties_find(const char *bytes, size_t length, const char *name)
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

uint64_t properties_find_u64(const char *bytes, size_t length, const char *name, uint64_t otherwise)
{
	const char *value = properties_find(bytes, length, name);
	uint64_t number;

	return value && !string_parse_u64(value, 0, UINT64_MAX, &number) ? number : otherwise;
}
