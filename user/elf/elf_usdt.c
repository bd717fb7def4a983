// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf_usdt.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"

#define NOTES ".note.stapsdt"
#define BASE ".stapsdt.base"
#define OWNER "stapsdt"
#define TYPE 3 /* of the notes: version 3, the only one that there is */
#define NOTES_MOST (4u << 20)
#define SEGMENTS_MOST 64

/* Where a note says that things are, as the file was linked. */
struct place {
	uint64_t code, base, counter;
};

struct reading {
	struct elf_file file;
	Elf64_Phdr segments[SEGMENTS_MOST]; /* those that are loaded */
	size_t segments_count;
	Elf64_Shdr notes, base;
	bool has_notes, has_base;
};

static int read_segments(struct reading *reading)
{
	const Elf64_Ehdr *header = &reading->file.header;
	const Elf64_Phdr *segment;
	struct elf_items headers;

	if (!header->e_phnum || header->e_phentsize != sizeof(*segment))
		return header->e_phnum ? -EBADMSG : 0;
	elf_items_init(&headers, &reading->file, header->e_phoff, header->e_phnum,
		       sizeof(*segment));
	while ((segment = elf_items_next(&headers)) && reading->segments_count < SEGMENTS_MOST)
		if (segment->p_type == PT_LOAD)
			reading->segments[reading->segments_count++] = *segment;
	return headers.err;
}

/* 0: nowhere. */
static uint64_t offset_of(const struct reading *reading, uint64_t address)
{
	size_t i;

	for (i = 0; address && i < reading->segments_count; i++) {
		const Elf64_Phdr *segment = &reading->segments[i];
		const uint64_t apart = address - segment->p_vaddr;

		if (address < segment->p_vaddr || apart >= segment->p_filesz ||
		    segment->p_offset > reading->file.size_bytes ||
		    apart >= reading->file.size_bytes - segment->p_offset)
			continue;
		return segment->p_offset + apart;
	}
	return 0;
}

static bool is_named(const struct reading *reading, const Elf64_Shdr *strings,
		     const Elf64_Shdr *section, const char *name)
{
	char bytes[sizeof(NOTES) + 1];
	const size_t length = strlen(name) + 1;

	return section->sh_name < strings->sh_size &&
	       strings->sh_size - section->sh_name >= length &&
	       !elf_file_read(&reading->file, strings->sh_offset + section->sh_name, bytes,
			      length) &&
	       !memcmp(bytes, name, length);
}

static int find_sections(struct reading *reading)
{
	const Elf64_Ehdr *header = &reading->file.header;
	const Elf64_Shdr *section;
	struct elf_items sections;
	Elf64_Shdr strings;

	if (!reading->file.sections_count ||
	    elf_file_strings(&reading->file, header->e_shstrndx, &strings))
		return 0; /* stripped of all sections: there is no saying where they would be */
	elf_items_init(&sections, &reading->file, header->e_shoff, reading->file.sections_count,
		       sizeof(*section));
	while ((section = elf_items_next(&sections))) {
		if (section->sh_type == SHT_NOTE && is_named(reading, &strings, section, NOTES)) {
			reading->notes = *section;
			reading->has_notes = true;
		} else if (section->sh_type == SHT_PROGBITS &&
			   is_named(reading, &strings, section, BASE)) {
			reading->base = *section;
			reading->has_base = true;
		}
	}
	return sections.err;
}

/* The description: three addresses, then three texts. Returns false if they are not there. */
static bool describe(const char *bytes, size_t length, struct place *place, struct elf_usdt *probe)
{
	const char *end = bytes + length, *at = bytes + sizeof(*place), *nul;

	if (length < sizeof(*place))
		return false;
	memcpy(place, bytes, sizeof(*place));
	nul = memchr(at, '\0', end - at);
	if (!nul)
		return false;
	probe->provider = at;
	probe->name = nul + 1;
	return memchr(probe->name, '\0', end - probe->name);
}

/* A prelinked file has moved since: its base tells by how much. */
static void put_places(const struct reading *reading, const struct place *place,
		       struct elf_usdt *probe)
{
	const uint64_t moved = reading->has_base ? reading->base.sh_addr - place->base : 0;

	probe->file_offset = offset_of(reading, place->code + moved);
	probe->counter_offset = place->counter ? offset_of(reading, place->counter + moved) : 0;
}

static size_t padded(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

static int visit_notes(const struct reading *reading, const char *bytes, size_t left,
		       int (*visit)(const struct elf_usdt *probe, void *context), void *context)
{
	Elf64_Nhdr header;
	struct elf_usdt probe;
	struct place place;
	int result = 0;

	while (!result && left >= sizeof(header)) {
		const char *owner = bytes + sizeof(header), *description;
		size_t whole;

		memcpy(&header, bytes, sizeof(header));
		whole = sizeof(header) + padded(header.n_namesz) + padded(header.n_descsz);
		if (header.n_namesz > left || header.n_descsz > left || whole > left)
			return -EBADMSG;
		description = owner + padded(header.n_namesz);
		bytes += whole;
		left -= whole;
		if (header.n_type != TYPE || header.n_namesz != sizeof(OWNER) ||
		    memcmp(owner, OWNER, sizeof(OWNER)) != 0)
			continue;
		if (!describe(description, header.n_descsz, &place, &probe))
			return -EBADMSG;
		put_places(reading, &place, &probe);
		if (probe.file_offset)
			result = visit(&probe, context);
	}
	return result;
}

static int read_notes(const struct reading *reading,
		      int (*visit)(const struct elf_usdt *probe, void *context), void *context)
{
	const uint64_t bytes = reading->notes.sh_size;
	char *notes;
	int err;

	if (bytes > NOTES_MOST)
		return -EFBIG;
	notes = malloc(bytes + 1);
	if (!notes)
		return -ENOMEM;
	err = elf_file_read(&reading->file, reading->notes.sh_offset, notes, bytes);
	if (!err)
		err = visit_notes(reading, notes, bytes, visit, context);
	free(notes);
	return err;
}

int elf_each_usdt(int fd, int (*visit)(const struct elf_usdt *probe, void *context), void *context)
{
	struct reading reading = { 0 };
	int err = elf_file_init(&reading.file, fd);

	if (!err)
		err = read_segments(&reading);
	if (!err)
		err = find_sections(&reading);
	if (err || !reading.has_notes)
		return err;
	return read_notes(&reading, visit, context);
}
