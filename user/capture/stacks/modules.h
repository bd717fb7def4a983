/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files whose code traced processes have mapped, each once, by device and inode: its build id,
 * its functions, and the number of its unwind table. Build ids alone make no two files one: a file
 * can claim to have another one's.
 *
 * A file that no process has mapped any more rests after a second: it is closed, so that it keeps
 * no disk and no mount busy, and only its table stays, for the next process that has the same file.
 * When numbers or the memory for tables get scarce, files that have rested longest are forgotten.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_MODULES_H
#define MEMSCOPE_CAPTURE_STACKS_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/string.h"
#include "capture/stacks/table_store.h"
#include "elf/elf_image.h"
#include "host/proc.h"
#include "symbols/file_reader.h"

struct module {
	uint64_t dev, inode;
	uint32_t number;    /* of its table, from 1 on */
	uint32_t serial;    /* by which a reader of lines knows it: no other has had it */
	uint64_t identity;  /* a hash: the same file that was not changed has the same */
	size_t users;       /* mappings of processes that are traced */
	uint64_t unused_ns; /* since when there are none, by CLOCK_MONOTONIC */
	bool rests;
	int fd;     /* negative: it could not be opened, or rests */
	char *path; /* as the process sees it that had it first */
	struct elf_image image;
	bool functions_read;
	struct function_table functions;
	bool others_read;
	int others_fd; /* of a file that has symbols which were split off; negative: none has */
	uint64_t others_bytes;        /* of memory that it takes; 0: it is no unpacked one */
	struct function_table others; /* by address */
	int lines_fd;          /* of the file that has its debug information; negative: none has */
	uint64_t late_address; /* the first whose lines were not read in time; 0: all were */
};

struct modules {
	struct module **list; /* by number - 1; NULL: it was forgotten */
	size_t count, capacity;
	size_t forgotten;  /* of these */
	uint32_t serials;  /* that there were */
	struct map places; /* of device and inode -> position in `list`; of several, the newest */
	struct table_store *tables;
	struct file_reader *functions, *lines; /* `lines`: NULL if source lines are not wanted */
	/*
	 * For debug information in files of its own, as the C library's, of which it takes long to
	 * read one: the program's lines do not wait for it. NULL until there is one.
	 */
	struct file_reader *split;
	bool map_files;          /* FEATURE_MAP_FILES */
	bool said_full;          /* that there are more files than numbers */
	struct string late;      /* files whose lines were not read in time, and are known: some */
	size_t late_count;       /* how many there are */
	uint64_t unpacked_bytes; /* the sum of the modules' `others_bytes` */
};

/*
 * The file of a mapping, which is held until module_release(), or NULL: there are too many, or no
 * memory. A new one is opened, and its table ordered.
 */
struct module *modules_of(struct modules *modules, pid_t pid, const struct proc_mapping *mapping);

/* The mapping is gone. NULL does nothing. */
void module_release(struct module *module);

/* To be called about once a second, by CLOCK_MONOTONIC: what nobody uses rests or is forgotten. */
void modules_rest(struct modules *modules, uint64_t now_ns);

/*
 * As modules_of() for a file that a process is going to map, without holding it; the descriptor
 * stays the caller's. On some file systems (overlayfs, btrfs) mappings have another device: then it
 * is no use, and no harm.
 */
void modules_expect(struct modules *modules, int fd, const char *path);

/*
 * Appends the name of the function that a place in the file is in; `*offset` is how far in it.
 * Returns whether there is one. The first time takes as long as reading all functions does.
 */
bool module_function(struct modules *modules, struct module *module, uint64_t place,
		     struct string *name, uint32_t *offset);

/*
 * The source lines of an address, as the file's symbols have it (symbols/source_lines.h). Returns
 * how many; 0 if they are not known, or not yet.
 */
size_t module_lines(struct modules *modules, struct module *module, uint64_t address,
		    struct source_line *found, size_t most);

/* Starts the processes that read files; `lines`: debug information, too. Returns 0 or -errno. */
int modules_open(struct modules *modules, bool lines);
/* CPU time of these processes, nanoseconds. */
uint64_t modules_cpu_ns(const struct modules *modules);

void modules_fini(struct modules *modules);

#endif /* MEMSCOPE_CAPTURE_STACKS_MODULES_H */
