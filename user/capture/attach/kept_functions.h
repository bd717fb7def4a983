/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions of a large file are wanted, kept from one trace to the next: reading the symbols
 * of PyTorch's libraries takes a tenth of a second and more, of which most have none that is
 * wanted, and the others a few. Files with functions of the probe table are not kept: to place
 * their probes, all of their symbols are needed (jump_targets.h).
 *
 * What is kept is where in the file's symbol table a function is. Its symbol is read again before
 * it is used, for a probe in the middle of an instruction breaks the program: an entry that the
 * file does not agree with is not used. That a file has none of the functions cannot be checked so;
 * it is all that is kept of files that other ones can be mistaken for (file_cache.h).
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_KEPT_FUNCTIONS_H
#define MEMSCOPE_CAPTURE_ATTACH_KEPT_FUNCTIONS_H

#include "capture/file_cache.h"
#include "elf/elf_symbols.h"

#define KEPT_FUNCTIONS 128  /* of a file; each can have two: .symtab repeats .dynsym */
#define KEPT_NAME_BYTES 104 /* mangled names of the table have 30 to 80 */

struct kept_function {
	uint64_t index, address; /* as in struct elf_function */
	uint64_t is_exported;
	char name[KEPT_NAME_BYTES];
};

/* As they were visited. Zeroed: none. */
struct kept_functions {
	/* The first one stands for the file: it has no name, and is_exported means has_symbols. */
	struct kept_function items[1 + KEPT_FUNCTIONS];
	size_t count;
	bool is_unfit; /* for being kept: there are too many, or not everything is in the list */
};

void kept_functions_add(struct kept_functions *functions, const struct elf_function *function);

/*
 * Visits what was kept of a file, as elf_each_function() would what is wanted of it; `fd` is the
 * file, `digest` of the names that are wanted. Returns what `visit` does, or -ENOENT, with nothing
 * visited: nothing can be used.
 */
int kept_functions_each(const struct file_cache *cache, const struct file_cache_file *file, int fd,
			uint64_t digest,
			int (*visit)(const struct elf_function *function, void *context),
			void *context, struct elf_contents *contents);

void kept_functions_put(const struct file_cache *cache, const struct file_cache_file *file,
			uint64_t digest, struct kept_functions *functions,
			const struct elf_contents *contents);

#endif /* MEMSCOPE_CAPTURE_ATTACH_KEPT_FUNCTIONS_H */
