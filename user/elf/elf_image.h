/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an ELF file is loaded, and its build id. The file belongs to a traced program and is not
 * trusted.
 */
#ifndef MEMSCOPE_ELF_ELF_IMAGE_H
#define MEMSCOPE_ELF_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/build_id.h"

#define ELF_IMAGE_SEGMENTS 16 /* of code; a linker makes one */

struct elf_code_segment {
	uint64_t offset, address, bytes; /* in the file; as its symbols have it */
};

struct elf_image {
	struct elf_code_segment segments[ELF_IMAGE_SEGMENTS];
	size_t segments_count;
	char build_id[ELF_BUILD_ID_BYTES]; /* "": it has none */
};

/* Returns 0, -ENOEXEC or -EBADMSG. */
int elf_image_read(struct elf_image *image, int fd);

/*
 * The address, as the file's symbols have it, of code that is at that place in the file. Returns
 * whether there is any.
 */
bool elf_image_address(const struct elf_image *image, uint64_t offset, uint64_t *address);

/*
 * The same of where a mapping of code begins. The kernel maps whole pages, and some linkers (lld,
 * gold) do not begin a segment at a page: such a mapping begins before its segment.
 */
bool elf_image_mapping(const struct elf_image *image, uint64_t offset, uint64_t *address);

#endif /* MEMSCOPE_ELF_ELF_IMAGE_H */
