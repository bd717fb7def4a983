/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that an ELF file defines. The file belongs to a traced program and is not trusted.
 */
#ifndef MEMSCOPE_ELF_ELF_SYMBOLS_H
#define MEMSCOPE_ELF_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct elf_function {
	const char *name;     /* without its version; dies with the call */
	uint64_t address;     /* as the file is linked */
	uint64_t file_offset; /* of its first instruction: what uprobes want */
	uint64_t size_bytes;  /* 0: not stated */
	/* STT_GNU_IFUNC: the code there only chooses, at run time, what the name stands for. */
	bool is_indirect;
	bool is_exported; /* it stands in .dynsym */
	bool is_variable;
	bool is_weak;
	uint64_t name_offset; /* where in the file its name is */
	uint64_t index;       /* its symbol's, in .dynsym if it is exported, or else in .symtab */
};

struct elf_contents {
	bool has_symbols; /* it has .symtab: not stripped */
};

/*
 * Calls `visit` for every function that the 64-bit file defines, in .dynsym and .symtab (so some of
 * them twice) and in no particular order, until it returns something positive; returns that, or 0.
 * A file that is not 64-bit ELF for this machine: -ENOEXEC. One of which not everything could be
 * read, though the rest was visited: -EBADMSG if it is damaged, -EFBIG if it has larger tables than
 * any real library, -ENOMEM. A negative result of `visit` ends one table, and is returned if the
 * other one brings none. Takes less than 40 MiB and, on a hostile file, a second or two.
 * `contents` may be NULL.
 */
int elf_each_function(int fd, int (*visit)(const struct elf_function *function, void *context),
		      void *context, struct elf_contents *contents);

/*
 * The same, of functions alone whose names are wanted. `wants` may be true for names that are not
 * wanted: it is a quick filter. Most of the time that a large table takes goes to what is done
 * about each name.
 */
int elf_each_function_named(int fd, bool (*wants)(const char *name, void *context),
			    int (*visit)(const struct elf_function *function, void *context),
			    void *context, struct elf_contents *contents);

#define ELF_NAME_BYTES 4096 /* with the end; functions with longer names are left out */

/*
 * The one function with that index, which elf_each_function() would visit, too; its name is copied
 * to `name`. Takes some ten reads of the file. Returns 0, -ENOENT if the file has no such function,
 * or as elf_each_function().
 */
int elf_function_at(int fd, bool is_exported, uint64_t index, char name[ELF_NAME_BYTES],
		    struct elf_function *function);

/*
 * As elf_each_function(), also of functions whose code is not in the file; those have the offset 0.
 */
int elf_each_function_anywhere(int fd,
			       int (*visit)(const struct elf_function *function, void *context),
			       void *context);

/*
 * The same for variables. Those without a place in the file, for they are 0 to begin with, have the
 * offset 0.
 */
int elf_each_variable(int fd, int (*visit)(const struct elf_function *variable, void *context),
		      void *context);

/*
 * Functions and variables, of .symtab alone, a piece at a time: for who has something else to do
 * meanwhile. The descriptor stays the caller's, and open. Returns 0, -ENOENT if the file is
 * stripped, or as elf_each_function().
 */
struct elf_walk;
int elf_walk_open(struct elf_walk **walk, int fd);
void elf_walk_close(struct elf_walk *walk);

/*
 * Those of the next piece: some ten milliseconds for the largest of tables. Returns 1: there are
 * more; 0: there are no more; or as elf_each_function().
 */
int elf_walk_step(struct elf_walk *walk,
		  int (*visit)(const struct elf_function *symbol, void *context), void *context);

/* So many bytes of names are held at a time, for tables of these sizes. */
uint64_t elf_symbols_window(uint64_t symbols_bytes, uint64_t strings_bytes);

#endif /* MEMSCOPE_ELF_ELF_SYMBOLS_H */
