/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The static probes (USDT) of an ELF file: places in its code where a program announces that
 * something happens. The file lists them in notes of the owner "stapsdt". The file is not trusted.
 */
#ifndef MEMSCOPE_ELF_ELF_USDT_H
#define MEMSCOPE_ELF_ELF_USDT_H

#include <stdint.h>

struct elf_usdt {
	const char *provider, *name; /* die with the call */
	uint64_t file_offset;        /* of the instruction, a nop */
	/*
	 * File offset of the semaphore, a counter of 16 bits from which the program sees whether a
	 * probe is attached. The kernel counts it up. 0: there is none.
	 */
	uint64_t counter_offset;
};

/*
 * Calls `visit` for each probe, until it returns other than 0. Returns that value, 0, -ENOEXEC if
 * the file is not a 64-bit ELF file for this machine, -EBADMSG if the notes are damaged, -EFBIG if
 * there are more of them than in any real file, or -ENOMEM.
 */
int elf_each_usdt(int fd, int (*visit)(const struct elf_usdt *probe, void *context), void *context);

#endif /* MEMSCOPE_ELF_ELF_USDT_H */
