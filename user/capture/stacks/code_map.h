/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the code of a process is: its executable mappings of files, sorted, here and in the kernel.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_CODE_MAP_H
#define MEMSCOPE_CAPTURE_STACKS_CODE_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/stacks/modules.h"

struct code_range {
	uint64_t start, end;
	uint64_t offset;       /* in the file */
	struct module *module; /* held; may be NULL */
};

struct code_map {
	struct code_range *ranges;
	size_t count, capacity;
};

/* Reads it anew. Returns 0 or -errno; then it is what it was. */
int code_map_read(struct code_map *map, pid_t pid, struct modules *modules);
void code_map_fini(struct code_map *map);

/* The mapping that an address is in, or NULL. */
const struct code_range *code_map_find(const struct code_map *map, uint64_t address);

/*
 * The file that its code is from; NULL: it is generated, which may lie in a file, too, that is
 * nothing but memory (memfd, /dev/zero). The range may be NULL.
 */
static inline struct module *code_range_file(const struct code_range *range)
{
	struct module *module = range ? range->module : NULL;

	return module && module->fd >= 0 && !module->image.segments_count ? NULL : module;
}

/* Puts it where the kernel side finds it, into the map ms_stack_ranges. Returns 0 or -errno. */
int code_map_publish(const struct code_map *map, int ranges_fd, pid_t pid);

#endif /* MEMSCOPE_CAPTURE_STACKS_CODE_MAP_H */
