/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of containers, from a file that a container engine's tool has written: a cgroup has a
 * container's id, and only the engine knows what people call it.
 *
 * A line of it is ID NAMESPACE POD CONTAINER, with blanks between; "-" is a name that there is not.
 * An id may be cut to its first 12 characters, as engines show it. Empty lines, and lines that
 * begin with "#", are left out. The file is read again when it has changed, best by rename(2).
 */
#ifndef MEMSCOPE_HOST_CONTAINER_MAP_H
#define MEMSCOPE_HOST_CONTAINER_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define CONTAINER_MAP_MAX 16384 /* containers; more are an error */

/* "": there is no such name. */
struct container_names {
	const char *id, *namespace, *pod, *name;
};

/* A zeroed one knows no container. */
struct container_map {
	const char *path;
	char *text;                    /* the file's, in pieces */
	struct container_names *names; /* by id */
	size_t count;
	struct stat read;   /* of the file when it was read */
	uint64_t looked_ns; /* CLOCK_MONOTONIC: when it was last looked at */
};

/*
 * Reads the file, whose path must live as long as the map. Returns 0 or -errno, which is logged
 * with the line: a file that is refused whole is better than one of which a part is wrong.
 */
int container_map_open(struct container_map *map, const char *path);

/*
 * Of the container with this id; NULL: the file does not have it. Looks at most once a second
 * whether the file has changed; a new one that cannot be taken is logged, and the old one stays.
 * The names live until the next call.
 */
const struct container_names *container_map_find(struct container_map *map, const char *id);

void container_map_close(struct container_map *map);

#endif /* MEMSCOPE_HOST_CONTAINER_MAP_H */
