// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/source_lines.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define MAX_UNITS (1u << 20)
#define MAX_NESTING 64         /* of scopes */
#define MAX_ENTRIES (4u << 20) /* of one unit that are looked at; they may lead to one another */

#define FUNCTIONS(F) \
	F(dwarf_begin) \
	F(dwarf_end) \
	F(dwarf_nextcu) \
	F(dwarf_offdie) \
	F(dwarf_tag) \
	F(dwarf_child) \
	F(dwarf_siblingof) \
	F(dwarf_ranges) \
	F(dwarf_haspc) \
	F(dwarf_attr) \
	F(dwarf_attr_integrate) \
	F(dwarf_formstring) \
	F(dwarf_formudata) \
	F(dwarf_diename) \
	F(dwarf_getsrc_die) \
	F(dwarf_linesrc) \
	F(dwarf_lineno) \
	F(dwarf_getsrcfiles) \
	F(dwarf_filesrc)

/* libdw's functions by their own names. */
static struct {
#define F(name) __typeof__(name) *name;
	FUNCTIONS(F)
#undef F
	bool loaded;
} dw;

int source_lines_load(void)
{
	static const struct {
		const char *name;
		size_t place;
	} functions[] = {
#define F(name) { #name, offsetof(__typeof__(dw), name) },
		FUNCTIONS(F)
#undef F
	};
	void *handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	size_t i;

	if (!handle)
		return -ENOENT;
	for (i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function)
			return -ENOENT;
		*(void **)((char *)&dw + functions[i].place) = function;
	}
	dw.loaded = true;
	return 0;
}

/* The code of a compilation unit is in one piece or several. */
struct unit_range {
	uint64_t begin, end;
	uint64_t unit; /* offset of its first entry */
};

struct source_lines {
	Dwarf *dwarf;
	struct unit_range *ranges; /* sorted */
	size_t count, capacity;
};

/* ---- compilation units ----------------------------------------------------------------------- */

static int add_ranges(struct source_lines *lines, Dwarf_Die *unit, uint64_t offset)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t place = 0;

	while ((place = dw.dwarf_ranges(unit, place, &base, &begin, &end)) > 0) {
		if (begin >= end)
			continue;
		if (lines->count >= MAX_UNITS)
			return -EFBIG;
		if (memory_grow((void **)&lines->ranges, &lines->capacity, lines->count + 1,
				sizeof(*lines->ranges)))
			return -ENOMEM;
		lines->ranges[lines->count++] = (struct unit_range){ begin, end, offset };
	}
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct unit_range *a = left, *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Of what is damaged, the units before the damage are kept. */
static int read_units(struct source_lines *lines)
{
	Dwarf_Off offset = 0, next;
	size_t header_bytes;
	Dwarf_Die unit;
	int err = 0;

	while (!err &&
	       !dw.dwarf_nextcu(lines->dwarf, offset, &next, &header_bytes, NULL, NULL, NULL)) {
		if (dw.dwarf_offdie(lines->dwarf, offset + header_bytes, &unit))
			err = add_ranges(lines, &unit, offset + header_bytes);
		offset = next;
	}
	if (lines->count)
		qsort(lines->ranges, lines->count, sizeof(*lines->ranges), compare);
	if (err == -ENOMEM)
		return err;
	return lines->count ? 0 : -ENODATA;
}

