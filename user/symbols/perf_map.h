/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file in which a compiler that generates code at run time (a JIT) says what its functions are,
 * as Linux perf reads it: lines "START SIZE NAME", in hexadecimal digits. The program writes it, so
 * it is not trusted.
 */
#ifndef MEMSCOPE_SYMBOLS_PERF_MAP_H
#define MEMSCOPE_SYMBOLS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#define PERF_MAP_BYTES (16u << 20) /* of one that are read; what is behind them is left out */
#define PERF_MAP_ENTRIES (1u << 18)
#define PERF_MAP_NAME_BYTES 1024 /* longer names are cut */

struct perf_map_entry {
	uint64_t start, bytes;
	uint32_t name; /* where it is in the text */
	uint32_t line; /* of the file; a later one replaces an earlier one */
};

/* A zeroed one is empty. */
struct perf_map {
	struct perf_map_entry *entries; /* by address */
	size_t count, capacity;
	char *text; /* the names, each NUL-terminated */
};

/* Takes the text, of which `length` bytes and one more can be written. Returns 0 or -ENOMEM. */
int perf_map_parse(struct perf_map *map, char *text, size_t length);
void perf_map_fini(struct perf_map *map);

/* The entry that the address is in, or NULL. */
const struct perf_map_entry *perf_map_find(const struct perf_map *map, uint64_t address);

#endif /* MEMSCOPE_SYMBOLS_PERF_MAP_H */
