// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/launch_stubs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/string.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"

#define STUB "__device_stub_"
#define HANDLE "E8__handle"
#define MAX_NAMES_BYTES (32u << 20)
#define MAX_SECTIONS 65536
#define PAGE_MASK 4095ull

struct launch_stubs {
	int fd;
	struct elf_walk *walk;
	bool second; /* the stubs are known: host functions are looked for */
	struct launch_stub *stubs;
	size_t count, capacity;
	struct string_table names;
	struct map places; /* a kernel's interned name -> position + 1 */
	/* The same of names that kernels have if they are declared extern "C". */
	struct map plain;
	struct map functions; /* of host functions */
};

/* ---- whether it is worth it ------------------------------------------------------------------ */

static bool is_called(const struct elf_file *file, const Elf64_Shdr *strings, uint32_t name,
		      const char *wanted)
{
	char bytes[32];
	const size_t length = strlen(wanted) + 1;

	return name < strings->sh_size && length <= strings->sh_size - name &&
	       !elf_file_read(file, strings->sh_offset + name, bytes, length) &&
	       !memcmp(bytes, wanted, length);
}

bool launch_stubs_are_likely(int fd)
{
	struct elf_file file;
	struct elf_items sections;
	const Elf64_Shdr *section;
	Elf64_Shdr strings;
	bool found = false;

	if (elf_file_init(&file, fd) || file.sections_count > MAX_SECTIONS ||
	    elf_file_strings(&file, file.header.e_shstrndx, &strings))
		return false;
	elf_items_init(&sections, &file, file.header.e_shoff, file.sections_count,
		       sizeof(*section));
	while (!found && (section = elf_items_next(&sections)))
		found = is_called(&file, &strings, section->sh_name, ".nv_fatbin");
	return found;
}

int launch_stubs_linked(int fd, uint64_t offset, uint64_t *address)
{
	const Elf64_Phdr *segment;
	struct elf_items headers;
	struct elf_file file;
	int err = elf_file_init(&file, fd);

	if (err)
		return err;
	if (file.header.e_phentsize != sizeof(*segment))
		return -EBADMSG;
	elf_items_init(&headers, &file, file.header.e_phoff, file.header.e_phnum, sizeof(*segment));
	while ((segment = elf_items_next(&headers))) {
		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    (segment->p_offset & ~PAGE_MASK) != offset)
			continue;
		*address = segment->p_vaddr & ~PAGE_MASK;
		return 0;
	}
	return headers.err ? headers.err : -ENOENT;
}

/* ---- names ----------------------------------------------------------------------------------- */

/*
 * Parses what `*text` begins with as a name behind its length, and goes on behind it. Returns
 * whether it is one.
 */
static bool take_name(const char **text, const char **name, size_t *length)
{
	const char *at = *text;
	size_t rest;

	for (*length = 0; isdigit((unsigned char)*at) && *length < 100000; at++)
		*length = *length * 10 + (*at - '0');
	rest = at > *text && *length ? strnlen(at, *length) : 0;
	if (!rest || rest < *length)
		return false;
	*name = at;
	*text = at + *length;
	return true;
}

/*
 * The kernel of a stub: of _ZL23__device_stub__Z4statPfPf, "_Z4statPf". Clang's stubs are the host
 * functions, _Z18__device_stub__addPf: their kernels are not found. Returns whether it is a stub;
 * `rest` is what follows.
 */
static bool take_stub(const char *text, const char **kernel, size_t *length, const char **rest)
{
	const size_t before = strlen(STUB);

	text += *text == 'L'; /* static */
	if (!take_name(&text, kernel, length) || *length < before + 3 ||
	    memcmp(*kernel, STUB "_Z", before + 2) != 0)
		return false;
	*kernel += before;
	*length -= before;
	*rest = text;
	return true;
}

/* ---- what was found -------------------------------------------------------------------------- */

static struct launch_stub *find(const struct launch_stubs *stubs, const struct map *places,
				const char *name)
{
	const char *text = string_find(&stubs->names, name, strlen(name));
	const uint64_t *place = text ? map_get(places, (uintptr_t)text) : NULL;

	return place ? &stubs->stubs[*place - 1] : NULL;
}

/* What `_Z5plainPf` would be called as extern "C": "plain". */
static int note_plain(struct launch_stubs *stubs, const char *kernel, size_t place)
{
	const char *text = kernel + 2, *name;
	size_t length;

	if (!take_name(&text, &name, &length))
		return 0;
	name = string_intern(&stubs->names, name, length);
	return name ? map_set(&stubs->plain, (uintptr_t)name, place) : -ENOMEM;
}

static bool is_full(const struct launch_stubs *stubs, size_t length)
{
	return stubs->count == LAUNCH_STUBS_MOST || stubs->names.bytes + length > MAX_NAMES_BYTES;
}

/* NULL without memory. */
static struct launch_stub *add(struct launch_stubs *stubs, const char *kernel)
{
	if (memory_grow(&stubs->stubs, &stubs->capacity, stubs->count + 1, sizeof(*stubs->stubs)))
		return NULL;
	stubs->stubs[stubs->count] = (struct launch_stub){ .kernel = kernel };
	return &stubs->stubs[stubs->count++];
}

