// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf_symbols.h"

#include <errno.h>
#include <stddef.h>

#include "symbols/elf_file.h"

#define MAX_SEGMENTS 64 /* a linker makes four */

struct walk {
	Elf *elf;
	GElf_Phdr segments[MAX_SEGMENTS]; /* those that are loaded */
	size_t segments_count;
	int (*visit)(const struct elf_function *function, void *context);
	void *context;
};

static int read_segments(struct walk *walk)
{
	size_t count, i;

	if (elf_getphdrnum(walk->elf, &count))
		return -EBADMSG;
	for (i = 0; i < count && walk->segments_count < MAX_SEGMENTS; i++) {
		GElf_Phdr *segment = &walk->segments[walk->segments_count];

		if (!gelf_getphdr(walk->elf, i, segment))
			return -EBADMSG;
		walk->segments_count += segment->p_type == PT_LOAD;
	}
	return 0;
}

/* Where in the file the byte lies that is loaded to `address`; 0: nowhere. */
static uint64_t file_offset(const struct walk *walk, uint64_t address)
{
	size_t i;

	for (i = 0; i < walk->segments_count; i++) {
		const GElf_Phdr *segment = &walk->segments[i];

		if (address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz)
			return address - segment->p_vaddr + segment->p_offset;
	}
	return 0;
}

static int visit_symbol(const struct walk *walk, const GElf_Sym *symbol, size_t strings)
{
	struct elf_function function;

	/* An undefined one is an import: its offset would be 0. */
	if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    !symbol->st_value)
		return 0;
	function.name = elf_strptr(walk->elf, strings, symbol->st_name);
	function.file_offset = file_offset(walk, symbol->st_value);
	function.size_bytes = symbol->st_size;
	if (!function.name || !function.file_offset)
		return 0;
	return walk->visit(&function, walk->context);
}

static int visit_table(const struct walk *walk, GElf_Word type)
{
	GElf_Shdr header;
	Elf_Data *data;
	int result = elf_file_section(walk->elf, type, &header, &data);
	size_t count, i;

	if (result <= 0)
		return result;
	if (header.sh_entsize != sizeof(Elf64_Sym))
		return -EBADMSG;
	count = data->d_size / sizeof(Elf64_Sym);
	for (i = 0, result = 0; !result && i < count; i++) {
		GElf_Sym symbol;

		if (gelf_getsym(data, i, &symbol))
			result = visit_symbol(walk, &symbol, header.sh_link);
	}
	return result;
}

int elf_each_function(int fd, int (*visit)(const struct elf_function *function, void *context),
		      void *context, struct elf_contents *contents)
{
	struct walk walk = { .visit = visit, .context = context };
	int result = elf_file_begin(fd, &walk.elf);

	if (contents)
		contents->has_symbols = !result && elf_file_has(walk.elf, SHT_SYMTAB);
	if (result)
		return result;
	result = read_segments(&walk);
	if (!result)
		result = visit_table(&walk, SHT_DYNSYM);
	if (!result)
		result = visit_table(&walk, SHT_SYMTAB);
	elf_end(walk.elf);
	return result;
}
