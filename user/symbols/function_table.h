/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of a file, sorted, to find the one that a piece of code belongs to. Names are read
 * from the file when they are asked for: those of all functions of a large library take as much
 * memory as its code.
 */
#ifndef MEMSCOPE_SYMBOLS_FUNCTION_TABLE_H
#define MEMSCOPE_SYMBOLS_FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTION_NAME_BYTES 4096
#define FUNCTION_TABLE_MOST (4u << 20) /* functions of a file: twice what browsers have */

struct function_entry {
	uint64_t begin; /* in the file, or its address */
	uint64_t name;  /* where it is in the file */
	uint32_t bytes; /* 0: not stated */
	bool is_weak;   /* another name of it is as good, or better */
};

struct function_table {
	struct function_entry *entries;
	size_t count, capacity;
};

/*
 * Reads an ELF file, which is not trusted. `by_address`: the functions are found by their addresses
 * as the file is linked, not by where their code is in the file: one that has debug information
 * alone has none. Returns 0 or -errno as elf_each_function() does.
 */
int function_table_make(struct function_table *table, int fd, bool by_address);
void function_table_fini(struct function_table *table);

/* The function that the byte of the file, or the address, is in, or NULL. */
const struct function_entry *function_table_find(const struct function_table *table,
						 uint64_t offset);

/* Its name, from the same file. Returns whether it could be read. */
bool function_table_name(const struct function_entry *entry, int fd,
			 char name[FUNCTION_NAME_BYTES]);

#endif /* MEMSCOPE_SYMBOLS_FUNCTION_TABLE_H */
