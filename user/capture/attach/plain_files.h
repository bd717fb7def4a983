/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files in which there is nothing to probe, as most that processes map: which they are, so that
 * each is read once. In months, there are millions, of which the newest are remembered.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_PLAIN_FILES_H
#define MEMSCOPE_CAPTURE_ATTACH_PLAIN_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/map.h"

#define PLAIN_FILES_MOST 16384

/* Zeroed, it is empty. */
struct plain_files {
	struct map known; /* key -> what its owner has said of it */
	uint64_t *oldest; /* the keys, in a ring */
	size_t next;      /* where in it the next one goes */
};

/* Of a file that has not changed, always the same. */
uint64_t plain_files_key(const struct stat *status);

/* NULL: it is not one of them, or was long ago. */
const uint64_t *plain_files_find(const struct plain_files *files, uint64_t key);

/* Without memory, it is not remembered. */
void plain_files_add(struct plain_files *files, uint64_t key, uint64_t value);

void plain_files_fini(struct plain_files *files);

#endif /* MEMSCOPE_CAPTURE_ATTACH_PLAIN_FILES_H */
