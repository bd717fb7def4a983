// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __x86_64__
#define THIS_MACHINE EM_X86_64
#else
#define THIS_MACHINE EM_AARCH64
#endif

#define MAX_SECTIONS (1u << 18) /* a linked file has some dozens */

int elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t bytes)
{
	size_t done = 0;

	if (offset > file->size_bytes || bytes > file->size_bytes - offset)
		return -EBADMSG;
	while (done < bytes) {
		ssize_t got = pread(file->fd, (char *)buffer + done, bytes - done,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EBADMSG;
		done += got;
	}
	return 0;
}

static int is_ours(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == THIS_MACHINE;
}

/* A count that does not fit into the header is in the first section's size. */
static int count_sections(struct elf_file *file)
{
	const Elf64_Ehdr *header = &file->header;
	Elf64_Shdr first;

	file->sections_count = header->e_shoff ? header->e_shnum : 0;
	if (!header->e_shoff)
		return 0;
	if (header->e_shentsize != sizeof(first))
		return -EBADMSG;
	if (!header->e_shnum) {
		if (elf_file_read(file, header->e_shoff, &first, sizeof(first)))
			return -EBADMSG;
		file->sections_count = first.sh_size;
	}
	return file->sections_count > MAX_SECTIONS ? -EFBIG : 0;
}

int elf_file_init(struct elf_file *file, int fd)
{
	struct stat status;

	*file = (struct elf_file){ .fd = fd };
	/* Reading a device or a pipe could wait for ever, or do something. */
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return -ENOEXEC;
	file->size_bytes = status.st_size;
	if (elf_file_read(file, 0, &file->header, sizeof(file->header)) || !is_ours(&file->header))
		return -ENOEXEC;
	return count_sections(file);
}

int elf_file_section(const struct elf_file *file, uint32_t type, Elf64_Shdr *section)
{
	const Elf64_Shdr *header;
	struct elf_items headers;

	elf_items_init(&headers, file, file->header.e_shoff, file->sections_count, sizeof(*header));
	while ((header = elf_items_next(&headers))) {
		if (header->sh_type != type)
			continue;
		*section = *header;
		return 1;
	}
	return headers.err;
}

int elf_file_strings(const struct elf_file *file, uint32_t number, Elf64_Shdr *strings)
{
	/* The table of sections lies in the file: no sum wraps around. */
	uint64_t offset = file->header.e_shoff + (uint64_t)number * sizeof(*strings);

	if (number >= file->sections_count ||
	    elf_file_read(file, offset, strings, sizeof(*strings)) ||
	    strings->sh_type != SHT_STRTAB || strings->sh_offset > file->size_bytes ||
	    strings->sh_size > file->size_bytes - strings->sh_offset)
		return -EBADMSG;
	return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

void elf_items_init(struct elf_items *items, const struct elf_file *file, uint64_t offset,
		    uint64_t count, size_t item_bytes)
{
	items->file = file;
	items->offset = offset;
	items->left = count;
	items->item_bytes = item_bytes;
	items->next = items->count = 0;
	items->err = 0;
	/* All of it must be there, before anything is made of the beginning. */
	if (offset > file->size_bytes || count > (file->size_bytes - offset) / item_bytes)
		items->err = -EBADMSG;
}

static int read_piece(struct elf_items *items)
{
	uint64_t room = sizeof(items->buffer) / items->item_bytes;

	items->count = items->left < room ? items->left : room;
	items->next = 0;
	if (elf_file_read(items->file, items->offset, items->buffer,
			  items->count * items->item_bytes))
		return -EBADMSG;
	items->offset += items->count * items->item_bytes;
	items->left -= items->count;
	return 0;
}

const void *elf_items_next(struct elf_items *items)
{
	if (items->next == items->count && !items->err && items->left)
		items->err = read_piece(items);
	if (items->err || items->next == items->count)
		return NULL;
	return items->buffer + items->next++ * items->item_bytes;
}
