/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a file calls a function of another file: the stub in its procedure linkage table, through
 * which every call of it goes. The file belongs to a traced program and is not trusted.
 */
#ifndef MEMSCOPE_ELF_ELF_STUB_H
#define MEMSCOPE_ELF_ELF_STUB_H

#include <stdint.h>

/*
 * Returns the place of the stub's first byte in the file, or 0: the file does not call the function
 * through a stub, or is damaged. A file can be linked to do without them (-fno-plt).
 */
uint64_t elf_stub_find(int fd, const char *function);

#endif /* MEMSCOPE_ELF_ELF_STUB_H */
