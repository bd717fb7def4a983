/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that define functions of the probe table. What a file is called does not matter: a pip
 * wheel's libcudart, a static runtime inside an executable and a renamed driver are all found by
 * their symbols. Each file is read once, however many processes map it.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_LIBRARY_H
#define MEMSCOPE_CAPTURE_ATTACH_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "capture/attach/marker_rows.h"
#include "capture/attach/wanted_names.h"
#include "capture/file_cache.h"
#include "event/framework.h"
#include "host/proc.h"
#include "capture/attach/plain_files.h"
#include "elf/prologue.h"

/*
 * Functions that the file exports, that are called as CUDA's are, and that this version does not
 * know: the library is newer.
 */
#define LIBRARY_NEW_NAMED 32

struct library_new {
	size_t count;
	size_t memory;                  /* how many are about memory, by their names */
	char *names[LIBRARY_NEW_NAMED]; /* the first ones; those about memory first */
	size_t named;
};

struct library_point {
	uint32_t row;         /* of the probe table */
	uint64_t file_offset; /* of the function's first byte */
	struct prologue prologue;
	uint8_t code[PROLOGUE_BYTES]; /* of the function, in the file */
	uint8_t code_bytes;           /* fewer, if it is shorter */
};

/* A function that is a marker. */
struct library_marker {
	struct library_point point; /* `row` is one of struct marker_rows */
	bool on_return;
	uint64_t counter_offset; /* of a static probe: struct elf_usdt; 0: none */
};

#define LIBRARY_MARKERS 256 /* more than any module has copies of */

struct library {
	uint64_t dev, inode;
	uint64_t size_bytes;
	int64_t modified_ns;
	char *name; /* last component of the path under which it was met first */
	char *path;
	/*
	 * No row twice, frees before what they free: probes are installed in this order (but for
	 * one that is no allocation: placement_init()), and an allocation must not be seen as long
	 * as its free is not. They are removed in this order, too: what is called most often first.
	 */
	struct library_point *points;
	size_t points_count, points_capacity;
	bool has_symbols;      /* not stripped: a static runtime would have been found */
	bool readable;         /* a 64-bit ELF file for this machine */
	bool go;               /* made by the Go toolchain */
	uint64_t ioctl_offset; /* in the file, if it is a C library: of ioctl(); 0: it is none */
	uint64_t ioctl_stub_offset; /* if it is a driver: of the stub by which it calls ioctl() */
	/* Of frameworks' allocators: a row is one of bpf/frameworks.def. */
	struct library_point frameworks[FRAMEWORK_ROWS_COUNT];
	size_t frameworks_count;
	/* By which a thread asks where it is: a row is one of bpf/asks.def. */
	struct library_point asks[MS_ASK_ROWS];
	size_t asks_count;
	struct library_marker *markers;
	size_t markers_count, markers_capacity;
	struct library_new new; /* none if it defines no function of the table */
};

struct library_cache {
	struct library **libraries; /* in which there is something to probe */
	size_t count, capacity;
	struct plain_files plain;   /* the other files */
	struct library *last_plain; /* as which the last of these was given away */
	bool nops; /* this kernel emulates nops of several bytes (FEATURE_UPROBE_NOPS) */
	const struct marker_rows *markers; /* that are looked for; NULL: none */
	struct wanted_names *names;        /* NULL until there is a file */
	struct file_cache *kept;           /* what traces before have found; NULL: nothing */
};

/*
 * What is found is kept in that directory for the traces to come, and what is there is used. NULL:
 * it is not.
 */
void library_cache_keep(struct library_cache *cache, const char *directory);

void library_cache_fini(struct library_cache *cache);

/*
 * The library behind an open file, read now if it is new. `path` is for messages. Returns 0 or
 * -errno (-ENODEV: no regular file); `*library` belongs to the cache. A file without any function
 * of the table, or that is no ELF file, is a library with no points; if there is nothing else in it
 * to probe, it is there until the next such file is loaded.
 */
int library_load(struct library_cache *cache, int fd, const char *path,
		 const struct library **library);

/* Whether the mapping is of the library's file. */
bool library_is_mapped(const struct library *library, const struct proc_mapping *mapping);

/* The library that is mapped, if it was read before and has functions of the table; or NULL. */
const struct library *library_find(const struct library_cache *cache,
				   const struct proc_mapping *mapping);

#endif /* MEMSCOPE_CAPTURE_ATTACH_LIBRARY_H */
