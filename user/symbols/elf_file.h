/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files of traced programs, through libelf. Nothing in them is trusted, and memory can run out at
 * every call: what libelf answers with "there is none" is told apart from "there could have been".
 */
#ifndef MEMSCOPE_SYMBOLS_ELF_FILE_H
#define MEMSCOPE_SYMBOLS_ELF_FILE_H

#include <gelf.h>

/*
 * Begins reading. Returns 0, -ENOEXEC if it is no 64-bit ELF file for this machine, or -EBADMSG.
 * End it with elf_end().
 */
int elf_file_begin(int fd, Elf **elf);

/*
 * Finds the first section of that type (SHT_*) and loads its data. Returns 1, 0 if there is none or
 * an empty one, or -EBADMSG: damaged, too large, or no memory.
 */
int elf_file_section(Elf *elf, GElf_Word type, GElf_Shdr *header, Elf_Data **data);

/* Whether there is a section of that type. */
int elf_file_has(Elf *elf, GElf_Word type);

#endif /* MEMSCOPE_SYMBOLS_ELF_FILE_H */
