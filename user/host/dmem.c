// SPDX-License-Identifier: BSD-2-Clause
#include "host/dmem.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/host_files.h"

#define VALUE_BYTES 32 /* of a number, or "max" */

/* ---- a file: a region and its value in each line --------------------------------------------- */

struct lines {
	char text[HOST_FILES_BYTES];
	char *rest;
	bool cut; /* a line of it finds no room */
};

static bool open_lines(struct lines *lines, const char *root, const char *directory,
		       const char *file)
{
	char path[HOST_FILES_PATH_BYTES];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	lines->rest = lines->text;
	length = host_files_read(root, path, lines->text, sizeof(lines->text));
	lines->cut = length == sizeof(lines->text) - 1;
	return length >= 0;
}

static bool parse(const char *text, uint64_t *bytes)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*bytes = strtoull(text, &end, 10);
	return !*end && !errno;
}

/* The next line with a number: one that is cut off has no end, and "max" is no limit. */
static const char *next_value(struct lines *lines, uint64_t *bytes)
{
	char *line, *end, *space;

	while ((end = strchr(lines->rest, '\n'))) {
		line = lines->rest;
		lines->rest = end + 1;
		*end = '\0';
		space = strrchr(line, ' ');
		if (!space || space == line)
			continue;
		*space = '\0';
		if (!parse(space + 1, bytes))
			continue;
		if (space - line < DMEM_NAME_BYTES)
			return line;
		lines->cut = true;
	}
	return NULL;
}

/* ---- what a cgroup says ---------------------------------------------------------------------- */

static void read_used(struct dmem *dmem, const char *root, const char *directory)
{
	struct lines lines;
	const char *name;
	uint64_t bytes;

	if (!open_lines(&lines, root, directory, "dmem.current"))
		return;
	while ((name = next_value(&lines, &bytes))) {
		if (dmem->count == DMEM_REGIONS) {
			dmem->cut = true;
			return;
		}
		dmem->regions[dmem->count] = (struct dmem_region){ .used_bytes = bytes };
		snprintf(dmem->regions[dmem->count++].name, DMEM_NAME_BYTES, "%s", name);
	}
	dmem->cut |= lines.cut;
}

/* A file's number for each region; returns which regions have one, bits. */
static uint32_t read_values(struct dmem *dmem, const char *root, const char *directory,
			    const char *file, uint64_t values[DMEM_REGIONS])
{
	struct lines lines;
	uint32_t found = 0;
	const char *name;
	uint64_t bytes;
	size_t i;

	if (!open_lines(&lines, root, directory, file))
		return 0;
	while ((name = next_value(&lines, &bytes))) {
		for (i = 0; i < dmem->count && strcmp(dmem->regions[i].name, name) != 0; i++)
			;
		if (i == dmem->count)
			continue;
		found |= 1u << i;
		values[i] = bytes;
	}
	dmem->cut |= lines.cut;
	return found;
}

