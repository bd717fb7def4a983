// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __x86_64__
#define THIS_MACHINE EM_X86_64
#else
#define THIS_MACHINE EM_AARCH64
#endif

#define MAX_SECTION_BYTES (1u << 30) /* the largest libraries' symbol tables have a tenth of that */

static bool is_ours(Elf *elf)
{
	GElf_Ehdr header;

	return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == THIS_MACHINE;
}

int elf_file_begin(int fd, Elf **elf)
{
	elf_version(EV_CURRENT);
	/* Not mapped: its owner may shorten the file meanwhile, and that would be our SIGBUS. */
	*elf = elf_begin(fd, ELF_C_READ, NULL);
	if (*elf && is_ours(*elf))
		return 0;
	elf_end(*elf);
	*elf = NULL;
	return -ENOEXEC;
}

/* Returns 1 and the section, 0 or -EBADMSG. */
static int find_section(Elf *elf, GElf_Word type, GElf_Shdr *header, Elf_Scn **section)
{
	size_t count, i;

	if (elf_getshdrnum(elf, &count))
		return -EBADMSG;
	for (i = 1; i < count; i++) {
		*section = elf_getscn(elf, i);
		if (!*section || !gelf_getshdr(*section, header))
			return -EBADMSG;
		if (header->sh_type == type)
			return 1;
	}
	return 0;
}

int elf_file_has(Elf *elf, GElf_Word type)
{
	GElf_Shdr header;
	Elf_Scn *section;

	return find_section(elf, type, &header, &section) == 1;
}

/* Strings are looked up one by one; load them now, so that a failure is not a missing name. */
static int load_strings(Elf *elf, const GElf_Shdr *header)
{
	Elf_Scn *section = elf_getscn(elf, header->sh_link);
	GElf_Shdr strings;

	if (!section || !gelf_getshdr(section, &strings) || strings.sh_size > MAX_SECTION_BYTES)
		return -EBADMSG;
	return strings.sh_size && !elf_rawdata(section, NULL) ? -EBADMSG : 0;
}

int elf_file_section(Elf *elf, GElf_Word type, GElf_Shdr *header, Elf_Data **data)
{
	Elf_Scn *section;
	int found = find_section(elf, type, header, &section);

	if (found <= 0 || !header->sh_size)
		return found < 0 ? found : 0;
	if (header->sh_size > MAX_SECTION_BYTES || load_strings(elf, header))
		return -EBADMSG;
	*data = elf_getdata(section, NULL);
	return *data && (*data)->d_buf ? 1 : -EBADMSG;
}
