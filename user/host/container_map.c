// SPDX-License-Identifier: BSD-2-Clause
#include "host/container_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/trusted_file.h"

#define BYTES_MAX (4 << 20)
#define LOOK_NS 1000000000
#define SHORT_ID 12 /* characters of an id that is cut */
#define BLANKS " \t\r"

static int by_id(const void *left, const void *right)
{
	const struct container_names *a = left, *b = right;

	return strcmp(a->id, b->id);
}

static const char *name_of(const char *field)
{
	return strcmp(field, "-") ? field : "";
}

/* Returns 1 if the line has names, 0 if it has none, or -EINVAL. */
static int parse_line(char *line, struct container_names *names)
{
	const char *fields[4] = { NULL };
	char *field, *rest = line;
	size_t count = 0;

	while ((field = strsep(&rest, BLANKS))) {
		if (!field[0])
			continue;
		if (!count && field[0] == '#')
			return 0;
		if (count == 4)
			return -EINVAL;
		fields[count++] = field;
	}
	if (!count)
		return 0;
	if (count < 4 || strlen(fields[0]) < SHORT_ID)
		return -EINVAL;
	*names = (struct container_names){ fields[0], name_of(fields[1]), name_of(fields[2]),
					   name_of(fields[3]) };
	return 1;
}

static int parse(struct container_map *map)
{
	char *line, *rest = map->text;
	unsigned int number = 0;

	map->names = calloc(CONTAINER_MAP_MAX, sizeof(*map->names));
	if (!map->names)
		return -ENOMEM;
	while ((line = strsep(&rest, "\n"))) {
		struct container_names names;
		const int parsed = parse_line(line, &names);

		number++;
		if (parsed < 0) {
			log_error(
				"%s:%u: not a container: a line is ID NAMESPACE POD CONTAINER, the"
				" id with at least %d characters, and \"-\" for a name that there"
				" is not",
				map->path, number, SHORT_ID);
			return -EINVAL;
		}
		if (parsed && map->count == CONTAINER_MAP_MAX) {
			log_error("%s: more than %d containers", map->path, CONTAINER_MAP_MAX);
			return -E2BIG;
		}
		if (parsed)
			map->names[map->count++] = names;
	}
	qsort(map->names, map->count, sizeof(*map->names), by_id);
	return 0;
}

static void forget(struct container_map *map)
{
	free(map->names);
	free(map->text);
	map->names = NULL;
	map->text = NULL;
	map->count = 0;
}

int container_map_open(struct container_map *map, const char *path)
{
	struct container_map fresh = { .path = path, .looked_ns = clock_monotonic_ns() }, old;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	if (fd < 0) {
		err = -errno;
		log_error("%s: cannot open: %s", path, strerror(-err));
		return err;
	}
	err = fstat(fd, &fresh.read) ? -errno : 0;
	if (!err)
		err = trusted_file_take(fd, path, BYTES_MAX, &fresh.text);
	if (!err)
		err = parse(&fresh);
	close(fd);
	if (err) {
		forget(&fresh);
		return err;
	}
	old = *map;
	*map = fresh;
	forget(&old);
	return 0;
}

static bool is_changed(const struct stat *old, const struct stat *now)
{
	return old->st_ino != now->st_ino || old->st_dev != now->st_dev ||
	       old->st_size != now->st_size || old->st_mtim.tv_sec != now->st_mtim.tv_sec ||
	       old->st_mtim.tv_nsec != now->st_mtim.tv_nsec;
}

static void read_again(struct container_map *map)
{
	const uint64_t now_ns = clock_monotonic_ns();
	struct stat status;

	if (!map->path || now_ns - map->looked_ns < LOOK_NS)
		return;
	map->looked_ns = now_ns;
	if (stat(map->path, &status) || !is_changed(&map->read, &status))
		return;
	if (container_map_open(map, map->path)) {
		log_warning("%s: the names of before stay", map->path);
		map->read = status;
	}
}

/* One that is cut stands before the id that it is of, and only others that are cut between them. */
const struct container_names *container_map_find(struct container_map *map, const char *id)
{
	size_t low = 0, high;

	read_again(map);
	for (high = map->count; low < high;) {
		const size_t middle = (low + high) / 2;

		if (strcmp(map->names[middle].id, id) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low && !strncmp(map->names[low - 1].id, id, SHORT_ID); low--)
		if (!strncmp(map->names[low - 1].id, id, strlen(map->names[low - 1].id)))
			return &map->names[low - 1];
	return NULL;
}

void container_map_close(struct container_map *map)
{
	forget(map);
	map->path = NULL;
}
