// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/placement.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/log.h"
#include "base/memory.h"
#include "host/proc.h"
#include "event/probe.h"

bool placement_wants_return(const struct placement_wants *wants, uint32_t row)
{
	return wants->return_ops >> probe_at(row)->spec.kind & 1;
}

/* Whether the driver's functions say what this one would, if those of the kinds `below` do. */
static bool is_spared(const struct placement_wants *wants, uint32_t row, uint32_t below)
{
	const struct probe *probe = probe_at(row);

	return probe->layer == MS_LAYER_RUNTIME &&
	       (wants->spared & below) >> probe->spec.kind & 1 &&
	       !(wants->named && wants->named[row]);
}

static bool is_wanted(const struct placement_wants *wants, uint32_t row)
{
	const struct probe *probe = probe_at(row);

	return wants->ops >> probe->spec.kind & 1 && wants->layers >> probe->layer & 1 &&
	       !is_spared(wants, row, wants->below);
}

bool placement_wants_of(const struct placement_wants *wants, const struct library *library,
			enum ms_layer layer)
{
	size_t i;

	for (i = 0; i < library->points_count; i++) {
		uint32_t row = library->points[i].row;

		if (probe_at(row)->layer == layer && is_wanted(wants, row))
			return true;
	}
	return false;
}

bool placement_may_spare(const struct placement_wants *wants, const struct library *library)
{
	size_t i;

	for (i = 0; i < library->points_count; i++)
		if (is_spared(wants, library->points[i].row, ~0u))
			return true;
	return false;
}

const struct prologue_point *placement_point(const struct placement_wants *wants,
					     const struct library_point *function)
{
	return placement_wants_return(wants, function->row) ? &function->prologue.result :
							      &function->prologue.entry;
}

/* ---- the functions in memory ----------------------------------------------------------------- */

/* Where the kernel keeps the code that it calls instead of nops of five bytes. */
#define TRAMPOLINE_NAME "[uprobes-trampoline]"

struct range {
	uint64_t start, end;
};

struct search {
	const struct placement_wants *wants;
	const struct library *library;
	struct proc_mapping *mappings; /* of the library's code; without their paths */
	size_t mappings_count, mappings_capacity;
	struct range *trampolines;
	size_t trampolines_count, trampolines_capacity;
	enum placement_code *code;
};

static int note_mapping(const struct proc_mapping *mapping, void *context)
{
	struct search *search = context;
	int err;

	if (!mapping->executable)
		return 0;
	if (!strcmp(mapping->path, TRAMPOLINE_NAME)) {
		err = memory_grow(&search->trampolines, &search->trampolines_capacity,
				  search->trampolines_count + 1, sizeof(*search->trampolines));
		if (!err)
			search->trampolines[search->trampolines_count++] =
				(struct range){ mapping->start, mapping->end };
		return err;
	}
	if (!library_is_mapped(search->library, mapping))
		return 0;
	err = memory_grow(&search->mappings, &search->mappings_capacity, search->mappings_count + 1,
			  sizeof(*search->mappings));
	if (!err)
		search->mappings[search->mappings_count++] = *mapping;
	return err;
}

static bool is_trampoline(uint64_t address, const void *context)
{
	const struct search *search = context;
	size_t i;

	for (i = 0; i < search->trampolines_count; i++)
		if (address >= search->trampolines[i].start && address < search->trampolines[i].end)
			return true;
	return false;
}

/* How many of a function's bytes have to be the file's; what is not known to end, two. */
static size_t compared_bytes(const struct search *search, const struct library_point *function)
{
	const struct prologue_point *point = placement_point(search->wants, function);
	size_t bytes = point->length ? point->offset + point->length : 2;

	return bytes < function->code_bytes ? bytes : function->code_bytes;
}

/* The functions of which all that matters lies in the mapping, as places to read. */
static size_t list_places(const struct search *search, const struct proc_mapping *mapping,
			  struct proc_place *places, size_t *indices)
{
	uint64_t mapping_end = mapping->offset + (mapping->end - mapping->start);
	size_t i, count = 0;

	for (i = 0; i < search->library->points_count; i++) {
		const struct library_point *function = &search->library->points[i];
		size_t bytes = compared_bytes(search, function);

		if (!bytes || function->file_offset < mapping->offset ||
		    function->file_offset + bytes > mapping_end ||
		    !is_wanted(search->wants, function->row))
			continue;
		places[count] = (struct proc_place){
			.addr = mapping->start + (function->file_offset - mapping->offset),
			.bytes = bytes,
		};
		indices[count++] = i;
	}
	return count;
}

static enum placement_code code_at(const struct search *search,
				   const struct library_point *function,
				   const struct proc_place *place, const uint8_t *memory)
{
	const struct prologue_point *point = placement_point(search->wants, function);

	if (prologue_compare(function->code, memory, place->bytes, place->addr, is_trampoline,
			     search) == PROLOGUE_CHANGED)
		return PLACEMENT_CHANGED;
	if (prologue_is_probed(point, memory + point->offset, place->addr + point->offset,
			       is_trampoline, search))
		return PLACEMENT_PROBED;
	return PLACEMENT_PLAIN;
}

