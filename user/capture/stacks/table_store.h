/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind tables of files, where the kernel side finds them. A process without privileges makes
 * them (symbols/file_reader.h), one after the other; a thread of its own waits for it: of a large
 * library that takes a tenth of a second, in which rings would fill. Another thread gives them to
 * the kernel, which takes some ten milliseconds each time, however many they are.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_TABLE_STORE_H
#define MEMSCOPE_CAPTURE_STACKS_TABLE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_store;

/* What has come of the files so far. */
struct table_store_account {
	size_t made;
	size_t kept;    /* of these, by a trace before */
	size_t without; /* files that have no unwind information, or none that can be read */
	size_t refused; /* for which there was no memory left */
	uint64_t rows, bytes;
};

/*
 * `tables_fd`: of the map ms_unwind_tables. All tables together take at most `bytes`. Those of
 * large files are kept in the directory `cache` (file_cache.h), which may be NULL. Returns 0 or
 * -errno.
 */
int table_store_open(struct table_store **store, int tables_fd, uint64_t bytes, const char *cache);
/* What the thread is at is finished first: at most some tenths of a second. */
void table_store_close(struct table_store *store);

/*
 * Makes the table of that number (less than MS_UNWIND_TABLES) from the file, whose descriptor stays
 * the caller's. It can be used some time later. Returns 0 or -errno.
 */
int table_store_add(struct table_store *store, uint32_t number, int fd);

/*
 * Takes away a table that no process needs; its bytes are free at once, its number when
 * table_store_free_number() says so, some ten milliseconds later. Returns 0, or -EAGAIN while
 * tables are being made.
 */
int table_store_remove(struct table_store *store, uint32_t number);
/* Takes a number whose table has gone, and which may be added again; 0: there is none. */
uint32_t table_store_free_number(struct table_store *store);
bool table_store_has_free_number(struct table_store *store);
/* Whether three quarters of the memory for tables are used. */
bool table_store_is_nearly_full(struct table_store *store);

/* Waits until all tables are made that were ordered, but no longer than so many milliseconds. */
void table_store_wait(struct table_store *store, int ms);

/* CPU time of the process that makes them, nanoseconds. */
uint64_t table_store_cpu_ns(const struct table_store *store);

void table_store_read(struct table_store *store, struct table_store_account *account);

#endif /* MEMSCOPE_CAPTURE_STACKS_TABLE_STORE_H */