static void read_guaranteed(struct dmem *dmem, const char *root, const char *directory)
{
	uint64_t values[DMEM_REGIONS];
	const uint32_t found = read_values(dmem, root, directory, "dmem.min", values);
	size_t i;

	for (i = 0; i < dmem->count; i++) {
		if (!(found >> i & 1))
			continue;
		dmem->regions[i].known |= DMEM_GUARANTEED;
		dmem->regions[i].guaranteed_bytes = values[i];
	}
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

uint64_t dmem_left(const struct dmem_region *region)
{
	return less(region->limit_bytes, region->limit_used_bytes);
}

/* One cgroup's limits, which `path_bytes` of the path name. */
static void read_limits(struct dmem *dmem, const char *root, const char *directory,
			size_t path_bytes)
{
	uint64_t limits[DMEM_REGIONS], used[DMEM_REGIONS];
	uint32_t found = read_values(dmem, root, directory, "dmem.max", limits);
	size_t i;

	if (found)
		found &= read_values(dmem, root, directory, "dmem.current", used);
	for (i = 0; i < dmem->count; i++) {
		struct dmem_region *region = &dmem->regions[i];

		if (!(found >> i & 1) ||
		    (region->known & DMEM_LIMIT && dmem_left(region) <= less(limits[i], used[i])))
			continue;
		region->known |= DMEM_LIMIT;
		region->limit_bytes = limits[i];
		region->limit_used_bytes = used[i];
		region->limit_path_bytes = path_bytes;
	}
}

/* The root of all has the capacities; that of a namespace is another cgroup and has none. */
static void read_device(struct dmem *dmem, const char *root, const char *mounted)
{
	uint64_t capacities[DMEM_REGIONS], used[DMEM_REGIONS];
	uint32_t found = read_values(dmem, root, mounted, "dmem.capacity", capacities);
	size_t i;

	if (found)
		found &= read_values(dmem, root, mounted, "dmem.current", used);
	for (i = 0; i < dmem->count; i++) {
		if (!(found >> i & 1))
			continue;
		dmem->regions[i].known |= DMEM_DEVICE;
		dmem->regions[i].capacity_bytes = capacities[i];
		dmem->regions[i].device_used_bytes = used[i];
	}
}

/* ---- a process ------------------------------------------------------------------------------- */

static bool has_counters(const char *root, const char *directory)
{
	char path[HOST_FILES_PATH_BYTES], text[VALUE_BYTES];

	snprintf(path, sizeof(path), "%s/dmem.current", directory);
	return host_files_read(root, path, text, sizeof(text)) >= 0;
}

/* Cuts off the last name of a directory. False: it is the one where the hierarchy is mounted. */
static bool leave(char *directory, size_t mounted_bytes)
{
	char *slash = strrchr(directory + mounted_bytes, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

/* What lies outside of this process's cgroup namespace is no path below the mount. */
static bool is_outside(const char *path)
{
	return !strncmp(path, "/..", 3) && (!path[3] || path[3] == '/');
}

/*
 * Finds the nearest cgroup of the process that has counters. A cgroup has some only if those that
 * it is in have them, too. Returns false if there is none.
 */
static bool locate(const char *root, pid_t pid, struct cgroup_files *files)
{
	size_t mounted_bytes;

	if (!cgroup_files_find(root, pid, files) || !*files->unified ||
	    !has_counters(root, files->mounted))
		return false;
	mounted_bytes = strlen(files->mounted);
	if (is_outside(files->unified + mounted_bytes))
		return false;
	while (!has_counters(root, files->unified))
		if (!leave(files->unified, mounted_bytes))
			return false;
	return true;
}

static const char *path_of(const struct cgroup_files *files)
{
	const char *path = files->unified + strlen(files->mounted);

	return *path ? path : "/";
}

/* Of what was located, whose path is not needed any more. */
static bool read_all(const char *root, struct cgroup_files *files, struct dmem *dmem)
{
	const size_t mounted_bytes = strlen(files->mounted);
	char *directory = files->unified;

	dmem->count = 0;
	dmem->cut = false;
	snprintf(dmem->path, sizeof(dmem->path), "%s", path_of(files));
	read_used(dmem, root, directory);
	read_guaranteed(dmem, root, directory);
	do {
		const size_t bytes = strlen(directory) - mounted_bytes;

		read_limits(dmem, root, directory, bytes ? bytes : 1);
	} while (leave(directory, mounted_bytes));
	read_device(dmem, root, files->mounted);
	return dmem->count;
}

bool dmem_read(const char *root, pid_t pid, struct dmem *dmem)
{
	struct cgroup_files files;

	dmem->count = 0;
	return locate(root, pid, &files) && read_all(root, &files, dmem);
}

bool dmem_is_counted(const char *root)
{
	return has_counters(root, cgroup_files_mounted(root));
}

/* ---- whose region it is ---------------------------------------------------------------------- */

/* "0000:03:00.0": a domain, a bus, a device and a function. */
static bool is_pci(const char *text, size_t length)
{
	static const char tail[] = ":xx:xx.x";
	size_t i, domain;

	if (length < 4 + sizeof(tail) - 1 || length >= DMEM_PCI_BYTES)
		return false;
	domain = length - (sizeof(tail) - 1);
	for (i = 0; i < length; i++) {
		const char wanted = i < domain ? 'x' : tail[i - domain];

		if (wanted == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != wanted)
			return false;
	}
	return true;
}

bool dmem_pci(const char *name, char pci[DMEM_PCI_BYTES])
{
	while (*name) {
		const size_t length = strcspn(name, "/");

		if (is_pci(name, length)) {
			snprintf(pci, DMEM_PCI_BYTES, "%.*s", (int)length, name);
			return true;
		}
		name += length;
		name += *name == '/';
	}
	return false;
}

/* ---- many of them ---------------------------------------------------------------------------- */

size_t dmem_table_add(struct dmem_table *table, const char *root, pid_t pid)
{
	struct cgroup_files files;
	size_t i;

	if (!locate(root, pid, &files) || memory_grow(&table->cgroups, &table->capacity,
						      table->count + 1, sizeof(*table->cgroups)))
		return DMEM_NONE;
	for (i = 0; i < table->count; i++)
		if (!strcmp(table->cgroups[i].path, path_of(&files)))
			return i;
	return read_all(root, &files, &table->cgroups[table->count]) ? table->count++ : DMEM_NONE;
}

void dmem_table_fini(struct dmem_table *table)
{
	free(table->cgroups);
	memset(table, 0, sizeof(*table));
}