int source_lines_open(struct source_lines **result, int fd)
{
	struct source_lines *lines;
	int err;

	if (!dw.loaded)
		return -ENOENT;
	lines = calloc(1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	lines->dwarf = dw.dwarf_begin(fd, DWARF_C_READ);
	err = lines->dwarf ? read_units(lines) : -ENODATA;
	if (err) {
		source_lines_close(lines);
		return err;
	}
	*result = lines;
	return 0;
}

void source_lines_close(struct source_lines *lines)
{
	if (!lines)
		return;
	if (lines->dwarf)
		dw.dwarf_end(lines->dwarf);
	free(lines->ranges);
	free(lines);
}

static bool find_unit(struct source_lines *lines, uint64_t address, Dwarf_Die *unit)
{
	size_t low = 0, high = lines->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (lines->ranges[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < lines->ranges[low - 1].end &&
	       dw.dwarf_offdie(lines->dwarf, lines->ranges[low - 1].unit, unit);
}

/* ---- functions ------------------------------------------------------------------------------- */

struct chain {
	Dwarf_Die entries[SOURCE_LINES_MOST]; /* the outermost first */
	size_t count;
	size_t budget; /* entries that may still be looked at */
};

/* What has no code of its own can have members that do. */
static bool may_hold(Dwarf_Die *entry, uint64_t address)
{
	switch (dw.dwarf_tag(entry)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return dw.dwarf_haspc(entry, address) > 0;
	default:
		return false;
	}
}

static bool is_function(Dwarf_Die *entry)
{
	const int tag = dw.dwarf_tag(entry);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static void push(struct chain *chain, const Dwarf_Die *entry)
{
	if (chain->count == SOURCE_LINES_MOST)
		memmove(chain->entries, chain->entries + 1,
			--chain->count * sizeof(*chain->entries));
	chain->entries[chain->count++] = *entry;
}

/* Goes down to the innermost function that has the address. Returns whether one was found. */
static bool descend(Dwarf_Die *parent, uint64_t address, struct chain *chain, int depth)
{
	Dwarf_Die entry;

	if (depth > MAX_NESTING || dw.dwarf_child(parent, &entry))
		return false;
	do {
		const bool is_one = is_function(&entry);

		chain->budget -= chain->budget > 0;
		if (!may_hold(&entry, address))
			continue;
		if (is_one)
			push(chain, &entry);
		if (descend(&entry, address, chain, depth + 1) || is_one)
			return true;
	} while (chain->budget && !dw.dwarf_siblingof(&entry, &entry));
	return false;
}

static void copy(char to[SOURCE_LINE_TEXT_BYTES], const char *text)
{
	snprintf(to, SOURCE_LINE_TEXT_BYTES, "%s", text ? text : "");
}

/* The linker's name says more: with the types of a C++ function's parameters. */
static void put_function(struct source_line *line, Dwarf_Die *entry)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dw.dwarf_attr_integrate(entry, DW_AT_linkage_name, &attribute) ||
	    dw.dwarf_attr_integrate(entry, DW_AT_MIPS_linkage_name, &attribute))
		name = dw.dwarf_formstring(&attribute);
	copy(line->function, name ? name : dw.dwarf_diename(entry));
}

static uint64_t number_of(Dwarf_Die *entry, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dw.dwarf_attr(entry, name, &attribute) && !dw.dwarf_formudata(&attribute, &value) ?
		       value :
		       0;
}

/* Where a function that was put into another was called. */
static void put_call(struct source_line *line, Dwarf_Die *unit, Dwarf_Die *entry)
{
	const uint64_t file = number_of(entry, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	if (!dw.dwarf_getsrcfiles(unit, &files, &count) && file < count)
		copy(line->file, dw.dwarf_filesrc(files, file, NULL, NULL));
	line->line = (uint32_t)number_of(entry, DW_AT_call_line);
}

static void put_place(struct source_line *line, Dwarf_Die *unit, uint64_t address)
{
	Dwarf_Line *row = dw.dwarf_getsrc_die(unit, address);
	int number = 0;

	if (!row)
		return;
	copy(line->file, dw.dwarf_linesrc(row, NULL, NULL));
	if (!dw.dwarf_lineno(row, &number) && number > 0)
		line->line = (uint32_t)number;
}

/*
 * A compiler may split a function and put a part back into the rest: it says that the function is
 * called where it is declared, by itself.
 */
static bool is_own_part(Dwarf_Die *entry, Dwarf_Die *outer)
{
	Dwarf_Attribute attribute;
	Dwarf_Word declared;
	const char *name = dw.dwarf_diename(entry), *outer_name = dw.dwarf_diename(outer);

	return name && outer_name && !strcmp(name, outer_name) &&
	       dw.dwarf_attr_integrate(entry, DW_AT_decl_line, &attribute) &&
	       !dw.dwarf_formudata(&attribute, &declared) &&
	       declared == number_of(entry, DW_AT_call_line);
}

size_t source_lines_find(struct source_lines *lines, uint64_t address, struct source_line *found,
			 size_t most)
{
	struct chain chain = { .budget = MAX_ENTRIES };
	size_t i, count = 0;
	Dwarf_Die unit;

	if (!most || !find_unit(lines, address, &unit))
		return 0;
	descend(&unit, address, &chain, 0);
	memset(found, 0, most * sizeof(*found));
	put_place(&found[0], &unit, address);
	for (i = chain.count; i > 0 && count < most; i--) {
		Dwarf_Die *entry = &chain.entries[i - 1];

		if (i > 1 && is_own_part(entry, entry - 1))
			continue;
		put_function(&found[count++], entry);
		if (i > 1 && count < most)
			put_call(&found[count], &unit, entry);
	}
	return count ? count : found[0].file[0] != '\0';
}
