// SPDX-License-Identifier: BSD-2-Clause
#include "elf/btf.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TYPES_MAX (16u << 20) /* a kernel of a distribution has 150,000 */
#define NESTING_MAX 16        /* unnamed structs in structs, and names of names of types */

/* ---- the types ------------------------------------------------------------------------------- */

/* What follows a type's header. */
static size_t rest_of(const struct btf_type *type)
{
	const size_t count = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return count * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return count * 8;
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return count * 12;
	default:
		return 0;
	}
}

static int index_types(struct btf_types *types)
{
	const uint32_t most = types->types_bytes / sizeof(struct btf_type);
	uint32_t place = 0;

	if (most > TYPES_MAX)
		return -EBADMSG;
	types->places = malloc((most + 1) * sizeof(*types->places));
	types->structs = malloc((most + 1) * sizeof(*types->structs));
	if (!types->places || !types->structs)
		return -ENOMEM;
	while (types->types_bytes - place >= sizeof(struct btf_type)) {
		const struct btf_type *type = (const void *)(types->types + place);
		const size_t bytes = sizeof(*type) + rest_of(type);

		if (bytes > types->types_bytes - place)
			return -EBADMSG;
		types->places[types->count++] = place;
		if (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT)
			types->structs[types->structs_count++] = types->count;
		place += bytes;
	}
	return 0;
}

int btf_types_init(struct btf_types *types, const void *bytes, size_t count)
{
	const struct btf_header *header = bytes;
	size_t room;

	*types = (struct btf_types){ 0 };
	if (count < sizeof(*header) || header->magic != BTF_MAGIC || header->hdr_len > count ||
	    (header->hdr_len | header->type_off) % 4)
		return -EBADMSG;
	room = count - header->hdr_len;
	if (header->type_off > room || header->type_len > room - header->type_off ||
	    header->str_off > room || header->str_len > room - header->str_off)
		return -EBADMSG;
	types->types = (const unsigned char *)bytes + header->hdr_len + header->type_off;
	types->types_bytes = header->type_len;
	types->strings = (const char *)bytes + header->hdr_len + header->str_off;
	types->strings_bytes = header->str_len;
	if (!header->str_len || types->strings[header->str_len - 1])
		return -EBADMSG;
	return index_types(types);
}

void btf_types_fini(struct btf_types *types)
{
	free(types->places);
	free(types->structs);
	*types = (struct btf_types){ 0 };
}

static const struct btf_type *type_at(const struct btf_types *types, uint32_t id)
{
	if (!id || id > types->count)
		return NULL;
	return (const void *)(types->types + types->places[id - 1]);
}

/* Without what only qualifies it, or gives it another name. */
static const struct btf_type *type_itself(const struct btf_types *types, uint32_t id)
{
	const struct btf_type *type = type_at(types, id);
	int i;

	for (i = 0; type && i < NESTING_MAX; i++) {
		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			type = type_at(types, type->type);
			break;
		default:
			return type;
		}
	}
	return NULL;
}

/* ---- members --------------------------------------------------------------------------------- */

static bool is_named(const struct btf_types *types, uint32_t name, const char *wanted,
		     size_t length)
{
	return name < types->strings_bytes && !strncmp(types->strings + name, wanted, length) &&
	       !types->strings[name + length];
}

/* The type of the member with that name, or NULL; adds its offset in bits. */
static const struct btf_type *find_member(const struct btf_types *types,
					  const struct btf_type *type, const char *name,
					  size_t length, int nesting, uint64_t *bits)
{
	const struct btf_member *members = (const void *)(type + 1);
	uint32_t i;

	if (nesting > NESTING_MAX || (BTF_INFO_KIND(type->info) != BTF_KIND_STRUCT &&
				      BTF_INFO_KIND(type->info) != BTF_KIND_UNION))
		return NULL;
	for (i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		const struct btf_member *member = &members[i];
		const struct btf_type *found = type_itself(types, member->type);
		const uint64_t at = BTF_INFO_KFLAG(type->info) ?
					    BTF_MEMBER_BIT_OFFSET(member->offset) :
					    member->offset;

		if (found && !is_named(types, member->name_off, name, length))
			found = member->name_off ?
					NULL :
					find_member(types, found, name, length, nesting + 1, bits);
		if (!found)
			continue;
		*bits += at;
		return found;
	}
	return NULL;
}

static const struct btf_type *find_struct(const struct btf_types *types, const char *name,
					  size_t length)
{
	uint32_t i;

	for (i = 0; i < types->structs_count; i++) {
		const struct btf_type *type = type_at(types, types->structs[i]);

		if (is_named(types, type->name_off, name, length))
			return type;
	}
	return NULL;
}

static int64_t find(const struct btf_types *types, const char *path, size_t path_length)
{
	const char *end = path + path_length, *name = path;
	const struct btf_type *type = NULL;
	bool elements = path_length > 2 && !strncmp(end - 2, "[]", 2);
	uint64_t bits = 0;

	end -= elements ? 2 : 0;
	while (name < end) {
		const char *dot = memchr(name, '.', (size_t)(end - name));
		const size_t length = (size_t)((dot ? dot : end) - name);

		type = name == path ? find_struct(types, name, length) :
				      find_member(types, type, name, length, 0, &bits);
		if (!type)
			return -ENOENT;
		name += length + 1;
	}
	if (!type || bits % 8)
		return -ENOENT;
	if (!elements)
		return (int64_t)(bits / 8);
	if (BTF_INFO_KIND(type->info) != BTF_KIND_ARRAY)
		return -ENOENT;
	return ((const struct btf_array *)(type + 1))->nelems;
}

int64_t btf_types_find(const struct btf_types *types, const char *paths)
{
	int64_t found = -ENOENT;
	size_t length;

	for (; found < 0 && *paths; paths += length + (paths[length] == '|')) {
		length = strcspn(paths, "|");
		found = find(types, paths, length);
	}
	return found;
}
