// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/unwind_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "elf/elf_file.h"
#include "symbols/eh_frame.h"
#include "symbols/unwind_rules.h"

#define MAX_SECTION_BYTES (128u << 20) /* PyTorch's largest library has 17 MB */
#define MAX_SEGMENTS 64
/* Addresses are 32 bits; what is larger is no file that could be loaded and run. */
#define MAX_ADDRESS UINT32_MAX

struct functions {
	struct eh_function *list;
	size_t count, capacity;
};

void unwind_table_fini(struct unwind_table *table)
{
	free(table->rows);
	*table = (struct unwind_table){ 0 };
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_same_rule(const struct ms_unwind_row *a, const struct ms_unwind_row *b)
{
	return a->rule == b->rule && a->bp == b->bp && a->offset == b->offset;
}

/* Addresses never go back; of two rows at one address the later one is right. */
static int put_row(const struct ms_unwind_row *row, void *context)
{
	struct unwind_table *table = context;
	struct ms_unwind_row *last = table->count ? &table->rows[table->count - 1] : NULL;

	if (last && last->pc == row->pc) {
		*last = *row;
		return 0;
	}
	if (last && is_same_rule(last, row))
		return 0;
	if (table->count >= MS_UNWIND_ROWS_MOST)
		return -EFBIG;
	if (memory_grow((void **)&table->rows, &table->capacity, table->count + 1, sizeof(*row)))
		return -ENOMEM;
	table->rows[table->count++] = *row;
	return 0;
}

/* Code that no function's entry is about. */
static int put_gap(struct unwind_table *table, uint64_t begin)
{
	const struct ms_unwind_row row = { .pc = (uint32_t)begin, .rule = MS_UNWIND_NONE };

	return put_row(&row, table);
}

static int make_rows(struct unwind_table *table, const struct eh_section *section,
		     const struct functions *functions)
{
	uint32_t known = UINT32_MAX;
	struct eh_common common;
	uint64_t end = 0;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < functions->count; i++) {
		const struct eh_function *function = &functions->list[i];

		if (function->begin < end)
			continue; /* code has one entry */
		if (function->common != known &&
		    eh_frame_common(section, function->common, &common))
			continue;
		known = function->common;
		if (end && function->begin > end)
			err = put_gap(table, end);
		if (!err)
			err = unwind_rules_each(section, &common, function, put_row, table);
		end = function->end;
	}
	return err || !functions->count ? err : put_gap(table, end);
}

/* ---- functions ------------------------------------------------------------------------------- */

static int add_function(const struct eh_function *function, void *context)
{
	struct functions *functions = context;

	/* Linkers leave entries at address 0 for functions that they have thrown away. */
	if (!function->begin || function->begin >= function->end || function->end > MAX_ADDRESS)
		return 0;
	if (memory_grow((void **)&functions->list, &functions->capacity, functions->count + 1,
			sizeof(*functions->list)))
		return -ENOMEM;
	functions->list[functions->count++] = *function;
	return 0;
}

static int compare_functions(const void *left, const void *right)
{
	const struct eh_function *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

int unwind_table_make_of(struct unwind_table *table, const void *bytes, size_t length,
			 uint64_t address)
{
	const struct eh_section section = { bytes, length, address };
	struct functions functions = { 0 };
	int err = eh_frame_each(&section, add_function, &functions);

	*table = (struct unwind_table){ 0 };
	/* Of a damaged section the beginning is good. */
	if (err == -EBADMSG && functions.count)
		err = 0;
	if (!err && !functions.count)
		err = -ENODATA;
	if (!err) {
		qsort(functions.list, functions.count, sizeof(*functions.list), compare_functions);
		err = make_rows(table, &section, &functions);
	}
	free(functions.list);
	if (err)
		unwind_table_fini(table);
	return err;
}

/* ---- where it is in a file ------------------------------------------------------------------- */

struct place {
	uint64_t address, offset, bytes;
};

/*
 * The section is found by the segment that says where its index is: sections' headers can be
 * stripped. The index begins with version 1, how three things are written, and where the section
 * is (LSB Core 5.0, 10.6.2); linkers write that relative to itself, in 32 bits.
 */
#define INDEX_VERSION 1
#define INDEX_FORMAT 0x1b /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */

static int find_section(const struct elf_file *file, struct place *place)
{
	Elf64_Phdr loads[MAX_SEGMENTS], index = { 0 };
	const Elf64_Phdr *segment;
	struct elf_items headers;
	size_t count = 0, i;
	int32_t distance;
	uint8_t head[8];

	if (file->header.e_phnum && file->header.e_phentsize != sizeof(*segment))
		return -EBADMSG;
	elf_items_init(&headers, file, file->header.e_phoff, file->header.e_phnum,
		       sizeof(*segment));
	while ((segment = elf_items_next(&headers))) {
		if (segment->p_type == PT_GNU_EH_FRAME)
			index = *segment;
		if (segment->p_type == PT_LOAD && count < MAX_SEGMENTS)
			loads[count++] = *segment;
	}
	if (headers.err || !index.p_type)
		return headers.err ? headers.err : -ENODATA;
	if (elf_file_read(file, index.p_offset, head, sizeof(head)) || head[0] != INDEX_VERSION ||
	    head[1] != INDEX_FORMAT)
		return -EBADMSG;
	memcpy(&distance, head + 4, sizeof(distance));
	place->address = index.p_vaddr + 4 + (int64_t)distance;
	for (i = 0; i < count; i++) {
		const uint64_t into = place->address - loads[i].p_vaddr;

		if (into >= loads[i].p_filesz || into + loads[i].p_offset < into)
			continue;
		place->offset = loads[i].p_offset + into;
		place->bytes = loads[i].p_filesz - into;
		return 0;
	}
	return -EBADMSG;
}

int unwind_table_make(struct unwind_table *table, int fd)
{
	struct elf_file file;
	struct place place;
	void *bytes;
	int err = elf_file_init(&file, fd);

	*table = (struct unwind_table){ 0 };
	if (!err)
		err = find_section(&file, &place);
	if (err)
		return err;
	/* What follows it in its segment is read, too: the section has an end of its own. */
	if (place.offset > file.size_bytes)
		return -EBADMSG;
	if (place.bytes > file.size_bytes - place.offset)
		place.bytes = file.size_bytes - place.offset;
	if (place.bytes > MAX_SECTION_BYTES)
		place.bytes = MAX_SECTION_BYTES;
	bytes = malloc(place.bytes ? place.bytes : 1);
	if (!bytes)
		return -ENOMEM;
	err = elf_file_read(&file, place.offset, bytes, place.bytes);
	if (!err)
		err = unwind_table_make_of(table, bytes, place.bytes, place.address);
	free(bytes);
	return err;
}
