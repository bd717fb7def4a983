/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files of traced programs: a reader that trusts nothing. What a file claims about itself never
 * decides how much memory is taken or how long reading takes: tables are read in pieces, and what
 * is larger than any real library's is refused. libelf allocates what a header asks for, and a
 * sparse file can ask for terabytes. Files are read, not mapped: their owner may shorten them
 * meanwhile.
 */
#ifndef MEMSCOPE_ELF_ELF_FILE_H
#define MEMSCOPE_ELF_ELF_FILE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	int fd;
	uint64_t size_bytes;
	Elf64_Ehdr header;
	uint64_t sections_count;
};

/*
 * Reads the header; the descriptor stays the caller's. Returns 0, -ENOEXEC if it is no 64-bit ELF
 * file for this machine, -EBADMSG if it is damaged, or -EFBIG: more sections than are looked
 * through.
 */
int elf_file_init(struct elf_file *file, int fd);

/* Exactly so many bytes. Returns 0, or -EBADMSG if the file does not have them (any more). */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t bytes);

/* Finds the first section of that type (SHT_*). Returns 1, 0 if there is none, or -EBADMSG. */
int elf_file_section(const struct elf_file *file, uint32_t type, Elf64_Shdr *section);

/* The section with that number, which must be a table of strings. Returns 0 or -EBADMSG. */
int elf_file_strings(const struct elf_file *file, uint32_t number, Elf64_Shdr *strings);

#define ELF_ITEMS_BYTES 49152 /* a multiple of the size of every kind of item */

/* A walk through a table of equal items, a piece at a time. */
struct elf_items {
	const struct elf_file *file;
	uint64_t offset, left; /* of what has not been read yet; `left` counts items */
	size_t item_bytes;
	size_t next, count; /* in `buffer` */
	int err;            /* -EBADMSG: the walk has ended too early */
	_Alignas(8) char buffer[ELF_ITEMS_BYTES];
};

void elf_items_init(struct elf_items *items, const struct elf_file *file, uint64_t offset,
		    uint64_t count, size_t item_bytes);

/* The next item, valid until the next call; NULL at the end or at an error. */
const void *elf_items_next(struct elf_items *items);

#endif /* MEMSCOPE_ELF_ELF_FILE_H */