static void compare_places(const struct search *search, const struct proc_place *places,
			   const size_t *indices, size_t count, const uint8_t *memory)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const struct library_point *function = &search->library->points[indices[i]];
		enum placement_code code = code_at(search, function, &places[i], memory);

		if (code > search->code[indices[i]])
			search->code[indices[i]] = code;
		memory += places[i].bytes;
	}
}

/* A mapping at a time: one system call for all its functions. */
static int compare_mappings(const struct search *search, pid_t pid)
{
	size_t points = search->library->points_count, i;
	struct proc_place *places = calloc(points, sizeof(*places));
	uint8_t *memory = calloc(points, PROLOGUE_BYTES);
	size_t *indices = calloc(points, sizeof(*indices));
	int err = places && memory && indices ? 0 : -ENOMEM;

	for (i = 0; !err && i < search->mappings_count; i++) {
		size_t count = list_places(search, &search->mappings[i], places, indices);

		err = count ? proc_read_places(pid, places, count, memory) : 0;
		if (!err)
			compare_places(search, places, indices, count, memory);
	}
	free(places);
	free(memory);
	free(indices);
	return err;
}

int placement_look(const struct placement_wants *wants, const struct library *library, pid_t pid,
		   enum placement_code *code)
{
	struct search search = { .wants = wants, .library = library, .code = code };
	int err = proc_each_mapping(pid, note_mapping, &search);

	if (!err)
		err = compare_mappings(&search, pid);
	free(search.mappings);
	free(search.trampolines);
	return err;
}

void placement_find_changed(const struct library *library, const struct library_point *functions,
			    size_t count, pid_t pid, bool *changed)
{
	static const struct placement_wants any = { .ops = UINT32_MAX, .layers = UINT32_MAX };
	enum placement_code *code = calloc(count, sizeof(*code));
	struct library_point *points = calloc(count, sizeof(*points));
	struct library alone = *library;
	size_t i;

	memset(changed, 0, count * sizeof(*changed));
	for (i = 0; points && i < count; i++) {
		points[i] = functions[i];
		points[i].row = 0; /* one that is wanted */
	}
	alone.points = points;
	alone.points_count = count;
	if (code && points && !placement_look(&any, &alone, pid, code))
		for (i = 0; i < count; i++)
			changed[i] = code[i] == PLACEMENT_CHANGED;
	free(points);
	free(code);
}

/* ---- the places ------------------------------------------------------------------------------ */

static void place(struct placement *placement, const struct placement_wants *wants,
		  const struct library_point *function)
{
	const struct prologue_point *point = placement_point(wants, function);

	placement->offsets[placement->count] = function->file_offset + point->offset;
	placement->cookies[placement->count++] = MS_COOKIE(function->row, point->stack_bytes);
}

/* How unlikely it is that a program is just calling it. */
static int coldness(uint64_t cookie)
{
	const struct ms_spec *spec = &probe_at(MS_COOKIE_ROW(cookie))->spec;

	if (spec->op == MS_OP_NAME)
		return 1;
	if (spec->op != MS_OP_CONTEXT)
		return 0;
	switch (spec->action) {
	case MS_ACTION_RESET:
		return 4;
	case MS_ACTION_DESTROY:
	case MS_ACTION_RELEASE:
		return 3;
	case MS_ACTION_NONE: /* the runtime's reset, for one */
		return 2;
	}
	return 0;
}

static void move_to_front(uint64_t *values, size_t from)
{
	uint64_t value = values[from];

	memmove(values + 1, values, from * sizeof(*values));
	*values = value;
}

static void begin_with_coldest(struct placement *placement)
{
	size_t coldest = 0, i;

	for (i = 0; i < placement->count; i++)
		if (coldness(placement->cookies[i]) > coldness(placement->cookies[coldest]))
			coldest = i;
	move_to_front(placement->offsets, coldest);
	move_to_front(placement->cookies, coldest);
}

static void note_changed(struct placement *placement, uint32_t row)
{
	if (!placement->changed++)
		placement->changed_row = row;
	if (probe_at(row)->layer == MS_LAYER_DRIVER)
		placement->changed_driver |= 1u << probe_at(row)->spec.kind;
}

int placement_init(struct placement *placement, const struct placement_wants *wants,
		   const struct library *library, pid_t pid)
{
	enum placement_code *code = calloc(library->points_count, sizeof(*code));
	size_t i;
	int err;

	*placement = (struct placement){
		.offsets = calloc(library->points_count, sizeof(*placement->offsets)),
		.cookies = calloc(library->points_count, sizeof(*placement->cookies)),
	};
	if (!code || !placement->offsets || !placement->cookies) {
		free(code);
		return -ENOMEM;
	}
	err = pid ? placement_look(wants, library, pid, code) : 0;
	if (err)
		log_debug("%s: cannot compare it with the memory of process %d: %s", library->name,
			  pid, strerror(-err));
	for (i = 0; i < library->points_count; i++) {
		if (!is_wanted(wants, library->points[i].row))
			continue;
		if (code[i] != PLACEMENT_CHANGED)
			place(placement, wants, &library->points[i]);
		else
			note_changed(placement, library->points[i].row);
	}
	begin_with_coldest(placement);
	free(code);
	return 0;
}

void placement_fini(struct placement *placement)
{
	free(placement->offsets);
	free(placement->cookies);
	*placement = (struct placement){ 0 };
}
