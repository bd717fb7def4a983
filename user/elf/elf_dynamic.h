/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an ELF file asks the dynamic loader for. The file belongs to a traced program and is not
 * trusted.
 */
#ifndef MEMSCOPE_ELF_ELF_DYNAMIC_H
#define MEMSCOPE_ELF_ELF_DYNAMIC_H

#include <stddef.h>

struct elf_dynamic {
	char **needed; /* names of libraries */
	size_t needed_count, needed_capacity;
	char *rpath;   /* NULL: none */
	char *runpath; /* NULL: none; overrides rpath */
};

/*
 * Returns 0, -ENOEXEC if it is no 64-bit ELF file, -EBADMSG, -EFBIG or -ENOMEM; free it in any
 * case.
 */
int elf_dynamic_read(int fd, struct elf_dynamic *dynamic);
void elf_dynamic_fini(struct elf_dynamic *dynamic);

#endif /* MEMSCOPE_ELF_ELF_DYNAMIC_H */
