/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a file is written that a user has named. Who has the rights of root, and writes into
 * directories of others, must not be led to files that these could not touch themselves. So
 * everything that is created, opened, replaced or removed by name goes through here: the path is
 * walked component by component, each directory held open, and of the last component only the name
 * is used, in that directory.
 *
 * A symbolic link, wherever in the path, is followed only if the caller or root has made it, and
 * other users can put none in its place: in a directory of the caller's or of root's that they
 * cannot write, or whose sticky bit keeps them from renaming what is not theirs. The kernel's
 * fs.protected_* settings do not matter.
 */
#ifndef MEMSCOPE_BASE_PLACE_H
#define MEMSCOPE_BASE_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct place {
	int directory; /* open, O_PATH; -1: none */
	char name[NAME_MAX + 1];
	bool is_descriptor; /* the name stands for an open file: /dev/stdout, /proc/self/fd/1 */
};

/*
 * Finds it, whether there is anything by that name or not: a link there is followed if it may be,
 * to one that dangles, too. Returns 0 or -errno: -ELOOP if a link must not be followed.
 */
int place_find(struct place *place, const char *path);

/* The same, but a link by that name is what is found. */
int place_find_name(struct place *place, const char *path);

void place_close(struct place *place);

/* What is there, of a link itself. Returns 0 or -errno. */
int place_stat(const struct place *place, struct stat *status);

/*
 * Opens it to be written from its beginning, as it is; if there is none, creates it (mode 0600). A
 * file that others may have put there (of another user than the caller, root and the directory's
 * owner, or with other names) is not opened: -EEXIST. Returns the descriptor or -errno.
 */
int place_open(const char *path);

/* The same, but it can be read, too. */
int place_open_both(const char *path);

/* These follow no link by the last name. They return 0 (or a descriptor), or -errno. */
int place_create(const char *path); /* a new file, mode 0600, to be read and written */
int place_read(const char *path);   /* a plain file */
int place_make_directory(const char *path);
int place_remove(const char *path);
int place_remove_directory(const char *path);

/* As strerror(-err), but says why a link was not followed. */
const char *place_error(int err);

/* What to do about that, after it; "" if it says so itself. */
const char *place_advice(int err);

#endif /* MEMSCOPE_BASE_PLACE_H */
