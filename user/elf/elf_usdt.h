/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The static probes (USDT) that an ELF file says it has, in notes of the owner "stapsdt": places in
 * its code where a program says that something happens. The file is not trusted.
 */
#ifndef MEMSCOPE_ELF_ELF_USDT_H
#define MEMSCOPE_ELF_ELF_USDT_H

#include <stdint.h>

struct elf_usdt {
	const char *provider, *name; /* die with the call */
	uint64_t file_offset;        /* of the instruction there, a nop */
	/*
	 * Of the counter (16 bits) that says to the program whether any probe is attached, which
	 * the kernel counts up; 0: there is none.
	 */
	uint64_t counter_offset;
};

/*
 * Calls `visit` for each, until it returns other than 0; returns that, 0, -ENOEXEC if it is no
 * 64-bit ELF file for this machine, -EBADMSG if the notes are damaged, -EFBIG if there are more of
 * them than of any real file, or -ENOMEM.
 */
int elf_each_usdt(int fd, int (*visit)(const struct elf_usdt *probe, void *context), void *context);

#endif /* MEMSCOPE_ELF_ELF_USDT_H */
