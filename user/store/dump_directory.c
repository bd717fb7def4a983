// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/string.h"
#include "store/open_failure.h"

#define SUFFIX ".mscope"

static int is_dump(const struct dirent *entry)
{
	const size_t length = strlen(entry->d_name);

	/* Names with a dot in front are of files that are not finished. */
	return entry->d_name[0] != '.' && length > strlen(SUFFIX) &&
	       !strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX);
}

/*
 * Shorter numbers come first: a flight recorder that has written a million segments counts on with
 * seven digits. Not by the language's rules, which alphasort() goes by.
 */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	const char *x = (*a)->d_name, *y = (*b)->d_name;
	const size_t x_digits = strspn(x, "0123456789"), y_digits = strspn(y, "0123456789");

	if (!strcmp(x + x_digits, SUFFIX) && !strcmp(y + y_digits, SUFFIX) && x_digits != y_digits)
		return x_digits < y_digits ? -1 : 1;
	return strcmp(x, y);
}

static int take_entry(const char *directory, const char *name,
		      int (*take)(void *context, const char *path), void *context)
{
	struct string path = { 0 };
	int err = -ENOMEM;

	string_append_format(&path, "%s/%s", directory, name);
	string_append_char(&path, '\0');
	if (!path.failed)
		err = take(context, path.bytes);
	string_fini(&path);
	return err == -ENOENT ? 0 : err;
}

static int take_all(const char *path, int (*take)(void *context, const char *path), void *context)
{
	struct dirent **entries;
	int count, i, err = 0;

	count = scandir(path, &entries, is_dump, by_name);
	if (count < 0) {
		err = -errno;
		open_failure_say(path, path, err);
		return err;
	}
	for (i = 0; i < count; i++) {
		if (!err)
			err = take_entry(path, entries[i]->d_name, take, context);
		free(entries[i]);
	}
	free(entries);
	return err ? err : count;
}

static bool is_directory(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static int pass_over(void *context, const char *path)
{
	(void)context;
	(void)path;
	return 0;
}

/* An agent's state directory: its flight recorder is in `ring`, and beside it are its bundles. */
static int in_ring(const char *path, int (*take)(void *context, const char *path), void *context)
{
	struct string ring = { 0 };
	int count = 0, beside;

	string_append_format(&ring, "%s/ring", path);
	string_append_char(&ring, '\0');
	if (ring.failed)
		count = -ENOMEM;
	else if (is_directory(ring.bytes))
		count = take_all(ring.bytes, take, context);
	beside = count > 0 ? take_all(path, pass_over, NULL) : 0;
	if (beside > 0)
		log_info("%s: its ring is read, not the %d file%s beside it", path, beside,
			 beside == 1 ? "" : "s");
	string_fini(&ring);
	return count;
}

int dump_directory_each(const char *path, int (*take)(void *context, const char *path),
			void *context)
{
	int count;

	if (!is_directory(path))
		return -ENOTDIR;
	count = in_ring(path, take, context);
	if (!count)
		count = take_all(path, take, context);
	if (!count)
		log_error("%s: no file in it ends in " SUFFIX, path);
	return count;
}
