// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"

#define PIECE_BYTES (64u << 10)
#define MAX_HEADERS 1024 /* segments or sections: an executable has some dozens */
#define MAX_NAME 32      /* longer than the names that are looked for */

/* ---- segments -------------------------------------------------------------------------------- */

struct pieces {
	struct elf_file file;
	uint8_t *buffer; /* PIECE_BYTES */
	uint64_t left;   /* of ELF_CODE_MAX_BYTES */
	void (*visit)(uint64_t file_offset, const uint8_t *code, size_t length, void *context);
	void *context;
};

static int visit_segment(struct pieces *pieces, const Elf64_Phdr *segment)
{
	uint64_t at = segment->p_offset, end;

	if (segment->p_filesz > pieces->left)
		return -EFBIG;
	pieces->left -= segment->p_filesz;
	if (__builtin_add_overflow(at, segment->p_filesz, &end))
		return -EBADMSG;
	while (at < end) {
		size_t length = end - at < PIECE_BYTES ? end - at : PIECE_BYTES;
		int err = elf_file_read(&pieces->file, at, pieces->buffer, length);

		if (err)
			return err;
		pieces->visit(at, pieces->buffer, length, pieces->context);
		at += at + length == end ? length : length - ELF_CODE_OVERLAP;
	}
	return 0;
}

static int visit_segments(struct pieces *pieces)
{
	const Elf64_Ehdr *header = &pieces->file.header;
	const Elf64_Phdr *segment;
	struct elf_items segments;
	int err = 0;

	if (header->e_phentsize != sizeof(*segment) || header->e_phnum > MAX_HEADERS)
		return -EBADMSG;
	elf_items_init(&segments, &pieces->file, header->e_phoff, header->e_phnum,
		       sizeof(*segment));
	while (!err && (segment = elf_items_next(&segments)))
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			err = visit_segment(pieces, segment);
	return err ? err : segments.err;
}

int elf_code_each(int fd,
		  void (*visit)(uint64_t file_offset, const uint8_t *code, size_t length,
				void *context),
		  void *context)
{
	struct pieces pieces = { .left = ELF_CODE_MAX_BYTES, .visit = visit, .context = context };
	int err = elf_file_init(&pieces.file, fd);

	if (err)
		return err;
	pieces.buffer = malloc(PIECE_BYTES);
	err = pieces.buffer ? visit_segments(&pieces) : -ENOMEM;
	free(pieces.buffer);
	return err;
}

/* ---- sections -------------------------------------------------------------------------------- */

static bool is_go_name(const struct elf_file *file, const Elf64_Shdr *strings, uint32_t name_offset)
{
	static const char *const names[] = { ".go.buildinfo", ".gopclntab" };
	uint64_t rest = name_offset < strings->sh_size ? strings->sh_size - name_offset : 0;
	char name[MAX_NAME + 1] = "";
	size_t i;

	if (elf_file_read(file, strings->sh_offset + name_offset, name,
			  rest < MAX_NAME ? rest : MAX_NAME))
		return false;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

bool elf_code_is_go(int fd)
{
	const Elf64_Shdr *section;
	struct elf_items sections;
	struct elf_file file;
	Elf64_Shdr strings;

	if (elf_file_init(&file, fd) || file.sections_count > MAX_HEADERS ||
	    elf_file_strings(&file, file.header.e_shstrndx, &strings))
		return false;
	elf_items_init(&sections, &file, file.header.e_shoff, file.sections_count,
		       sizeof(*section));
	while ((section = elf_items_next(&sections)))
		if (is_go_name(&file, &strings, section->sh_name))
			return true;
	return false;
}
