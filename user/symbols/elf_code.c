// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf_code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (64u << 10)
#define MAX_HEADERS 1024 /* segments or sections: an executable has some dozens */
#define MAX_NAME 32      /* longer than the names that are looked for */

static bool read_all(int fd, void *bytes, size_t length, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, bytes, length, offset) == (ssize_t)length;
}

/* ---- segments -------------------------------------------------------------------------------- */

struct pieces {
	int fd;
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

		if (!read_all(pieces->fd, pieces->buffer, length, at))
			return -EBADMSG;
		pieces->visit(at, pieces->buffer, length, pieces->context);
		at += at + length == end ? length : length - ELF_CODE_OVERLAP;
	}
	return 0;
}

static int visit_segments(struct pieces *pieces)
{
	Elf64_Ehdr header;
	int err = 0;
	size_t i;

	if (!read_all(pieces->fd, &header, sizeof(header), 0) ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > MAX_HEADERS)
		return -EBADMSG;
	for (i = 0; !err && i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		if (!read_all(pieces->fd, &segment, sizeof(segment),
			      header.e_phoff + i * sizeof(segment)))
			return -EBADMSG;
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			err = visit_segment(pieces, &segment);
	}
	return err;
}

int elf_code_each(int fd,
		  void (*visit)(uint64_t file_offset, const uint8_t *code, size_t length,
				void *context),
		  void *context)
{
	struct pieces pieces = { .fd = fd,
				 .buffer = malloc(PIECE_BYTES),
				 .left = ELF_CODE_MAX_BYTES,
				 .visit = visit,
				 .context = context };
	int err = pieces.buffer ? visit_segments(&pieces) : -ENOMEM;

	free(pieces.buffer);
	return err;
}

/* ---- sections -------------------------------------------------------------------------------- */

static bool is_go_section(int fd, uint64_t name_offset)
{
	static const char *const names[] = { ".go.buildinfo", ".gopclntab" };
	char name[MAX_NAME] = "";
	size_t i;

	/* It may lie at the end of the file. */
	if (name_offset > INT64_MAX || pread(fd, name, sizeof(name) - 1, name_offset) <= 0)
		return false;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

bool elf_code_is_go(int fd)
{
	Elf64_Shdr section, strings;
	Elf64_Ehdr header;
	size_t i;

	if (!read_all(fd, &header, sizeof(header), 0) || header.e_shentsize != sizeof(Elf64_Shdr) ||
	    header.e_shnum > MAX_HEADERS ||
	    !read_all(fd, &strings, sizeof(strings),
		      header.e_shoff + header.e_shstrndx * sizeof(strings)))
		return false;
	for (i = 0; i < header.e_shnum; i++)
		if (read_all(fd, &section, sizeof(section), header.e_shoff + i * sizeof(section)) &&
		    is_go_section(fd, strings.sh_offset + section.sh_name))
			return true;
	return false;
}
