// SPDX-License-Identifier: BSD-2-Clause
#include "event/identity.h"

#include <errno.h>
#include <string.h>

#include "base/string.h"

#define PROGRAM_BYTES 31 /* of a name, so that what is interpreted has room behind it */

const struct identity_row identity_rows[IDENTITY_ITEMS] = {
#define IDENTITY(item, text, of, explained) \
	[IDENTITY_##item] = { .name = (text), .kind = IDENTITY_##of, .description = (explained) },
#include "event/identity.def"
#undef IDENTITY
};

static int find(const char *name)
{
	int item;

	for (item = 0; item < IDENTITY_ITEMS; item++)
		if (!strcmp(identity_rows[item].name, name))
			return item;
	return -1;
}

static bool is_valid(int item, const char *value)
{
	uint64_t number;

	return identity_rows[item].kind != IDENTITY_NUMBER ||
	       !string_parse_u64(value, 0, UINT32_MAX, &number);
}

/* The text that begins there, terminated within the bytes, and where the next one begins. */
static const char *take(const char *texts, size_t bytes, size_t *place)
{
	const char *text = texts + *place;
	size_t length = strnlen(text, bytes - *place);

	if (length == bytes - *place)
		return NULL;
	*place += length + 1;
	return text;
}

int identity_parse(const char *texts, size_t bytes, struct identity *identity)
{
	size_t place = 0;

	memset(identity, 0, sizeof(*identity));
	if (bytes > MS_IDENTITY_MAX)
		return -EINVAL;
	while (place < bytes) {
		const char *name = take(texts, bytes, &place);
		const char *value = name ? take(texts, bytes, &place) : NULL;
		int item;

		if (!value)
			return -EINVAL;
		item = find(name);
		if (item < 0)
			continue;
		if (identity->items[item] || !is_valid(item, value))
			return -EINVAL;
		identity->items[item] = value;
	}
	return 0;
}

bool identity_is_known(const struct identity *identity)
{
	enum identity_item item;

	for (item = 0; item < IDENTITY_ITEMS; item++)
		if (identity->items[item])
			return true;
	return false;
}

bool identity_number(const struct identity *identity, enum identity_item item, uint32_t *number)
{
	uint64_t value;

	if (!identity->items[item] ||
	    string_parse_u64(identity->items[item], 0, UINT32_MAX, &value))
		return false;
	*number = (uint32_t)value;
	return true;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *identity_script(const struct identity *identity)
{
	const char *script = identity->items[IDENTITY_SCRIPT];

	return script ? base_of(script) : NULL;
}

const char *identity_container(const struct identity *identity)
{
	const char *id = identity->items[IDENTITY_CONTAINER];
	const char *name = identity->items[IDENTITY_CONTAINER_NAME];

	return id && name ? name : id;
}

/* Whether one begins with the other, as "python3.11" does with "python3". */
static bool are_alike(const char *a, const char *b)
{
	size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

	return length && !strncmp(a, b, length);
}

/* So much of the text as there is room for. */
static size_t append(char name[IDENTITY_NAME_BYTES], size_t length, const char *text, size_t most)
{
	const size_t room = IDENTITY_NAME_BYTES - 1 - length, bytes = strnlen(text, most);
	const size_t taken = bytes < room ? bytes : room;

	memcpy(name + length, text, taken);
	name[length + taken] = '\0';
	return length + taken;
}

void identity_name(const struct identity *identity, const char comm[MS_COMM_BYTES],
		   char name[IDENTITY_NAME_BYTES])
{
	const char *exe = identity->items[IDENTITY_EXE], *script = identity->items[IDENTITY_SCRIPT];
	const char *title = identity->items[IDENTITY_TITLE];
	size_t length =
		append(name, 0, title ? title : comm, title ? IDENTITY_NAME_BYTES : MS_COMM_BYTES);

	if (!script || title)
		return;
	/* Threads rename themselves, and an executed script names the process. */
	if (exe && !are_alike(base_of(exe), name))
		length = append(name, 0, base_of(exe), PROGRAM_BYTES);
	if (length)
		length = append(name, length, " ", 1);
	append(name, length, base_of(script), IDENTITY_NAME_BYTES);
}
