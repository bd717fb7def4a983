// SPDX-License-Identifier: BSD-2-Clause
#include "capture/stacks/code_map.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"
#include "base/memory.h"

#define MAX_RANGES 8191 /* what the kernel side can search */

void code_map_fini(struct code_map *map)
{
	size_t i;

	for (i = 0; i < map->count; i++)
		module_release(map->ranges[i].module);
	free(map->ranges);
	*map = (struct code_map){ 0 };
}

struct reading {
	struct code_map map;
	struct modules *modules;
	pid_t pid;
};

/* They come in the order of their addresses. */
static int add_mapping(const struct proc_mapping *mapping, void *context)
{
	struct reading *reading = context;
	struct code_map *map = &reading->map;

	if (!mapping->executable || !mapping->inode || map->count >= MAX_RANGES)
		return 0;
	if (memory_grow((void **)&map->ranges, &map->capacity, map->count + 1,
			sizeof(*map->ranges)))
		return -ENOMEM;
	map->ranges[map->count++] =
		(struct code_range){ .start = mapping->start,
				     .end = mapping->end,
				     .offset = mapping->offset,
				     .module =
					     modules_of(reading->modules, reading->pid, mapping) };
	return 0;
}

static int stop(const struct proc_mapping *mapping, void *context)
{
	(void)mapping;
	(void)context;
	return 1;
}

/*
 * A process that ends loses its mappings while they are read; until its parent has asked for its
 * status it is there, without any. If there are some afterwards, all were there before.
 */
static bool has_mappings(pid_t pid)
{
	return proc_each_mapping(pid, stop, NULL) == 1;
}

int code_map_read(struct code_map *map, pid_t pid, struct modules *modules)
{
	struct reading reading = { .modules = modules, .pid = pid };
	int err = proc_each_mapping(pid, add_mapping, &reading);

	if (!err && !has_mappings(pid))
		err = -ESRCH;
	if (err) {
		code_map_fini(&reading.map);
		return err;
	}
	code_map_fini(map);
	*map = reading.map;
	return 0;
}

const struct code_range *code_map_find(const struct code_map *map, uint64_t address)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct code_range *range = &map->ranges[middle];

		if (address < range->start)
			high = middle;
		else if (address >= range->end)
			low = middle + 1;
		else
			return range;
	}
	return NULL;
}

/* ---- in the kernel --------------------------------------------------------------------------- */

static struct ms_stack_range range_of(const struct code_range *range)
{
	struct ms_stack_range entry = { .start = range->start, .end = range->end };
	uint64_t address;

	if (range->module && elf_image_mapping(&range->module->image, range->offset, &address)) {
		entry.bias = range->start - address;
		entry.table = range->module->number;
	}
	return entry;
}

static int fill(const struct code_map *map, int fd)
{
	const size_t bytes = (map->count + 1) * sizeof(struct ms_stack_range);
	struct ms_stack_range *entries =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	size_t i;

	if (entries == MAP_FAILED)
		return -errno;
	for (i = 0; i < map->count; i++)
		entries[i + 1] = range_of(&map->ranges[i]);
	entries[0] = (struct ms_stack_range){ .start = map->count };
	munmap(entries, bytes);
	return 0;
}

int code_map_publish(const struct code_map *map, int ranges_fd, pid_t pid)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	const uint32_t key = pid;
	int err, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ms_ranges", sizeof(uint32_t),
				     sizeof(struct ms_stack_range), map->count + 1, &options);

	if (fd < 0)
		return -errno;
	err = fill(map, fd);
	if (!err && bpf_map_update_elem(ranges_fd, &key, &fd, BPF_ANY))
		err = -errno;
	close(fd);
	return err;
}
