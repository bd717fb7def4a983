// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf_image.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_file.h"

#define MAX_NOTES_BYTES 65536

static void set_build_id(struct elf_image *image, const uint8_t *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	if (length > (ELF_BUILD_ID_BYTES - 1) / 2)
		return;
	for (i = 0; i < length; i++) {
		image->build_id[2 * i] = digits[bytes[i] >> 4];
		image->build_id[2 * i + 1] = digits[bytes[i] & 15];
	}
	image->build_id[2 * length] = '\0';
}

static size_t padded(uint64_t bytes)
{
	return (bytes + 3) / 4 * 4;
}

static void read_notes(struct elf_image *image, const struct elf_file *file,
		       const Elf64_Phdr *segment)
{
	uint8_t notes[MAX_NOTES_BYTES];
	size_t length = segment->p_filesz, at = 0;
	Elf64_Nhdr note;

	if (segment->p_filesz > sizeof(notes) ||
	    elf_file_read(file, segment->p_offset, notes, length))
		return;
	while (length - at > sizeof(note)) {
		size_t rest = length - at - sizeof(note), name, bytes;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name = padded(note.n_namesz);
		bytes = padded(note.n_descsz);
		if (name > rest || note.n_descsz > rest - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + at, "GNU", 4)) {
			set_build_id(image, notes + at + name, note.n_descsz);
			return;
		}
		if (bytes > rest - name)
			return;
		at += name + bytes;
	}
}

int elf_image_read(struct elf_image *image, int fd)
{
	const Elf64_Phdr *segment;
	struct elf_items headers;
	struct elf_file file;
	int err = elf_file_init(&file, fd);

	*image = (struct elf_image){ 0 };
	if (err)
		return err == -EFBIG ? -EBADMSG : err;
	if (file.header.e_phnum && file.header.e_phentsize != sizeof(*segment))
		return -EBADMSG;
	elf_items_init(&headers, &file, file.header.e_phoff, file.header.e_phnum, sizeof(*segment));
	while ((segment = elf_items_next(&headers))) {
		if (segment->p_type == PT_NOTE && !image->build_id[0])
			read_notes(image, &file, segment);
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
		    image->segments_count < ELF_IMAGE_SEGMENTS)
			image->segments[image->segments_count++] =
				(struct elf_code_segment){ segment->p_offset, segment->p_vaddr,
							   segment->p_filesz };
	}
	return headers.err;
}

bool elf_image_address(const struct elf_image *image, uint64_t offset, uint64_t *address)
{
	size_t i;

	for (i = 0; i < image->segments_count; i++) {
		const struct elf_code_segment *segment = &image->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->bytes)
			continue;
		*address = segment->address + (offset - segment->offset);
		return true;
	}
	return false;
}

bool elf_image_mapping(const struct elf_image *image, uint64_t offset, uint64_t *address)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t i;

	for (i = 0; i < image->segments_count; i++) {
		const struct elf_code_segment *segment = &image->segments[i];

		if (segment->offset - segment->offset % page_bytes != offset)
			continue;
		*address = segment->address - segment->offset % page_bytes;
		return true;
	}
	/* It is a part of one. */
	return elf_image_address(image, offset, address);
}
