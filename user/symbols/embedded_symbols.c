// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/embedded_symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"

#define SECTION ".gnu_debugdata"
#define MAX_PACKED_BYTES (16u << 20)
#define MAX_MEMORY (96u << 20) /* that unpacking may take; xz -9 needs 65 MiB */

/* lzma_stream_buffer_decode() of liblzma 5, lzma/container.h: 0 is LZMA_OK, 10 LZMA_BUF_ERROR. */
#define OUTPUT_IS_FULL 10
typedef int decode_fn(uint64_t *memory_limit, uint32_t flags, const void *allocator,
		      const uint8_t *in, size_t *in_pos, size_t in_size, uint8_t *out,
		      size_t *out_pos, size_t out_size);

static decode_fn *decode;

int embedded_symbols_load(void)
{
	void *handle = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);

	if (handle)
		*(void **)&decode = dlsym(handle, "lzma_stream_buffer_decode");
	return decode ? 0 : -ENOENT;
}

/* Returns 1, 0 if there is none, or -errno. */
static int find_section(const struct elf_file *file, Elf64_Shdr *found)
{
	char name[sizeof(SECTION)];
	const Elf64_Shdr *section;
	struct elf_items sections;
	Elf64_Shdr strings;
	int err = elf_file_strings(file, file->header.e_shstrndx, &strings);

	if (err)
		return err;
	elf_items_init(&sections, file, file->header.e_shoff, file->sections_count,
		       sizeof(*section));
	while ((section = elf_items_next(&sections))) {
		if (section->sh_type != SHT_PROGBITS || section->sh_name >= strings.sh_size ||
		    strings.sh_size - section->sh_name < sizeof(name) ||
		    elf_file_read(file, strings.sh_offset + section->sh_name, name, sizeof(name)) ||
		    memcmp(name, SECTION, sizeof(name)) != 0)
			continue;
		*found = *section;
		return 1;
	}
	return sections.err;
}

/* Takes what is packed from its own bytes; the caller frees `*bytes`. */
static int unpack(const uint8_t *packed, size_t packed_length, void **bytes, size_t *length)
{
	uint64_t limit = MAX_MEMORY;
	size_t in = 0, out = 0;
	uint8_t *room = malloc(EMBEDDED_SYMBOLS_MOST); /* pages that are not written cost nothing */
	int result;

	if (!room)
		return -ENOMEM;
	result = decode(&limit, 0, NULL, packed, &in, packed_length, room, &out,
			EMBEDDED_SYMBOLS_MOST);
	if (result || !out) {
		free(room);
		return result == OUTPUT_IS_FULL && out == EMBEDDED_SYMBOLS_MOST ? -EFBIG : -EBADMSG;
	}
	*bytes = room;
	*length = out;
	return 0;
}

int embedded_symbols_read(int fd, void **bytes, size_t *length)
{
	struct elf_file file;
	Elf64_Shdr section = { 0 };
	uint8_t *packed;
	int err = elf_file_init(&file, fd), found;

	if (err)
		return err;
	found = find_section(&file, &section);
	if (found <= 0)
		return found ? found : -ENODATA;
	if (!decode)
		return -ENOENT;
	if (section.sh_size > MAX_PACKED_BYTES)
		return -EFBIG;
	packed = malloc(section.sh_size ? section.sh_size : 1);
	if (!packed)
		return -ENOMEM;
	err = elf_file_read(&file, section.sh_offset, packed, section.sh_size);
	if (!err)
		err = unpack(packed, section.sh_size, bytes, length);
	free(packed);
	return err;
}