/* The stub of a kernel, which may be a new one. NULL: there is no room, or no memory (`*err`). */
static struct launch_stub *get(struct launch_stubs *stubs, const char *kernel, size_t length,
			       int *err)
{
	const char *name = string_find(&stubs->names, kernel, length);
	const uint64_t *place = name ? map_get(&stubs->places, (uintptr_t)name) : NULL;

	if (place)
		return &stubs->stubs[*place - 1];
	if (is_full(stubs, length))
		return NULL;
	name = string_intern(&stubs->names, kernel, length);
	if (!name ||
	    memory_grow(&stubs->stubs, &stubs->capacity, stubs->count + 1, sizeof(*stubs->stubs)) ||
	    map_set(&stubs->places, (uintptr_t)name, stubs->count + 1) ||
	    note_plain(stubs, name, stubs->count + 1)) {
		*err = -ENOMEM;
		return NULL;
	}
	return add(stubs, name);
}

/* Each source file that uses a template has a stub of its own. */
static int note_handle(struct launch_stubs *stubs, struct launch_stub *stub, uint64_t address)
{
	if (stub->handle && is_full(stubs, 0))
		return 0;
	if (stub->handle)
		stub = add(stubs, stub->kernel);
	if (!stub)
		return -ENOMEM;
	stub->handle = address;
	return 0;
}

/* A stub, or the variable in it with the handle. */
static int visit_stub(const struct elf_function *symbol, void *context)
{
	const char *text = symbol->name, *kernel, *rest;
	const char *begin = symbol->is_variable ? "_ZZ" : "_Z";
	struct launch_stub *stub;
	size_t length;
	int err = 0;

	if (strncmp(text, begin, strlen(begin)) != 0 ||
	    !take_stub(text + strlen(begin), &kernel, &length, &rest))
		return 0;
	if (symbol->is_variable) {
		const size_t left = strlen(rest);

		if (left < strlen(HANDLE) || strcmp(rest + left - strlen(HANDLE), HANDLE) != 0)
			return 0;
	}
	stub = get(context, kernel, length, &err);
	return stub && symbol->is_variable ? note_handle(context, stub, symbol->address) : err;
}

/* What is static here is not so on the device: _ZL4statPf, _ZN2nsL4statEPf. */
static void drop_static(char *name)
{
	const char *at = name + 2, *part;
	size_t length;

	if (strncmp(name, "_Z", 2) != 0)
		return;
	if (*at == 'N')
		for (at++; take_name(&at, &part, &length);)
			;
	if (at[0] == 'L' && isdigit((unsigned char)at[1]))
		memmove(name + (at - name), at + 1, strlen(at));
}

/* A function that is called like a kernel. */
static int visit_function(const struct elf_function *symbol, void *context)
{
	struct launch_stubs *stubs = context;
	struct launch_stub *stub;
	char name[4096];
	const size_t bytes = strlen(symbol->name) + 1;

	if (symbol->is_variable || bytes > sizeof(name))
		return 0;
	memcpy(name, symbol->name, bytes);
	drop_static(name);
	stub = find(stubs, &stubs->places, name);
	if (stub) {
		stub->kernel = string_find(&stubs->names, name, strlen(name));
		stub->function = symbol->address;
		return 0;
	}
	/* Only if no function of C++ is called so: then that is the kernel. */
	stub = strncmp(symbol->name, "_Z", 2) ? find(stubs, &stubs->plain, symbol->name) : NULL;
	if (stub && !stub->function) {
		stub->kernel = string_find(&stubs->names, symbol->name, strlen(symbol->name));
		stub->function = symbol->address;
	}
	return 0;
}

static int by_handle(const void *a, const void *b)
{
	const struct launch_stub *x = a, *y = b;

	return x->handle < y->handle ? -1 : x->handle > y->handle;
}

static int finish(struct launch_stubs *stubs)
{
	size_t i;
	int err = 0;

	map_fini(&stubs->places);
	map_fini(&stubs->plain);
	if (stubs->count)
		qsort(stubs->stubs, stubs->count, sizeof(*stubs->stubs), by_handle);
	for (i = 0; !err && i < stubs->count; i++)
		if (stubs->stubs[i].function)
			err = map_set(&stubs->functions, stubs->stubs[i].function, i);
	return err;
}

/* ---- reading it ------------------------------------------------------------------------------ */

int launch_stubs_open(struct launch_stubs **result, int fd)
{
	struct launch_stubs *stubs = calloc(1, sizeof(*stubs));
	int err = stubs ? elf_walk_open(&stubs->walk, fd) : -ENOMEM;

	if (err) {
		free(stubs);
		return err;
	}
	stubs->fd = fd;
	*result = stubs;
	return 0;
}

void launch_stubs_close(struct launch_stubs *stubs)
{
	if (!stubs)
		return;
	elf_walk_close(stubs->walk);
	string_table_fini(&stubs->names);
	map_fini(&stubs->places);
	map_fini(&stubs->plain);
	map_fini(&stubs->functions);
	free(stubs->stubs);
	free(stubs);
}

int launch_stubs_step(struct launch_stubs *stubs)
{
	int result = elf_walk_step(stubs->walk, stubs->second ? visit_function : visit_stub, stubs);

	if (result > 0)
		return result;
	elf_walk_close(stubs->walk);
	stubs->walk = NULL;
	if (!result && !stubs->second && stubs->count) {
		stubs->second = true;
		result = elf_walk_open(&stubs->walk, stubs->fd);
		if (!result)
			return 1;
	}
	return finish(stubs) ? -ENOMEM : result;
}

const struct launch_stub *launch_stubs_all(const struct launch_stubs *stubs, size_t *count)
{
	*count = stubs->count;
	return stubs->stubs;
}

const struct launch_stub *launch_stubs_of_function(const struct launch_stubs *stubs,
						   uint64_t function)
{
	const uint64_t *place = map_get(&stubs->functions, function);

	return place ? &stubs->stubs[*place] : NULL;
}
