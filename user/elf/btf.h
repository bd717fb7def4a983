/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where members of structs are, as type information in the kernel's format (BTF) has it:
 * Documentation/bpf/btf.rst. Nothing of it is trusted.
 */
#ifndef MEMSCOPE_ELF_BTF_H
#define MEMSCOPE_ELF_BTF_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed one has no types. */
struct btf_types {
	const unsigned char *types;
	const char *strings;
	uint32_t types_bytes, strings_bytes;
	uint32_t *places; /* of each type, by its id less 1 */
	uint32_t count;
	uint32_t *structs; /* ids of those that are structs, so many */
	uint32_t structs_count;
};

/* The bytes are used until fini. Returns 0, -EBADMSG or -ENOMEM; fini is needed in any case. */
int btf_types_init(struct btf_types *types, const void *bytes, size_t count);
void btf_types_fini(struct btf_types *types);

/*
 * The offset in bytes of what the path says, "struct.member.member", across unnamed structs and
 * unions; with "[]" at its end, how many elements that array has. Several paths, separated by '|',
 * are tried one after the other. Returns -ENOENT if there is none.
 */
int64_t btf_types_find(const struct btf_types *types, const char *paths);

#endif /* MEMSCOPE_ELF_BTF_H */
