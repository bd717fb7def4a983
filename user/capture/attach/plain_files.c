// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/plain_files.h"

#include <stdlib.h>

#include "base/string.h"

uint64_t plain_files_key(const struct stat *status)
{
	const uint64_t what[] = {
		status->st_dev,
		status->st_ino,
		(uint64_t)status->st_size,
		(uint64_t)status->st_mtim.tv_sec,
		(uint64_t)status->st_mtim.tv_nsec,
	};

	return string_hash(map_secret(), what, sizeof(what));
}

const uint64_t *plain_files_find(const struct plain_files *files, uint64_t key)
{
	return map_get(&files->known, key);
}

void plain_files_add(struct plain_files *files, uint64_t key, uint64_t value)
{
	if (map_get(&files->known, key))
		return;
	if (!files->oldest)
		files->oldest = calloc(PLAIN_FILES_MOST, sizeof(*files->oldest));
	if (!files->oldest)
		return;
	if (files->known.count >= PLAIN_FILES_MOST)
		map_remove(&files->known, files->oldest[files->next]);
	if (map_set(&files->known, key, value))
		return;
	files->oldest[files->next] = key;
	files->next = (files->next + 1) % PLAIN_FILES_MOST;
}

void plain_files_fini(struct plain_files *files)
{
	map_fini(&files->known);
	free(files->oldest);
	*files = (struct plain_files){ 0 };
}
