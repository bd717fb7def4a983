/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that gets its name once it is whole. Until then it has none, where the file system can do
 * that, so that whatever ends the program leaves nothing behind. Elsewhere (NFS, FAT) it has a name
 * with a dot in front, beside its place, which only SIGKILL leaves.
 */
#ifndef MEMSCOPE_BASE_DRAFT_H
#define MEMSCOPE_BASE_DRAFT_H

#include <stdbool.h>

#include "base/place.h"

struct draft {
	struct place place; /* the directory in which it is */
	int fd;             /* to be read and written; -1: there is none */
	mode_t mode;        /* with which it is created */
	char name[24];      /* that it has meanwhile; empty: none */
};

/*
 * Creates one of that mode, less the umask, and takes over the place unless that fails. Returns 0
 * or -errno.
 */
int draft_open(struct draft *draft, const struct place *place, mode_t mode);

/*
 * Names it. What has that name gives way if it is to be replaced (a link itself, not what it leads
 * to). Returns 0 or -errno; after -EEXIST another name can be tried.
 */
int draft_name(struct draft *draft, const char *name, bool replace);

/* If it was not named, it is gone. */
void draft_close(struct draft *draft);

#endif /* MEMSCOPE_BASE_DRAFT_H */
