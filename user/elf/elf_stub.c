// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf_stub.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"

#define NAME_BYTES 64        /* of a function that is looked for, at most */
#define CODE_MOST (1u << 20) /* of one table of stubs: as many as 65,536 of them */
#define SLOT_BYTES 16        /* of a stub */
#define SLOT_STEP 8          /* in .plt.got, they lie closer */
/*
 * How much is looked at: of CUDA's driver, some 100,000. A file can have the same table in each of
 * its sections.
 */
#define LOOKS_MOST (1 << 19)
#define SYMBOL_LOOKS 16 /* that reading a symbol and its name stands for */

#ifdef __x86_64__
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOBAL_SLOT R_X86_64_GLOB_DAT
#else
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOBAL_SLOT R_AARCH64_GLOB_DAT
#endif

struct search {
	struct elf_file file;
	Elf64_Shdr section_names;
	int64_t looks; /* that are left */
	uint64_t slot; /* address of the pointer that the stub jumps through; 0: not found yet */
};

static bool read_section(const struct search *search, uint64_t number, Elf64_Shdr *section)
{
	return number < search->file.sections_count &&
	       !elf_file_read(&search->file,
			      search->file.header.e_shoff + number * sizeof(*section), section,
			      sizeof(*section));
}

static bool is_text(const struct search *search, const Elf64_Shdr *strings, uint64_t at,
		    const char *text, size_t bytes)
{
	char found[NAME_BYTES];

	return bytes <= sizeof(found) && strings->sh_size >= bytes &&
	       at <= strings->sh_size - bytes &&
	       !elf_file_read(&search->file, strings->sh_offset + at, found, bytes) &&
	       !memcmp(found, text, bytes);
}

/* Whether the symbol of the relocation is the function. */
static bool is_of(struct search *search, const Elf64_Shdr *symbols, const Elf64_Shdr *names,
		  const Elf64_Rela *relocation, const char *function)
{
	const uint64_t number = ELF64_R_SYM(relocation->r_info);
	Elf64_Sym symbol;

	search->looks -= SYMBOL_LOOKS;
	return number && number < symbols->sh_size / sizeof(symbol) &&
	       !elf_file_read(&search->file, symbols->sh_offset + number * sizeof(symbol), &symbol,
			      sizeof(symbol)) &&
	       symbol.st_shndx == SHN_UNDEF &&
	       is_text(search, names, symbol.st_name, function, strlen(function) + 1);
}

static void look_for_slot(struct search *search, const Elf64_Shdr *table, const char *function)
{
	const Elf64_Rela *relocation;
	struct elf_items relocations;
	Elf64_Shdr symbols, names;

	if (!read_section(search, table->sh_link, &symbols) || symbols.sh_type != SHT_DYNSYM ||
	    symbols.sh_offset > search->file.size_bytes ||
	    elf_file_strings(&search->file, symbols.sh_link, &names))
		return;
	elf_items_init(&relocations, &search->file, table->sh_offset,
		       table->sh_size / sizeof(*relocation), sizeof(*relocation));
	while (!search->slot && search->looks-- > 0 &&
	       (relocation = elf_items_next(&relocations))) {
		const uint64_t type = ELF64_R_TYPE(relocation->r_info);

		if ((type == JUMP_SLOT || type == GLOBAL_SLOT) &&
		    is_of(search, &symbols, &names, relocation, function))
			search->slot = relocation->r_offset;
	}
}

/* The pointer that the code at `address` jumps through, as stubs do; 0: it is none. */
static uint64_t slot_of(const uint8_t code[SLOT_BYTES], uint64_t address)
{
#ifdef __x86_64__
	static const uint8_t landing[] = { 0xf3, 0x0f, 0x1e, 0xfa }; /* endbr64 */
	size_t at = memcmp(code, landing, sizeof(landing)) ? 0 : sizeof(landing);
	int32_t apart;

	at += code[at] == 0xf2;                       /* bnd */
	if (code[at] != 0xff || code[at + 1] != 0x25) /* jmp *apart(%rip) */
		return 0;
	memcpy(&apart, code + at + 2, sizeof(apart));
	return address + at + 6 + (uint64_t)(int64_t)apart;
#else
	static const uint8_t landing[] = { 0x5f, 0x24, 0x03, 0xd5 }; /* bti c */
	const size_t at = memcmp(code, landing, sizeof(landing)) ? 0 : sizeof(landing);
	uint32_t page, load;
	int64_t pages;

	memcpy(&page, code + at, sizeof(page));
	memcpy(&load, code + at + sizeof(page), sizeof(load));
	/* adrp x16, page; ldr x17, [x16, #apart] */
	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return 0;
	pages = (int32_t)((page >> 5 & 0x7ffff) << 13) >> 11 | (int32_t)(page >> 29 & 3);
	return ((address + at) & ~0xfffull) + (uint64_t)(pages * 4096) + (load >> 10 & 0xfff) * 8;
#endif
}

/* `code` has so many bytes, and SLOT_BYTES of 0 behind them. */
static uint64_t look_in_code(struct search *search, const Elf64_Shdr *section, const uint8_t *code)
{
	uint64_t at;

	for (at = 0; at + SLOT_STEP <= section->sh_size && search->looks-- > 0; at += SLOT_STEP)
		if (slot_of(code + at, section->sh_addr + at) == search->slot)
			return section->sh_offset + at;
	return 0;
}

/* In .plt, .plt.sec and .plt.got; those of .plt that only lead on do not look like one. */
static uint64_t look_for_stub(struct search *search, const Elf64_Shdr *section)
{
	const uint64_t bytes = section->sh_size;
	uint64_t stub = 0;
	uint8_t *code;

	if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR) ||
	    bytes > CODE_MOST || search->looks <= 0 ||
	    !is_text(search, &search->section_names, section->sh_name, ".plt", 4))
		return 0;
	code = calloc(1, bytes + SLOT_BYTES);
	if (code && !elf_file_read(&search->file, section->sh_offset, code, bytes))
		stub = look_in_code(search, section, code);
	free(code);
	return stub;
}

uint64_t elf_stub_find(int fd, const char *function)
{
	struct search search = { .looks = LOOKS_MOST };
	Elf64_Shdr section;
	uint64_t i, stub = 0;

	if (elf_file_init(&search.file, fd) ||
	    elf_file_strings(&search.file, search.file.header.e_shstrndx, &search.section_names))
		return 0;
	for (i = 0; !search.slot && search.looks > 0 && read_section(&search, i, &section); i++)
		if (section.sh_type == SHT_RELA)
			look_for_slot(&search, &section, function);
	for (i = 0; search.slot && !stub && read_section(&search, i, &section); i++)
		stub = look_for_stub(&search, &section);
	return stub;
}
